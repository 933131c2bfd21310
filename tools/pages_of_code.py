"""The pages of settings, policy, topics and errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping

from tools.markdown import block, page, table, words
from watchkeeper import errors
from watchkeeper.cli.endings import ending_of
from watchkeeper.core import envelope
from watchkeeper.core import plans as acting
from watchkeeper.core.admission import Reason
from watchkeeper.core.approvals import ApprovalReason
from watchkeeper.core.default_policy import DEFAULT_POLICY_TOML
from watchkeeper.core.phrases import _PHRASES
from watchkeeper.core.plan_types import Held
from watchkeeper.core.policy import delivery_for
from watchkeeper.core.policy_parse import shipped_policy
from watchkeeper.core.policy_schema import DOCUMENT, Choice, Named, Node, Table, Whole, Word
from watchkeeper.core.pulls import PullReason
from watchkeeper.core.time import SECOND
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.http.problems import STATUS
from watchkeeper.moves import reporting
from watchkeeper.moves.heat import ON_SIGNAL, SWEEP, TICK
from watchkeeper.moves.plan_desk import ACTION_REQUESTED, CYCLE
from watchkeeper.moves.pulls import PULL_REQUESTED
from watchkeeper.settings import ADMIN_KEY_LENGTH_MIN, PREFIX, Settings

SETTINGS = f"""\
A setting comes from, the later winning: its default; the file `watchkeeper.toml` in the folder you
start in (or the one that `WATCHKEEPER_CONFIG` names), under its plain name; the environment, as
`{PREFIX}` and its name in capitals; a flag of the command. `watchkeeper config show` prints what
is in force and where each value came from. Secrets are never shown."""

POLICY = """\
A document is TOML and says only what differs from the shipped one below. A value is taken from the
most particular place that names it: the shipped document, yours, the tenant's tier
(`tiers.NAME`), the tenant (`tenants.ID`). Unknown keys are refused, with their line."""

TOPICS = {
    envelope.EVALUATION_REQUESTED: "A run that was allowed, for your decision handler.",
    envelope.RETRY: "The one retry of a deferral, due at its slot.",
    envelope.DEFERRED: "Notice that an event was deferred.",
    envelope.SCHEDULED: "One account's event of a schedule, waiting for its second of the spread.",
    envelope.SIGNAL_HANDED_IN: "A signal from a transaction of yours, to be admitted.",
    envelope.SCHEDULE_DUE: "The next firing of a schedule.",
    envelope.SCHEDULE_SLICE: "The next accounts of a firing for all accounts of a tenant.",
    PULL_REQUESTED: "A pull that was scheduled, for its connector.",
    TICK: "The next due pulls of a tenant.",
    ON_SIGNAL: "A signal of an account in a heat tier with `pull_on_signal`.",
    SWEEP: "The next accounts of a tenant whose heat is brought up to date.",
    reporting.TICK: "A tenant's next milestone, for which a report may be due.",
    envelope.REPORT_GENERATED: "Notice that a report was stored.",
    ACTION_REQUESTED: "An approved attempt of a plan's step, for its action handler or a sink.",
    CYCLE: "The next cycle of a tenant's plans.",
    envelope.PLAN_CHANGED: "Notice that a plan changed its status.",
    USAGE_SNAPSHOT: "What a turn used and was charged, for billing. Namespace `mini-chat`.",
    envelope.MESSAGE_DEAD: "Notice that a message is dead.",
}
TOPICS_INTRO = """\
Everything that leaves a transaction is a message in the outbox, under a topic. These are the topics
of Watchkeeper itself, with their default delivery rules. A policy may change the rules that no
guarantee depends on. Topics of your own go to the function registered with `app.on(topic)`.

