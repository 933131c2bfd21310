"""Every command that a page, a help text or a sentence of the product shows can be typed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.commands import in_markdown, in_page, mistake_in
from tests.docs.test_blocks import PAGES, name_of
from tests.house.source import ROOT
from tests.house.test_docs import COMMANDS
from watchkeeper.cli.main import app

pytestmark = pytest.mark.req("U-40")

SOURCE = ROOT / "src" / "watchkeeper"
TEMPLATES = sorted((SOURCE / "http" / "templates").glob("*.html"))
WRITTEN = [page for page in PAGES if page.name != "cli.md"]  # which is made from the commands
MODULES = sorted(SOURCE.rglob("*.py"))


def strings(path: Path) -> Iterator[str]:
    """The sentences of a module, with `x` for what is filled in."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
            yield "".join(map(str, parts))


def is_taken(commands: Iterator[str]) -> None:
    mistakes = {command: mistake_in(command) for command in commands}
    assert {command: told for command, told in mistakes.items() if told is not None} == {}


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_of_a_page(page: Path) -> None:
    is_taken(in_markdown(page.read_text()))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_of_a_template(template: Path) -> None:
    is_taken(in_page(template.read_text().replace("{{ ", "x").replace(" }}", "x")))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_of_a_sentence(module: Path) -> None:
    for text in strings(module):
        is_taken(command for command in in_markdown(text) if "{" not in command)


@pytest.mark.parametrize("words", COMMANDS)
def test_of_a_help_text(words: str) -> None:
    command = COMMANDS[words]
    told = [command.help or "", command.epilog or ""]
    told += [getattr(parameter, "help", None) or "" for parameter in command.params]
    is_taken(found for text in told for found in in_markdown(text))


def test_the_epilog_of_the_program_is_looked_at_too() -> None:
    is_taken(in_markdown(str(app.info.epilog)))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("watchkeeper plans create acme --tenant acme", "unexpected extra argument"),
        ("watchkeeper plans create --account a", "Missing parameter: tenant"),
        ("watchkeeper policy apply policy.toml", "Missing parameter: reason"),
        ("watchkeeper tenants rename acme", "no such command: rename"),
        ("watchkeeper verify --everything", "No such option: --everything"),
    ],
)
def test_what_cannot_be_typed_is_noticed(command: str, told: str) -> None:
    assert told.lower() in str(mistake_in(command)).lower()
