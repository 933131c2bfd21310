"""`budgets`: how many units a tenant may pull in a UTC day, and how many it has pulled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from watchkeeper.cli.options import AsJson, Db, Tenant
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import AUTHOR, opened

if TYPE_CHECKING:
    from watchkeeper.core.ids import TenantId
    from watchkeeper.perceive_results import PullBudget

COLUMNS = ("connector_id", "units_consumed", "pull_count", "remaining")

app = typer.Typer(help="Set, show and remove pull budgets.", no_args_is_help=True)


@app.command()
def show(
    tenant: Tenant,
    date: Annotated[
        str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="A UTC day. Default: today.")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print the units a tenant pulled on a day and has left, in total and by connector."""
    from watchkeeper.actions.set_pull_budget import show_pull_budget
    from watchkeeper.actions.views import view_tenant
    from watchkeeper.core.ids import TenantId
    from watchkeeper.perceive_inputs import parse_day

    day = None if date is None else parse_day(date, "--date")
    with opened(db) as database:
        owner = view_tenant(database, TenantId(tenant)).tenant_id
        found = show_pull_budget(database, owner, day).shown()
    _say(owner, found, as_json)


@app.command("set")
def set_one(
    tenant: Tenant,
    units: Annotated[int, typer.Option("--units", help="Units per UTC day, over all connectors.")],
    caps: Annotated[
        list[str] | None,
        typer.Option(
            "--cap",
            metavar="CONNECTOR=UNITS",
            help="Cap of one connector; a number alone caps each. Repeat for more.",
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Set or replace the pull budget of a tenant. Units pulled today count."""
    from watchkeeper import inputs
    from watchkeeper.actions.set_pull_budget import set_pull_budget, show_pull_budget
    from watchkeeper.core.ids import TenantId
    from watchkeeper.perceive_inputs import PullBudgetIn

    given = {"max_pull_units_per_day": units, "max_per_connector_per_day": _caps(caps or [])}
    budget = inputs.parse(PullBudgetIn, given).budget()
    owner = TenantId(inputs.parse_tenant_id(tenant))
    with opened(db) as database:
        set_pull_budget(database, owner, budget, by=AUTHOR, makes_tenant=True)
        found = show_pull_budget(database, owner).shown()
    _say(owner, found, as_json)


@app.command()
def remove(tenant: Tenant, db: Db = None, as_json: AsJson = False) -> None:
    """Remove the pull budget of a tenant. Without a budget nothing is pulled."""
    from watchkeeper.actions.set_pull_budget import set_pull_budget
    from watchkeeper.core.ids import TenantId

    with opened(db) as database:
        set_pull_budget(database, TenantId(tenant), None, by=AUTHOR)
    if as_json:
        say_json({"tenant_id": tenant, "removed": True})
    else:
        say(f"The pull budget of {tenant} is removed.")


def _say(owner: TenantId, budget: PullBudget, as_json: bool) -> None:
    found = {"tenant_id": owner, **budget.to_json()}
    if as_json:
        say_json(found)
        return
    connectors = found.pop("connectors")
    remaining = "no budget" if found["remaining"] is None else found["remaining"]
    say_facts({**found, "remaining": remaining})
    rows = [[name, *(used[c] for c in COLUMNS[1:])] for name, used in connectors.items()]
    if rows:
        say()
        say_table(COLUMNS, rows)


def _caps(texts: list[str]) -> dict[str, int] | None:
    from watchkeeper.core.pulls import EVERY
    from watchkeeper.errors import Invalid

    caps: dict[str, int] = {}
    for text in texts:
        name, _, units = text.rpartition("=")
        if not (units.isascii() and units.isdigit()):
            raise Invalid.at("--cap", "must be CONNECTOR=UNITS, or UNITS for each connector")
        caps[name or EVERY] = int(units)
    return caps or None
