"""`connectors`: how fast each may be pulled, and how it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AsJson, Db, Limit
from watchkeeper.cli.output import say_facts, say_json, say_table
from watchkeeper.cli.place import AUTHOR, opened

if TYPE_CHECKING:
    from watchkeeper.core.ids import TenantId
    from watchkeeper.perceive_inputs import ConnectorIn
    from watchkeeper.perceive_results import ConnectorSeen
    from watchkeeper.store.database import Database

COLUMNS = (
    "connector_id",
    "rate_per_second",
    "burst",
    "max_concurrency",
    "slots_in_use",
    "has_cadence",
    "held_until_at",
    "breaker",
)

app = typer.Typer(help="Limit connectors, and look at them.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="CONNECTOR", help="The id of the connector.")]
ForTenant = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        metavar="TENANT",
        help="Rate and breaker of this tenant.",
        show_default=False,
    ),
]


@app.command("list")
def list_some(
    tenant: ForTenant = None, limit: Limit = 100, db: Db = None, as_json: AsJson = False
) -> None:
    """List the connectors that are registered or have limits."""
    from watchkeeper.actions.show_pulls import list_connectors

    with opened(db) as database:
        rows = [
            one.to_json() for one in list_connectors(database, _known(database, tenant), "", limit)
        ]
    if as_json:
        say_json({"items": rows})
        return
    flat = [{**row, "breaker": (row["tenant"] or {}).get("breaker")} for row in rows]
    say_table(
        COLUMNS, [[row[c] for c in COLUMNS] for row in flat], empty="There are no connectors."
    )


@app.command()
def show(
    connector_id: Name, tenant: ForTenant = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Print one connector: its limits, its slots in use, and its breaker for a tenant."""
    from watchkeeper.actions.show_pulls import show_connector

    with opened(db) as database:
        found = show_connector(database, connector_id, _known(database, tenant))
    _say(found, as_json)


@app.command("set")
def set_one(
    connector_id: Name,
    rate: Annotated[
        float | None, typer.Option("--rate", help="Pulls per second; 0 removes the limit.")
    ] = None,
    burst: Annotated[
        int | None, typer.Option("--burst", help="Pulls at once after a pause.")
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", help="Concurrent pulls; 0 removes the limit."),
    ] = None,
    shallow_units: Annotated[
        int | None, typer.Option("--shallow-units", help="Units of a shallow pull.")
    ] = None,
    deep_units: Annotated[
        int | None, typer.Option("--deep-units", help="Units of a deep pull.")
    ] = None,
    tenant: ForTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Set the limits of a connector for all tenants, or its rate for one tenant.

    Options that are not given stay as they are.
    """
    from watchkeeper import inputs
    from watchkeeper.actions.show_pulls import show_connector
    from watchkeeper.perceive_inputs import ConnectorIn, parse_connector_id

    units = {"SHALLOW": shallow_units, "DEEP": deep_units}
    known = {name: count for name, count in units.items() if count is not None}
    given: dict[str, Any] = {
        "rate_per_second": rate,
        "burst": burst,
        "max_concurrency": concurrency,
    }
    given = {name: value for name, value in given.items() if value is not None}
    for name in ("rate_per_second", "max_concurrency"):
        if given.get(name) == 0:
            given[name] = None
    if known:
        given["depth_units"] = known
    asked = inputs.parse(ConnectorIn, given)
    name = parse_connector_id(connector_id)
    with opened(db) as database:
        owner = _known(database, tenant)
        _limit(database, name, asked, owner)
        found = show_connector(database, name, owner)
    _say(found, as_json)


def _limit(database: Database, name: str, asked: ConnectorIn, owner: TenantId | None) -> None:
    from watchkeeper.actions.set_connector import limit_for_tenant, set_connector

    if owner is None:
        set_connector(database, name, asked.change(), by=AUTHOR)
        return
    own = asked.own_rate()
    limit_for_tenant(
        database,
        owner,
        name,
        milli_per_second=own.milli_per_second,
        burst=own.burst,
        by=AUTHOR,
    )


def _known(database: Database, tenant: str | None) -> TenantId | None:
    from watchkeeper.actions.views import view_tenant
    from watchkeeper.core.ids import TenantId

    return None if tenant is None else view_tenant(database, TenantId(tenant)).tenant_id


def _say(connector: ConnectorSeen, as_json: bool) -> None:
    found = connector.to_json()
    if as_json:
        say_json(found)
        return
    tenant = found.pop("tenant")
    units = found.pop("depth_units")
    say_facts({**found, "shallow_units": units["SHALLOW"], "deep_units": units["DEEP"]})
    if tenant is not None:
        say_facts({f"tenant {name}": value for name, value in tenant.items()})
