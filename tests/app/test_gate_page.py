"""The page that defines the gate, and the product: the same answers over any history.

`tests/reference_gate.py` is written from docs/reference/gate.md alone. Here both are given the
same events through the product's own door, one call at a time or in batches, while clocks,
policies, tiers and kill switches change and retries come on time, late or not at all.
"""

import ast
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import reference_gate
from tests.conftest import POSTGRESQL
from tests.databases import START_AT, Clock, Databases, EngineName, Place
from tests.reference_gate import DAY, SECOND, Answer, Asked, Gate, asked_of
from watchkeeper.actions.change_tenant import change_tenant
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.dispatch import dispatch_once
from watchkeeper.actions.keep_desk import discard_message, show_message
from watchkeeper.app import App
from watchkeeper.core.explain import Trail
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.time import Instant, to_iso
from watchkeeper.store import ledger
from watchkeeper.store.json import loads

pytestmark = pytest.mark.req(
    "D-01", "D-02", "D-03", "D-04", "D-06", "D-07", "D-08", "D-09", "D-10", "D-13", "D-17"
)

SIGNAL = "SIGNAL_ARRIVED"
ACCOUNTS = ("ann", "bob", "zoë")
READ_MAX = 1000

STEPS = {"sqlite": 70, "postgresql": 35}
SECONDS = [0, 0, 0.3, 1, 1, 2.000001, 7, 13, 60, 61, 299, 300, 301, 600, 3599, 3600, 7200]
STEPS_BACK = [-0.5, -1, -400, -3600]


def a_rule(dice: Random) -> dict[str, Any]:
    limits = ["unlimited"] * 4 + [0, 1, 1, 2, 3]
    return {
        "debounce_seconds": dice.choice([0, 0, 0, 1, 7, 59, 61, 600]),
        "cooldown_seconds": dice.choice([0, 1, 13, 299, 300, 301, 601, 3601, 7200]),
        "max_per_account_per_hour": dice.choice(limits),
        "max_per_tenant_per_hour": dice.choice(limits),
    }


def a_document(dice: Random, tenant: str) -> dict[str, Any]:
    """Odd numbers, in the document, for a tier and for the tenant; B is not always known."""
    triggers = {name: a_rule(dice) for name in ("A", SIGNAL)}
    if dice.random() < 0.8:
        triggers["B"] = a_rule(dice)
    document: dict[str, Any] = {
        "triggers": triggers,
        "idempotency_ttl_seconds": dice.choice([1, 5, 301, 86_400]),
        "spread_seconds": dice.choice([0, 1, 7, 300, 3600]),
        "run_budget_per_day": dice.choice(["unlimited"] * 6 + [0, 1, 4, 9]),
    }
    for section, name in (("tiers", "gold"), ("tenants", tenant)):
        if section == "tiers" or dice.random() < 0.4:  # a tier that tenants have is there
            kind = dice.choice(list(triggers))
            key, value = dice.choice(list(a_rule(dice).items()))
            document[section] = {name: {"triggers": {kind: {key: value}}}}
    return document


def an_event(dice: Random, number: int, now: int) -> Asked:
    plan = None if dice.random() < 0.8 else now + round(dice.uniform(-700, 20) * SECOND)
    return Asked(
        account=dice.choice(ACCOUNTS),
        trigger=dice.choice(["A", "A", "A", "B", "B", SIGNAL, SIGNAL, SIGNAL, "X"]),
        key=dice.choice(["k1", "k2"]) if dice.random() < 0.1 else f"fresh-{number}",
        scheduled_at=plan,
        saturation=None if dice.random() < 0.8 else dice.choice([0.5, 1.0, 1.5]),
        content=dice.choice(["red", "blue"]),
    )


