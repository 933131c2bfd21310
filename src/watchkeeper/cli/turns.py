"""`turns`: metered work, looked at, and reserved and ended by hand or from a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db, OwnerTenant, Tenant
from watchkeeper.cli.output import say_facts, say_json, say_table
from watchkeeper.cli.place import opened, opened_by, settings_of

if TYPE_CHECKING:
    from watchkeeper.core.ids import TenantId
    from watchkeeper.store.database import Database
    from watchkeeper.turn_results import Turn

TENANTS_MAX = 1000
COLUMNS = (
    "turn_id",
    "tenant_id",
    "state",
    "effective_model",
    "settlement_method",
    "reserved_credits_micro",
    "charged_credits_micro",
    "reserved_at",
)

app = typer.Typer(help="Look at turns, reserve and end them.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="TURN", help="The id of a turn.")]


@app.command("list")
def list_some(
    tenant: AnyTenant = None,
    state: Annotated[
        str | None,
        typer.Option("--state", help="Only this state: running, completed, failed or cancelled."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=200, help="Maximum number of rows.")
    ] = 50,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List turns, newest first."""
    from watchkeeper.actions import views
    from watchkeeper.actions.show_turn import list_turns
    from watchkeeper.core.ids import TenantId
    from watchkeeper.turn_results import turn_of

    wanted = _state(state)
    with opened(db) as database:
        known = views.list_tenants(database, "", TENANTS_MAX)
        names = [TenantId(tenant)] if tenant else [facts.tenant_id for facts in known]
        found = [
            (turn, name)
            for name in names
            for turn in list_turns(database, name, state=wanted, limit=limit)
        ]
    found.sort(key=lambda one: (one[0].reserved_at, one[0].turn_id), reverse=True)
    rows = [as_data(turn_of(turn), name) for turn, name in found[:limit]]
    if as_json:
        for row in rows:  # nobody has looked where their events are
            del row["event_status"], row["event_at"]
        say_json({"items": rows})
        return
    say_table(COLUMNS, [[row[c] for c in COLUMNS] for row in rows], empty="There are no turns.")


@app.command()
def show(turn_id: Name, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False) -> None:
    """Print one turn: its reserve, its settlement, and where its usage event is."""
    from watchkeeper.actions.show_turn import show_turn

    with opened(db) as database:
        owner = _owner(database, turn_id, tenant)
        found = as_data(show_turn(database, owner, turn_id), owner)
    if as_json:
        say_json(found)
    else:
        say_facts(found)


@app.command()
def reserve(
    tenant: Tenant,
    request_id: Annotated[
        str,
        typer.Option("--request", help="Your id of the request. A repeat returns the same turn."),
    ],
    model: Annotated[str, typer.Option("--model", help="A model of the policy.")],
    input_tokens: Annotated[int, typer.Option("--input-tokens", help="Estimated input tokens.")],
    output_tokens: Annotated[int, typer.Option("--output-tokens", help="Maximum output tokens.")],
    user: Annotated[str | None, typer.Option("--user", help="The user of the request.")] = None,
    turn_id: Annotated[
        str | None, typer.Option("--id", help="Your id of the turn. Default: generated.")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Reserve quota before work starts. Do the work with the effective model.

    If the quota of the model tier is used up, the next lower model is reserved. If no model
    has quota left, the exit code is 1 and each full bucket is printed.
    """
    from watchkeeper import inputs
    from watchkeeper.actions.turns import Turns
    from watchkeeper.core.ids import TenantId
    from watchkeeper.turn_methods import asked_of
    from watchkeeper.turn_results import turn_of

    given = {
        "turn_id": turn_id,
        "request_id": request_id,
        "user_id": user,
        "model": model,
        "estimated_input_tokens": input_tokens,
        "max_output_tokens": output_tokens,
    }
    asked = asked_of(inputs.parse(inputs.TurnIn, given))
    owner = TenantId(inputs.parse_tenant_id(tenant))
    settings = settings_of(db)
    with opened_by(settings) as database:
        turns = Turns(database, makes_tenants=True, namespace=settings.usage_namespace)
        reserved = turns.reserve(owner, asked)
    found = {
        **as_data(turn_of(reserved.turn), owner),
        "existing": not reserved.is_new,
    }
    del found["event_status"], found["event_at"]
    if as_json:
        say_json(found)
        return
    shown = ("turn_id", "state", "selected_model", "effective_model", "reserved_credits_micro")
    say_facts({name: found[name] for name in (*shown, "existing")})


@app.command()
def finalize(
    turn_id: Name,
    outcome: Annotated[
        str, typer.Option("--outcome", help="Outcome: completed, failed or cancelled.")
    ],
    started: Annotated[
        bool,
        typer.Option("--started/--never-started", help="Work that never started costs nothing."),
    ] = True,
    input_tokens: Annotated[
        int | None, typer.Option("--input-tokens", help="Input tokens used. Default: estimated.")
    ] = None,
    output_tokens: Annotated[
        int | None,
        typer.Option("--output-tokens", help="Output tokens used; give both or neither."),
    ] = None,
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """End a turn and settle it, once. A turn that has ended is shown as it was settled.

    The exit code is 0 in both cases; `won` says whether this command ended the turn.
    """
    from watchkeeper import inputs
    from watchkeeper.actions.turns import Turns
    from watchkeeper.core.turns import TurnState
    from watchkeeper.turn_methods import usage_of
    from watchkeeper.turn_results import settlement_of

    usage = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    given = {
        "outcome": outcome,
        "started": started,
        "usage": {name: n for name, n in usage.items() if n is not None} or None,
    }
    told = inputs.parse(inputs.FinalizeIn, given)
    settings = settings_of(db)
    with opened_by(settings) as database:
        owner = _owner(database, turn_id, tenant)
        finalized = Turns(database, namespace=settings.usage_namespace).finalize(
            owner,
            turn_id,
            TurnState(told.outcome),
            started=told.started,
            usage=usage_of(told.usage),
        )
    found = {"turn_id": turn_id, **settlement_of(finalized).to_json()}
    if as_json:
        say_json(found)
    else:
        say_facts(found)


def as_data(turn: Turn, tenant_id: TenantId) -> dict[str, Any]:
    found = turn.to_json()
    del found["existing"]
    return {"turn_id": turn.turn_id, "tenant_id": tenant_id, **found}


def _owner(database: Database, turn_id: str, tenant: str | None) -> TenantId:
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant

    return locate_tenant(database, Thing.TURN, turn_id, tenant)


def _state(text: str | None) -> str | None:
    from watchkeeper.core.turns import TurnState
    from watchkeeper.errors import Invalid

    if text is not None and text not in list(TurnState):
        raise Invalid.at("--state", f"must be one of {', '.join(TurnState)}")
    return text
