"""`plans`: written, approved, stopped and asked why they stand where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from watchkeeper.cli.options import AnyTenant, AppName, AsJson, Db, Limit, OwnerTenant, Tenant
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import AUTHOR, opened, settings_of
from watchkeeper.cli.plan_words import facts_of, json_object, one_of, plan_body

if TYPE_CHECKING:
    from watchkeeper.act_results import Plan
    from watchkeeper.app import App
    from watchkeeper.core.ids import TenantId
    from watchkeeper.store.database import Database

TENANTS_MAX = 1000
COLUMNS = ("plan_id", "tenant_id", "account_id", "plan_type", "status", "steps", "next_at")
STEPS = ("step_id", "action_type", "status", "attempts", "retry_at", "reason")
ATTEMPTS = ("intent_id", "step_id", "attempt", "status", "created_at", "ended_at", "detail")
ENTRIES = ("at", "kind", "step_id", "attempt", "status", "reason")
APART = ("steps", "intents")

app = typer.Typer(
    help="Write plans, approve and stop them, and ask why they wait.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(metavar="PLAN", help="The plan_id.")]
By = Annotated[str, typer.Option("--by", help="Name of the person, for the ledger.")]
Why = Annotated[
    str | None, typer.Option("--reason", help="Reason, for the ledger.", show_default=False)
]
Account = Annotated[
    str | None, typer.Option("--account", help="Your id of the account.", show_default=False)
]
Kind = Annotated[
    str | None, typer.Option("--type", help="A plan type of the policy.", show_default=False)
]
Steps = Annotated[
    list[str] | None,
    typer.Option(
        "--step", metavar="ACTION", help="Action type of a step. Repeat in order of the steps."
    ),
]
Goal = Annotated[
    str | None, typer.Option("--objective", help="Objective of the plan.", show_default=False)
]
Expiry = Annotated[
    str | None,
    typer.Option(
        "--expires-at", help="Time of expiry, such as 2030-01-31T00:00:00Z.", show_default=False
    ),
]
Facts = Annotated[
    list[str] | None,
    typer.Option(
        "--fact", metavar="NAME=VALUE", help="A fact; the value is JSON or text. Repeat for more."
    ),
]
Document = Annotated[
    Path | None,
    typer.Option(
        "--file", help="Read the plan from a JSON file, as for POST /v1/plans.", dir_okay=False
    ),
]


@app.command("list")
def list_some(
    tenant: AnyTenant = None,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only this plan type.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="Only this status, such as DRAFT.")
    ] = None,
    limit: Limit = 50,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List plans, newest first."""
    from watchkeeper.act_results import plan_of
    from watchkeeper.actions import views
    from watchkeeper.actions.show_plan import list_plans
    from watchkeeper.core.ids import TenantId
    from watchkeeper.core.plans import PlanStatus

    given = {"account_id": account, "plan_type": kind, "status": one_of(status, PlanStatus)}
    filters = {name: value for name, value in given.items() if value is not None}
    with opened(db) as database:
        known = [] if tenant else views.list_tenants(database, "", TENANTS_MAX)
        names = [TenantId(tenant)] if tenant else [facts.tenant_id for facts in known]
        found = [
            plan_of(one.plan, one.steps, one.intents, name)
            for name in names
            for one in list_plans(database, name, filters, before=None, limit=limit)
        ]
    found.sort(key=lambda plan: plan.plan_id, reverse=True)
    if as_json:
        say_json({"items": [plan.to_json() for plan in found[:limit]]})
        return
    rows = [{**plan.to_json(), "steps": _progress(plan)} for plan in found[:limit]]
    say_table(COLUMNS, [[row[c] for c in COLUMNS] for row in rows], empty="There are no plans.")


@app.command()
def show(plan_id: Name, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False) -> None:
    """Print one plan: its steps, and every attempt of them."""
    from watchkeeper.act_results import plan_of
    from watchkeeper.actions.show_plan import show_plan

    with opened(db) as database:
        owner = owner_of(database, plan_id, tenant)
        found = show_plan(database, owner, plan_id)
    say_plan(plan_of(found.plan, found.steps, found.intents, owner), as_json=as_json)


