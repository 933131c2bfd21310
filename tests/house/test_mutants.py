"""The list of mutants is kept up to date, and a sample of them dies."""

import pytest

from tests.mutants import MUTANTS, ROOT, Mutant, survives


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.file}-{m.old.strip()[:40]}")
def test_its_guard_is_still_there(mutant: Mutant) -> None:
    source = (ROOT / "src" / "watchkeeper" / mutant.file).read_text()
    assert source.count(mutant.old) == 1
    assert (ROOT / mutant.test.partition("::")[0]).exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 3])
def test_a_sample_dies(number: int) -> None:
    assert not survives(MUTANTS[number])


def test_there_are_enough_of_them() -> None:
    assert len(MUTANTS) >= 12
