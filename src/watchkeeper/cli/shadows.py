"""`policy shadow`: policies that are asked beside the one in force, and never act."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from watchkeeper.cli.options import AsJson, Db, Reason
from watchkeeper.cli.output import say, say_facts, say_json, say_table, say_warnings
from watchkeeper.cli.place import AUTHOR, opened

app = typer.Typer(
    help="Evaluate other policies too, on every event, without effect.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Your name for the shadow policy.")]


@app.command("set")
def set_one(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML document; - for stdin.")],
    reason: Reason,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a policy as a shadow from now on. A shadow of that name starts over."""
    from watchkeeper.actions.follow_shadows import follow_shadows
    from watchkeeper.actions.set_shadow import set_shadow, shadow_json
    from watchkeeper.cli.policy import text_of

    document = text_of(file)
    with opened(db) as database:
        shadow = set_shadow(database, _checked(name), document, author=AUTHOR, reason=reason)
        follow_shadows(database)
    if as_json:
        say_json(shadow_json(shadow))
        return
    say(f"{name} is asked from now on, hash {shadow.policy.hash[:12]}.")


@app.command("list")
def list_all(db: Db = None, as_json: AsJson = False) -> None:
    """List the shadow policies."""
    from watchkeeper.actions.set_shadow import list_shadows, shadow_json

    with opened(db) as database:
        rows = [shadow_json(one) for one in list_shadows(database)]
    if as_json:
        say_json({"items": rows})
        return
    columns = ("name", "set_at", "author", "reason")
    say_table(columns, [[row[c] for c in columns] for row in rows], empty="There are no shadows.")


@app.command()
def show(name: Name, db: Db = None, as_json: AsJson = False) -> None:
    """Show where the verdicts of a shadow policy have differed since it was set."""
    from watchkeeper.actions.follow_shadows import follow_shadows
    from watchkeeper.actions.set_shadow import show_shadow

    with opened(db) as database:
        follow_shadows(database)
        told = show_shadow(database, name).to_json()
    if as_json:
        say_json(told)
        return
    found = told["divergence"]
    facts = {key: told[key] for key in ("name", "set_at", "author", "reason")}
    runs = f"{found['runs_before']} → {found['runs_after']}"
    say_facts({**facts, "events": found["events"], "flips": found["flips"], "runs": runs})
    say()
    rows = [tuple(one.values()) for one in found["by_change"]]
    say_table(("was", "would be", "count"), rows, empty="It agrees so far.")


@app.command()
def remove(name: Name, db: Db = None) -> None:
    """Delete a shadow policy and its results."""
    from watchkeeper.actions.set_shadow import remove_shadow

    with opened(db) as database:
        remove_shadow(database, name, author=AUTHOR)
    say(f"{name} is not asked any more.")


@app.command()
def promote(name: Name, reason: Reason, db: Db = None, as_json: AsJson = False) -> None:
    """Apply a shadow policy and remove the shadow."""
    from watchkeeper.actions.set_shadow import promote_shadow
    from watchkeeper.actions.tenant_tiers import policy_warnings

    with opened(db) as database:
        policy = promote_shadow(database, name, author=AUTHOR, reason=reason)
        warnings = policy_warnings(database, policy)
    if as_json:
        say_json({"version": policy.version, "hash": policy.hash, "warnings": warnings})
        return
    say_warnings(warnings)
    say(f"Policy version {policy.version} is in force, hash {policy.hash[:12]}.")


def _checked(name: str) -> str:
    from pydantic import TypeAdapter

    from watchkeeper import inputs
    from watchkeeper.input_types import SinkName

    return inputs.parse_value(TypeAdapter[str](SinkName), name, "NAME")
