"""`quota`: how full the buckets are, and when they are empty again."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db
from watchkeeper.cli.output import say_json, say_table
from watchkeeper.cli.place import opened

TENANTS_MAX = 1000
COLUMNS = (
    "tenant_id",
    "user_id",
    "period",
    "bucket",
    "limit",
    "spent",
    "reserved",
    "remaining",
    "next_reset_at",
)


def quota(
    tenant: AnyTenant = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Show the buckets of this user; needs --tenant.")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Show the quota buckets of the current day and month, in micro-credits."""
    from watchkeeper import inputs
    from watchkeeper.actions import views
    from watchkeeper.actions.show_turn import show_quota
    from watchkeeper.core.ids import TenantId
    from watchkeeper.errors import Invalid

    if user is not None and tenant is None:
        raise Invalid.at("--tenant", "is required with --user")
    owner = None if user is None else inputs.parse_id(user, "--user")
    rows: list[dict[str, Any]] = []
    with opened(db) as database:
        if tenant is not None:
            names = [views.view_tenant(database, TenantId(tenant)).tenant_id]
        else:
            names = [facts.tenant_id for facts in views.list_tenants(database, "", TENANTS_MAX)]
        for name in names:
            for bucket in show_quota(database, name, owner):
                rows.append({"tenant_id": name, **bucket.to_json()})
    if as_json:
        say_json({"items": rows})
        return
    empty = "There are no tenants." if tenant is None else "Nothing is limited, and nothing used."
    say_table(COLUMNS, [[row[c] for c in COLUMNS] for row in rows], empty=empty)
