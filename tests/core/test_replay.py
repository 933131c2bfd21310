"""Replay: the record determines it, and the quick gate is the gate."""

import tracemalloc
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_admission_properties import T0, ruled
from watchkeeper.core import replay, replay_apart
from watchkeeper.core.admission import Case, Duplicate, Event, decide, evolve
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import TenantRules, TriggerRule
from watchkeeper.core.replay import TenantReplay
from watchkeeper.core.replay_tally import Tally, label
from watchkeeper.core.replay_text import TextReplay
from watchkeeper.core.run_state import RunState, TenantRuns
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant, ceil_second
from watchkeeper.core.verdict_record import record
from watchkeeper.store.json import dumps, loads

pytestmark = pytest.mark.req("T-21")

PAUSES = [0, 0, 0, 300_000, SECOND, 30 * SECOND, 61 * SECOND, 300 * SECOND, 601 * SECOND, HOUR]
Lines = list[tuple[int, str, dict]]


class World:
    """What a tenant's ledger would hold after a random life, gate by gate, without a database."""

    def __init__(self, dice: Random, rules: TenantRules) -> None:
        self.dice = dice
        self.rules = rules
        self.now = T0
        self.tenant = TenantRuns()
        self.states: dict[str, RunState] = {}
        self.waiting: list[tuple[int, Event]] = []
        self.held: dict[str, tuple[str, int]] = {}
        self.lines: Lines = []
        self.switch: str | None = None

    def live(self, steps: int) -> Lines:
        for _ in range(steps):
            self.now = Instant(self.now + self.dice.choice(PAUSES))
            match self.dice.randrange(12):
                case 0:
                    self.switch = self.dice.choice([None, None, "tenant"])
                case 1:  # a retry is lost, or was discarded
                    self.lose()
                case 2:  # a clock that steps back
                    self.now = Instant(max(T0, self.now - self.dice.choice([SECOND, HOUR])))
                case 3 | 4 | 5:
                    self.deliver()
                case _:
                    self.fire()
        return self.lines

    def fire(self) -> None:
        dice, more = self.dice, {}
        if dice.random() < 0.2:
            more["scheduled_at"] = Instant(self.now - dice.randrange(-5, 400) * SECOND)
        if dice.random() < 0.2:
            more["saturation"] = dice.choice([0.5, 1.0, 1.5])
        key = f"k{dice.randrange(8)}" if dice.random() < 0.1 else f"fresh{len(self.lines)}"
        account, trigger = dice.choice(["ann", "bob", "cat"]), dice.choice("ABCX")
        self.admit(Event(AccountId(account), trigger, key, **more))

    def deliver(self) -> None:
        due = [one for one in self.waiting if one[0] <= self.now]
        if due:
            one = self.dice.choice(due)
            if self.dice.random() < 0.9:  # else it is delivered twice
                self.waiting.remove(one)
            self.admit(one[1])

    def lose(self) -> None:
        if not self.waiting:
            return
        _, event = self.waiting.pop(self.dice.randrange(len(self.waiting)))
        if self.dice.random() < 0.5:
            state = self.states[event.account_id]
            state.end_pending(event.trigger_type, event.retry_of)

    def admit(self, event: Event) -> None:
        now, seq = ceil_second(self.now), len(self.lines) + 1
        decision = DecisionId(f"d{seq}")
        is_known = event.trigger_type in self.rules.triggers
        holder = self.held.get(event.idempotency_key) if is_known else None
        held = None
        if holder is not None and self.now < holder[1]:
            held = Duplicate(DecisionId(holder[0]))
        elif is_known:
            self.held[event.idempotency_key] = (decision, self.now + self.rules.idempotency_ttl_us)
        state = self.states.setdefault(event.account_id, RunState())
        case = Case(event, state, self.tenant, self.rules, now, self.switch, held)
        verdict = decide(case)
        self.lines.append((seq, decision, record(case, verdict, None)))
        evolve(case, verdict, decision, seq)
        if verdict.defer_until is not None:
            owner, moved = event.retry_of or decision, event.retry_of is not None
            again = event._replace(
                retry_of=owner,
                moved=moved,
                idempotency_key=f"retry:{owner}:{moved}",
                slot_cooldown_us=self.rules.triggers[event.trigger_type].cooldown_us,
            )
            self.waiting.append((verdict.defer_until, again))


