"""`kill`: switches that stop runs at once, for everyone or for a part."""

from __future__ import annotations

from typing import Annotated

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db, Reason
from watchkeeper.cli.output import say, say_json, say_table
from watchkeeper.cli.place import AUTHOR, opened

TENANTS_MAX = 1000

app = typer.Typer(help="Turn kill switches on and off, and list them.", no_args_is_help=True)
Scope = Annotated[
    str,
    typer.Argument(
        metavar="SCOPE", help="Scope to stop: all, tenant, trigger, tier, connector or action."
    ),
]
Target = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]",
        help="Id in the scope, such as a tenant or trigger type.",
        show_default=False,
    ),
]


@app.command()
def on(
    scope: Scope,
    reason: Reason,
    target: Target = None,
    tenant: AnyTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Turn a kill switch on. Every later verdict and handler call obeys it."""
    _set(scope, target, tenant, db, as_json, on=True, reason=reason)


@app.command()
def off(
    scope: Scope,
    reason: Reason,
    target: Target = None,
    tenant: AnyTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Turn a kill switch off."""
    _set(scope, target, tenant, db, as_json, on=False, reason=reason)


@app.command("list")
def list_switches(tenant: AnyTenant = None, db: Db = None, as_json: AsJson = False) -> None:
    """List the kill switches that are on, for all tenants and for single ones."""
    from watchkeeper.actions import views
    from watchkeeper.core.ids import SYSTEM, TenantId
    from watchkeeper.core.time import to_iso

    with opened(db) as database:
        known = views.list_tenants(database, "", TENANTS_MAX)
        names = [TenantId(tenant)] if tenant else [SYSTEM, *(t.tenant_id for t in known)]
        found = {
            (switch.tenant_id, switch.name): switch
            for name in names
            for switch in views.list_kill_switches(database, name)
        }
    rows = [
        {
            "tenant_id": None if switch.tenant_id == SYSTEM else switch.tenant_id,
            "scope": switch.scope,
            "id": switch.id or None,
            "reason": switch.reason,
            "set_by": switch.set_by,
            "set_at": to_iso(switch.set_at),
        }
        for switch in found.values()
    ]
    if as_json:
        say_json({"items": rows})
        return
    columns = ("tenant_id", "scope", "id", "reason", "set_by", "set_at")
    say_table(columns, [[row[c] for c in columns] for row in rows], empty="No kill switch is on.")


def _set(
    scope: str,
    target: str | None,
    tenant: str | None,
    db: str | None,
    as_json: bool,
    *,
    on: bool,
    reason: str,
) -> None:
    from watchkeeper import inputs
    from watchkeeper.actions.set_kill_switch import set_kill_switch
    from watchkeeper.core.ids import SYSTEM, TenantId
    from watchkeeper.errors import Invalid

    if scope == "tenant" and target is not None:
        if tenant not in (None, target):
            raise Invalid.at("--tenant", f"is {tenant}, and the argument is {target}")
        target, tenant = None, target
    given = {"scope": scope, "id": target, "on": on, "reason": reason, "tenant_id": tenant}
    asked = inputs.parse(inputs.KillSwitchIn, given)
    if asked.scope == "tenant" and asked.tenant_id is None:
        raise Invalid.at("--tenant", "is required for the scope tenant")
    owner = SYSTEM if asked.tenant_id is None else TenantId(asked.tenant_id)
    with opened(db) as database:
        set_kill_switch(
            database, owner, asked.scope, asked.id, on=on, reason=asked.reason, set_by=AUTHOR
        )
    name = f"{scope}:{target}" if target else scope
    if as_json:
        say_json({"tenant_id": tenant, "scope": scope, "id": target, "on": on, "reason": reason})
    else:
        say(f"Kill switch {name} is {'on' if on else 'off'}.")