A message is `pending` until it is due and a worker takes it, `processing` while that worker holds
its lease, then delivered or `dead`. A dead one stays until somebody redrives or discards it."""

ENVELOPE = """\
The payload of a message about a decision, a pull or a plan can be read as an EventBridge event:
`source`, `detail-type` (`DECISION_EVALUATION_REQUESTED`, `RUN_DECISION`, `RUN_DECISION_DEFERRED`,
`PULL_REQUESTED`, `ACTION_REQUESTED`, `PLAN_CHANGED`) and `detail`."""


def settings_page() -> str:
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        rows.append((f"`{PREFIX}{name.upper()}`", field.description or "", default))
    extra = f"`{PREFIX}ADMIN_KEY` needs {ADMIN_KEY_LENGTH_MIN} characters or more."
    return page("Settings", SETTINGS, table(("setting", "meaning", "default"), rows), extra)


def policy_page() -> str:
    rows = [(f"`{path}`", what) for path, what in _nodes(DOCUMENT, "")]
    shipped = block("toml", DEFAULT_POLICY_TOML)
    return page("Policy", POLICY, table(("key", "value"), rows), "## The shipped document", shipped)


def _nodes(node: Node, path: str) -> Iterator[tuple[str, str]]:
    match node:
        case Table(fields=fields):
            for key, inner in fields.items():
                yield from _nodes(inner, f"{path}.{key}" if path else key)
        case Named(what=what, entry=entry):
            yield from _nodes(entry, f"{path}.<{what}>")
        case Choice(options=options):
            yield path, "one of " + ", ".join(f"`{option}`" for option in options)
        case Whole(least=least, most=most, is_limit=is_limit):
            unlimited = ', or `"unlimited"`' if is_limit else ""
            yield path, f"a whole number, {least:,} to {most:,}{unlimited}"
        case Word(what=what):
            yield path, f"the name of a {what}"


def topics_page() -> str:
    policy = shipped_policy()
    rows = []
    for topic, what in TOPICS.items():
        rule = delivery_for(policy, topic)
        attempts = f"{rule.max_attempts:,}"
        lease = f"{rule.lease_us // SECOND} s"
        rows.append((f"`{topic}`", what, str(rule.guarantee).replace("_", " "), attempts, lease))
    columns = ("topic", "what it is", "guarantee", "attempts", "lease")
    return page("Topics", TOPICS_INTRO, table(columns, rows), ENVELOPE)


def errors_page() -> str:
    rows = []
    for kind in _tree(errors.WatchkeeperError):
        status = next((STATUS[base] for base in kind.__mro__ if base in STATUS), "")
        code, _ = ending_of(_example(kind))
        what = words(kind) or _MEANINGS.get(kind.__name__, "")
        rows.append((f"`{kind.code}`", f"`{kind.__name__}`", status, code, what))
    codes = table(("code", "Python", "HTTP", "exit code", "meaning"), rows)
    reasons = [(f"`{reason}`", _PHRASES.get(reason, _REST.get(reason, ""))) for reason in Reason]
    return page(
        "Errors and reasons",
        "Every error of Watchkeeper is a `watchkeeper.errors.WatchkeeperError`. Its `code` never"
        " changes, the sentence may. `Invalid.problems` names each mistake and its place.",
        codes,
        "Errors of the database's driver are not raised: an `Unavailable` is, with the driver's"
        " error as its `__cause__`. Conflicts between transactions, and connections lost before"
        " a COMMIT, are tried again up to five times, with a random pause of at most half a"
        " second between them; a lock or a statement that timed out is not.",
        "## Reasons of verdicts",
        "A verdict is not an error. Its `reason` is absent for ALLOW, and otherwise one of these.",
        table(("reason", "in words"), reasons),
        "## Reasons of pulls",
        "A pull that is not scheduled is not an error either. What refused it has taken nothing: no"
        " id, no units, no token.",
        table(("reason", "in words"), [(f"`{reason}`", _PULLS[reason]) for reason in PullReason]),
        "## Reasons of plans",
        "Why an approved plan is not activated yet, why a step failed or a plan paused, and why"
        " policy let an action go, asked a person, or blocked it.",
        table(("reason", "in words"), [(f"`{reason}`", _ACTS[reason]) for reason in _ACTS]),
    )


_MEANINGS = dict(re.findall(r"(?:├──|└──) (\w+) {2,}(.+)", errors.__doc__ or ""))
_REST: Mapping[Reason, str] = {
    Reason.DUPLICATE_IDEMPOTENCY_KEY: "The key is held by an earlier decision, which is named.",
    Reason.RETRY_EXHAUSTED: "The one retry of a deferral would have had to wait again.",
}

_PULLS: Mapping[PullReason, str] = {
    PullReason.RATE_LIMIT: "A rate or concurrency limit, or the other system asked to wait.",
    PullReason.DUPLICATE: "A pull of this id was scheduled before.",
    PullReason.NO_BUDGET: "The tenant has no pull budget.",
    PullReason.BUDGET_EXCEEDED: "The day's units of the connector or of the tenant are used up.",
    PullReason.CIRCUIT_OPEN: "The connector failed repeatedly for this tenant and is paused.",
    PullReason.KILL_SWITCH: "A kill switch is on for all, for the tenant or for the connector.",
}


_ACTS: Mapping[str, str] = {
    Held.CONFLICT_ACTIVE_PLAN: "Another plan of the account and type is active.",
    Held.PRECONDITIONS_UNMET: "A fact or approval is missing, or the posture blocks the plan.",
    Held.RISK_ELEVATED: "An action is riskier than the tenant allows.",
    Held.INVALID_PLAN_TYPE: "The policy no longer has the plan type or its action.",
    Held.STEP_ORDER_VIOLATION: "The order of the plan type has changed, and a step breaks it.",
    Held.HUMAN_TOUCH_REQUIRED: "The policy approved the plan, but its type needs a person.",
    acting.Reason.RETRY_LIMIT: "A step failed as often as its type allows.",
    acting.Reason.OUTCOME_UNKNOWN: "No outcome came in time, or the message is dead.",
    acting.Reason.BLOCKED: "The policy blocks the action.",
    acting.Reason.REJECTED: "A person rejected the action.",
    acting.Reason.UNANSWERED: "No answer to the approval came in time.",
    acting.Reason.DEPENDENCY_SKIPPED: "The step depends on a step that was skipped.",
    acting.Reason.ACTION_FAILED: "The action handler or webhook reported a failure.",
    ApprovalReason.PROPOSE_ONLY: "Blocked: the tenant's agents may only propose.",
    ApprovalReason.RISK_NOT_ALLOWED: "Blocked: the action is riskier than the tenant allows.",
    ApprovalReason.APPROVE_EACH: "Approval needed: the tenant approves each action.",
    ApprovalReason.RISK_NOT_LOW: "Approval needed: only low risk runs automatically.",
    ApprovalReason.AUTONOMY_BUDGET_USED: "Approval needed: the daily maximum is used up.",
    ApprovalReason.LOW_RISK: "Runs automatically: the action has low risk.",
}
assert set(_ACTS) == {*Held, *acting.Reason, *ApprovalReason}


def _tree(root: type[errors.WatchkeeperError]) -> Iterator[type[errors.WatchkeeperError]]:
    for kind in root.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from _tree(kind)


def _example(kind: type[errors.WatchkeeperError]) -> errors.WatchkeeperError:
    count = len(inspect.signature(kind.__init__).parameters)
    return (
        kind("run", "ENDED", "start") if kind is errors.IllegalTransition else kind(*["x"][:count])
    )
