"""What must hold when everything has come to rest: the product's own audit, and what it cannot see.

The audit reads the database. These compare it with what handlers were called with, what receivers
got, what callers were told, and who held which lease.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from tests.books import balanced
from tests.sim import models
from tests.sim.world import World
from tests.verify_clean import broken
from watchkeeper.store.database import open_database

KEY_LIVES = timedelta(hours=24)


def audit(world: World) -> list[str]:
    """Every contradiction there is, in words."""
    wall = world._wall
    world.site.told(world.baton.now)
    db = open_database(world.site.place.url, journal=world.journal, wall=wall)
    try:
        found = [f"verify: {name}: {rows[:2]}" for name, rows in broken(db).items()]
    finally:
        db.close()
    for oracle in (_runs, _pulls, _turns, _letters, _leases, _plans, _answers, _rest):
        found += [f"{oracle.__name__[1:]}: {one}" for one in oracle(world)]
    for model in (models.gate, models.quota, models.attempts, models.entries):
        found += [f"model of {model.__name__}: {one}" for one in model(world)]
    _reached(world)
    return found


def _runs(world: World) -> Iterator[str]:
    """A run is called at most once for its ALLOW, and one that ended well was called."""
    for (kind, name), count in world.seen.calls.items():
        if kind in ("run", "pull", "action") and count > 1:
            yield f"{kind} {name} was called {count} times"
    allows = {
        str(id) for (id,) in world.site.ask("select entry_id from ledger where result = 'ALLOW'")
    }
    for kind, name in world.seen.calls:
        if kind == "run" and name not in allows:
            yield f"run {name} was called without an ALLOW"
    for id, state in world.site.ask("select decision_id, state from runs"):
        if state == "SUCCEEDED" and not world.seen.arrived[f"run {id}"]:
            yield f"run {id} succeeded and was never called"
        if state == "RUNNING":
            yield f"run {id} runs for ever"
    yield from _unsettled(world)


def _unsettled(world: World) -> Iterator[str]:
    """A run that ended well is charged for what it used.

    One that took longer than a turn may take was charged by the watchdog, by estimate: no
    settlement is undone.
    """
    for id, by_estimate in world.site.ask(
        "select decision_id, (select count(*) from turns t where t.tenant_id = r.tenant_id"
        " and t.decision_id = r.decision_id and t.ended_by = 'watchdog'"
        " and t.settlement_method = 'estimated') from runs r where state = 'SUCCEEDED'"
        " and not exists (select 1 from turns t where t.tenant_id = r.tenant_id"
        " and t.decision_id = r.decision_id and t.state = 'completed')"
    ):
        if not by_estimate:
            yield f"what run {id} used was not settled"


def _pulls(world: World) -> Iterator[str]:
    """What was charged is what was scheduled, and what a caller was told is there."""
    rows = world.site.ask("select pull_job_id, state, units from pulls")
    known = {str(id): state for id, state, _ in rows}
    for id, answer in world.seen.pulls:
        if answer.scheduled and id not in known:
            yield f"pull {id} was promised and is not there"
    done = {name.split()[1] for name in world.seen.arrived if name.startswith("pull ")}
    for id, state in known.items():
        if state in ("SCHEDULED", "RUNNING"):
            yield f"pull {id} is {state} for ever"
        if state == "SUCCEEDED" and id not in done:
            yield f"pull {id} succeeded and was never carried out"
    [(units,)] = world.site.ask(
        "select cast(coalesce(sum(units), 0) as bigint) from pull_days where connector_id = ''"
    )
    scheduled = world.site.ask(
        "select count(*) from ledger where kind = 'pull.decided' and result = 'SCHEDULED'"
    )[0][0]
    pulled = [u for _, _, u in rows]
    if len(pulled) == scheduled and sum(pulled) != units:
        yield f"{units} units are charged for pulls of {sum(pulled)}"
    if world.site.ask("select count(*) from connector_slots") != [(0,)]:
        left = world.site.ask("select max(until_at) from connector_slots")[0][0]
        if left > world.baton.now:
            yield "a slot of a connector is taken by nobody"


def _turns(world: World) -> Iterator[str]:
    """The books balance, and each ended turn was told to billing, in the same words each time."""
    try:
        states = balanced(world.site.place)
    except AssertionError as error:
        yield f"the books do not balance: {str(error)[:300]}"
        return
    if states["running"]:
        yield "a turn runs for ever"
    early = "select turn_id from turns where ended_by = 'watchdog' and ended_at <= deadline_at"
    yield from (f"turn {id} was ended before its time" for (id,) in world.site.ask(early))
    told = {name.partition(" ")[2] for name in world.seen.arrived if name.startswith("usage ")}
    ended = {row[0] for row in world.site.ask("select turn_id from turns where state <> 'running'")}
    if ended - told:
        yield f"usage of {sorted(ended - told)} was never delivered"
    if told - ended:
        yield f"usage of {sorted(told - ended)} was told and is not settled"
    for name, bodies in world.seen.bodies.items():
        if len(bodies) > 1:
            yield f"{name} was delivered with {len(bodies)} different bodies"


def _letters(world: World) -> Iterator[str]:
    """A message that was written is delivered or dead; what is delivered was taken by somebody."""
    rows = world.site.ask("select id, topic from outbox_delivered")
    done = {str(id): topic for id, topic in rows}
    dead = {str(id) for (id,) in world.site.ask("select id from outbox where status = 'dead'")}
    for id in world.seen.letters - done.keys() - dead:
        yield f"letter {id} is gone"
    for id, topic in done.items():
        kind = {"letters": "letter", "posted": "posted"}.get(topic)
        if kind is not None and not world.seen.calls[kind, id]:
            yield f"{topic} {id} is delivered and nobody had it"
    wanted = Counter(
        (topic, key)
        for topic, key in world.site.ask(
            "select topic, dedupe_key from outbox_delivered where dedupe_key is not null"
            " union all select topic, dedupe_key from outbox where dedupe_key is not null"
        )
        if topic == "letters"
    )
    yield from (f"{key} was written {n} times" for key, n in wanted.items() if n > 1)


def _leases(world: World) -> Iterator[str]:
    """No two held a message at once, no token came twice, and nobody ended another's lease."""
    holder: dict[str, tuple[str, str, int]] = {}  # by message: token, process, until
    taken: dict[str, str] = {}
    rows = world.site.ask(
        "select message_id, token, process, what, at, until_at from sim_leases order by n"
    )
    for message, token, process, what, at, until in rows:
        if what == "claim":
            before = holder.get(message)
            if before is not None:
                world.seen.counts["stolen lease"] += 1
                if at < before[2]:
                    yield f"{process} took {message}, which {before[1]} held"
            if taken.setdefault(token, process) != process:
                yield f"the token {token} was used twice"
            holder[message] = (token, process, until)
        elif taken.get(token) != process:
            yield f"{process} did {what} with the lease of {taken.get(token)} on {message}"
        elif what == "renew":
            holder[message] = (token, process, until)
        else:
            holder.pop(message, None)


