"""Every kind of entry has words, whatever its data holds or lacks."""

import pytest

from watchkeeper.core.entry_phrases import words_of
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.time import Instant

pytestmark = pytest.mark.req("U-31")

VERDICT = {"verdict": {"result": "SKIP", "reason": "DEBOUNCED"}}


def entry(kind: str, result: str | None = None, reason: str | None = None) -> Entry:
    return Entry("id", Instant(0), Stage.ACT, kind, "about", "{}", result=result, reason=reason)


@pytest.mark.parametrize("kind", Kind)
def test_no_kind_is_without_words(kind: Kind) -> None:
    """Also where nothing else is known of it."""
    words = words_of(entry(kind), VERDICT if kind is Kind.VERDICT else {})
    assert words.title
    assert words.title != kind
    assert "None" not in f"{words.title} {words.detail}"


def test_a_kind_of_a_later_version_is_named() -> None:
    assert words_of(entry("moon.landed"), {}).title == "moon.landed"


TOLD = [
    (
        entry(Kind.TIER_CHANGED, "HOT"),
        {"was": "WARM", "heat_micro": 810_000},
        ("From WARM to HOT", "heat 0.81"),
    ),
    (
        entry(Kind.TIER_CHANGED, "COLD"),
        {"was": None, "heat_micro": 0},
        ("Now COLD", "heat 0.00"),
    ),
    (
        entry(Kind.PULL_ENDED, "SUCCEEDED"),
        {"connector_id": "crm", "signals": 1},
        ("A pull returned 1 signal", "crm"),
    ),
    (
        entry(Kind.PULL_ENDED, "FAILED"),
        {"connector_id": "crm", "error": "no"},
        ("A pull failed", "crm · no"),
    ),
    (
        entry(Kind.TURN_SETTLED, "completed"),
        {"charged_micro": 40_000_000, "reserved_micro": 400_000_000},
        (
            "Credits were settled",
            "40.00 credits charged of 400.00 credits reserved · completed",
        ),
    ),
    (
        entry(Kind.STEP_FAILED, "ACTIVE", "retry_limit_exceeded"),
        {"step_id": "meet", "attempt": 3, "plan_type": "RENEWAL", "by": "eve"},
        ("A step failed", "RENEWAL · step meet, attempt 3 · retry limit exceeded · by eve"),
    ),
    (
        entry(Kind.ACCOUNT_CHANGED),
        {"changed": {"posture": [None, "EXPAND"], "lifecycle_state": ["a", "a"]}},
        ("The account was changed", "posture none → EXPAND"),
    ),
    (
        entry(Kind.KILL_SWITCH_SET),
        {"on": True, "reason": "fire"},
        ("A kill switch was turned on", "about · fire"),
    ),
]


@pytest.mark.parametrize(("found", "data", "words"), TOLD)
def test_what_is_told(found: Entry, data: dict, words: tuple[str, str]) -> None:
    assert words_of(found, data) == words


def test_a_verdict_names_the_signal_that_it_answers() -> None:
    found = entry(Kind.VERDICT, "ALLOW")._replace(trigger_type="SIGNAL_ARRIVED")
    data = {"verdict": {"result": "ALLOW"}, "event": {}}
    assert words_of(found, data, "email.received").detail.startswith("Signal email.received.")
    assert words_of(found, data).detail == "SIGNAL_ARRIVED. Every check passed."
    retried = {**data, "event": {"retry_of": "x"}}
    assert words_of(found, retried).detail.startswith("The retry of SIGNAL_ARRIVED.")
