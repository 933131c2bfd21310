"""Turns: reserved before the work, told to progress, ended once; on both databases."""

import pytest

from tests.books import Meter, at_edge, balanced, events, levels
from tests.databases import START_AT, Clock, Place
from watchkeeper.core.quota import Asked
from watchkeeper.core.time import DAY, SECOND, from_iso
from watchkeeper.core.turns import Ending, TurnState
from watchkeeper.errors import Conflict, Invalid, NotFound, QuotaExceeded
from watchkeeper.ids import new_id
from watchkeeper.moves.settlement import Reserved
from watchkeeper.store.database import Database


@pytest.fixture
def meter(db: Database) -> Meter:
    return Meter(db)


# -- reserve ------------------------------------------------------------------------------


@pytest.mark.req("S-01", "S-02")
def test_a_reserve_is_taken_from_every_bucket(meter: Meter, place: Place) -> None:
    reserved = meter.reserve("t1", "r1", "premium", (100, 10), user_id="u")
    assert reserved.is_new
    assert reserved.turn.reserved_micro == 650
    assert reserved.turn == meter.stored("t1")
    for owner in ("", "u"):
        assert levels(place, owner) == {
            (period, START_AT, bucket): (650, 0)
            for period in ("daily", "monthly")
            for bucket in ("total", "tier:premium")
        }
    assert balanced(place) == {"running": 1}


@pytest.mark.req("S-01")
def test_the_same_request_again_is_the_same_turn(meter: Meter, place: Place, clock: Clock) -> None:
    first = meter.reserve("t1", "r1")
    clock.advance(10)
    again = meter.reserve("t2", "r1", model="premium", tokens=(9, 9))
    assert not again.is_new
    assert again.turn == first.turn
    meter.finalize("t1", usage=(1, 1))
    ended = meter.reserve("t3", "r1")
    assert (ended.is_new, ended.turn.state) == (False, "completed")
    assert balanced(place) == {"completed": 1}


@pytest.mark.req("S-01")
def test_a_request_is_known_within_its_tenant_only(db: Database, place: Place) -> None:
    assert Meter(db, "acme").reserve("t1", "r1").is_new
    assert Meter(db, "bolt").reserve("t1", "r1").is_new
    assert balanced(place) == {"running": 2}


@pytest.mark.req("S-01")
def test_a_turn_id_of_another_request_is_refused(meter: Meter, place: Place) -> None:
    meter.reserve("t1", "r1")
    with pytest.raises(Conflict, match="t1 belongs to another request"):
        meter.reserve("t1", "r2")
    assert balanced(place) == {"running": 1}


@pytest.mark.req("S-01")
def test_a_wrong_request_does_not_refuse_those_beside_it(meter: Meter, place: Place) -> None:
    asked = [
        Asked("t1", "r1", "standard", 1, 1),
        Asked("t1", "r2", "standard", 1, 1),
        Asked("t3", "r3", "gone", 1, 1),
        Asked("t4", "r1", "standard", 1, 1),
        Asked("t5", "r5", "standard", 1, 1),
    ]
    answers = meter.turns.reserve_many(meter.tenant_id, asked)
    assert [type(a).__name__ for a in answers] == [
        "Reserved", "Conflict", "Invalid", "Reserved", "Reserved",
    ]  # fmt: skip
    assert answers[3].turn == answers[0].turn
    assert balanced(place) == {"running": 2}


@pytest.mark.req("S-01")
def test_each_of_a_batch_sees_what_those_before_it_took(meter: Meter, place: Place) -> None:
    meter.policy("[quota.user.daily]\ntotal = 1000\n")
    asked = [
        Asked(f"t{n}", f"r{n}", "standard", 100, size, user_id="u")
        for n, size in enumerate([100, 100, 100, 0, 0, 0])
    ]
    answers = meter.turns.reserve_many(meter.tenant_id, asked)
    fitted = [isinstance(answer, Reserved) for answer in answers]
    assert fitted == [True, True, False, True, True, False]
    assert balanced(place) == {"running": 4}


@pytest.mark.req("S-01")
def test_an_unknown_model_is_a_wrong_request(meter: Meter, place: Place) -> None:
    with pytest.raises(Invalid, match="no such model in the policy; there are standard, premium"):
        meter.reserve(model="gone")
    assert balanced(place) == {}


@pytest.mark.req("S-01")
def test_a_full_tier_is_downgraded_and_a_full_total_refused(
    meter: Meter, place: Place, clock: Clock
) -> None:
    meter.policy("[quota.tenant.daily]\ntotal = 2800\ntiers.premium = 2000\n")
    assert meter.reserve("t1", model="premium").turn.effective_model == "premium"
    down = meter.reserve("t2", model="premium").turn
    assert (down.selected_model, down.effective_model, down.tier) == (
        "premium", "standard", "standard",
    )  # fmt: skip
    assert down.reserved_micro == 400
    assert meter.fits("t3"), "exactly what is left"
    with pytest.raises(QuotaExceeded, match="2800 of 2800 are taken") as refused:
        meter.reserve("t4", tokens=(1, 0))
    assert refused.value.retry_at == START_AT + DAY
    clock.advance(days=1)
    assert meter.fits("t4")
    refusals = place.execute("select subject, reason from ledger where kind = 'turn.refused'")
    assert refusals == [("t4", "quota_exceeded")]
    assert balanced(place) == {"running": 4}


