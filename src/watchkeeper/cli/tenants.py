"""`tenants`: who is known, and by which tier each is ruled."""

from __future__ import annotations

from typing import Annotated

import typer

from watchkeeper.cli.options import AsJson, Db, Limit
from watchkeeper.cli.output import say, say_json, say_table
from watchkeeper.cli.place import opened

app = typer.Typer(help="Make tenants known, and list them.", no_args_is_help=True)


@app.command()
def create(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="The id of the new tenant.")],
    name: Annotated[str | None, typer.Option("--name", help="What people call it.")] = None,
    tier: Annotated[
        str | None, typer.Option("--tier", help="The tier of the policy that rules it.")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Make a tenant known. The server refuses what it does not know."""
    from watchkeeper import inputs
    from watchkeeper.actions.create_tenant import create_tenant
    from watchkeeper.core.ids import TenantId
    from watchkeeper.errors import Conflict

    asked = inputs.parse(inputs.TenantIn, {"tenant_id": tenant, "name": name, "tier": tier})
    with opened(db) as database:
        if not create_tenant(database, TenantId(tenant), name=asked.name, tier=asked.tier):
            raise Conflict(f"there is a tenant {tenant} already")
    if as_json:
        say_json({"tenant_id": tenant, "name": name, "tier": tier})
    else:
        say(f"Tenant {tenant} is known.")


@app.command("list")
def list_tenants(limit: Limit = 100, db: Db = None, as_json: AsJson = False) -> None:
    """List the tenants."""
    from watchkeeper.actions import views
    from watchkeeper.core.time import to_iso

    with opened(db) as database:
        found = views.list_tenants(database, "", limit)
    rows = [
        {
            "tenant_id": facts.tenant_id,
            "name": facts.name,
            "tier": facts.tier,
            "created_at": to_iso(facts.created_at),
        }
        for facts in found
    ]
    if as_json:
        say_json({"items": rows})
        return
    columns = ("tenant_id", "name", "tier", "created_at")
    say_table(columns, [[row[c] for c in columns] for row in rows], empty="There are no tenants.")
