"""Caps lowered, raised, lifted and removed while they are in use, against a small model."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.databases import Databases, EngineName
from tests.looking import DEEP, SHALLOW, Lookout, spent
from tests.verify_clean import assert_verified
from watchkeeper.core.time import DAY

CONNECTORS = ("crm", "erp")
CAPS = st.none() | st.sampled_from([0, 1, 3, 5, 12, 10**12])


class Model:
    """What a budget is, in a few lines."""

    def __init__(self) -> None:
        self.total: int | None = None
        self.caps: dict[str, int] = {}
        self.days: dict[int, dict[str, int]] = {}

    def take(self, day: int, name: str, units: int) -> tuple[str | None, int]:
        used = self.days.setdefault(day, dict.fromkeys(["", *CONNECTORS], 0))
        if self.total is None:
            return "NO_BUDGET", 0
        fits = used[""] + units <= self.total and used[name] + units <= self.caps.get(name, 10**15)
        if fits:
            used[""] += units
            used[name] += units
        left = min(self.total - used[""], self.caps.get(name, 10**15) - used[name])
        return (None if fits else "BUDGET_EXCEEDED"), max(0, left)


class Budgets(RuleBasedStateMachine):
    databases: Databases
    engine: EngineName

    def __init__(self) -> None:
        super().__init__()
        self.ending = self.databases.opened(self.engine)
        db, self.clock = self.ending.__enter__()
        self.lookout = Lookout(db, self.clock)
        self.model = Model()
        self.number = 0

    @rule(total=CAPS, crm=CAPS, erp=CAPS)
    def set_budget(self, total: int | None, crm: int | None, erp: int | None) -> None:
        caps = {k: v for k, v in (("crm", crm), ("erp", erp)) if v is not None}
        self.lookout.budget(total, **caps)
        self.model.total, self.model.caps = total, caps

    @rule(total=st.sampled_from([2, 6, 20]))
    def set_total(self, total: int) -> None:
        self.set_budget(total, None, 9)

    @rule(name=st.sampled_from(CONNECTORS), depth=st.sampled_from([SHALLOW, DEEP]))
    def pull(self, name: str, depth) -> None:
        self.number += 1
        answer = self.lookout.ask(f"a{self.number}", name, depth)
        day = self.clock.at // DAY
        expected = self.model.take(day, name, answer.units)
        assert (answer.reason, answer.remaining) == expected

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.advance(hours=hours)

    @invariant()
    def the_books_agree(self) -> None:
        expected: dict[str, int] = {}
        for day in self.model.days.values():
            for name, units in day.items():
                expected[name] = expected.get(name, 0) + units
        found = {name: units for name, (units, _) in spent(self.clock.place).items()}
        assert found == {name: units for name, units in expected.items() if units}

    def teardown(self) -> None:
        try:
            assert_verified(self.lookout.db)
        finally:
            self.ending.__exit__(None, None, None)


@pytest.mark.req("P-08", "P-09")
def test_every_answer_is_the_models(databases: Databases, engine: EngineName) -> None:
    machine = type("Machine", (Budgets,), {"databases": databases, "engine": engine})
    examples = settings(max_examples=8, stateful_step_count=15, deadline=None)
    run_state_machine_as_test(machine, settings=examples)
