"""Heat moves with what was heard, in the transaction of it: both, or neither."""

from itertools import count

import pytest

from tests.databases import START_AT, Clock, Place
from tests.looking import Lookout, messages
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from watchkeeper.core.heat import Tier
from watchkeeper.core.time import HOUR, MINUTE, Instant
from watchkeeper.moves.heat import ON_SIGNAL, SWEEP, TICK
from watchkeeper.store.database import Database

COLD, WARM, HOT = Tier.COLD, Tier.WARM, Tier.HOT


@pytest.fixture
def lookout(db: Database, clock: Clock) -> Lookout:
    return Lookout(db, clock)


def tiers_in_ledger(lookout: Lookout, account: str = "ann") -> list[str | None]:
    found = lookout.entries(kind="heat.tier_changed", subject=account)
    return [entry.entry.result for entry in found]


@pytest.mark.req("P-02")
def test_a_signal_warms_its_account(lookout: Lookout) -> None:
    lookout.signal("ann")
    found = lookout.heat("ann")
    assert found is not None
    assert (found.state.tier, found.score.heat, found.state.recent) == (WARM, 400_000, (START_AT,))
    assert found.version == 1
    lookout.signal("ann")
    found = lookout.heat("ann")
    assert (found.score.heat, len(found.state.recent), found.version) == (450_000, 2, 2)


@pytest.mark.req("P-02")
def test_a_posture_is_worth_something_at_once(lookout: Lookout) -> None:
    lookout.signal("ann", "ann")
    assert lookout.tier("ann") is WARM
    lookout.posture("ann", "EXPAND")
    found = lookout.heat("ann")
    assert (found.state.tier, found.score.heat) == (HOT, 810_000)
    lookout.posture("ann", "DORMANT")
    assert lookout.heat("ann").score.heat == 450_000
    assert lookout.tier("ann") is HOT, "no account falls at once"


@pytest.mark.req("P-02")
def test_a_repeat_warms_nobody(lookout: Lookout) -> None:
    for _ in range(3):
        lookout.signal("ann", id="the same")
    assert len(lookout.heat("ann").state.recent) == 1
    assert lookout.heat("ann").version == 1


@pytest.mark.req("P-02")
def test_a_repeat_in_one_batch_counts_once(lookout: Lookout) -> None:
    lookout.signal("ann", "ann", "ann", id="the same")
    assert len(lookout.heat("ann").state.recent) == 1


@pytest.mark.req("P-02")
def test_what_is_not_a_signal_warms_nobody(lookout: Lookout) -> None:
    from tests.play import event

    lookout.fire(event("ann"))
    assert lookout.heat("ann") is None


@pytest.mark.req("P-02", "P-01")
def test_late_and_early_news_count_from_when_they_happened(lookout: Lookout) -> None:
    lookout.signal("ann", at=Instant(START_AT - 3 * HOUR))
    assert lookout.heat("ann").score.recency == 700_000
    lookout.signal("ann", at=Instant(START_AT + 500 * HOUR))
    assert lookout.heat("ann").state.recent == (Instant(START_AT - 3 * HOUR), START_AT)


@pytest.mark.req("P-02")
def test_an_account_that_had_its_posture_before_there_was_heat(
    lookout: Lookout, place: Place
) -> None:
    lookout.posture("ann", "EXPAND")
    place.execute("delete from heats")
    lookout.signal("ann", "ann")
    assert lookout.tier("ann") is HOT


@pytest.mark.req("P-02")
def test_a_batch_is_as_its_signals_one_by_one(lookout: Lookout, clock: Clock) -> None:
    lookout.signal("ann", "bob", "ann", "eve", "bob", "ann")
    for account in ("one", "two", "one", "six", "two", "one"):
        lookout.signal(account)
    for batch, single in (("ann", "one"), ("bob", "two"), ("eve", "six")):
        assert lookout.heat(batch).state == lookout.heat(single).state


@pytest.mark.req("P-04", "P-13")
def test_the_ledger_is_the_history_of_tiers(lookout: Lookout) -> None:
    lookout.posture("ann", "WATCH")
    lookout.signal("ann")
    lookout.signal("ann")
    lookout.signal("ann")
    assert tiers_in_ledger(lookout) == ["COLD", "WARM", "HOT"]
    [_, last, _] = lookout.entries(kind="heat.tier_changed", subject="ann")
    assert '"was":"COLD"' in last.entry.data.replace(" ", "")


# -- what follows --------------------------------------------------------------------------------


