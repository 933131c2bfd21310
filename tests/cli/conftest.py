"""`wk` types a command against the test's own database, in this process."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from tests.databases import Place
from watchkeeper.cli.main import app

DONE, FOUND, WRONG, UNREACHABLE = 0, 1, 2, 3


@dataclass(frozen=True)
class CommandLine:
    """Runs commands; `environ` is all they know of the outside."""

    environ: dict[str, str | None]

    def __call__(self, *words: str, exits: int = DONE, stdin: str | None = None) -> Result:
        done = CliRunner().invoke(app, list(words), env=self.environ, input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == exits, (done.exit_code, done.stdout, done.stderr)
        return done

    def json(self, *words: str, exits: int = DONE) -> Any:
        return json.loads(self(*words, "--json", exits=exits).stdout)


@pytest.fixture
def wk(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine({"WATCHKEEPER_DATABASE_URL": place.url, "NO_COLOR": "1"})


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """In an empty folder, with no settings at all."""
    monkeypatch.chdir(tmp_path)
    return CommandLine({"WATCHKEEPER_DATABASE_URL": None, "NO_COLOR": "1"})


@pytest.fixture
def quiet_logs() -> Iterator[None]:
    """Some commands set up logging for a whole process; this one is still needed afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
