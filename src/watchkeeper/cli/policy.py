"""`policy`: show, check, try and apply the standing orders."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from watchkeeper.cli import shadows
from watchkeeper.cli.options import AsJson, Db, Reason
from watchkeeper.cli.output import say, say_facts, say_json, say_warnings
from watchkeeper.cli.place import AUTHOR, opened
from watchkeeper.cli.policy_plan import plan

if TYPE_CHECKING:
    from watchkeeper.core.policy import Policy

FILE_BYTES_MAX = 4 * 1024 * 1024

app = typer.Typer(help="Show, check, try and apply the policy.", no_args_is_help=True)
app.command()(plan)
app.add_typer(shadows.app, name="shadow")
File = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML document; - for stdin.")]


@app.command()
def show(
    version: Annotated[
        int | None,
        typer.Option("--version", min=0, help="Version to print; 0 is the shipped policy."),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Print the policy as merged for this tenant.")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print the policy in force."""
    from watchkeeper.actions import views
    from watchkeeper.core.ids import TenantId

    with opened(db) as database:
        owner = None if tenant is None else views.view_tenant(database, TenantId(tenant)).tenant_id
        policy = views.view_policy(database, owner, version)
    if as_json:
        say_json({"version": policy.version, "hash": policy.hash, "document": policy.text})
        return
    say(policy.text.rstrip("\n"))


@app.command()
def check(
    file: File,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="URL",
            help="Also compare its tenants and tiers with those of this database.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a policy document and print each mistake with its line. Changes nothing.

    With a database, the exit code is also 1 where `policy apply` would refuse the document.
    """
    from watchkeeper.actions.apply_policy import read_policy
    from watchkeeper.cli.endings import FOUND
    from watchkeeper.errors import Invalid

    text = text_of(file)
    try:
        policy = read_policy(text)
    except Invalid as error:
        if as_json:
            problems = [{"place": p.place, "message": p.message} for p in error.problems]
            say_json({"valid": False, "problems": problems})
        else:
            for problem in error.problems:
                typer.echo(f"{file}: {problem}", err=True)
        raise typer.Exit(FOUND) from None
    warnings, refused = _compared(db, policy)
    if as_json:
        told = {"valid": True, "hash": policy.hash, "problems": [], "warnings": warnings}
        say_json({**told, "refused_because": refused})
    else:
        say_warnings(warnings)
        say(f"{file} is a valid policy, hash {policy.hash[:12]}.")
        if refused is not None:
            typer.echo(f"{file}: policy apply would refuse this policy: {refused}", err=True)
    if refused is not None:
        raise typer.Exit(FOUND)


@app.command()
def apply(file: File, reason: Reason, db: Db = None, as_json: AsJson = False) -> None:
    """Apply a policy to every later decision."""
    from pydantic import TypeAdapter

    from watchkeeper import inputs
    from watchkeeper.actions import views
    from watchkeeper.actions.apply_policy import apply_policy, read_policy
    from watchkeeper.actions.tenant_tiers import policy_warnings
    from watchkeeper.core.policy import diff
    from watchkeeper.input_types import Words

    said = inputs.parse_value(TypeAdapter[str](Words), reason, "--reason")
    document = text_of(file)
    read_policy(document)
    with opened(db) as database:
        before = views.view_policy(database, None)
        policy = apply_policy(database, document, author=AUTHOR, reason=said)
        warnings = policy_warnings(database, policy)
    changes = diff(before, policy)
    if as_json:
        listed = [{"path": c.path, "before": c.before, "after": c.after} for c in changes]
        told = {"version": policy.version, "hash": policy.hash, "changes": listed}
        say_json({**told, "warnings": warnings})
        return
    say_warnings(warnings)
    say(f"Policy version {policy.version} is in force, hash {policy.hash[:12]}.")
    say_facts({c.path: f"{_value(c.before)} → {_value(c.after)}" for c in changes})


def _compared(db: str | None, policy: Policy) -> tuple[list[str], str | None]:
    """Warnings about the tenants of a database, and why `apply` would refuse the document there."""
    if db is None:
        return [], None
    from watchkeeper.actions.tenant_tiers import policy_warnings, why_refused

    with opened(db) as database:
        return policy_warnings(database, policy), why_refused(database, policy)


def _value(value: int | str | None) -> str:
    return "absent" if value is None else str(value)


def text_of(file: Path) -> str:
    """What a document says; `-` is stdin."""
    from watchkeeper.errors import Invalid

    try:
        raw = sys.stdin.buffer.read(FILE_BYTES_MAX) if str(file) == "-" else file.read_bytes()
        return raw.decode()
    except OSError as error:
        raise Invalid.at(str(file), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Invalid.at(str(file), "is not UTF-8 text") from None