ENDED = ("PLAN_COMPLETED", "PLAN_ABORTED", "PLAN_EXPIRED")


def _plans(world: World) -> Iterator[str]:
    """Attempts are numbered without a gap, and a plan that is over stays so."""
    attempts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for plan, step, number, state, intent in world.site.ask(
        "select plan_id, step_id, attempt, state, intent_id from intents order by attempt"
    ):
        attempts[str(plan), step].append(number)
        if state == "SUCCEEDED" and not world.seen.calls["action", str(intent)]:
            yield f"intent {intent} succeeded and was never carried out"
    for plan, step, count in world.site.ask("select plan_id, step_id, attempts from plan_steps"):
        numbers = attempts[str(plan), step]
        if numbers != list(range(1, count + 1)):
            yield f"step {step} of {plan} counts {count} and has {numbers}"
    active = Counter(
        world.site.ask("select account_id, plan_type from plans where status = 'ACTIVE'")
    )
    yield from (f"{n} plans of {whose} are active" for whose, n in active.items() if n > 1)
    over: dict[str, str] = {}
    rows = world.site.ask(
        "select kind, cast(data as text) from ledger where stage = 'act' order by tenant_id, seq"
    )
    for kind, data in rows:
        plan = json.loads(data).get("plan_id")
        if plan in over and kind != "OUTCOME_LATE":
            yield f"plan {plan} is over by {over[plan]} and then {kind}"
        if kind in ENDED:
            over[plan] = kind


def _answers(world: World) -> Iterator[str]:
    """What a caller was told is in the ledger, and a key was decided once."""
    rows = world.site.ask(
        "select entry_id, result, cast(data as text) from ledger where kind = 'verdict'"
    )
    known = {str(id): result for id, result, _ in rows}
    first: dict[str, tuple[str, datetime]] = {}
    for key, verdict in world.seen.verdicts:
        if known.get(verdict.decision_id) != verdict.result:
            yield f"{key} was told {verdict.result} and the ledger says otherwise"
        own = verdict.duplicate_of or verdict.decision_id
        was, at = first.setdefault(key, (own, verdict.evaluated_at))
        if was != own and abs(verdict.evaluated_at - at) < KEY_LIVES:
            yield f"{key} was decided as {was} and as {own}"


def _rest(world: World) -> Iterator[str]:
    for id, topic, status in world.site.ask(
        "select id, topic, status from outbox where status = 'processing'"
    ):
        yield f"{topic} {id} is {status} at rest"
    for topic, attempts in world.site.ask("select topic, attempts from outbox"):
        most = {"letters": 3, "posted": 4, "decision.evaluation_requested": 1}.get(topic, 1000)
        if attempts > most:
            yield f"a message of {topic} had {attempts} attempts"


def _reached(world: World) -> None:
    """What the database shows to have happened, counted."""
    counts = world.seen.counts
    for kind, count in world.site.ask("select kind, count(*) from ledger group by 1"):
        counts[f"ledger {kind}"] += count
    for result, reason, count in world.site.ask(
        "select result, reason, count(*) from ledger where reason is not null group by 1, 2"
    ):
        counts[f"{result} {reason}"] += count
    for reason, count in world.site.ask(
        "select dead_reason, count(*) from outbox where status = 'dead' group by 1"
    ):
        counts[f"dead {reason}"] += count
    for by, count in world.site.ask("select ended_by, count(*) from turns group by 1"):
        counts[f"turn ended by {by}"] += count
    days = world.site.ask(
        f"select count(distinct at / {24 * 3_600_000_000}) from ledger where stage <> 'system'"
    )
    if days[0][0] > 1:
        counts["midnight crossed"] += 1
    retried = world.site.ask("select count(*) from outbox_delivered where topic = 'decision.retry'")
    counts["deferral retried"] += retried[0][0]
