"""Every deed of admission, with its 1st step failing, then its 2nd, until none is left to fail."""

from collections.abc import Callable
from itertools import count

import pytest

from tests.databases import Clock, Place
from tests.play import ACME, BRIEF, SIGNAL, Player, event
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from tests.verify_clean import assert_verified
from watchkeeper.actions.change_account import AccountChange, change_account
from watchkeeper.actions.ingest_signals import NewSignal, ingest_signals
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.set_schedule import NewSchedule, remove_schedule, set_schedule
from watchkeeper.core.envelope import RETRY, SCHEDULE_DUE, SCHEDULE_SLICE
from watchkeeper.core.ids import AccountId, ScheduleId
from watchkeeper.core.time import Instant
from watchkeeper.moves.admission import Asked
from watchkeeper.store.database import Database

ANN = AccountId("ann")
DAILY = ScheduleId("daily")


def admit(player: Player) -> Callable[[], object]:
    player.fire(event("bob"))
    player.clock.advance(90)
    events = [event("ann"), event("ann"), event("bob"), event("cat", "UNKNOWN")]
    return lambda: player.fire(*events)


def retry(player: Player) -> Callable[[], object]:
    admit(player)()
    player.clock.advance(300)
    [message] = player.claim([RETRY])
    return lambda: player.handle(message)


def signals(player: Player) -> Callable[[], object]:
    player.fire(event("bob"))
    news = [NewSignal(ANN, "news", data='{"a": 1}'), NewSignal(AccountId("bob"), "news")]
    return lambda: ingest_signals(player.admission, ACME, news)


def account(player: Player) -> Callable[[], object]:
    player.fire(event("bob"))
    change = AccountChange(posture="calm", lifecycle_state="live", attributes='{"a": 1}')
    return lambda: change_account(player.admission, ACME, ANN, change)


def switch(player: Player) -> Callable[[], object]:
    player.fire(event("bob"))
    return lambda: set_kill_switch(
        player.db, ACME, "trigger", SIGNAL, on=True, reason="x", set_by="eve"
    )


def policy(player: Player) -> Callable[[], object]:
    player.policy("spread_seconds = 1\n")
    return lambda: player.policy("spread_seconds = 2\n")


def schedule(player: Player) -> Callable[[], object]:
    player.fire(event("bob"))
    return lambda: set_schedule(player.db, ACME, DAILY, NewSchedule(BRIEF, "0 8 * * *"))


def removal(player: Player) -> Callable[[], object]:
    schedule(player)()
    return lambda: remove_schedule(player.db, ACME, DAILY)


def firing(player: Player, account_id: AccountId | None = ANN) -> Callable[[], object]:
    player.fire(event("bob"), event("cat"))
    set_schedule(player.db, ACME, DAILY, NewSchedule(BRIEF, "0 8 * * *", account_id=account_id))
    player.clock.advance(hours=8)
    [message] = player.claim([SCHEDULE_DUE])
    return lambda: player.handle(message)


def firing_for_all(player: Player) -> Callable[[], object]:
    return firing(player, None)


def slice_of_accounts(player: Player) -> Callable[[], object]:
    firing(player, None)()
    [message] = player.claim([SCHEDULE_SLICE])
    player.clock.advance(100)  # some accounts' seconds have passed, some are still to come
    return lambda: player.handle(message)


DEEDS = [admit, retry, signals, account, switch, policy, schedule, removal]
DEEDS += [firing, firing_for_all, slice_of_accounts]


@pytest.mark.req("D-12", "D-19")
@pytest.mark.parametrize("prepared", DEEDS, ids=lambda deed: deed.__name__)
def test_a_power_cut_leaves_all_or_nothing(
    db: Database, clock: Clock, place: Place, prepared: Callable[[Player], Callable[[], object]]
) -> None:
    deed = prepared(Player(db, clock))
    before = contents(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                deed()
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    assert step >= 4, "fewer steps than the deed has statements: the cuts did not reach it"
    assert seen[-1] == "commit"
    assert seen.count("commit") == 1, "one transaction per move"
    after = contents(place)
    assert after["ledger"] != before["ledger"] or prepared is slice_of_accounts
    assert after != before
    assert_verified(db)


@pytest.mark.req("D-12", "D-19")
def test_what_the_database_refuses_leaves_nothing(db: Database, clock: Clock, place: Place) -> None:
    """On PostgreSQL the refusal comes at the end of a pipeline, after everything was sent."""
    player = Player(db, clock)
    [first] = player.fire(event("ann"))
    before = contents(place)
    taken = [Asked(first.decision_id, event("bob")), Asked(first.decision_id, event("cat"))]
    for asked in (taken[:1], taken):
        with pytest.raises(Exception, match=r"(?i)unique|replacing rows of ledger is refused"):
            player.admission.admit(ACME, asked)
        assert contents(place) == before
    assert player.tell(event("bob")) == ["ALLOW"], "and the next one finds a sound connection"


@pytest.mark.req("D-12")
def test_nobody_is_told_that_a_committed_deed_failed(db: Database, clock: Clock) -> None:
    def deaf() -> None:
        raise OSError("the listener is gone")

    db.on_news.append(deaf)
    player = Player(db, clock)
    assert player.tell(event("ann")) == ["ALLOW"]
    set_schedule(db, ACME, DAILY, NewSchedule(BRIEF, "* * * * *"))
    assert len(player.entries(kind="schedule.set")) == 1
    assert player.clock.at == Instant(clock.at)