class Told:
    """Everything that a replay says, in order."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.said: list[tuple] = []

    def compared(self, seq, decision_id, at, event, was, now) -> None:
        self.said.append(("compared", seq, was, now))
        self.tally.compared(seq, decision_id, at, event, was, now)

    def passed_over(self, decision_id, at, event, was) -> None:
        self.said.append(("passed over", decision_id, was))
        self.tally.passed_over(decision_id, at, event, was)

    def retried(self, waiting, answer) -> None:
        self.said.append(("retried", waiting, answer))
        self.tally.retried(waiting, answer)


def replayed(lines: Lines, old: TenantRules, new: TenantRules) -> tuple[Told, TenantReplay]:
    told = Told()
    fold = TenantReplay(lambda *_: (old, new), lambda _at, _type: None, told)
    for line in lines:
        fold.feed(*line)
    return told, ended(told, fold)


def retold(lines: Lines, old: TenantRules, new: TenantRules) -> tuple[Told, TenantReplay]:
    """The same from the texts that the ledger holds."""
    told = Told()
    fold = TextReplay(lambda *_: (old, new), lambda _at, _type: None, told, loads=loads)
    for seq, decision_id, data in lines:
        fold.feed_text(seq, decision_id, dumps(data))
    return told, ended(told, fold)


def ended(told: Told, fold: TenantReplay) -> TenantReplay:
    fold.let_pass(fold.now + DAY)
    told.tally.finish(fold.agreed, fold.agreed_runs)
    return fold


@given(ruled, st.integers(0, 2**32), st.integers(0, 80))
def test_the_rules_that_ruled_change_nothing(rules, seed, skipped) -> None:
    """From any place on, whatever was lost, discarded, repeated or delivered twice."""
    lines = World(Random(seed), rules).live(120)
    told, fold = replayed(lines[skipped:], rules, rules)
    assert [said for said in told.said if said[0] == "compared" and said[2] != said[3]] == []
    assert (told.tally.flips, told.tally.retimed, fold.left) == (0, 0, {})
    assert told.tally.runs_before == told.tally.runs_after


@given(ruled, ruled, st.integers(0, 2**32))
def test_the_quick_gate_is_the_gate(old, new, seed) -> None:
    """Whatever it is asked in a replay, by an account on its record or off it."""
    lines = World(Random(seed), old).live(120)
    quickly, fold = replayed(lines, old, new)
    with pytest.MonkeyPatch.context() as patch:
        for part in (replay, replay_apart):
            patch.setattr(part, "quick", lambda *_: None)
        slowly, other = replayed(lines, old, new)
    assert quickly.said == slowly.said
    assert (fold.agreed, fold.agreed_runs) == (other.agreed, other.agreed_runs)
    assert fold.left.keys() == other.left.keys()
    for name, state in fold.left.items():
        twin = other.left[name]
        assert (state.last_allowed_at, state.pending) == (twin.last_allowed_at, twin.pending)
    tenant, twin = fold.tenant, other.tenant
    assert (tenant.hour, tenant.hour_runs, tenant.day, tenant.day_runs) == (
        twin.hour,
        twin.hour_runs,
        twin.day,
        twin.day_runs,
    )


@pytest.mark.req("T-22")
@given(
    ruled, ruled, st.integers(0, 2**32), st.sampled_from(["ann", 'a"n', "a\\\\", 'ä,"policy":{'])
)
def test_a_text_read_in_part_says_the_same(old, new, seed, name) -> None:
    """Whatever accounts are called."""
    world = World(Random(seed), old)
    lines = [(seq, one, named(data, name)) for seq, one, data in world.live(120)]
    (whole, fold), (part, other) = replayed(lines, old, new), retold(lines, old, new)
    assert part.said == whole.said
    assert (fold.agreed, fold.agreed_runs) == (other.agreed, other.agreed_runs)


def named(data: dict, name: str) -> dict:
    event = data["event"]
    is_ann = event["account_id"] == "ann"
    return {**data, "event": {**event, "account_id": name}} if is_ann else data


@pytest.mark.req("T-22")
def test_another_tier_is_seen_in_a_text() -> None:
    """Also by an account that has left, of whose texts the middle is not read."""
    lines = lines_of(PLAIN, *((n * 100, ann(str(n))) for n in range(6)))
    for _, _, data in lines[3:]:
        data["tenant"]["tier"] = "gold"
    seen: list[str | None] = []
    longer = replace(PLAIN, triggers={"A": TriggerRule(0, 900 * SECOND)})

    def rules_of(_version, _hash, tier):
        seen.append(tier)
        return PLAIN, longer

    fold = TextReplay(rules_of, lambda _at, _type: None, Told(), loads=loads)
    for seq, decision_id, data in lines:
        fold.feed_text(seq, decision_id, dumps(data))
    assert (seen, list(fold.left)) == ([None, "gold"], ["ann"])


@given(ruled, ruled, st.integers(0, 2**32))
def test_what_was_counted_adds_up(old, new, seed) -> None:
    lines = World(Random(seed), old).live(120)
    told, _ = replayed(lines, old, new)
    tally = told.tally
    allowed = sum(data["verdict"]["result"] == "ALLOW" for _, _, data in lines)
    assert tally.events == len(lines)
    assert tally.runs_before == allowed
    assert sum(tally.changes.values()) == tally.flips
    assert tally.runs_after - tally.runs_before == sum(a.runs for a in tally.accounts.values())
    assert len(tally.dropped) <= tally.runs_before
    assert len(set(tally.dropped)) == len(tally.dropped)


# -- cases -------------------------------------------------------------------------------------

PLAIN = TenantRules(triggers={"A": TriggerRule(0, 300 * SECOND)})


def lines_of(rules: TenantRules, *events: tuple[float, Event]) -> Lines:
    world = World(Random(1), rules)
    for second, event in events:
        world.now = Instant(T0 + round(second * SECOND))
        while world.waiting and world.waiting[0][0] <= world.now:
            due_at, retry = world.waiting.pop(0)
            world.now = Instant(due_at + 200_000)
            world.admit(retry)
            world.now = Instant(T0 + round(second * SECOND))
        world.admit(event)
    return world.lines


def ann(key: str, **more: object) -> Event:
    return Event(AccountId("ann"), "A", key, **more)


@pytest.mark.parametrize("apart", [59, 60, 61])
@pytest.mark.parametrize("rule", [(60, 0), (0, 60)], ids=["debounce", "cooldown"])
def test_a_threshold_is_passed_at_its_own_second(rule, apart) -> None:
    rules = TenantRules(triggers={"A": TriggerRule(*(second * SECOND for second in rule))})
    lines = lines_of(rules, (0, ann("1")), (apart, ann("2")))
    assert (lines[1][2]["verdict"]["result"] == "ALLOW") == (apart >= 60)
    told, _ = replayed(lines, rules, rules)
    assert (told.tally.flips, told.tally.retimed) == (0, 0)


def test_a_shorter_cooldown_lets_the_second_run_at_once() -> None:
    lines = lines_of(PLAIN, (0, ann("1")), (100, ann("2")), (500, ann("3")))
    shorter = replace(PLAIN, triggers={"A": TriggerRule(0, 100 * SECOND)})
    told, _ = replayed(lines, PLAIN, shorter)
    assert [(label(was), label(now)) for was, now in told.tally.changes] == [
        ("DEFER COOLDOWN", "ALLOW"),
        ("DEFER COOLDOWN", "ALLOW"),
    ][: len(told.tally.changes)]
    account = told.tally.accounts["ann"]
    assert account.decision_id == "d2", "there the replay ends and inference begins"
    assert told.tally.runs_after >= told.tally.runs_before


def test_a_longer_cooldown_moves_the_retry_and_flips_nothing_yet() -> None:
    lines = lines_of(PLAIN, (0, ann("1")), (100, ann("2")))
    longer = replace(PLAIN, triggers={"A": TriggerRule(0, 400 * SECOND)})
    told, fold = replayed(lines, PLAIN, longer)
    assert (told.tally.flips, told.tally.retimed) == (0, 1)
    assert told.said[-1][0] == "retried"
    assert told.said[-1][1].due_at == T0 + 400 * SECOND
    assert fold.left["ann"].last_allowed_at == T0 + 400 * SECOND


def cooled(seconds: int, version: int) -> TenantRules:
    triggers = {"A": TriggerRule(0, seconds * SECOND)}
    return TenantRules(triggers=triggers, policy_version=version, policy_hash=str(version))


def in_turn(lines: Lines, ruling: dict[int, TenantRules]) -> tuple[Told, TenantReplay]:
    """Replayed under other rules from each version on; those that ruled are the record's own."""
    told = Told()
    fold = TenantReplay(lambda version, *_: (ruling[version],) * 2, lambda _at, _type: None, told)
    for line in lines:
        fold.feed(*line)
    return told, ended(told, fold)