@pytest.mark.req("P-05")
def test_every_account_has_a_place_for_every_connector(lookout: Lookout, place: Place) -> None:
    lookout.connector("crm")
    lookout.connector("erp")
    lookout.connector("by_hand", has_cadence=False)
    lookout.signal("ann", "bob")
    found = lookout.next_pulls("ann", "bob")
    assert sorted(found) == [("ann", "crm"), ("ann", "erp"), ("bob", "crm"), ("bob", "erp")]
    assert {one.tier for one in found.values()} == {WARM}
    [tick] = messages(place, TICK)
    assert tick["due_at"] == min(one.due_at for one in found.values())


@pytest.mark.req("P-05")
def test_promotion_pulls_forward(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.connector()
    lookout.posture("ann", "OK")
    [before] = lookout.next_pulls("ann").values()
    assert before.tier is COLD
    place.execute(f"update next_pulls set slot_at = {clock.at + 50 * HOUR}, due_at = slot_at")
    lookout.heat_up("ann")
    [after] = lookout.next_pulls("ann").values()
    assert (after.tier, after.due_at, after.overdue_at) == (HOT, START_AT, START_AT + HOUR)
    assert messages(place, TICK)[0]["due_at"] == START_AT


@pytest.mark.req("P-05")
def test_who_was_pulled_just_now_is_pulled_a_cadence_later(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.connector()
    lookout.budget(100)
    lookout.signal("ann")
    lookout.make_due(place)
    lookout.tick()
    clock.advance(minutes=20)
    lookout.heat_up("ann")
    [after] = lookout.next_pulls("ann").values()
    assert after.due_at == START_AT + HOUR


@pytest.mark.req("P-03")
def test_each_signal_of_a_hot_account_asks_for_a_pull(lookout: Lookout, place: Place) -> None:
    lookout.connector()
    lookout.signal("ann", id="cool")
    assert messages(place, ON_SIGNAL) == []
    lookout.heat_up("ann")
    assert len(messages(place, ON_SIGNAL)) == 2
    lookout.signal("ann", id="third")
    lookout.signal("ann", id="third")
    told = [message["signal_id"] for message in messages(place, ON_SIGNAL)]
    assert (len(told), told.count("third"), told.count("cool")) == (3, 1, 0)


@pytest.mark.req("P-02")
def test_the_first_news_of_a_tenant_begins_its_sweep(lookout: Lookout, place: Place) -> None:
    lookout.signal("ann")
    lookout.signal("bob")
    [sweep] = messages(place, SWEEP)
    assert sweep == {"after": "", "round_at": START_AT + 30 * MINUTE}


# -- all or nothing ------------------------------------------------------------------------------


def by_signals(lookout: Lookout) -> None:
    lookout.signal("ann", "bob", "ann", "new", id=None)


def by_posture(lookout: Lookout) -> None:
    lookout.posture("bob", "EXPAND")


@pytest.mark.req("P-02")
@pytest.mark.parametrize("deed", [by_signals, by_posture])
def test_a_power_cut_leaves_both_or_neither(lookout: Lookout, place: Place, deed) -> None:
    lookout.connector()
    lookout.posture("ann", "EXPAND")
    lookout.signal("ann")
    lookout.signal("bob", "bob")
    before = contents(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                deed(lookout)
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    after = contents(place)
    assert after["heats"] != before["heats"]
    assert after["ledger"] != before["ledger"]
    assert after["next_pulls"] != before["next_pulls"]
    assert lookout.tier("ann" if deed is by_signals else "bob") is HOT


@pytest.mark.req("P-05")
def test_accounts_that_come_together_are_not_pulled_together(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    """An import: all of them are new, and warm or hot by what comes with them."""
    lookout.connector()
    warm, hot = [f"w{n}" for n in range(60)], [f"h{n}" for n in range(60)]
    lookout.signal(*warm)
    lookout.policy("[heat]\nhot_percent = 40\n")
    lookout.signal(*hot, *hot)
    assert (lookout.tier("w0"), lookout.tier("h0")) == (WARM, HOT)
    for names, cadence in ((warm, 6 * HOUR), (hot, HOUR)):
        found = [one.due_at for one in lookout.next_pulls(*names).values()]
        assert all(START_AT <= at < START_AT + cadence for at in found)
        assert max(found) - min(found) > cadence // 2
        assert len(set(found)) > 50
    lookout.signal("w0", "w0")
    assert lookout.next_pulls("w0")["w0", "crm"].due_at == clock.at, "a promotion is another thing"
