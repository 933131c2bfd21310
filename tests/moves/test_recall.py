"""What is remembered of plans whose actions are under way here: once, and no more than fits."""

import pytest

from watchkeeper.core.ids import AccountId, IntentId, MessageId, PlanId, TenantId, Token
from watchkeeper.core.plans import Intent, IntentState, Plan, PlanStatus
from watchkeeper.core.time import Instant
from watchkeeper.moves import recall
from watchkeeper.moves.plan_case import Begun, Case
from watchkeeper.moves.recall import Recall
from watchkeeper.store.leases import Message
from watchkeeper.store.plan_context import PlanContext
from watchkeeper.store.plan_ends import Guess
from watchkeeper.store.plans import Loaded

AT = Instant(1)


def attempt(
    name: str, state: IntentState = IntentState.EXECUTING, *, is_late: bool = False
) -> Intent:
    return Intent(
        intent_id=IntentId(name),
        plan_id=PlanId("p"),
        step_id="step-1",
        attempt=1,
        account_id=AccountId("ann"),
        action_type="MEET",
        state=state,
        created_at=AT,
        deadline_at=AT,
        approval="AUTO_EXECUTE",
        ended_at=AT if state is IntentState.SUCCEEDED else None,
        is_late=is_late,
    )


def begun(name: str, *intents: Intent, row: str | None = "7") -> Begun:
    plan = Plan(
        plan_id=PlanId(f"plan of {name}"),
        account_id=AccountId("ann"),
        plan_type="RENEWAL_DEFENSE",
        objective="o",
        status=PlanStatus.ACTIVE,
        facts="{}",
        constraints="{}",
        source="caller",
        correlation_id=None,
        created_at=AT,
        created_by="ann",
        expires_at=AT,
    )
    message = Message(
        namespace="watchkeeper",
        topic="action.requested",
        token=Token("t"),
        due_at=AT,
        seq=1,
        handle=1,
        id=MessageId(name),
        tenant_id=TenantId("acme"),
        payload="{}",
        attempt=1,
        generation=0,
        created_at=AT,
        dedupe_key=None,
        ordering_key=None,
        dead_reason=None,
    )
    case = Case(Loaded(plan, (), intents or (attempt(f"intent of {name}"),)))
    case.row, case.is_written = row, row is None
    return Begun(message, {}, case)


def taken(kept: Recall, *names: str) -> list[str]:
    return [known.message_id for known in kept.take([MessageId(name) for name in names])]


@pytest.mark.req("A-09")
def test_it_is_taken_once() -> None:
    kept = Recall()
    one, other = begun("a"), begun("b", row="8")
    kept.keep([one, other], None)
    [(known, case)] = kept.take([MessageId("a"), MessageId("c")]).items()
    assert case is one.case
    assert known == ("plan of a", "7", "intent of a", "a")
    assert taken(kept, "a") == []
    assert taken(kept, "a", "b") == ["b"]
    assert taken(kept, "b") == []


@pytest.mark.req("A-09")
def test_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "KEPT_MAX", 3)
    kept = Recall()
    names = [f"m{n}" for n in range(5)]
    for name in names:
        kept.keep([begun(name)], None)
    assert taken(kept, *names) == names[2:]
    kept.keep(map(begun, names), None)
    assert taken(kept, *names) == names[2:]


@pytest.mark.req("A-09")
def test_what_nothing_can_be_known_by_is_not_remembered() -> None:
    kept = Recall()
    kept.keep([begun("no row", row=None), begun("over", attempt("i", IntentState.SUCCEEDED))], None)
    kept.keep([begun("late", attempt("i", is_late=True))], None)
    assert taken(kept, "no row", "over", "late") == []


@pytest.mark.req("A-09")
def test_attempts_that_are_over_are_not_kept() -> None:
    kept = Recall()
    kept.keep([begun("a", attempt("over", IntentState.SUCCEEDED), attempt("open"))], None)
    [(known, case)] = kept.take([MessageId("a")]).items()
    assert known.intent_id == "open"
    assert list(case.intents) == ["open"]


@pytest.mark.req("A-09")
def test_what_was_written_is_known_by_who_wrote_it() -> None:
    kept = Recall()
    kept.keep([begun("new", row=None), begun("as it was", row="7")], "9")
    known = kept.take([MessageId("new"), MessageId("as it was")])
    assert [one.row for one in known] == ["9", "7"]


# -- what a tenant's plans are judged by -----------------------------------------------------------

CONTEXT = PlanContext(1, {}, {}, None, 0, False)
ACME, BOLT = TenantId("acme"), TenantId("bolt")


class Hand:
    at = 5.0

    def __call__(self) -> float:
        return self.at


@pytest.mark.req("A-09")
def test_a_guess_is_taken_once_and_its_time_goes_on() -> None:
    clock = Hand()
    kept = Recall(clock)
    kept.learn(ACME, Guess(CONTEXT, "gold", Instant(100), 5.0))
    assert kept.guess(BOLT) is None
    clock.at += 0.25
    assert kept.guess(ACME) == Guess(CONTEXT, "gold", Instant(250_100), 5.25)
    assert kept.guess(ACME) is None


@pytest.mark.req("A-09")
def test_what_was_found_long_ago_is_no_guess() -> None:
    clock = Hand()
    kept = Recall(clock)
    for tenant_id in (ACME, BOLT):
        kept.learn(tenant_id, Guess(CONTEXT, None, Instant(100), 5.0))
    clock.at += recall.GUESSED_SECONDS_MAX
    assert kept.guess(ACME) is not None
    clock.at += 0.25
    assert kept.guess(BOLT) is None


@pytest.mark.req("A-09")
def test_guesses_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "KEPT_MAX", 3)
    kept = Recall(Hand())
    tenants = [TenantId(f"t{n}") for n in range(10)]
    for tenant_id in tenants:
        kept.learn(tenant_id, Guess(CONTEXT, None, Instant(1), 5.0))
    found = [one for one in tenants if kept.guess(one) is not None]
    assert 1 <= len(found) <= 3
    assert found[-1] == tenants[-1]
