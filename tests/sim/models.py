"""The rules, told a second time: what happened is asked of small models, entry by entry.

A model begins with nothing, is told what came in, in the order of the ledger, and must come to
the verdicts, reserves and charges that stand there. It shares no code with the product.
"""

import json
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tests.reference_gate import Answer, Asked, Gate, asked_of, merge
from tests.reference_quota import Bucket, Quota, moment
from tests.sim.places import KIND, POLICY, TENANTS
from tests.sim.world import World
from watchkeeper.core.default_policy import DEFAULT_POLICY_TOML

DOCUMENT = merge(tomllib.loads(DEFAULT_POLICY_TOML), tomllib.loads(POLICY))


ATTEMPTS_MAX = DOCUMENT["plan_types"][KIND]["max_retries_per_step"]
DAY, SECOND = 86_400_000_000, 1_000_000


class Line(NamedTuple):
    """An entry of the ledger, as the models read it."""

    id: str
    at: int
    kind: str
    subject: str
    result: str | None
    data: dict[str, Any]


def lines(world: World, tenant: str) -> list[Line]:
    rows = world.site.ask(
        "select entry_id, at, kind, subject, result, cast(data as text) from ledger"
        f" where tenant_id = '{tenant}' order by seq"
    )
    return [Line(str(id), *more, json.loads(data)) for id, *more, data in rows]


def gate(world: World) -> Iterator[str]:
    """Every verdict is the one that the model of the gate gives."""
    payloads = world.site.ask("select id, payload from outbox where topic = 'decision.retry'")
    retried = {str(id): _detail(payload) for id, payload in payloads}
    for tenant in TENANTS:
        model = Gate(tenant, DOCUMENT)
        cooldowns: dict[tuple[str, bool], Asked] = {}
        for line in lines(world, tenant):
            if line.kind == "verdict":
                yield from _judged(world, model, cooldowns, line)
            elif line.kind == "kill_switch.set":
                _switch(model.switches, line)
            elif line.kind in ("message.dead", "message.discarded") and line.subject in retried:
                detail = retried[line.subject]
                whose = (detail["account_id"], detail["trigger_type"], "")
                model.lose(Asked(*whose, retry_of=detail["retry_of"]))


def _judged(
    world: World, model: Gate, retries: dict[tuple[str, bool], Asked], line: Line
) -> Iterator[str]:
    asked = asked_of(line.data["event"])
    if asked.retry_of is not None:
        known = retries.get((asked.retry_of, asked.moved))
        asked = replace(asked, slot_cooldown=None if known is None else known.slot_cooldown)
    answer = model.admit(asked, at=line.at, decision_id=line.id)
    if answer.retry is not None and answer.retry.retry_of is not None:
        retries[answer.retry.retry_of, answer.retry.moved] = answer.retry
    world.seen.counts["verdict compared"] += 1
    told = line.data["verdict"]
    wanted = _plain(answer)
    if {name: told.get(name) for name in wanted} != wanted:
        yield f"decision {line.id} of {asked} is {told}, by the model {wanted}"


def _plain(answer: Answer) -> dict[str, object]:
    return {
        "defer_until": answer.defer_until,
        "duplicate_of": answer.duplicate_of,
        "inner": answer.inner,
        "reason": answer.reason,
        "result": answer.result,
    }


def _detail(payload: Any) -> dict[str, Any]:
    plain = json.loads(payload) if isinstance(payload, str) else payload
    found: dict[str, Any] = plain["detail"]
    return found


def _switch(switches: set[str], line: Line) -> None:
    (switches.add if line.data["on"] else switches.discard)(line.subject)


def quota(world: World) -> Iterator[str]:
    """Every reserve and charge, and every bucket in the end, is that of the model of quota."""
    for tenant in TENANTS:
        model = Quota(DOCUMENT)
        started = {
            turn
            for turn, at in world.site.ask(
                f"select turn_id, started_at from turns where tenant_id = '{tenant}'"
            )
            if at is not None
        }
        for line in lines(world, tenant):
            match line.kind:
                case "turn.reserved" | "turn.refused":
                    yield from _reserved(world, model, line)
                case "turn.settled":
                    yield from _settled(model, line, started)
                case "kill_switch.set":
                    _switch(model.switches, line)
        yield from _books(world, tenant, model)


