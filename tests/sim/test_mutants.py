"""The simulator is verified too: what it must notice is planted, and it does."""

import pytest

from tests.sim.mutants import MUTANTS, ROOT, Mutant, noticed_at

pytestmark = pytest.mark.req("T-32")

RULES = (
    "a cooldown ends a second early",
    "a turn that is charged nothing keeps its reserve",
    "one attempt more than max_retries_per_step",
    "the first second of a day belongs to the day before",
    "a run that failed leaves no entry",
)
"""Rules that no fault has to help to break: the models and the audit must know them."""

QUICK = (
    "every claim has the same token",
    *RULES,
    pytest.param("ack by key without token", marks=pytest.mark.postgresql),
)


def test_there_are_enough_of_them() -> None:
    assert len(MUTANTS) >= 15


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_its_guard_is_still_there_and_the_page_tells_its_seed(mutant: Mutant) -> None:
    source = (ROOT / "src" / "watchkeeper" / mutant.file).read_text()
    for old, _ in mutant.changes:
        assert source.count(old) == 1
    page = (ROOT / "docs" / "simulation.md").read_text()
    assert f"| {mutant.name} | {mutant.engine} | {mutant.seed} |" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_sample_is_noticed(name: str) -> None:
    [mutant] = [one for one in MUTANTS if one.name == name]
    assert noticed_at(mutant, mutant.seed) is not None


@pytest.mark.stress
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_every_one_is_noticed(mutant: Mutant) -> None:
    assert noticed_at(mutant, mutant.seed) is not None
