"""`trigger`, `signal`, `explain`: ask for a run, hand in news, and ask why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AsJson, Db, OwnerTenant
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import as_id, opened
from watchkeeper.cli.why_not import MEANING, passes_from, smallest_change

if TYPE_CHECKING:
    from watchkeeper.actions.explain_act import ActExplanation
    from watchkeeper.results import Verdict
    from watchkeeper.store.database import Database

TenantName = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant of the account.")]
AccountName = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Your id of the account.")]
Correlation = Annotated[
    str | None,
    typer.Option("--correlation-id", help="Stored with every entry and message that follows."),
]


def trigger(
    tenant: TenantName,
    account: AccountName,
    trigger_type: Annotated[
        str,
        typer.Argument(
            metavar="TYPE", help="A trigger type of the policy, such as SIGNAL_ARRIVED."
        ),
    ],
    key: Annotated[
        str,
        typer.Option("--key", help="Idempotency key. A repeat causes no second run."),
    ],
    scheduled_at: Annotated[
        str | None,
        typer.Option(
            "--scheduled-at", metavar="TIME", help="Time the event was scheduled for, ISO 8601."
        ),
    ] = None,
    saturation: Annotated[
        float | None,
        typer.Option(
            "--saturation", help="Action saturation score; from 1 on the verdict is SKIP."
        ),
    ] = None,
    correlation_id: Correlation = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Fire a trigger of an account and print the verdict.

    The exit code is 0 for every verdict: ALLOW, DEFER and SKIP.
    """
    from watchkeeper import inputs
    from watchkeeper.actions.admit import Admission
    from watchkeeper.actions.fire_triggers import fire_triggers
    from watchkeeper.core.ids import TenantId
    from watchkeeper.results import verdict_of

    event = _given(
        account_id=account,
        trigger_type=trigger_type,
        idempotency_key=key,
        scheduled_at=scheduled_at,
        correlation_id=correlation_id,
        action_saturation_score=saturation,
    )
    tenant_id = TenantId(inputs.parse_tenant_id(tenant))
    events = inputs.parse_triggers([event])
    with opened(db) as database:
        admission = Admission(database, makes_tenants=True)
        verdict = verdict_of(fire_triggers(admission, tenant_id, events)[0])
    _say_verdict(verdict, as_json, {})


def signal(
    tenant: TenantName,
    account: AccountName,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="Your name for this type of signal.")],
    signal_id: Annotated[
        str | None, typer.Option("--id", help="Your id of the signal. Default: generated.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Idempotency key. Default: the id.")
    ] = None,
    occurred_at: Annotated[
        str | None,
        typer.Option("--occurred-at", metavar="TIME", help="Time of the event, ISO 8601."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="JSON", help="JSON object stored with the signal."),
    ] = None,
    correlation_id: Correlation = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Store a signal of an account and print the verdict on a run."""
    from watchkeeper import inputs
    from watchkeeper.actions.admit import Admission
    from watchkeeper.actions.ingest_signals import ingest_signals
    from watchkeeper.core.ids import TenantId
    from watchkeeper.results import verdict_of

    given = _given(
        account_id=account,
        type=type,
        signal_id=signal_id,
        idempotency_key=key,
        occurred_at=occurred_at,
        correlation_id=correlation_id,
        data=None if data is None else _json_object(data),
    )
    tenant_id = TenantId(inputs.parse_tenant_id(tenant))
    signals = inputs.parse_signals([given])
    with opened(db) as database:
        admission = Admission(database, makes_tenants=True)
        received, decided = ingest_signals(admission, tenant_id, signals)[0]
    _say_verdict(verdict_of(decided), as_json, {"signal_id": received})


def explain(
    decision_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="Id of a decision, plan or intent; with --tenant of a pull or turn."
        ),
    ],
    tenant: OwnerTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Explain a decision, plan or intent: each check, and the one that decided."""
    from watchkeeper.actions.explain_decision import explain_decision, is_decision
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant
    from watchkeeper.core.ids import TenantId

    with opened(db) as database:
        if (act := _act(database, tenant, decision_id)) is not None:
            _say_act(act.to_json(), as_json)
            return
        if tenant is not None and not is_decision(database, TenantId(tenant), decision_id):
            _explain_refusal(database, tenant, decision_id, as_json)
            return
        decision_id = as_id(decision_id, "decision")
        owner = locate_tenant(database, Thing.DECISION, decision_id, tenant)
        found = explain_decision(database, owner, decision_id)
    explained = found.to_json()
    if as_json:
        say_json(explained)
        return
    facts = {"decision": decision_id, "tenant": owner, **_facts(explained["verdict"])}
    if (run := explained["run"]) is not None:
        moments = {"run started": run["started_at"], "run ended": run["ended_at"]}
        facts |= {"run": run["state"], **moments, "run error": run["error"]}
    say_facts(facts)
    say()
    _say_checks(explained)


def _act(database: Database, tenant: str | None, name: str) -> ActExplanation | None:
    """Of a plan or an intent of this id; None where it is neither."""
    from watchkeeper.actions.explain_act import explain_intent, explain_plan
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant
    from watchkeeper.errors import NotFound

    for thing, explained in ((Thing.PLAN, explain_plan), (Thing.INTENT, explain_intent)):
        try:
            owner = locate_tenant(database, thing, name.lower())
        except NotFound:
            continue
        if tenant in (None, owner):
            return explained(database, owner, name.lower())
    return None


def _say_act(explained: dict[str, Any], as_json: bool) -> None:
    if as_json:
        say_json(explained)
        return
    say_facts(explained["explained"])
    say()
    _say_checks(explained)


def _explain_refusal(database: Database, tenant: str, name: str, as_json: bool) -> None:
    from watchkeeper.actions.explain_refusal import explain_refusal
    from watchkeeper.core.ids import TenantId

    explained = explain_refusal(database, TenantId(tenant), name).to_json()
    if as_json:
        say_json(explained)
        return
    say_facts({"tenant": tenant, **explained["refused"]})
    say()
    _say_checks(explained)


def _say_checks(explained: Mapping[str, Any]) -> None:
    say_table(
        ("check", "compared", "threshold", "from", "outcome"),
        [
            (c["name"], c["compared"], c["threshold"], c["source"], c["outcome"])
            for c in explained["checks"]
        ],
    )
    say_facts(
        {
            "decided by": explained["binding_check"],
            "passes from": passes_from(explained),
            "smallest change": smallest_change(explained),
        }
    )
    if "never_passes_because" in explained and explained["binding_check"] is not None:
        say()
        say(MEANING)


def _say_verdict(verdict: Verdict, as_json: bool, more: Mapping[str, str]) -> None:
    found = verdict.to_json()
    if as_json:
        say_json({**more, "verdict": found} if more else found)
        return
    say_facts({**_facts(found), **more, "decision": verdict.decision_id})


def _facts(verdict: Mapping[str, Any]) -> dict[str, object]:
    return {
        "verdict": str(verdict["result"]),
        "reason": verdict["reason"],
        "because": verdict["explanation"],
        "at": verdict["evaluated_at"],
        "retry in": None
        if verdict["retry_after_seconds"] is None
        else f"{verdict['retry_after_seconds']} s",
        "policy": verdict["policy_version"],
    }


def _given(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _json_object(text: str) -> object:
    import orjson

    from watchkeeper.errors import Invalid

    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise Invalid.at("--data", "is not JSON") from None
