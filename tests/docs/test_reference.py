"""The reference is what the code says today."""

import pytest

from tools.docs import PAGES, REFERENCE

BY_HAND = {"gate.md"}
"""Held to the code by tests/app/test_gate_page.py."""


@pytest.mark.req("U-40")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    assert (REFERENCE / name).read_text() == PAGES[name](), "run `python -m tools.docs`"


@pytest.mark.req("U-40")
def test_there_is_no_page_that_nobody_writes() -> None:
    assert {path.name for path in REFERENCE.glob("*.md")} == set(PAGES) | BY_HAND