class Twins:
    """One tenant of the product, and its twin by the page."""

    def __init__(self, app: App, place: Place, number: int, dice: Random) -> None:
        self.app, self.place, self.dice, self.clock = app, place, dice, Clock(place)
        self.tenant = TenantId(f"tenant-{number}")
        self.now = START_AT + number * 30 * DAY + round(dice.random() * DAY)
        self.clock.set(Instant(self.now))
        self.tier: str | None = None
        self.document = self.apply()
        create_tenant(self.app.admission.db, self.tenant)
        self.gate = Gate(self.tenant, self.document)
        self.retries: dict[tuple[str | None, bool], tuple[int, Asked]] = {}
        self.read = self.fired = 0

    def live(self) -> None:
        for _ in range(STEPS[self.place.engine]):
            self.now += self.pause()
            self.clock.set(Instant(self.now))
            self.step(self.dice.randrange(24))
            self.compare_retries()

    def pause(self) -> int:
        """Any span, often the one to the next retry, and sometimes a step back."""
        dice = self.dice
        if self.retries and dice.random() < 0.4:
            late = dice.choice([0, 0, 0, 0.2, 1, 4, 299, 301, 3700]) * SECOND
            return max(0, min(due for due, _ in self.retries.values()) - self.now + round(late))
        spans = STEPS_BACK if dice.random() < 0.04 else SECONDS
        return round(dice.choice([*spans, 86_400] if dice.random() < 0.1 else spans) * SECOND)

    def step(self, number: int) -> None:
        match number:
            case 0:
                self.document = self.apply()
                self.gate.rule(self.document, self.tier)
            case 1:
                self.tier = self.dice.choice([None, "gold"])
                change_tenant(self.app.db, self.tenant, {"tier": self.tier})
                self.gate.rule(self.document, self.tier)
            case 2:
                scope = self.dice.choice(["all", "tenant", "trigger:A"])
                self.switch(scope, on=self.dice.random() < 0.2)
            case 3:
                self.discard()
            case 4 | 5:
                self.ask(self.dice.choice(ACCOUNTS))
            case 6:
                dispatch_once(self.app.db, self.app.registry, limit=1)
            case 7 | 8 | 9 | 10:
                self.app.drain()
            case 11 | 12 | 13:
                self.fire([self.event() for _ in range(self.dice.randrange(2, 6))])
            case _:
                self.fire([self.event()])

    def event(self) -> Asked:
        self.fired += 1
        return an_event(self.dice, self.fired, self.now)

    def go_to(self, moment: int) -> None:
        """On time: whatever is due on the way is delivered when it is due."""
        while due := [due_at for due_at, _ in self.retries.values() if due_at <= moment]:
            self.now = max(self.now, min(due))
            self.clock.set(Instant(self.now))
            self.app.drain()
            self.compare_retries()
        self.now = max(self.now, moment)
        self.clock.set(Instant(self.now))

    def fire(self, asked: list[Asked]) -> None:
        kinds = {one.trigger == SIGNAL for one in asked}
        if len(kinds) > 1:  # signals come through a door of their own
            asked = [one for one in asked if one.trigger == SIGNAL]
        if asked[0].trigger == SIGNAL:
            given = [signal_of(one) for one in asked]
            answers = [one.verdict for one in self.app.signal_many(self.tenant, given)]
            asked = [replace(one, scheduled_at=None, saturation=None) for one in asked]
        else:
            answers = self.app.trigger_many(self.tenant, [trigger_of(one) for one in asked])
            asked = [replace(one, content=None) for one in asked]
        found = self.new_entries()
        assert [entry_id for entry_id, _ in found] == [one.decision_id for one in answers]
        for one, (entry_id, data) in zip(asked, found, strict=True):
            self.compare(one, entry_id, data)

    def compare_retries(self) -> None:
        for entry_id, data in self.new_entries():
            event = asked_of(data["event"])
            due_at, expected = self.retries.pop((event.retry_of, event.moved))
            assert due_at <= self.now, "a retry came early"
            assert event == replace(expected, key=event.key), "the retry is not as it was said"
            self.compare(expected, entry_id, data)

    def compare(self, asked: Asked, entry_id: str, data: dict[str, Any]) -> None:
        answer = self.gate.admit(asked, self.now, entry_id)
        assert said(data["verdict"]) == replace(answer, retry=None), (asked, data)
        assert data["now"] == reference_gate.up(self.now)
        if answer.retry is not None and answer.defer_until is not None:
            told = (answer.defer_until, answer.retry)
            self.retries[answer.retry.retry_of, answer.retry.moved] = told

    def new_entries(self) -> list[tuple[str, dict[str, Any]]]:
        with self.app.db.read(self.tenant) as tx:
            found = ledger.after(tx, self.read, READ_MAX)
        self.read = found[-1].seq if found else self.read
        verdicts = [one.entry for one in found if one.entry.kind == Kind.VERDICT]
        return [(str(one.entry_id), loads(one.data)) for one in verdicts]

    def ask(self, account: str) -> None:
        """From when on each type passes, as the page says it."""
        if account not in self.gate.accounts or not self.is_stored(account):
            return
        prospects = self.app.why_not(account, tenant_id=self.tenant)
        for one in prospects.triggers:
            expected = self.gate.earliest(account, one.trigger_type, self.now)
            if one.trail.verdict.result != "ALLOW":
                assert one.trail.earliest_pass_at == expected, one
                assert (one.trail.never_passes_because is None) == (expected is not None)

    def is_stored(self, account: str) -> bool:
        sql = f"select 1 from accounts where tenant_id = '{self.tenant}'"
        return bool(self.place.execute(f"{sql} and account_id = '{account}'"))

    def discard(self) -> None:
        sql = f"select id from outbox where tenant_id = '{self.tenant}' and topic = "
        found = self.place.execute(f"{sql} 'decision.retry' and status = 'pending' order by seq")
        if found:
            name = MessageId(str(found[0][0]))
            detail = loads(show_message(self.app.db, self.tenant, name).payload)["detail"]
            discard_message(self.app.db, self.app.registry, self.tenant, name)
            self.gate.lose(self.retries.pop((detail["retry_of"], detail["moved"]))[1])

    def apply(self) -> dict[str, Any]:
        """Put another policy in force; the whole of it, with the types that ship."""
        given = a_document(self.dice, self.tenant)
        return dict(self.app.apply_policy(given, reason="test").effective)

    def switch(self, scope: str, *, on: bool) -> None:
        (self.gate.kill if on else self.gate.release)(scope)
        kind, _, name = scope.partition(":")
        whose = {} if kind == "all" else {"tenant_id": self.tenant}
        self.app.kill(kind, name or None, reason="test", on=on, **whose)


