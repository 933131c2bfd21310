"""What commands print: JSON for programs, words and tables for people.

A table has borders and colours on a terminal; in a pipe it is plain and never cut.
`NO_COLOR` is honoured by the library that draws.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 1000
STYLES = {
    "ALLOW": "bold green",
    "DEFER": "bold yellow",
    "SKIP": "dim",
    "SUCCEEDED": "green",
    "FAILED": "bold red",
    "OUTCOME_UNKNOWN": "bold magenta",
    "DONE": "green",
    "COMPLETED": "green",
    "ACTIVE": "cyan",
    "EXECUTING": "cyan",
    "PAUSED": "bold yellow",
    "PENDING_APPROVAL": "bold yellow",
    "completed": "green",
    "failed": "bold red",
    "cancelled": "dim",
    "running": "cyan",
    "dead": "bold red",
    "processing": "cyan",
    "passed": "green",
    "bound": "bold red",
    "not_reached": "dim",
    "not_applicable": "dim",
}


def say(text: str = "") -> None:
    typer.echo(text)


def say_json(value: Any) -> None:
    """One document; a list is one document too."""
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def say_json_line(value: Any) -> None:
    """One line of a stream of documents."""
    import orjson

    typer.echo(orjson.dumps(value).decode())


def console(*, err: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=not stream.isatty())


def say_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str = "Nothing."
) -> None:
    """Rows under their names; `empty` when there are none."""
    found = [[_on_one_line(_cell(value)) for value in row] for row in rows]
    if not found:
        say(empty)
        return
    if not sys.stdout.isatty():
        for line in _plain(columns, found):
            say(line)
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in found:
        table.add_row(*(Text(text, style=STYLES.get(text, "")) for text in row))
    console().print(table)


def say_facts(facts: Mapping[str, object]) -> None:
    """One thing, a line for each of its facts; what is None is left out."""
    from rich.text import Text

    known = {name: value for name, value in facts.items() if value is not None}
    width = max(map(len, known), default=0)
    printer = console()
    for name, value in known.items():
        text = _cell(value)
        line = Text(f"{name:<{width}}  ", style="dim")
        line.append(text, style=STYLES.get(text, "not dim"))
        printer.print(line)


def say_warnings(warnings: Iterable[str]) -> None:
    """What was done all the same and is probably not meant, on stderr."""
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on a terminal that something is under way; nothing is left of it afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    with console(err=True).status(what):
        yield


def _cell(value: object) -> str:
    if value is None:
        return "–"  # noqa: RUF001
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _on_one_line(text: str) -> str:
    """Errors of other programs have several lines, a row has one."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        cells = [f"{text:<{width}}" for text, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