@pytest.mark.req("S-01")
def test_kill_switches_stop_reserves(meter: Meter, db: Database, place: Place) -> None:
    meter.reserve("t0")
    meter.kill("tier", "premium")
    assert meter.reserve("t1", model="premium").turn.effective_model == "standard"
    meter.kill("tier", "standard")
    with pytest.raises(QuotaExceeded, match=r"off by kill switch tier:standard \(why not\)"):
        meter.reserve("t2")
    meter.kill("tier", "standard", on=False)
    meter.kill("tenant")
    assert not meter.fits("t3")
    assert Meter(db, "bolt").fits("t3"), "another tenant's switch"
    meter.kill("tenant", on=False)
    meter.kill("all")
    assert not Meter(db, "bolt").fits("t4")
    assert meter.finalize("t0", usage=(1, 1)).won, "what runs may end under any switch"
    balanced(place)


@pytest.mark.req("S-01")
def test_limits_lowered_below_what_is_used(meter: Meter, place: Place) -> None:
    for n in range(3):
        meter.reserve(f"t{n}", user_id="u")
    meter.policy("[quota.user.daily]\ntotal = 500\n")
    assert not meter.fits("t4", tokens=(1, 0), user_id="u")
    assert meter.fits("t5"), "the tenant itself has room"
    meter.finalize("t0", usage=(0, 0))
    meter.finalize("t1", usage=(0, 0))
    assert meter.fits("t6", tokens=(100, 0), user_id="u"), "400 and 100 are 500"
    assert not meter.fits("t7", tokens=(1, 0), user_id="u")
    balanced(place)


# -- the terms of the reserve ------------------------------------------------------------------


EDGES = {
    "a leap day": ("2028-02-29T23:50:00", "2028-03-01T00:10:00"),
    "midnight": ("2030-01-15T23:59:59.999999", "2030-01-16T00:00:00"),
    "a month's end": ("2030-04-30T23:50:00", "2030-05-01T00:10:00"),
    "new year": ("2030-12-31T23:50:00", "2031-01-01T00:10:00"),
}


@pytest.mark.req("S-02")
def test_a_turn_settles_where_it_was_reserved(meter: Meter, place: Place, clock: Clock) -> None:
    for name, (before, after) in EDGES.items():
        user = name.replace(" ", "-")
        at_edge(clock, before)
        meter.reserve(f"{user}-1", user_id=user)
        at_edge(clock, after)
        meter.reserve(f"{user}-2", user_id=user)
        meter.finalize(f"{user}-1", usage=(10, 0))
        day, month = from_iso(f"{before[:10]}T00:00:00Z"), from_iso(f"{before[:7]}-01T00:00:00Z")
        today = from_iso(f"{after[:10]}T00:00:00Z")
        this_month = from_iso(f"{after[:7]}-01T00:00:00Z")
        found = levels(place, user)
        assert found["daily", day, "total"] == (0, 10)
        assert found["daily", today, "total"] == (400, 0)
        assert found["monthly", month, "total"] == ((400, 10) if month == this_month else (0, 10))
        assert found["monthly", this_month, "tier:standard"][0] == 400
        told = events(place)[-1].payload
        assert (told["day"], told["month"]) == (before[:10], before[:7])
    balanced(place)


@pytest.mark.req("S-02", "S-05")
def test_a_new_policy_changes_nothing_of_what_runs(meter: Meter, place: Place) -> None:
    first = meter.policy("spread_seconds = 7\n")
    for n in range(1, 4):
        meter.reserve(f"t{n}")
    before = meter.stored("t1")
    meter.policy(
        "[models.standard]\ninput_multiplier_micro = 0\noutput_multiplier_micro = 9\n"
        "[quota]\ntolerance_percent = 1000\ngeneration_floor_tokens = 0\nwatchdog_seconds = 60\n"
        "[quota.tenant.daily]\ntotal = 0\n"
    )
    known = meter.finalize("t1", usage=(100, 90)).turn
    assert known.charged_micro == 370
    over = meter.finalize("t2", usage=(1000, 1000)).turn
    assert (over.computed_micro, over.charged_micro, over.is_capped) == (4000, 440, True)
    assert meter.finalize("t3").turn.charged_micro == 250
    assert meter.stored("t1")[:19] == before[:19]
    assert [e.payload["policy_version_applied"] for e in events(place)] == [first] * 3
    balanced(place)


