"""`--app MODULE:NAME`: an app that works, or one line that says what is wrong with it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import UNREACHABLE, WRONG, CommandLine
from tests.databases import Place
from watchkeeper.app import App
from watchkeeper.cli.load_app import load_app

pytestmark = [pytest.mark.req("U-20"), pytest.mark.usefixtures("quiet_logs", "own_modules")]

HEAD = 'from watchkeeper import App\napp = App("sqlite://")\n'


@pytest.fixture
def own_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of a test is not there for the next one."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in sorted({"agents", "helper"} & set(sys.modules)):
        for value in vars(sys.modules.pop(name)).values():
            if isinstance(value, App):
                value.close()


def refused(wk: CommandLine, named: str, text: str | None = None, exits: int = WRONG) -> str:
    if text is not None:
        Path("agents.py").write_text(text)
    told = wk("worker", "--app", named, exits=exits).stderr
    return told.partition("watchkeeper: ")[2]


def test_an_app_is_loaded_from_the_present_folder(bare: CommandLine) -> None:
    Path("agents.py").write_text(HEAD)
    assert isinstance(load_app("agents:app"), App)


def test_an_app_that_is_closed_is_named_as_that(bare: CommandLine) -> None:
    told = refused(bare, "agents:app", f"{HEAD}app.close()\n")
    assert told == "--app: agents:app was closed while it was imported: remove its close()\n"


def test_a_module_that_is_missing_is_named_with_where_it_was_looked_for(bare: CommandLine) -> None:
    told = refused(bare, "agentz:app")
    assert told == f"--app: there is no module agentz in {Path.cwd()} or on the Python path\n"
    assert "there is no module agentz.deep in" in refused(bare, "agentz.deep:app")


def test_a_name_that_is_missing_is_told_with_those_there_are(bare: CommandLine) -> None:
    assert refused(bare, "agents:ap", HEAD) == "--app: agents has no ap; it has app\n"


def test_a_module_without_an_app_says_so(bare: CommandLine) -> None:
    told = refused(bare, "agents:app", "other = 1\n")
    assert told == "--app: agents has no app, and no watchkeeper.App at all\n"


def test_what_is_no_app_is_told_with_its_type(bare: CommandLine) -> None:
    told = refused(bare, "agents:app", "app = {}\n")
    assert told == "--app: agents:app is of type dict, not a watchkeeper.App\n"


def test_a_name_without_its_module_is_refused(bare: CommandLine) -> None:
    assert "must be MODULE:NAME" in refused(bare, "agents")


def test_an_error_at_import_is_told_with_the_lines_of_the_users_own_code(bare: CommandLine) -> None:
    Path("helper.py").write_text("def halve():\n    return 1 / 0\n")
    told = refused(bare, "agents:app", "import json\nimport helper\n\nhelper.halve()\n")
    first, *lines = told.splitlines()
    assert first == "--app: importing agents raised ZeroDivisionError: division by zero"
    assert [line for line in lines if line.startswith("  File")] == [
        f'  File "{Path.cwd()}/agents.py", line 4, in <module>',
        f'  File "{Path.cwd()}/helper.py", line 2, in halve',
    ]


def test_an_error_inside_the_product_shows_the_line_that_called_it(bare: CommandLine) -> None:
    told = refused(bare, "agents:app", f'{HEAD}app.clock.advance(seconds="x")\n')
    assert "--app: importing agents raised " in told
    assert told.count("  File") == 1
    assert "agents.py" in told


def test_a_module_that_the_module_misses_is_not_taken_for_it(bare: CommandLine) -> None:
    told = refused(bare, "agents:app", "import agen\n")
    assert told.startswith("--app: importing agents raised ModuleNotFoundError: No module named")


def test_a_mistake_in_the_syntax_is_shown_with_its_line(bare: CommandLine) -> None:
    told = refused(bare, "agents:app", "app = (\n")
    assert "--app: importing agents raised SyntaxError: " in told
    assert "agents.py" in told


def test_a_database_that_does_not_answer_stays_that(bare: CommandLine) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1"
    text = f'from watchkeeper import App\napp = App("{url}")\n'
    assert "cannot be reached" in refused(bare, "agents:app", text, UNREACHABLE)


@pytest.mark.req("O-13")
@pytest.mark.parametrize("words", [("worker",), ("clock", "advance", "1")], ids=" ".join)
@pytest.mark.parametrize("virtual", [False, True])
def test_an_app_does_not_make_its_database(
    bare: CommandLine, words: tuple[str, ...], virtual: bool
) -> None:
    text = f'from watchkeeper import App\napp = App("sqlite:///own.db", virtual_clock={virtual})\n'
    Path("agents.py").write_text(text)
    told = bare(*words, "--app", "agents:app", exits=UNREACHABLE).stderr
    assert "there is no database at own.db: make one with `watchkeeper migrate --db" in told
    assert not Path("own.db").exists()


@pytest.mark.req("O-13")
@pytest.mark.brand_new
def test_an_app_does_not_upgrade_its_database(bare: CommandLine, place: Place) -> None:
    place.execute("update alembic_version set version_num = '0008'")
    text = f'from watchkeeper import App\napp = App("{place.url}")\n'
    told = refused(bare, "agents:app", text, UNREACHABLE)
    assert "has schema 0008, this program needs" in told
    assert place.execute("select version_num from alembic_version") == [("0008",)]
