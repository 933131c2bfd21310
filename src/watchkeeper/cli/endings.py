"""How a command ends: its exit code, and one clear line for each thing that was wrong.

An expected error never shows a traceback. One that is not expected is a bug and does.
"""

from __future__ import annotations

from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

DONE = 0
FOUND = 1
WRONG = 2
UNREACHABLE = 3


class Commands(TyperGroup):
    """All commands; whatever they raise on purpose becomes words and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            code, lines = ending_of(error)
            if not lines:
                raise
            for line in lines:
                typer.echo(f"watchkeeper: {line}", err=True)
            raise typer.Exit(code) from None


def ending_of(error: Exception) -> tuple[int, list[str]]:
    """The exit code and the lines for an error; no lines when it is a bug."""
    from watchkeeper.errors import Invalid, QuotaExceeded, Unavailable, WatchkeeperError

    match error:
        case Invalid(problems=problems) if problems:
            return WRONG, [str(problem) for problem in problems]
        case QuotaExceeded():
            return FOUND, [str(error)]
        case Unavailable():
            return UNREACHABLE, [str(error)]
        case WatchkeeperError():
            return WRONG, [str(error)]
        case _:
            return _outage(error)


def fail(code: int, *lines: str) -> NoReturn:
    for line in lines:
        typer.echo(f"watchkeeper: {line}", err=True)
    raise typer.Exit(code)


def _outage(error: Exception) -> tuple[int, list[str]]:
    """A database that does not answer is named as that, without the words of its driver."""
    if type(error).__module__.partition(".")[0] not in ("sqlalchemy", "sqlite3", "psycopg"):
        return FOUND, []
    from watchkeeper.store.outage import as_ours

    ours = as_ours(error)
    return (FOUND, []) if ours is None else (UNREACHABLE, [str(ours)])