@pytest.mark.req("S-02", "S-06")
def test_the_timeout_is_that_of_the_reserve(meter: Meter, clock: Clock) -> None:
    meter.policy("[quota]\nwatchdog_seconds = 3600\n")
    meter.reserve("t1")
    meter.policy("[quota]\nwatchdog_seconds = 60\n")
    clock.advance(3600)
    assert meter.watch() == 0
    meter.progress("t1")
    assert meter.stored("t1").deadline_at == clock.at + 3600 * SECOND


# -- ends --------------------------------------------------------------------------------------


WAYS = [
    (True, (90, 50), "actual", 240, False),
    (True, (1000, 1000), "actual", 440, True),
    (True, None, "estimated", 250, False),
    (False, None, "released", 0, False),
    (False, (10, 10), "actual", 40, False),
]


@pytest.mark.req("S-04", "S-05")
def test_every_way_to_end_is_settled_and_told_once(meter: Meter, place: Place) -> None:
    spent = 0
    for n, outcome in enumerate(["completed", "failed", "cancelled"]):
        for m, (started, usage, method, charged, capped) in enumerate(WAYS):
            turn_id = f"t-{n}-{m}"
            meter.reserve(turn_id, user_id="u")
            ended = meter.finalize(turn_id, outcome, started=started, usage=usage)
            assert ended.won
            assert ended.turn == meter.stored(turn_id)
            assert (ended.turn.state, ended.turn.settlement_method) == (outcome, method)
            assert (ended.turn.charged_micro, ended.turn.is_capped) == (charged, capped)
            late = meter.finalize(turn_id, "failed", usage=(1, 1))
            assert not late.won
            assert late.turn == ended.turn
            event = events(place)[-1]
            assert (event.id, event.namespace) == (ended.turn.event_id, "mini-chat")
            assert event.payload["overshoot_capped"] is capped
            spent += charged
            assert levels(place)["daily", START_AT, "total"] == (0, spent)
    assert balanced(place) == {"completed": 5, "failed": 5, "cancelled": 5}


@pytest.mark.req("S-04")
def test_an_end_of_no_turn_is_not_found(meter: Meter, place: Place) -> None:
    meter.reserve("t1")
    for stranger in (meter, Meter(meter.db, "bolt")):
        for deed in (stranger.finalize, stranger.progress):
            with pytest.raises(NotFound):
                deed("t2" if stranger is meter else "t1")
    assert balanced(place) == {"running": 1}
    assert place.execute("select tenant_id from tenants") == [("acme",)], "only a reserve makes one"


@pytest.mark.req("S-04")
def test_one_turn_ended_twice_in_one_transaction(meter: Meter, place: Place) -> None:
    meter.reserve("t1")
    endings = [
        Ending(turn, state, True, None, "test", new_id())
        for turn, state in [("t1", TurnState.FAILED), ("t1", TurnState.COMPLETED), ("t2", "failed")]
    ]
    first, second, none = meter.turns.finalize_many(meter.tenant_id, endings)
    assert (first.won, second.won, none) == (True, False, None)
    assert second.turn == first.turn
    assert balanced(place) == {"failed": 1}


@pytest.mark.req("S-04")
def test_a_missing_bucket_is_made_when_a_turn_ends(meter: Meter, place: Place) -> None:
    meter.reserve("t1", user_id="u")
    place.execute("delete from quota_buckets")
    assert meter.finalize("t1", usage=(10, 10)).won
    for owner in ("", "u"):
        assert set(levels(place, owner).values()) == {(0, 40)}
    balanced(place, but_lost=True)


@pytest.mark.req("S-04")
def test_a_bucket_that_forgot_its_reserve_does_not_stop_an_end(meter: Meter, place: Place) -> None:
    meter.reserve("t1")
    place.execute("update quota_buckets set reserved_micro = 3")
    assert meter.finalize("t1", usage=(10, 10)).won
    assert levels(place)["daily", START_AT, "total"] == (0, 40)
    balanced(place, but_lost=True)


@pytest.mark.req("S-04", "S-05")
def test_a_full_bucket_never_stops_an_end(meter: Meter, place: Place) -> None:
    """Overage is recorded above the limit."""
    meter.policy("[quota.tenant.daily]\ntotal = 400\n")
    meter.reserve("t1")
    assert meter.finalize("t1", usage=(500, 500)).turn.charged_micro == 440
    assert levels(place)["daily", START_AT, "total"] == (0, 440)
    assert not meter.fits("t2", tokens=(0, 0))
    balanced(place)


@pytest.mark.req("S-04")
def test_a_namespace_of_ones_own(db: Database, place: Place) -> None:
    meter = Meter(db, namespace="billing")
    meter.reserve("t1")
    meter.finalize("t1")
    assert [event.namespace for event in events(place)] == ["billing"]
    balanced(place)
