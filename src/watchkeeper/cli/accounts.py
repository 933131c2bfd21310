"""`accounts`: how warm they are now, and when each is pulled next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AsJson, Db, Limit, OwnerTenant, Tenant
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import opened

if TYPE_CHECKING:
    from watchkeeper.actions.show_heat import ShownAccount, WarmAccount
    from watchkeeper.core.heat import Tier
    from watchkeeper.core.ids import TenantId

COLUMNS = ("account_id", "heat_tier", "heat_score", "posture", "lifecycle_state", "updated_at")
NEXT = ("connector_id", "next_pull_at", "depth", "tier", "pulled_at")
HISTORY = ("entered_at", "tier", "was", "heat_score")
PLANS = ("plan_id", "plan_type", "status", "objective", "created_at")

app = typer.Typer(help="List accounts, and show their heat and pulls.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Your id of the account.")]


@app.command("list")
def list_some(
    tenant: Tenant,
    tier: Annotated[
        str | None,
        typer.Option("--tier", help="Only accounts in this heat tier: HOT, WARM or COLD."),
    ] = None,
    limit: Limit = 100,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List the accounts of a tenant by name, each with its current heat."""
    from watchkeeper.actions.show_heat import list_accounts
    from watchkeeper.actions.views import view_tenant
    from watchkeeper.core.ids import TenantId

    wanted = _tier(tier)
    with opened(db) as database:
        owner = view_tenant(database, TenantId(tenant)).tenant_id
        found = list_accounts(database, owner, "", limit, wanted)
    rows = [as_data(one) for one in found.accounts]
    if as_json:
        say_json({"items": rows})
        return
    flat = [{**row, **row["heat"]} for row in rows]
    say_table(COLUMNS, [[row[c] for c in COLUMNS] for row in flat], empty="There are no accounts.")


@app.command()
def show(
    account_id: Name, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Print one account: its heat, its next pulls, its past heat tiers, and its plans."""
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant
    from watchkeeper.actions.show_heat import show_account
    from watchkeeper.core.ids import AccountId

    name = AccountId(account_id)
    with opened(db) as database:
        owner = locate_tenant(database, Thing.ACCOUNT, name, tenant)
        shown = show_account(database, owner, name)
    found = {"tenant_id": owner, **as_data(shown), **_pulls_and_tiers(shown)}
    found["plans"] = _plans(shown, owner)
    if as_json:
        say_json(found)
        return
    heat = found.pop("heat")
    pulls, history = found.pop("next_pulls"), found.pop("tier_history")
    found.pop("heat_days")
    plans = found.pop("plans")
    say_facts({**found, **heat, **heat["factors"], "factors": None})
    say()
    say_table(NEXT, [[row[c] for c in NEXT] for row in pulls], empty="No pull is planned.")
    say()
    say_table(HISTORY, [[row[c] for c in HISTORY] for row in history], empty="It is not swept yet.")
    say()
    say_table(PLANS, [[row[c] for c in PLANS] for row in plans], empty="It has no plans.")


def as_data(found: WarmAccount | ShownAccount) -> dict[str, Any]:
    import orjson

    from watchkeeper.core.time import to_iso

    account = found.account
    return {
        "account_id": account.account_id,
        "posture": account.posture,
        "lifecycle_state": account.lifecycle_state,
        "attributes": orjson.loads(account.attributes),
        "created_at": to_iso(account.created_at),
        "heat": found.heat.to_json(),
    }


def _pulls_and_tiers(shown: ShownAccount) -> dict[str, Any]:
    from watchkeeper.perceive_results import heat_day_json, next_pull_json, tier_change_json

    return {
        "next_pulls": [next_pull_json(pull, depth) for pull, depth in shown.next_pulls],
        "tier_history": [tier_change_json(one) for one in shown.tier_history],
        "heat_days": [heat_day_json(one) for one in shown.days],
    }


def _plans(shown: ShownAccount, owner: TenantId) -> list[dict[str, Any]]:
    from watchkeeper.act_results import plan_of

    return [plan_of(one.plan, one.steps, one.intents, owner).to_json() for one in shown.plans]


def _tier(text: str | None) -> Tier | None:
    from watchkeeper.core.heat import Tier
    from watchkeeper.errors import Invalid

    if text is None:
        return None
    if text not in Tier.__members__:
        raise Invalid.at("--tier", f"must be one of {', '.join(Tier.__members__)}")
    return Tier[text]