def grown() -> Lines:
    """Deferred to 300 under a cooldown of 300, which is 500 by then."""
    world = World(Random(1), cooled(300, 0))
    for second, rules in ((0, None), (100, None), (300, cooled(500, 1)), (500, None)):
        world.now = Instant(T0 + second * SECOND)
        world.rules = rules or world.rules
        world.deliver() if second >= 300 else world.admit(ann(str(second)))
    world.admit(Event(AccountId("bob"), "A", "b"))
    return world.lines


@pytest.mark.req("D-13")
def test_a_retry_that_was_moved_because_the_cooldown_grew_is_moved_in_the_replay() -> None:
    lines = grown()
    assert [line[2]["verdict"].get("defer_until", T0) - T0 for line in lines] == [
        0,
        300 * SECOND,
        500 * SECOND,
        0,
        0,
    ]
    told, fold = in_turn(lines, {0: cooled(300, 0), 1: cooled(500, 1)})
    assert (told.tally.flips, told.tally.retimed, fold.left) == (0, 0, {})


@pytest.mark.req("D-13")
def test_an_entry_without_the_cooldown_of_its_slot_is_decided_as_it_was() -> None:
    lines = grown()
    data = lines[2][2]
    del data["event"]["slot_cooldown_us"]
    data["verdict"] = {"inner": "COOLDOWN", "reason": "RETRY_EXHAUSTED", "result": "SKIP"}
    told, fold = in_turn(lines[:3], {0: cooled(300, 0), 1: cooled(500, 1)})
    assert (told.tally.flips, told.tally.retimed, fold.left) == (0, 0, {})


