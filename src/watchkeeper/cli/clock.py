"""`clock`: what time it is on a database, and moving it where it is virtual."""

from __future__ import annotations

from typing import Annotated

import typer

from watchkeeper.cli.options import AppName, AsJson, Db
from watchkeeper.cli.output import progress, say, say_facts, say_json
from watchkeeper.cli.place import opened, settings_of

app = typer.Typer(
    help="Show the clock of a database, or advance a virtual one.", no_args_is_help=True
)


@app.command()
def show(db: Db = None, as_json: AsJson = False) -> None:
    """Print the time of the database, and whether its clock is virtual."""
    from watchkeeper.actions.advance_clock import clock_now
    from watchkeeper.core.time import to_iso

    with opened(db) as database:
        now, is_virtual = clock_now(database)
    if as_json:
        say_json({"now": to_iso(now), "virtual": is_virtual})
    else:
        say(f"{to_iso(now)} ({'virtual' if is_virtual else 'real'})")


@app.command()
def advance(
    seconds: Annotated[
        float, typer.Argument(metavar="SECONDS", min=0, help="Seconds to advance the clock by.")
    ],
    named: AppName = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Advance a virtual clock through every due moment, until all due work is done.

    Due messages are delivered in this process, runs by --app or else by the built-in handler.
    The command waits for messages that other processes hold.
    """
    from watchkeeper.cli.starting import app_for, built_in_decision, has_decision
    from watchkeeper.core.time import to_iso

    working = app_for(settings_of(db), named, migrate=False)
    try:
        if not has_decision(working):
            working.decision(built_in_decision)
        with progress("time passes"):
            done = working.clock.advance(seconds=seconds)
    finally:
        working.close()
    if as_json:
        say_json({"now": to_iso(done.now_at), "steps": done.steps, "ran": dict(done.ran)})
        return
    say(f"It is {to_iso(done.now_at)}.")
    say_facts(dict(done.ran))
