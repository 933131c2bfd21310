"""`why-not`: what a trigger of each type would get now."""

from __future__ import annotations

from typing import Annotated

import typer

from watchkeeper.cli.options import AsJson, Db, OwnerTenant
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import opened


def why_not(
    account_id: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Your id of the account.")],
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Say what a trigger of each type would get now, and why. Changes nothing."""
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
    columns = ("trigger_type", "result", "reason", "earliest_pass_at", "smallest_change")
    say_table(columns, [[one[column] for column in columns] for one in found["triggers"]])
