"""Many who carry the same plans: nothing is begun twice, and one thing happens at an instant."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.actions.test_turn_races import at_once
from tests.carrying import AUTO, MEET, STEPS, Orchestrator, kinds, messages, sound
from tests.databases import Clock, Databases, EngineName, Place
from watchkeeper.act_results import Outcome
from watchkeeper.errors import Conflict

ENDS = ("PLAN_COMPLETED", "PLAN_ABORTED", "PLAN_EXPIRED")
MANY = 8

Script = Callable[[], Iterator[None]]


@pytest.fixture
def two(place: Place) -> Iterator[tuple[Orchestrator, Orchestrator]]:
    both = Orchestrator(place.url), Orchestrator(place.url, None)
    yield both
    sound(place)
    for one in both:
        one.close()


def merges(first: int, second: int) -> Iterator[tuple[int, ...]]:
    """Every order in which two scripts of so many transactions can be played."""
    for places in itertools.combinations(range(first + second), second):
        yield tuple(int(n in places) for n in range(first + second))


def play(order: tuple[int, ...], *scripts: Script) -> None:
    running = [script() for script in scripts]
    for number in order:
        next(running[number], None)
    for script in running:
        for _ in script:
            pass


def work(one: Orchestrator, tenant: str) -> Script:
    """A cycle, then an action: claim, begin, call, end. Each is a transaction of its own."""

    def script() -> Iterator[None]:
        one.plans.run_cycle(tenant)
        yield
        claimed = one.claim(limit=1)
        yield
        begun = [(m, a) for m in claimed for a in one.start(m).values()]
        yield
        for message, action in begun:
            one.end(message, action, one._called(action))
        yield

    return script


def calls(*those: Orchestrator) -> Counter[tuple[str, str, int]]:
    return Counter(itertools.chain.from_iterable(one.calls for one in those))


@pytest.mark.req("A-03", "A-05", "A-09", "A-12")
def test_two_orchestrators_in_every_order(two, place: Place, engine: EngineName) -> None:
    """Two plans of one account: one is active, its steps are each begun once."""
    orders = list(merges(4, 4))
    for number, order in enumerate(orders if engine == "sqlite" else orders[::7]):
        tenant = f"t{number}"
        made = [two[0].approved(tenant=tenant, steps=STEPS[:2]) for _ in range(2)]
        play(order, work(two[0], tenant), work(two[1], tenant))
        statuses = sorted(two[0].status(plan_id) for plan_id in made)
        assert statuses in (["ACTIVE", "APPROVED"], ["APPROVED", "COMPLETED"]), order
        for one in two:
            one.drain()
        assert {two[0].status(plan_id) for plan_id in made} == {"COMPLETED"}, order
        begun = calls(*two)
        assert set(begun.values()) == {1}, order
        assert len(begun) == 4 * (number + 1), order
        sound(place)


@pytest.mark.req("A-05", "A-09", "A-12")
def test_one_that_was_paused_beyond_its_lease_in_every_order(two, place, clock: Clock) -> None:
    """Both hold the message at some time: one call, or none and an outcome that is unknown."""
    slow, quick = two
    for number, order in enumerate(merges(3, 4)):
        plan_id = slow.active(f"a{number}", [MEET])

        def slowly() -> Iterator[None]:
            claimed = slow.claim()
            yield
            begun = [(m, a) for m in claimed for a in slow.start(m).values()]
            yield
            for message, action in begun:
                slow.end(message, action, slow._called(action))
            yield

        def quickly() -> Iterator[None]:
            clock.advance(61)
            yield
            claimed = quick.claim()
            yield
            begun = [(m, a) for m in claimed for a in quick.start(m).values()]
            yield
            for message, action in begun:
                quick.end(message, action, quick._called(action))
            yield

        play(order, slowly, quickly)
        sound(place)
        clock.advance(200)
        for one in two:
            one.drain()
        assert slow.status(plan_id) == "COMPLETED", order
        of_plan = {call: count for call, count in calls(*two).items() if call[0] == plan_id}
        assert set(of_plan.values()) == {1}, order
        assert len([kind for kind in kinds(place, plan_id) if kind in ENDS]) == 1


@pytest.mark.req("A-01", "A-09", "A-10")
@pytest.mark.parametrize("deed", ["pause", "abort"])
def test_a_stop_between_any_two_transactions_of_an_action(two, place, deed: str) -> None:
    """What was not begun stays so; what was begun is recorded, and is late after an abort."""
    worker, person = two
    for at in range(4):
        plan_id = worker.active(f"{deed}{at}", [MEET])
        intent = worker.under_way(plan_id)
        claimed, begun = [], []
        for number in range(3):
            if number == at:
                getattr(person.plans, deed)(plan_id, by="ann")
            if number == 1:
                claimed = worker.claim()
            if number == 2:
                begun = [(m, a) for m in claimed for a in worker.start(m).values()]
        if at == 3:
            getattr(person.plans, deed)(plan_id, by="ann")
        was_begun = at == 3
        assert len(begun) == was_begun
        for message, action in begun:
            worker.end(message, action)
        stored = worker.intents.get(intent)
        if deed == "pause":
            assert worker.status(plan_id) == "PAUSED"
            assert stored.status == ("SUCCEEDED" if was_begun else "APPROVED")
            worker.plans.resume(plan_id, by="ann")
            worker.drain()
            assert worker.status(plan_id) == "COMPLETED"
        else:
            assert worker.status(plan_id) == "ABORTED"
            assert stored.status == ("SUCCEEDED" if was_begun else "CANCELLED")
            assert stored.is_late == was_begun
        sound(place)


# -- threads ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def many(databases: Databases, policy: str = AUTO) -> Iterator[tuple[list[Orchestrator], Place]]:
    """As many orchestrators on one PostgreSQL database, each with connections of its own."""
    with databases.fresh("postgresql") as place, contextlib.ExitStack() as stack:
        made = [Orchestrator(place.url, policy if n == 0 else None) for n in range(MANY)]
        for one in made:
            stack.callback(one.close)
        yield made, place
        sound(place)


@pytest.mark.postgresql
@pytest.mark.req("A-03", "A-12")
def test_many_cycles_at_once_activate_one_plan_of_an_account(databases: Databases) -> None:
    with many(databases) as (those, place):
        for n in range(12):
            those[0].approved(f"a{n % 3}")
        found = at_once(MANY, lambda n: those[n].cycle())
        assert sum(told["activated"] for told in found) == 3
        assert sum(told["steps_started"] for told in found) == 3
        assert kinds(place).count("PLAN_ACTIVATED") == 3
        assert len(messages(place)) == 3


@pytest.mark.postgresql
@pytest.mark.req("A-05", "A-09", "A-12")
def test_many_drains_at_once_call_each_attempt_once(databases: Databases) -> None:
    with many(databases) as (those, place):
        made = [those[0].approved(f"a{n}") for n in range(10)]
        for one in those:
            one.answers["step-2"] = lambda a: Outcome.failure() if a.attempt == 1 else None
        at_once(MANY, lambda n: those[n].drain())
        Clock(place).advance(60)
        at_once(MANY, lambda n: those[n].drain())
        for one in those:
            one.drain()
        assert {those[0].status(plan_id) for plan_id in made} == {"COMPLETED"}
        begun = calls(*those)
        assert len(begun) == 40
        assert set(begun.values()) == {1}


@pytest.mark.postgresql
@pytest.mark.req("A-01", "A-10")
def test_many_deeds_at_once_on_one_plan_have_one_result(databases: Databases) -> None:
    with many(databases) as (those, place):
        for number in range(6):
            plan_id, intent = those[0].executing(f"a{number}", [MEET])

            def deed(n: int, plan_id: str = plan_id, intent: str = intent) -> None:
                one = those[n]
                with contextlib.suppress(Conflict):  # somebody was first
                    [
                        lambda: one.intents.report(intent, succeeded=True),
                        lambda: one.intents.report(intent, succeeded=False),
                        lambda: one.plans.abort(plan_id, by="ann"),
                        lambda: one.plans.skip(plan_id, "step-1", "x", by="ann"),
                        lambda: one.plans.pause(plan_id, by="ann"),
                        one.cycle,
                        lambda: one.plans.resume(plan_id, by="ann"),
                        lambda: one.plans.tell(plan_id, {"a": 1}),
                    ][n]()

            at_once(MANY, deed)
            lines = kinds(place, plan_id)
            assert len([kind for kind in lines if kind in ENDS]) <= 1
            told = sum(lines.count(k) for k in ("STEP_COMPLETED", "STEP_FAILED", "OUTCOME_LATE"))
            assert told == 2, "both outcomes are recorded, each in its way"
            sound(place)


@pytest.mark.postgresql
@pytest.mark.req("A-08")
def test_the_autonomy_of_a_day_is_never_overdrawn(databases: Databases) -> None:
    with many(databases, AUTO + "auto_per_day_max = 5\n") as (those, place):
        for n in range(16):
            those[0].approved(f"a{n}", [MEET])
        at_once(MANY, lambda n: those[n].cycle())
        assert place.execute("select used from autonomy_days") == [(5,)]
        assert len(messages(place)) == 5


@pytest.mark.postgresql
@pytest.mark.req("A-08")
def test_an_approval_and_a_rejection_at_once_have_one_winner(databases: Databases) -> None:
    with many(databases, "") as (those, place):
        for number in range(5):
            plan_id = those[0].active(f"a{number}", [MEET])
            intent = those[0].under_way(plan_id)

            def deed(n: int, intent: str = intent) -> bool:
                door = those[n].intents
                try:
                    (door.approve if n % 2 else door.reject)(intent, by=f"p{n}")
                except Conflict:
                    return False
                return True

            assert sum(at_once(MANY, deed)) == 1
            lines = kinds(place, plan_id)
            assert lines.count("INTENT_APPROVED") + lines.count("INTENT_REJECTED") == 1
