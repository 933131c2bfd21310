"""`pulls`: looks at accounts, asked for by hand and seen."""

from __future__ import annotations

from typing import Annotated

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db, OwnerTenant, Tenant
from watchkeeper.cli.output import say_facts, say_json, say_table
from watchkeeper.cli.place import opened

TENANTS_MAX = 1000
COLUMNS = (
    "pull_job_id",
    "tenant_id",
    "account_id",
    "connector_id",
    "depth",
    "origin",
    "state",
    "signals",
    "scheduled_at",
)

app = typer.Typer(help="Request, list and show pulls.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="PULL", help="The pull_job_id.")]


@app.command("list")
def list_some(
    tenant: AnyTenant = None,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.")] = None,
    connector: Annotated[
        str | None, typer.Option("--connector", help="Only this connector.")
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", help="Only this state, such as RUNNING.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=200, help="Maximum number of rows.")
    ] = 50,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List scheduled pulls, newest first."""
    from watchkeeper.actions import views
    from watchkeeper.actions.show_pulls import list_pulls
    from watchkeeper.core.ids import TenantId
    from watchkeeper.perceive_results import pull_json

    given = {"account_id": account, "connector_id": connector, "state": _state(state)}
    filters = {name: value for name, value in given.items() if value is not None}
    with opened(db) as database:
        known = views.list_tenants(database, "", TENANTS_MAX)
        names = [TenantId(tenant)] if tenant else [facts.tenant_id for facts in known]
        found = [
            (pull, name)
            for name in names
            for pull in list_pulls(database, name, filters, limit=limit)
        ]
    found.sort(key=lambda one: (one[0].scheduled_at, one[0].pull_job_id), reverse=True)
    rows = [pull_json(pull, name) for pull, name in found[:limit]]
    if as_json:
        say_json({"items": rows})
        return
    say_table(COLUMNS, [[row[c] for c in COLUMNS] for row in rows], empty="There are no pulls.")


@app.command()
def show(
    pull_job_id: Name, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Print one pull: its origin, its state, and the number of signals it returned."""
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant
    from watchkeeper.actions.show_pulls import show_pull
    from watchkeeper.perceive_results import pull_json

    with opened(db) as database:
        owner = locate_tenant(database, Thing.PULL, pull_job_id, tenant)
        found = pull_json(show_pull(database, owner, pull_job_id), owner)
    if as_json:
        say_json(found)
    else:
        say_facts(found)


@app.command()
def request(
    tenant: Tenant,
    account: Annotated[str, typer.Option("--account", help="The account to pull.")],
    connector: Annotated[str, typer.Option("--connector", help="The connector to call.")],
    depth: Annotated[str, typer.Option("--depth", help="SHALLOW or DEEP.")] = "SHALLOW",
    pull_job_id: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="Your id of the pull. Without it, a repeat within the same hour is a duplicate.",
        ),
    ] = None,
    correlation_id: Annotated[
        str | None,
        typer.Option("--correlation-id", help="Stored with every entry and message that follows."),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Request one pull of an account by a connector.

    A refusal is a result, not a failure: the exit code is 0 also when nothing was scheduled.
    """
    from watchkeeper import inputs
    from watchkeeper.actions.request_pull import request_pull
    from watchkeeper.core.heat import Depth
    from watchkeeper.core.ids import AccountId, TenantId
    from watchkeeper.perceive_inputs import PullIn
    from watchkeeper.perceive_results import pull_answer_of

    given = {
        "account_id": account,
        "connector_id": connector,
        "depth": depth,
        "pull_job_id": pull_job_id,
        "correlation_id": correlation_id,
    }
    asked = inputs.parse(PullIn, given)
    owner = TenantId(inputs.parse_tenant_id(tenant))
    with opened(db) as database:
        scheduled = request_pull(
            database,
            owner,
            AccountId(asked.account_id),
            asked.connector_id,
            Depth[asked.depth],
            pull_job_id=asked.pull_job_id,
            correlation_id=asked.correlation_id,
            makes_tenant=True,
        )
    found = pull_answer_of(scheduled, owner).to_json()
    if as_json:
        say_json(found)
        return
    say_facts({**found, "job": None, **(found["job"] or {})})


def _state(text: str | None) -> str | None:
    from watchkeeper.errors import Invalid
    from watchkeeper.store.pulls import PullState

    if text is not None and text not in list(PullState):
        raise Invalid.at("--state", f"must be one of {', '.join(PullState)}")
    return text
