"""`why-not`: what a trigger of each type would get now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from watchkeeper.cli.options import AsJson, Db, OwnerTenant
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import opened

MEANING = (
    "Passes from: the first second at which a fresh event of this account and type is allowed, if"
    " nothing else\nhappens and retries that wait run when they are due. Smallest change: the lines"
    " of policy under which this\nevent is allowed at once, each no further than needed."
)


def passes_from(told: Mapping[str, Any]) -> str | None:
    """The moment of an explanation, or why there is none; None for an ALLOW."""
    because = told.get("never_passes_because")
    return told["earliest_pass_at"] if because is None else f"never: {because}"


def smallest_change(told: Mapping[str, Any]) -> str | None:
    """The lines of an explanation on one line, or why there are none; None for an ALLOW."""
    because, lines = told.get("no_change_because"), told["smallest_change"]
    if because is not None:
        return f"none: {because}"
    return None if lines is None else lines.replace("\n", "; ")


def why_not(
    account_id: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Your id of the account.")],
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Show the verdict that a trigger of each type would get now, and why. Changes nothing."""
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant
    from watchkeeper.actions.why_not import why_not
    from watchkeeper.core.ids import AccountId

    name = AccountId(account_id)
    with opened(db) as database:
        owner = locate_tenant(database, Thing.ACCOUNT, name, tenant)
        found = why_not(database, owner, name).to_json()
    if as_json:
        say_json(found)
        return
    say_facts({key: found[key] for key in ("tenant_id", "account_id", "at", "policy_version")})
    say()
    say_table(
        ("trigger", "result", "reason", "passes from", "smallest change"),
        [
            (
                one["trigger_type"],
                one["result"],
                one["reason"],
                passes_from(one) or "now",
                smallest_change(one),
            )
            for one in found["triggers"]
        ],
    )
    say()
    say(MEANING)
