"""Options and settings of `dev`, `serve` and `worker` that name or open the database.

A new option of these commands, or a new setting, needs a line here.
"""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command

from tests.app import test_options as all_settings
from tests.cli.processes import ask, started
from tests.cli.test_processes import ADMIN_KEY, AGENTS, SIGNALS
from tests.databases import Place
from watchkeeper.cli.main import app
from watchkeeper.settings import PREFIX, Settings

OPTIONS: dict[str, dict[str, Callable[[Place], list[str]]]] = {
    "dev": {
        "db": lambda place: ["--db", place.owner_url],
        "virtual_clock": lambda place: ["--db", place.owner_url, "--virtual-clock"],
        "app": lambda _: ["--app", "agents:app"],
    },
    "serve": {"db": lambda place: ["--db", place.url]},
    "worker": {
        "db": lambda place: ["--db", place.url],
        "app": lambda _: ["--app", "agents:app"],
    },
}
OTHER_OPTIONS = {"dev": {"host", "port", "demo"}, "serve": {"host", "port"}}
OTHER_OPTIONS["worker"] = {"metrics_port"}
SETTINGS: dict[str, Callable[[Place], str]] = {
    "database_url": lambda place: place.url,
    "migrate_url": lambda place: place.owner_url,
    "pool_size": lambda _: "1",
    "sqlite_journal": lambda _: "rollback",
}
OTHER_SETTINGS = all_settings.SETTINGS.keys() - SETTINGS.keys()
"""What tests/app/test_options.py has a line for, and is not about the database."""


def test_every_option_and_every_setting_has_a_line() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for name, lines in OPTIONS.items():
        known = {one.name for one in commands[name].params}
        assert known == lines.keys() | OTHER_OPTIONS[name], name
    assert Settings.model_fields.keys() == SETTINGS.keys() | OTHER_SETTINGS


def signals_in(place: Place) -> int:
    return int(place.execute("select count(*) from signals")[0][0])


def check(command: str, words: list[str], place: Place, folder: Path, **environ: str) -> None:
    """Starts and works on this database, ends when told, and tells no error."""
    before = signals_in(place)
    environ[PREFIX + "ADMIN_KEY"] = ADMIN_KEY
    listening = ["--metrics-port", "0"] if command == "worker" else ["--port", "0"]
    with started(command, *words, *listening, folder=folder, **environ) as process:
        if command == "worker":
            process.wait_for("worker started")
        else:
            address = process.wait_for(r"(http://127\.0\.0\.1:\d+)")[1]
            assert ask(address, "/readyz") == 200
            assert ask(address, "/v1/tenants", ADMIN_KEY, b'{"tenant_id": "acme"}') == 201
            assert ask(address, "/v1/signals", ADMIN_KEY, SIGNALS.encode()) == 202
        process.tell(signal.SIGTERM)
        assert process.end() == 0, process.errors
        assert not any("Traceback" in line for line in process.errors), process.errors
    assert not (folder / "watchkeeper.db").exists(), "another database was made"
    assert signals_in(place) == before + (command != "worker")


@pytest.mark.req("U-20")
@pytest.mark.parametrize(
    ("command", "option"), [(name, option) for name, lines in OPTIONS.items() for option in lines]
)
def test_an_option_works(place: Place, tmp_path: Path, command: str, option: str) -> None:
    (tmp_path / "agents.py").write_text(AGENTS.format(url=place.url, seconds=0))
    if option == "virtual_clock":
        place.execute("delete from clock")
    check(command, OPTIONS[command][option](place), place, tmp_path)
    if option == "virtual_clock":
        assert len(place.execute("select now_at from clock")) == 1


@pytest.mark.req("U-03")
@pytest.mark.parametrize("command", OPTIONS)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_works(place: Place, tmp_path: Path, command: str, name: str) -> None:
    environ = {PREFIX + "DATABASE_URL": place.url, PREFIX + name.upper(): SETTINGS[name](place)}
    check(command, [], place, tmp_path, **environ)
