"""The usage event says what is stored, all of it, and nothing that a provider or handler brings."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.books import Meter, balanced, events
from tests.core.test_turns import KEYS
from tests.databases import Clock, Databases, Place
from tests.metered import USED, Worker
from watchkeeper import App, Decision
from watchkeeper.errors import Invalid
from watchkeeper.store.database import Database

SECRET = "provider-0fb1"

junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(SECRET) | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just(SECRET), inner),
    max_leaves=8,
)
names = st.sampled_from(
    ["id", "provider", "request_id", "turn_id", "tenant_id", "model", "charged_credits_micro",
     "provider_request_id", "user_id", "raw", "metadata", "outcome", "x"]
) | st.text()  # fmt: skip


@pytest.fixture
def app(db_url: str, clock: Clock) -> Iterator[App]:
    opened = App(db_url, migrate=False)
    yield opened
    opened.close()


@pytest.mark.req("S-07")
def test_a_run_tells_nothing_but_its_two_counters(databases: Databases) -> None:
    """Whatever else a handler puts beside them, however deep."""
    with databases.opened("sqlite") as (db, clock):
        app = App(db.writer, migrate=False)
        worker = Worker(app)

        @settings(max_examples=40, suppress_health_check=list(HealthCheck))
        @given(extra=st.dictionaries(names, junk), counters=st.booleans())
        def tell(extra: dict[str, Any], counters: bool) -> None:
            clock.advance(hours=1)
            usage = extra | {"provider": {"id": SECRET}} | (USED if counters else {})
            worker.do(Decision(note=None, usage=usage))
            told = events(clock.place)[-1].payload
            assert set(told) == KEYS - {"user_id"}
            assert SECRET not in json.dumps(told)
            assert told["tenant_id"] == "acme"
            if counters:
                assert told["charged_credits_micro"] == 40

        tell()
        for table in ("turns", "ledger", "outbox", "runs"):
            assert SECRET not in str(clock.place.execute(f"select * from {table}"))
        balanced(clock.place)
        app.close()


@pytest.mark.req("S-07")
def test_a_caller_cannot_bring_more_either(app: App, place: Place) -> None:
    given = {"model": "standard", "estimated_input_tokens": 1, "max_output_tokens": 1}
    app.reserve_turn("acme", request_id="r1", turn_id="t1", **given)
    for usage in (USED | {"provider_id": SECRET}, {"input_tokens": 1}, {"input_tokens": 1.5}):
        with pytest.raises(Invalid):
            app.finalize_turn("acme", "t1", outcome="completed", usage=usage)
    assert balanced(place) == {"running": 1}
    settled = app.finalize_turn("acme", "t1", outcome="completed", usage=USED)
    assert settled.won
    [event] = events(place)
    assert set(event.payload) == KEYS - {"user_id", "decision_id"}


@pytest.mark.req("S-07")
def test_all_that_is_asked_of_an_event_is_there(db: Database, place: Place) -> None:
    meter = Meter(db)
    version = meter.policy("[quota.tenant.daily]\ntiers.premium = 0\n")
    meter.reserve("t1", "r1", "premium", user_id="u")
    meter.finalize("t1", "cancelled", usage=(1000, 1000))
    [event] = events(place)
    assert {
        "tenant_id": "acme",
        "turn_id": "t1",
        "request_id": "r1",
        "user_id": "u",
        "policy_version_applied": version,
        "selected_model": "premium",
        "effective_model": "standard",
        "input_tokens": 1000,
        "output_tokens": 1000,
        "reserved_credits_micro": 400,
        "charged_credits_micro": 440,
        "overshoot_capped": True,
        "settlement_method": "actual",
        "outcome": "cancelled",
    }.items() <= event.payload.items()
    assert event.key == "acme/t1/r1"


@pytest.mark.req("S-07", "S-02")
def test_an_event_is_built_from_what_is_stored(db: Database, place: Place) -> None:
    """Another process ends the turn, after the policy and everything else has changed."""
    meter = Meter(db)
    version = meter.policy("spread_seconds = 1\n")
    meter.reserve("t1", "r1", user_id="u")
    meter.policy("[models.standard]\ntier = 'other'\ninput_multiplier_micro = 7\n")
    elsewhere = place.open()
    Meter(elsewhere).finalize("t1", usage=(10, 10))
    elsewhere.close()
    turn, [event] = meter.stored("t1"), events(place)
    stored = turn._asdict()
    renamed = {
        "policy_version_applied": "policy_version",
        "reserved_credits_micro": "reserved_micro",
        "charged_credits_micro": "charged_micro",
        "computed_credits_micro": "computed_micro",
        "overshoot_capped": "is_capped",
        "outcome": "state",
    }
    for key, value in event.payload.items():
        if key not in ("tenant_id", "reserved_at", "settled_at", "day", "month"):
            assert stored[renamed.get(key, key)] == value, key
    assert event.payload["policy_version_applied"] == version
    assert event.payload["tier"] == "standard"
    assert event.payload["charged_credits_micro"] == 40