@pytest.mark.req("D-13")
def test_a_retry_of_an_account_that_has_left_is_moved_when_the_cooldown_grows() -> None:
    world = World(Random(1), cooled(300, 0))
    for second, name, rules in ((0, "ann", None), (100, "ann", None), (150, "bob", cooled(500, 1))):
        world.now = Instant(T0 + second * SECOND)
        world.rules = rules or world.rules
        world.admit(Event(AccountId(name), "A", f"{second}"))
    told, fold = in_turn(world.lines, {0: cooled(200, 0), 1: cooled(500, 1)})
    retried = [said[1:] for said in told.said if said[0] == "retried"]
    assert [(one.due_at - T0, one.moved, answer[0]) for one, answer in retried] == [
        (200 * SECOND, False, "COOLDOWN"),
        (500 * SECOND, True, "ALLOW"),
    ]
    assert fold.left["ann"].last_allowed_at == T0 + 500 * SECOND


def test_a_retry_that_was_lost_does_not_come_for_the_one_after_it() -> None:
    world = World(Random(1), PLAIN)
    for second in (0, 100, 7000):
        world.now = Instant(T0 + second * SECOND)
        world.admit(ann(str(second)))
        world.waiting.clear()  # lost, and by the third event overdue
    longer = replace(PLAIN, triggers={"A": TriggerRule(0, 10_000 * SECOND)})
    told, _ = replayed(world.lines[2:], PLAIN, longer)
    retried = [said[1].due_at for said in told.said if said[0] == "retried"]
    assert retried == [T0 + 10_000 * SECOND]


