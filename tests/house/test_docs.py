"""A command or a setting that the reference does not mention does not exist for its users."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from tests.house.source import ROOT

cli = pytest.importorskip("watchkeeper.cli.main")
settings = pytest.importorskip("watchkeeper.settings")

PREFIX = "WATCHKEEPER_"
REFERENCE = "\n".join(path.read_text() for path in sorted((ROOT / "docs/reference").rglob("*.md")))


def commands() -> Iterator[tuple[str, Any]]:
    """Every visible command with the words that call it."""
    waiting: list[tuple[tuple[str, ...], Any]] = [
        (("watchkeeper",), typer.main.get_command(cli.app))
    ]
    while waiting:
        words, command = waiting.pop()
        if command.hidden:
            continue
        if subcommands := getattr(command, "commands", None):
            waiting += [((*words, name), sub) for name, sub in subcommands.items()]
        else:
            yield " ".join(words), command


COMMANDS = dict(sorted(commands()))


@pytest.mark.req("U-40")
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_in_the_reference(words: str) -> None:
    assert words in REFERENCE


@pytest.mark.req("U-40")
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_and_its_options_say_what_they_are_for(words: str) -> None:
    command = COMMANDS[words]
    assert command.help
    for option in command.params:
        if option.param_type_name == "option" and not option.hidden:
            assert option.help, f"{words} {option.opts[0]}"
            assert option.opts[0] in REFERENCE, f"{words} {option.opts[0]}"


@pytest.mark.req("U-22", "U-40")
@pytest.mark.parametrize("name", sorted(settings.Settings.model_fields))
def test_a_setting_is_in_the_reference(name: str) -> None:
    assert f"{PREFIX}{name.upper()}" in REFERENCE