def _reserved(world: World, model: Quota, line: Line) -> Iterator[str]:
    asked = line.data["asked"]
    taken = model.reserve(
        line.subject,
        asked["model"],
        asked.get("estimated_input_tokens", 0),
        asked.get("max_output_tokens", 0),
        at=line.at,
        user=asked.get("user_id"),
        is_done=asked.get("is_done", False),
    )
    world.seen.counts["reserve compared"] += 1
    if line.at % DAY < SECOND:
        world.seen.counts["reserve in the first second of a day"] += 1
    wanted = (None, None) if taken is None else (taken.model, taken.credits)
    told = (line.data.get("effective_model"), line.data.get("reserved_micro"))
    if told != wanted:
        yield f"turn {line.subject} was reserved {told}, by the model {wanted}"


def _settled(model: Quota, line: Line, started: set[str]) -> Iterator[str]:
    data = line.data
    method = data["settlement_method"]
    usage = (data["input_tokens"], data["output_tokens"]) if method == "actual" else None
    if line.subject not in model.running:
        yield f"turn {line.subject} was settled and is not running"
        return
    is_started = line.subject in started or data["ended_by"] == "caller"
    charge = model.settle(line.subject, usage=usage, started=is_started)
    told = (method, data["charged_micro"], data["computed_micro"])
    if told != tuple(charge):
        yield f"turn {line.subject} was settled {told}, by the model {tuple(charge)}"


def _books(world: World, tenant: str, model: Quota) -> Iterator[str]:
    rows = world.site.ask(
        "select user_id, period, start_at, bucket, reserved_micro, spent_micro"
        f" from quota_buckets where tenant_id = '{tenant}'"
    )
    told = {
        Bucket(user, period, _start(period, at), name): (int(reserved), int(spent))
        for user, period, at, name, reserved, spent in rows
    }
    wanted = {key: (level.reserved, level.spent) for key, level in model.books.items()}
    for key in sorted({*told, *wanted}):
        if told.get(key, (0, 0)) != wanted.get(key, (0, 0)):
            yield f"bucket {tuple(key)} holds {told.get(key)}, by the model {wanted.get(key)}"


def _start(period: str, at: int) -> str:
    at_day = moment(at).isoformat()
    return at_day[:10] if period == "daily" else at_day[:7]


def attempts(world: World) -> Iterator[str]:
    """A step that failed as often as policy lets it is not tried again until a person resumes."""
    for tenant in TENANTS:
        tried: Counter[tuple[str, str]] = Counter()
        failed: dict[str, set[str]] = defaultdict(set)
        for line in lines(world, tenant):
            step = line.data.get("step_id", "")
            match line.kind:
                case "STEP_STARTED":
                    failed[line.subject].discard(step)
                    tried[line.subject, step] += 1
                    if tried[line.subject, step] > ATTEMPTS_MAX:
                        yield f"step {step} of {line.subject} was tried once more at {line.at}"
                case "STEP_FAILED":
                    failed[line.subject].add(step)
                    if tried[line.subject, step] == ATTEMPTS_MAX:
                        world.seen.counts["attempts used up"] += 1
                case "PLAN_RESUMED":
                    for name in failed[line.subject]:
                        tried[line.subject, name] = 0


def entries(world: World) -> Iterator[str]:
    """Whatever a handler was called for has an entry that says how it ended."""
    told = {end for tenant in TENANTS for line in lines(world, tenant) for end in _end(line)}
    intents = {
        str(id): (_attempt(str(plan), {"step_id": step, "attempt": attempt}), state)
        for id, plan, step, attempt, state in world.site.ask(
            "select intent_id, plan_id, step_id, attempt, state from intents"
        )
    }
    for kind, name in world.seen.calls:
        subject = name.split()[0]
        if kind == "action":
            subject, state = intents[name]
            if state in ("EXECUTING", "CANCELLED"):
                continue
        if kind in ("run", "pull", "action") and (kind, subject) not in told:
            yield f"{kind} {subject} was called and the ledger does not say how it ended"


def _end(line: Line) -> Iterator[tuple[str, str]]:
    match line.kind:
        case "run.ended":
            yield "run", line.data["decision_id"]
        case "pull.ended":
            yield "pull", line.data["pull_job_id"]
        case "STEP_COMPLETED" | "STEP_FAILED" | "OUTCOME_LATE" if "attempt" in line.data:
            yield "action", _attempt(line.subject, line.data)


def _attempt(plan: str, data: dict[str, Any]) -> str:
    return f"{plan} {data['step_id']} {data['attempt']}"