@app.command()
def create(
    tenant: Tenant,
    account: Account = None,
    kind: Kind = None,
    step: Steps = None,
    objective: Goal = None,
    expires_at: Expiry = None,
    fact: Facts = None,
    file: Document = None,
    by: By = AUTHOR,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Create a draft plan. Nothing is done before a person approves it."""
    body = plan_body(file, account, kind, step, objective, expires_at, fact)
    with working_on(db) as working:
        made = working.plans.create(tenant, **body, by=by)
    say_plan(made, as_json=as_json)


@app.command()
def edit(
    plan_id: Name,
    account: Account = None,
    kind: Kind = None,
    step: Steps = None,
    objective: Goal = None,
    expires_at: Expiry = None,
    fact: Facts = None,
    file: Document = None,
    by: By = AUTHOR,
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Replace a draft plan as a whole. Missing values follow from its plan type."""
    body = plan_body(file, account, kind, step, objective, expires_at, fact)
    body.pop("correlation_id", None)
    with working_on(db) as working:
        made = working.plans.edit(plan_id, **body, by=by, tenant_id=tenant)
    say_plan(made, as_json=as_json)


def _deed_command(name: str, words: str) -> None:
    """The command of one deed on a whole plan."""

    def deed(
        plan_id: Name,
        reason: Why = None,
        by: By = AUTHOR,
        tenant: OwnerTenant = None,
        db: Db = None,
        as_json: AsJson = False,
    ) -> None:
        with working_on(db) as working:
            do = getattr(working.plans, name)
            done = do(plan_id, reason, by=by, tenant_id=tenant)
        say_done(done, as_json=as_json)

    deed.__doc__ = words
    app.command(name)(deed)


_deed_command("approve", "Approve a draft plan. The next cycle activates it if its gate passes.")
_deed_command("pause", "Pause a plan: no step is started until it is resumed.")
_deed_command("resume", "Resume a paused plan with all its attempts.")
_deed_command("abort", "Abort a plan for good. Steps that have not started are cancelled.")


@app.command()
def skip(
    plan_id: Name,
    step_id: Annotated[str, typer.Argument(metavar="STEP", help="The step_id.")],
    reason: Annotated[
        str, typer.Option("--reason", help="Reason, for the ledger.", show_default=False)
    ],
    by: By = AUTHOR,
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Skip a step of a plan, for a reason."""
    with working_on(db) as working:
        done = working.plans.skip(plan_id, step_id, reason, by=by, tenant_id=tenant)
    say_done(done, as_json=as_json)


@app.command()
def tell(
    plan_id: Name,
    fact: Facts = None,
    by: By = AUTHOR,
    tenant: OwnerTenant = None,
    named: AppName = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Add facts to a plan. They may open its gate; with --app, meet its objective at once."""
    from watchkeeper.errors import Invalid

    if not fact:
        raise Invalid.at("--fact", "is required, such as --fact renewed=true")
    with working_on(db, named) as working:
        done = working.plans.tell(plan_id, facts_of(fact), by=by, tenant_id=tenant)
    say_done(done, as_json=as_json)


@app.command()
def propose(
    tenant: Tenant,
    account: Annotated[str, typer.Option("--account", help="Your id of the account.")],
    kind: Annotated[str, typer.Option("--type", help="A plan type of the policy.")],
    named: AppName = None,
    context: Annotated[
        str | None, typer.Option("--context", help="JSON object for the proposer.")
    ] = None,
    by: By = AUTHOR,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Create a draft plan from the proposer of an app."""
    told = {} if context is None else json_object(context, "--context")
    with working_on(db, named) as working:
        made = working.plans.propose(tenant, account, kind, context=told, by=by)
    say_plan(made, as_json=as_json)


@app.command()
def ledger(
    plan_id: Name,
    tenant: OwnerTenant = None,
    limit: Limit = 1000,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print the ledger entries of a plan, oldest first."""
    from watchkeeper.act_results import plan_entry_json
    from watchkeeper.actions.show_plan import plan_ledger

    with opened(db) as database:
        owner = owner_of(database, plan_id, tenant)
        found = plan_ledger(database, owner, plan_id, limit=limit)
    rows = [plan_entry_json(one) for one in found]
    if as_json:
        say_json({"items": rows})
        return
    say_table(ENTRIES, [[row[c] for c in ENTRIES] for row in rows])


@app.command()
def why(plan_id: Name, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False) -> None:
    """Show the status of a plan, its reason, and what you can do."""
    from watchkeeper.actions.show_plan import why_plan
    from watchkeeper.cli.why import say_why, why_data

    with opened(db) as database:
        owner = owner_of(database, plan_id, tenant)
        found = why_plan(database, owner, plan_id)
    if as_json:
        say_json(why_data(found, owner))
    else:
        say_why(found, owner)


@app.command()
def cycle(
    tenant: AnyTenant = None, named: AppName = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Run one cycle now, of one tenant or all: activate and advance due plans."""
    with working_on(db, named) as working:
        counts = working.plans.run_cycle(tenant)
    if as_json:
        say_json(dict(counts))
    else:
        say_facts(counts)


@contextmanager
def working_on(db: str | None, named: str | None = None) -> Iterator[App]:
    """An app on the database, with the handlers of the named one; closed at the end."""
    from watchkeeper.cli.starting import app_for

    working = app_for(settings_of(db), named, migrate=False)
    try:
        yield working
    finally:
        working.close()


def owner_of(database: Database, plan_id: str, tenant: str | None) -> TenantId:
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant

    return locate_tenant(database, Thing.PLAN, plan_id, tenant)


def say_plan(plan: Plan, *, as_json: bool) -> None:
    found = plan.to_json()
    if as_json:
        say_json(found)
        return
    say_facts({name: value for name, value in found.items() if name not in APART})
    say()
    say_table(STEPS, [[row[c] for c in STEPS] for row in found["steps"]])
    if found["intents"]:
        say()
        say_table(ATTEMPTS, [[row[c] for c in ATTEMPTS] for row in found["intents"]])


def say_done(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        say_json(plan.to_json())
        return
    words = f"Plan {plan.plan_id} is {plan.status}"
    say(f"{words}: {plan.reason}" if plan.reason else f"{words}.")


def _progress(plan: Plan) -> str:
    over = sum(step.status in ("DONE", "SKIPPED") for step in plan.steps)
    return f"{over}/{len(plan.steps)}"