def test_what_another_type_waits_for_still_comes() -> None:
    rules = TenantRules(triggers={"A": TriggerRule(0, 0), "B": TriggerRule(0, 300 * SECOND)})
    waits = ann("2")._replace(trigger_type="B")
    lines = lines_of(rules, (0, ann("1")), (10, waits), (20, ann("3")), (1000, ann("4")))
    slower = {**rules.triggers, "A": TriggerRule(60 * SECOND, 0)}
    told, _ = replayed(lines, rules, replace(rules, triggers=slower))
    retried = [(said[1].trigger_type, said[2][0]) for said in told.said if said[0] == "retried"]
    assert retried == [("B", "ALLOW")]
    assert told.tally.changes == {("COOLDOWN", "DEBOUNCED"): 1}


@pytest.mark.parametrize(("ttl", "answers"), [(50, ["ALLOW"] * 2), (86_400, None), (300, None)])
def test_a_key_is_held_for_as_long_as_the_new_policy_says(ttl, answers) -> None:
    free = TenantRules(triggers={"A": TriggerRule(0, 0)})
    lines = lines_of(free, (0, ann("1")), (100, ann("1")))
    told, _ = replayed(lines, free, replace(free, idempotency_ttl_us=ttl * SECOND))
    flips = {("DUPLICATE_IDEMPOTENCY_KEY", "ALLOW"): 1} if answers else {}
    assert told.tally.changes == flips
    assert told.tally.runs_after == (2 if answers else 1)


def test_a_longer_hold_finds_repeats_that_were_none() -> None:
    free = TenantRules(triggers={"A": TriggerRule(0, 0)}, idempotency_ttl_us=50 * SECOND)
    lines = lines_of(free, (0, ann("1")), (100, ann("1")))
    told, _ = replayed(lines, free, replace(free, idempotency_ttl_us=200 * SECOND))
    assert told.tally.changes == {("ALLOW", "DUPLICATE_IDEMPOTENCY_KEY"): 1}


def test_a_type_that_becomes_known_takes_its_key() -> None:
    lines = lines_of(
        PLAIN, (0, ann("1")._replace(trigger_type="N")), (9, ann("1")._replace(trigger_type="N"))
    )
    new = replace(PLAIN, triggers={**PLAIN.triggers, "N": TriggerRule(0, 0)})
    told, _ = replayed(lines, PLAIN, new)
    assert [now[0] for _, _, _, now in told.said] == ["ALLOW", "DUPLICATE_IDEMPOTENCY_KEY"]


def test_a_signal_waits_for_the_run_that_sees_it() -> None:
    rules = TenantRules(triggers={"SIGNAL_ARRIVED": TriggerRule(0, 300 * SECOND)})
    news = [ann(str(n))._replace(trigger_type="SIGNAL_ARRIVED") for n in range(3)]
    lines = lines_of(rules, (0, news[0]), (100, news[1]), (900, news[2]))
    shorter = replace(rules, triggers={"SIGNAL_ARRIVED": TriggerRule(0, 0)})
    told, _ = replayed(lines, rules, shorter)
    account = told.tally.accounts["ann"]
    assert (account.before.ran, account.before.waited_us) == (2, 201 * SECOND)
    assert (account.after.ran, account.after.waited_us) == (2, 0)


@pytest.mark.req("T-22")
def test_memory_does_not_grow_with_the_events() -> None:
    """Nothing is kept of accounts that follow their record."""
    lines = World(Random(5), PLAIN).live(3000)

    def peak_of(some: Lines) -> int:
        tracemalloc.start()
        fold = TenantReplay(lambda *_: (PLAIN, PLAIN), lambda _at, _type: None, Tally())
        for line in some:
            fold.feed(*line)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    few = peak_of(lines[:200])
    assert peak_of(lines) < few + 20_000
