"""`intents`: what attempts ask for, answered by people, ended by whoever carries them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db, Limit, OwnerTenant
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import AUTHOR, opened
from watchkeeper.cli.plan_words import one_of
from watchkeeper.cli.plans import TENANTS_MAX, By, Why, working_on

if TYPE_CHECKING:
    from watchkeeper.act_results import Intent

COLUMNS = (
    "intent_id",
    "tenant_id",
    "account_id",
    "action_type",
    "step_id",
    "attempt",
    "status",
    "deadline_at",
    "explanation",
)

app = typer.Typer(help="Approve or reject intents, and report outcomes.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="INTENT", help="The intent_id.")]


@app.command("list")
def list_some(
    tenant: AnyTenant = None,
    status: Annotated[
        str | None, typer.Option("--status", help="Only this status, such as PENDING_APPROVAL.")
    ] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="Only this plan.")] = None,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.")] = None,
    action: Annotated[str | None, typer.Option("--action", help="Only this action type.")] = None,
    limit: Limit = 50,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List intents, newest first. PENDING_APPROVAL waits for a person."""
    from watchkeeper.act_results import intent_of
    from watchkeeper.actions import views
    from watchkeeper.actions.show_plan import list_intents
    from watchkeeper.cli.place import as_id
    from watchkeeper.core.ids import TenantId
    from watchkeeper.core.plans import IntentState

    given = {
        "state": one_of(status, IntentState),
        "plan_id": None if plan is None else as_id(plan, "plan"),
        "account_id": account,
        "action_type": action,
    }
    filters = {name: value for name, value in given.items() if value is not None}
    with opened(db) as database:
        known = [] if tenant else views.list_tenants(database, "", TENANTS_MAX)
        names = [TenantId(tenant)] if tenant else [facts.tenant_id for facts in known]
        found = [
            intent_of(one, name).to_json()
            for name in names
            for one in list_intents(database, name, filters, before=None, limit=limit)
        ]
    found.sort(key=lambda row: str(row["intent_id"]), reverse=True)
    if as_json:
        say_json({"items": found[:limit]})
        return
    rows = [[row[c] for c in COLUMNS] for row in found[:limit]]
    say_table(COLUMNS, rows, empty="There are no intents.")


@app.command()
def show(
    intent_id: Name, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Print one intent: its action, who approved it, and its outcome."""
    from watchkeeper.act_results import intent_of
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant
    from watchkeeper.actions.show_plan import show_intent

    with opened(db) as database:
        owner = locate_tenant(database, Thing.INTENT, intent_id, tenant)
        found = intent_of(show_intent(database, owner, intent_id), owner).to_json()
    if as_json:
        say_json(found)
    else:
        say_facts(found)


@app.command()
def approve(
    intent_id: Name,
    reason: Why = None,
    by: By = AUTHOR,
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Approve an intent: its action is carried out."""
    with working_on(db) as working:
        done = working.intents.approve(intent_id, reason, by=by, tenant_id=tenant)
    _say_done(done, as_json=as_json)


@app.command()
def reject(
    intent_id: Name,
    reason: Why = None,
    by: By = AUTHOR,
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Reject an intent: its step fails, and its plan pauses until a person resumes it."""
    with working_on(db) as working:
        done = working.intents.reject(intent_id, reason, by=by, tenant_id=tenant)
    _say_done(done, as_json=as_json)


@app.command()
def outcome(
    intent_id: Name,
    succeeded: Annotated[
        bool,
        typer.Option("--succeeded/--failed", help="Outcome of the action.", show_default=False),
    ],
    detail: Annotated[str | None, typer.Option("--detail", help="Details of the outcome.")] = None,
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Report the outcome of an intent. A late outcome is recorded and changes nothing."""
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant

    with working_on(db) as working:
        owner = locate_tenant(working.db, Thing.INTENT, intent_id, tenant)
        done, counted = working.intents.reported(
            intent_id, succeeded=succeeded, detail=detail, tenant_id=owner
        )
    if as_json:
        say_json({**done.to_json(), "counted": counted})
        return
    _say_done(done, as_json=False)
    if not counted:
        say("It came late: it is in the ledger, and the plan went on without it.")


def _say_done(intent: Intent, *, as_json: bool) -> None:
    if as_json:
        say_json(intent.to_json())
    else:
        say(f"Intent {intent.intent_id} is {intent.status}.")
