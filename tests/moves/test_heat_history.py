"""Any history of an account, through the store and back after every step: as the rules say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.databases import Databases, EngineName
from tests.looking import Lookout
from tests.verify_clean import assert_verified
from watchkeeper.actions.sweep_heat import sweep_now
from watchkeeper.core import heat as rule
from watchkeeper.core.heat import HeatState
from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_parse import shipped_policy
from watchkeeper.core.time import DAY, HOUR, MINUTE, Instant
from watchkeeper.moves.heat import SWEEP, fresh

RULES = rules_for(shipped_policy(), "acme", None).heat

steps = st.lists(
    st.tuples(
        st.sampled_from([0, MINUTE, HOUR, 2 * HOUR, 5 * HOUR, 25 * HOUR, 3 * DAY]),
        st.sampled_from(["signal", "signal", "posture", "sweep", "restart"]),
        st.sampled_from(["EXPAND", "EXPAND", "AT_RISK", "OK", "DORMANT"]),
        st.sampled_from([0, 0, -MINUTE, -7 * HOUR, HOUR]),
    ),
    min_size=4,
    max_size=14,
)


def same(one: HeatState, other: HeatState, now: Instant) -> bool:
    """Whoever looked last, and when, does not matter."""
    one, other = rule.advance(one, RULES, now), rule.advance(other, RULES, now)
    return one._replace(computed_at=now) == other._replace(computed_at=now)


def play(databases: Databases, engine: EngineName, history: list) -> None:
    with databases.opened(engine) as (db, clock):
        lookout = Lookout(db, clock)
        lookout.connector()
        lookout.budget(10**6)
        model: HeatState | None = None
        number = 0
        for wait, kind, posture, offset in history:
            now = Instant(clock.at + wait)
            clock.set(now)
            if kind == "signal":
                number += 1
                lookout.signal("ann", at=Instant(now + offset), id=f"s{number}")
                heard_at = (Instant(now + offset),)
                model = rule.heard(model or fresh(now), RULES, heard_at, now)
            elif kind == "posture":
                lookout.posture("ann", posture)
                model = rule.told_posture(model or fresh(now), RULES, posture, now)
            elif kind == "sweep":
                sweep_now(db)
                lookout.pass_on(SWEEP)
            else:
                db.writer.dispose()  # the next step opens it anew
                db.reader.dispose()
            found = lookout.heat("ann")
            assert (found is None) == (model is None)
            if found is not None and model is not None:
                assert same(found.state, model, now)
                assert found.changes_at > found.state.computed_at
        lookout.pass_on()
        assert_verified(db)


@pytest.mark.req("P-04", "P-02")
@settings(max_examples=8, deadline=None)
@given(history=steps)
def test_on_sqlite(databases: Databases, history: list) -> None:
    play(databases, "sqlite", history)


@pytest.mark.postgresql
@pytest.mark.req("P-04", "P-02")
@settings(max_examples=4, deadline=None)
@given(history=steps)
def test_on_postgresql(databases: Databases, history: list) -> None:
    play(databases, "postgresql", history)
