"""`config show`: what is in force, and where each value came from."""

from __future__ import annotations

import typer

from watchkeeper.cli.options import AsJson, Db
from watchkeeper.cli.output import say_json, say_table
from watchkeeper.cli.place import settings_of

app = typer.Typer(help="Show the settings.", no_args_is_help=True)


@app.callback()
def config() -> None:
    """Show the settings: one file, environment variables, flags; the later ones win."""


@app.command()
def show(db: Db = None, as_json: AsJson = False) -> None:
    """Print each setting, its value and its source: default, file, env or flag."""
    shown = settings_of(db).sources()
    if as_json:
        say_json({one.name: {"value": one.value, "source": one.source} for one in shown})
        return
    say_table(("setting", "value", "source"), [(s.name, s.value, s.source) for s in shown])
