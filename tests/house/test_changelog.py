"""Every change a user can notice is told in a fragment, until a release gathers them."""

import re
from pathlib import Path

import pytest

from tests.house.source import ROOT

FRAGMENTS = sorted((ROOT / "changelog.d").glob("*"))
NAME = re.compile(r"\d+\.(added|changed|fixed|removed)\.md")


def test_the_changelog_exists_and_says_how_it_grows() -> None:
    assert "changelog.d" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_a_fragment_has_a_number_a_kind_and_something_to_say(path: Path) -> None:
    assert NAME.fullmatch(path.name), "name it <number>.<added|changed|fixed|removed>.md"
    assert len(path.read_text().strip()) > 20
