"""`tenants`: who is known, and by which tier each is ruled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AsJson, Db, Limit
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import opened

if TYPE_CHECKING:
    from watchkeeper.store.tenant_facts import TenantFacts

app = typer.Typer(help="Create, change and list tenants.", no_args_is_help=True)
Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="The id of the tenant.")]
Name = Annotated[str | None, typer.Option("--name", help="Display name.")]
Tier = Annotated[
    str | None, typer.Option("--tier", help="Tenant tier: a [tiers.NAME] of the policy.")
]


@app.command()
def create(
    tenant: Tenant, name: Name = None, tier: Tier = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Create a tenant. `watchkeeper serve` answers 404 for tenants that do not exist."""
    from watchkeeper import inputs
    from watchkeeper.actions.create_tenant import create_tenant
    from watchkeeper.core.ids import TenantId
    from watchkeeper.errors import Conflict

    asked = inputs.parse(inputs.TenantIn, {"tenant_id": tenant, "name": name, "tier": tier})
    with opened(db) as database:
        if not create_tenant(database, TenantId(tenant), name=asked.name, tier=asked.tier):
            raise Conflict(
                f"there is a tenant {tenant} already: change it with `watchkeeper tenants set`"
            )
    if as_json:
        say_json({"tenant_id": tenant, "name": name, "tier": tier})
    else:
        say(f"Tenant {tenant} is known.")


@app.command("set")
def set_tenant(
    tenant: Tenant,
    tier: Tier = None,
    no_tier: Annotated[bool, typer.Option("--no-tier", help="Remove the tenant tier.")] = False,
    name: Name = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Set the tier or the name of a tenant. Other values stay as they are."""
    from watchkeeper import inputs
    from watchkeeper.actions.change_tenant import change_tenant
    from watchkeeper.core.ids import TenantId
    from watchkeeper.errors import Invalid

    if tier is not None and no_tier:
        raise Invalid.at("--no-tier", "cannot be said together with --tier")
    said: dict[str, str | None] = {} if name is None else {"name": name}
    if tier is not None or no_tier:
        said["tier"] = tier
    if not said:
        raise Invalid.at("--tier", "name something to set: --tier, --no-tier or --name")
    inputs.parse(inputs.TenantPatch, said)
    with opened(db) as database:
        facts = change_tenant(database, TenantId(tenant), said)
    _show(facts, as_json)


@app.command()
def show(tenant: Tenant, db: Db = None, as_json: AsJson = False) -> None:
    """Show a tenant: its name, its tenant tier, and when it was created."""
    from watchkeeper.actions import views
    from watchkeeper.core.ids import TenantId

    with opened(db) as database:
        facts = views.view_tenant(database, TenantId(tenant))
    _show(facts, as_json)


@app.command("list")
def list_tenants(limit: Limit = 100, db: Db = None, as_json: AsJson = False) -> None:
    """List the tenants."""
    from watchkeeper.actions import views

    with opened(db) as database:
        rows = [_as_data(facts) for facts in views.list_tenants(database, "", limit)]
    if as_json:
        say_json({"items": rows})
        return
    columns = ("tenant_id", "name", "tier", "created_at")
    say_table(columns, [[row[c] for c in columns] for row in rows], empty="There are no tenants.")


def _show(facts: TenantFacts, as_json: bool) -> None:
    if as_json:
        say_json(_as_data(facts))
    else:
        say_facts({**_as_data(facts), "tier": facts.tier or "none"})


def _as_data(facts: TenantFacts) -> dict[str, Any]:
    from watchkeeper.core.time import to_iso

    since = facts.installed_at
    return {
        "tenant_id": facts.tenant_id,
        "name": facts.name,
        "tier": facts.tier,
        "installed_at": None if since is None else to_iso(since),
        "created_at": to_iso(facts.created_at),
    }
