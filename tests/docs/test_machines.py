"""The diagrams of the machines are what the tables say today."""

import pytest

from tools.machines import PAGE, diagram, drawn
from watchkeeper.core.plans import INTENT_MOVES, PLAN_MOVES, STEP_MOVES, PlanStatus


@pytest.mark.req("A-01", "A-06", "U-40")
def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text()
    assert drawn(page) == page, "run `python -m tools.docs`"


@pytest.mark.req("A-01")
@pytest.mark.parametrize("moves", [PLAN_MOVES, STEP_MOVES, INTENT_MOVES])
def test_every_way_is_drawn_and_no_other(moves) -> None:
    lines = diagram(moves, frozenset()).splitlines()
    ways = {f"    {a} --> {b}" for a, after in moves.items() for b in after}
    ends = {f"    {a} --> [*]" for a, after in moves.items() if not after}
    assert set(lines[2:-1]) == ways | ends


def test_a_table_that_changed_is_noticed() -> None:
    fewer = {**PLAN_MOVES, PlanStatus.PAUSED: frozenset()}
    assert diagram(fewer, frozenset()) not in PAGE.read_text()


def test_a_page_without_its_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="plans"):
        drawn("no diagrams here")