def trigger_of(asked: Asked) -> dict[str, object]:
    given: dict[str, object] = {
        "account_id": asked.account,
        "trigger_type": asked.trigger,
        "idempotency_key": asked.key,
    }
    if asked.scheduled_at is not None:
        given["scheduled_at"] = to_iso(Instant(asked.scheduled_at))
    if asked.saturation is not None:
        given["action_saturation_score"] = asked.saturation
    return given


def signal_of(asked: Asked) -> dict[str, object]:
    return {
        "account_id": asked.account,
        "type": "news",
        "idempotency_key": asked.key,
        "data": {"colour": asked.content},
    }


def said(verdict: dict[str, Any]) -> Answer:
    return Answer(
        verdict["result"],
        verdict.get("reason"),
        verdict.get("inner"),
        verdict.get("defer_until"),
        verdict.get("duplicate_of"),
        verdict.get("differs", False),
    )


T = TypeVar("T", bound=Twins)


class Stage:
    """One database for all examples of a property; each example is another tenant."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.app = App(place.url, migrate=False)
        self.examples = 0

    def twins(self, dice: Random, made: type[T]) -> T:
        self.examples += 1
        self.app.kill("all", reason="test", on=False)
        self.place.execute("delete from outbox")  # what is left of the example before
        return made(self.app, self.place, self.examples, dice)


@pytest.fixture(scope="module", params=["sqlite", POSTGRESQL])
def stage(databases: Databases, request: pytest.FixtureRequest) -> Iterator[Stage]:
    engine: EngineName = request.param
    with databases.fresh(engine) as place:
        made = Stage(place)
        yield made
        made.app.close()


@given(seed=st.integers(0, 2**32))
def test_the_product_answers_as_the_page_says(stage: Stage, seed: int) -> None:
    stage.twins(Random(seed), Twins).live()


class Alone(Twins):
    """A tenant with one account, whose events have no score: nothing else happens there."""

    def event(self) -> Asked:
        return replace(super().event(), account="ann", saturation=None)

    def awaits_moved(self) -> bool:
        """Whether a retry waits that was moved before."""
        rows = self.place.execute(
            "select cast(payload as text) from outbox"
            " where topic = 'decision.retry' and status = 'pending'"
        )
        return any(json.loads(payload)["detail"]["moved"] for (payload,) in rows)

    def prospects(self) -> dict[str, Trail]:
        found = self.app.why_not("ann", tenant_id=self.tenant).triggers
        return {one.trigger_type: one.trail for one in found}


@pytest.mark.req("T-10", "T-11")
@example(seed=0x2124)  # with a retry that was moved before
@given(seed=st.integers(0, 2**32))
def test_from_the_moment_told_an_event_passes_and_not_a_second_before(
    stage: Stage, seed: int
) -> None:
    """Whatever refused it, if nothing else happens and retries come when they are due.

    The account does not remember which of its retries were moved before: those are left out.
    """
    alone = stage.twins(Random(seed), Alone)
    alone.live()
    alone.fire([replace(alone.event(), trigger="A", scheduled_at=None)])
    alone.go_to(reference_gate.up(alone.now))
    refused = {name: one for name, one in alone.prospects().items() if one.binding_check}
    for name in alone.dice.sample(sorted(refused), min(2, len(refused))):
        trail = alone.prospects()[name]
        if trail.binding_check is None or alone.awaits_moved():
            continue
        if trail.earliest_pass_at is None:
            assert trail.never_passes_because
            alone.go_to(alone.now + 90_000 * SECOND)
            assert alone.prospects()[name].verdict.result != "ALLOW"
            continue
        alone.go_to(trail.earliest_pass_at - SECOND)
        assert alone.prospects()[name].verdict.result != "ALLOW", trail
        alone.go_to(trail.earliest_pass_at)
        answer = alone.app.trigger(alone.tenant, "ann", name, idempotency_key=f"then-{name}")
        assert answer.allowed, (trail, answer)
        alone.compare(Asked("ann", name, f"then-{name}"), *alone.new_entries()[0])


def test_the_second_gate_shares_no_code_with_the_product() -> None:
    tree = ast.parse(Path(reference_gate.__file__).read_text())
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [
        one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names
    ]
    assert modules
    assert not [name for name in modules if name.split(".")[0] in ("watchkeeper", "tests")]
