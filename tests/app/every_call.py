"""A call of every public method of the Python API. A method without a line here fails a test."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from tests.databases import START
from watchkeeper import App
from watchkeeper.core.chain import Checkpoint

ID = "01890000-0000-7000-8000-000000000001"
OF_ACME: dict[str, Any] = {"tenant_id": "acme"}
BY: dict[str, Any] = {"by": "ann", **OF_ACME}
EVENT = {"account_id": "a", "trigger_type": "SIGNAL_ARRIVED", "idempotency_key": "many"}
POLICY = "run_budget_per_day = 5\n"


def handler(_given: object) -> None: ...


def checkpoint() -> Checkpoint:
    return Checkpoint("acme", 1, "0" * 64, 1)


Call = Callable[[App], object]
CALLS: dict[str, Call] = {
    "account": lambda app: app.account("acme", "a", posture="warm"),
    "action": lambda app: app.action("SEND")(handler),
    "apply_policy": lambda app: app.apply_policy(POLICY, reason="test"),
    "bundle": lambda app: app.bundle(ID, **OF_ACME),
    "checkpoint_ledger": lambda app: app.checkpoint_ledger("acme"),
    "connector": lambda app: app.connector("crm")(handler),
    "decision": lambda app: app.decision(handler),
    "drain": lambda app: app.drain(),
    "explain": lambda app: app.explain(ID, **OF_ACME),
    "explain_refusal": lambda app: app.explain_refusal("acme", ID),
    "export_ledger": lambda app: app.export_ledger(
        "acme", Path(gettempdir(), "nowhere.jsonl"), before=START
    ),
    "finalize_turn": lambda app: app.finalize_turn("acme", ID, outcome="completed"),
    "generate_report": lambda app: app.generate_report("acme"),
    "heat": lambda app: app.heat("acme", "a"),
    "kill": lambda app: app.kill("all", reason="test"),
    "milestones": lambda app: app.milestones("acme"),
    "objective": lambda app: app.objective("RENEW")(handler),
    "on": lambda app: app.on("letters")(handler),
    "plan_policy": lambda app: app.plan_policy(POLICY, **OF_ACME),
    "progress_turn": lambda app: app.progress_turn("acme", ID),
    "proposer": lambda app: app.proposer()(handler),
    "prune_ledger": lambda app: app.prune_ledger("acme", checkpoint()),
    "pull": lambda app: app.pull("acme", "a", "crm"),
    "pull_budget": lambda app: app.pull_budget("acme"),
    "quota": lambda app: app.quota("acme"),
    "reconcile": lambda app: app.reconcile(),
    "remove_pull_budget": lambda app: app.remove_pull_budget("acme"),
    "remove_sink": lambda app: app.remove_sink("billing", **OF_ACME),
    "report": lambda app: app.report(ID, **OF_ACME),
    "report_json": lambda app: app.report_json(ID, **OF_ACME),
    "report_pdf": lambda app: app.report_pdf(ID, **OF_ACME),
    "reports": lambda app: app.reports("acme"),
    "reserve_turn": lambda app: app.reserve_turn(
        "acme", request_id="r", model="standard", estimated_input_tokens=1, max_output_tokens=1
    ),
    "rotate_secrets": lambda app: app.rotate_secrets(),
    "run": lambda app: app.run(port=0),
    "schedule": lambda app: app.schedule(
        "acme", "daily", trigger_type="SCHEDULED_TICK", cron="0 9 * * *"
    ),
    "seal_ledger": lambda app: app.seal_ledger(),
    "set_pull_budget": lambda app: app.set_pull_budget("acme", 5),
    "signal": lambda app: app.signal("acme", "a", "mail"),
    "signal_many": lambda app: app.signal_many("acme", [{"account_id": "a", "type": "mail"}]),
    "simulate": lambda app: app.simulate(tenants=1, accounts=1, days=1),
    "sink": lambda app: app.sink(
        "billing", topic="usage.recorded", url="https://example.com/hook", **OF_ACME
    ),
    "start_workers": lambda app: app.start_workers(),
    "trigger": lambda app: app.trigger("acme", "a", "SIGNAL_ARRIVED", idempotency_key="one"),
    "trigger_many": lambda app: app.trigger_many("acme", [EVENT]),
    "turn": lambda app: app.turn("acme", ID),
    "unschedule": lambda app: app.unschedule("acme", "daily"),
    "usage_sink": lambda app: app.usage_sink(handler),
    "verify_ledger": lambda app: app.verify_ledger("acme"),
    "why_not": lambda app: app.why_not("a", **OF_ACME),
    "plans.abort": lambda app: app.plans.abort(ID, "no", **BY),
    "plans.approve": lambda app: app.plans.approve(ID, **BY),
    "plans.create": lambda app: app.plans.create("acme", "a", "RENEW", ["SEND"]),
    "plans.edit": lambda app: app.plans.edit(ID, "a", "RENEW", ["SEND"], **OF_ACME),
    "plans.explain": lambda app: app.plans.explain(ID, **OF_ACME),
    "plans.get": lambda app: app.plans.get(ID, **OF_ACME),
    "plans.list": lambda app: app.plans.list("acme"),
    "plans.pause": lambda app: app.plans.pause(ID, "wait", **BY),
    "plans.propose": lambda app: app.plans.propose("acme", "a", "RENEW"),
    "plans.resume": lambda app: app.plans.resume(ID, "go", **BY),
    "plans.run_cycle": lambda app: app.plans.run_cycle(),
    "plans.skip": lambda app: app.plans.skip(ID, ID, "no need", **BY),
    "plans.tell": lambda app: app.plans.tell(ID, {"paid": True}, **OF_ACME),
    "plans.why": lambda app: app.plans.why(ID, **OF_ACME),
    "intents.approve": lambda app: app.intents.approve(ID, **BY),
    "intents.explain": lambda app: app.intents.explain(ID, **OF_ACME),
    "intents.get": lambda app: app.intents.get(ID, **OF_ACME),
    "intents.list": lambda app: app.intents.list("acme"),
    "intents.reject": lambda app: app.intents.reject(ID, "no", **BY),
    "intents.report": lambda app: app.intents.report(ID, succeeded=True, **OF_ACME),
    "intents.reported": lambda app: app.intents.reported(ID, succeeded=True, **OF_ACME),
    "tenants.get": lambda app: app.tenants.get("acme"),
    "tenants.list": lambda app: app.tenants.list(),
    "tenants.set": lambda app: app.tenants.set("acme", name="Acme"),
    "clock.advance": lambda app: app.clock.advance(1),
    "clock.now": lambda app: app.clock.now(),
}
APART = {"close", "enqueue", "handler_names"}
"""One ends the app, one takes a connection of the caller's own, one names what is in memory."""

WITHOUT_DATABASE = {
    "decision", "objective", "on", "proposer", "run", "simulate", "start_workers", "usage_sink"
}  # fmt: skip
"""These need no answer of the database when they are called."""


def public_methods() -> Iterator[str]:
    """The methods of an app and of the doors that it holds, such as `plans.create`."""
    with App("sqlite://") as app:
        held = {f"{name}.": door for name, door in vars(app).items() if is_door(name, door)}
    for prefix, door in {"": app, **held}.items():
        for name, _ in inspect.getmembers(type(door), callable):
            if not name.startswith("_"):
                yield prefix + name


def is_door(name: str, value: object) -> bool:
    module = type(value).__module__
    return not name.startswith("_") and (module == "watchkeeper.app" or "_methods" in module)
