"""The document: what it says of what was counted, its JSON, and what its check refuses."""

import json
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reporting import HOURS, SINCE, TALLIES, UNTIL, example, facts
from watchkeeper.core.report_build import HOW, METHOD, build, covered
from watchkeeper.core.report_check import problems
from watchkeeper.core.report_facts import Tally, bucket_hours
from watchkeeper.core.report_json import from_json, to_json
from watchkeeper.core.reports import (
    SERIES_POINTS_MAX,
    Count,
    Forecast,
    NotEnough,
    Report,
    Series,
    Window,
)
from watchkeeper.core.time import DAY, HOUR, Instant


def lines(report: Report, section: str) -> dict[tuple, int]:
    found = getattr(report.observations, section)
    return {(one.label, one.detail, one.name): one.count.value for one in found}


@pytest.mark.req("R-09")
def test_the_sections_say_what_was_counted() -> None:
    report = example()
    collected = report.collected
    assert (collected.signals.value, collected.pulls.value, collected.units.value) == (12, 4, 12)
    assert [
        (one.connector_id, one.pulls.value, one.units.value, one.signals.value)
        for one in collected.connectors
    ] == [("crm", 4, 12, 9), ("mail", 0, 0, 0), ("worst of all", 0, 0, 0)]
    assert [(one.connector_id, one.state.value) for one in report.coverage] == [
        ("crm", "PARTIAL"),
        ("mail", "NOT_PERMITTED"),
        ("worst of all", "MISSING"),
    ]
    assert lines(report, "decisions") == {
        ("ALLOW", None, None): 8,
        ("DEFER", "COOLDOWN", None): 7,
        ("SKIP", "DUPLICATE_IDEMPOTENCY_KEY", None): 2,
    }
    assert lines(report, "runs") == {("SUCCEEDED", None, None): 8}
    assert lines(report, "plans") == {("PLAN_CREATED", None, None): 2}
    assert lines(report, "steps") == {("STEP_COMPLETED", None, None): 6}
    assert lines(report, "turns") == {
        ("turn.reserved", None, None): 2,
        ("turn.settled", "completed", None): 2,
    }
    assert report.observations.credits_settled.value == 2_500_000
    delivered = {("DELIVERED", None, "watchkeeper/orders.placed"): 11}
    assert lines(report, "events_delivered") == delivered
    assert lines(report, "events_dead") == {("REJECTED", None, "orders.placed"): 1}
    assert report.header.entries.value == sum(one.entries for one in TALLIES)
    assert report.header.window == Window(SINCE, UNTIL)
    assert problems(report) == []


@pytest.mark.req("R-09")
def test_a_series_has_a_point_for_every_hour_and_adds_up() -> None:
    report = example()
    found = {(one.of, one.label): one for one in report.series}
    signals = found["signals", None]
    assert signals.values == (5, 7) + (0,) * 11
    assert (signals.starts_at, signals.bucket_seconds) == (SINCE, 3600)
    assert sum(found["decisions", "ALLOW"].values) == 8
    assert found["credits settled", None].values[6] == 2_500_000


@pytest.mark.req("R-09")
@pytest.mark.parametrize("hours", [0, 1, 12, 24, 199, 200, 5_000, 90_000, 500_000])
def test_a_series_is_never_longer_than_it_may_be(hours: int) -> None:
    window = Window(SINCE, Instant(SINCE + hours * HOUR))
    report = example(window=window, tallies=(), installed_at=SINCE)
    assert problems(report) == []
    assert max(len(one.values) for one in report.series) <= SERIES_POINTS_MAX
    assert (bucket_hours(window) == 1) == (hours < SERIES_POINTS_MAX)


@pytest.mark.req("R-09")
def test_a_forecast_is_marked_as_an_estimate_with_its_method() -> None:
    forecast = example().forecast
    assert isinstance(forecast, Forecast)
    assert "estimate" in forecast.is_estimate
    assert forecast.method == METHOD
    told = {one.of: (one.value, one.basis.value) for one in forecast.estimates}
    assert told["signals"] == (24, 12), "twelve in half a day"
    horizon = forecast.estimates[0].horizon
    assert (horizon.since, horizon.until) == (UNTIL, UNTIL + DAY)


@pytest.mark.req("R-09")
@pytest.mark.parametrize(("length", "is_enough"), [(6 * HOUR - 1, False), (6 * HOUR, True)])
def test_without_enough_window_it_says_so(length: int, is_enough: bool) -> None:
    window = Window(SINCE, Instant(SINCE + length))
    outlook = example(window=window, tallies=()).forecast
    assert isinstance(outlook, Forecast) == is_enough
    if isinstance(outlook, NotEnough):
        assert outlook.statement == "not enough observation"
        assert outlook.needed.value == 6 * 3600


def answered(*told: tuple[str, str, str]) -> list[Tally]:
    return [Tally(HOURS, f"pull.{kind}", result, why, "crm", 1, 1) for kind, result, why in told]


GOOD, BAD = ("ended", "SUCCEEDED", ""), ("ended", "FAILED", "")
SCHEDULED = ("decided", "SCHEDULED", "")


@pytest.mark.req("R-09")
@pytest.mark.parametrize(
    ("told", "state"),
    [
        pytest.param([], "MISSING", id="never asked"),
        pytest.param([SCHEDULED, GOOD], "AVAILABLE", id="all went well"),
        pytest.param([SCHEDULED, GOOD, BAD], "PARTIAL", id="some failed"),
        pytest.param([SCHEDULED, GOOD, ("ended", "OUTCOME_UNKNOWN", "")], "PARTIAL", id="unknown"),
        pytest.param(
            [GOOD, ("decided", "REFUSED", "BUDGET_EXCEEDED")], "PARTIAL", id="the budget was used"
        ),
        pytest.param(
            [GOOD, ("decided", "REFUSED", "RATE_LIMIT")], "AVAILABLE", id="a limit spread them"
        ),
        pytest.param([SCHEDULED, BAD], "MISSING", id="all failed"),
        pytest.param([SCHEDULED], "MISSING", id="none has ended"),
        pytest.param([("decided", "REFUSED", "NO_BUDGET")], "NOT_PERMITTED", id="no budget"),
        pytest.param([("decided", "REFUSED", "KILL_SWITCH")], "NOT_PERMITTED", id="switched off"),
        pytest.param([("decided", "REFUSED", "CIRCUIT_OPEN")], "MISSING", id="the breaker is open"),
        pytest.param(
            [("decided", "REFUSED", "NO_BUDGET"), SCHEDULED, BAD], "MISSING", id="then it failed"
        ),
    ],
)
def test_the_four_states_of_coverage(told: list, state: str) -> None:
    found, reason = covered(answered(*told))
    assert found == state
    assert reason
    assert not any(character.isdigit() for character in reason)


@pytest.mark.req("R-09")
def test_what_is_beyond_the_named_connectors_is_counted_together() -> None:
    many = tuple(
        Tally(HOURS, "pull.decided", "SCHEDULED", "", f"c{n:04}", 1, 2) for n in range(250)
    )
    report = example(tallies=many, connectors=())
    assert len(report.collected.connectors) == 201
    assert report.collected.connectors[-1].pulls.value == 50
    assert report.collected.units.value == 500
    assert problems(report) == []


# -- JSON ------------------------------------------------------------------------------------------


@pytest.mark.req("R-11")
def test_it_loads_back_to_the_same_report() -> None:
    report = example()
    text = to_json(report)
    assert from_json(text) == report
    assert to_json(from_json(text)) == text
    document = json.loads(text)
    assert text == json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert (document["report_id"], document["trigger"]) == (report.header.report_id, "AUTO_12H")


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
tallies = st.builds(
    Tally,
    st.integers(HOURS, HOURS + 12),
    st.sampled_from(["verdict", "pull.decided", "pull.ended", "turn.settled", "PLAN_PAUSED", "x"]),
    st.sampled_from(["ALLOW", "SCHEDULED", "SUCCEEDED", "completed"]),
    st.sampled_from(["", "COOLDOWN", "NO_BUDGET"]),
    names,
    st.integers(1, 10**12),
    st.integers(0, 10**15),
)


@pytest.mark.req("R-11", "R-10")
@given(st.lists(tallies, max_size=20), names)
def test_whatever_was_counted_and_however_it_is_called(found: list[Tally], name: str) -> None:
    report = build(facts(tallies=tuple(found), tenant_name=name, connectors=(name,)))
    assert problems(report) == []
    assert from_json(to_json(report)) == report


@pytest.mark.req("R-11")
@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("series"),
        lambda d: d.update(extra=1),
        lambda d: d.update(trigger="MANUAL"),
        lambda d: d.pop("report_id"),
        lambda d: d["collected"]["signals"].pop("how"),
        lambda d: d["collected"]["signals"].update(value="12"),
        lambda d: d["collected"]["signals"].update(value=True),
        lambda d: d["collected"]["signals"].update(value=1.5),
        lambda d: d["coverage"][0].update(state="FINE"),
        lambda d: d["header"].update(generated_at="yesterday"),
        lambda d: d.update(forecast={"statement": "no"}),
        lambda d: d.update(series={}),
        lambda d: d.update(header=[]),
    ],
)
def test_what_is_not_a_report_does_not_load(change) -> None:
    document = json.loads(to_json(example()))
    change(document)
    with pytest.raises(ValueError, match=r"\w"):
        from_json(json.dumps(document))


@pytest.mark.req("R-11")
@pytest.mark.parametrize("text", ["", "[]", "null", "1", "{}", "{"])
def test_no_json_at_all_does_not_load(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_json(text)


# -- the check -------------------------------------------------------------------------------------


def put(report: Any, path: str, value: Any) -> Any:
    """The same report with one place changed: `a.b[0].c`."""
    head, _, rest = path.partition(".")
    name, _, index = head.partition("[")
    inner = getattr(report, name)
    if index:
        n = int(index[:-1])
        changed = put(inner[n], rest, value) if rest else value
        return replace(report, **{name: (*inner[:n], changed, *inner[n + 1 :])})
    return replace(report, **{name: put(inner, rest, value) if rest else value})


@pytest.mark.req("R-10", "R-07")
@pytest.mark.parametrize(
    "words",
    [
        "health score of the tenant",
        "ranked among all tenants",
        "more than last week",
        "compared with others",
        "performance was good",
        "this is the best connector",
        "a high number of pulls",
        "you should raise the budget",
        "we recommend a budget",
        "Consider another connector",
        "above average",
        "an improvement",
        "too many refusals",
        "12 pulls",
        "half of them: 50%",
        " ",
    ],
)
@pytest.mark.parametrize(
    "place",
    [
        "collected.signals.how",
        "collected.units.unit",
        "coverage[0].reason",
        "header.window_from",
        "forecast.method",
        "forecast.estimates[0].of",
        "series[0].how",
        "series[0].of",
        "observations.credits_settled.how",
    ],
)
def test_judgements_and_bare_numbers_are_refused_wherever_we_write(place: str, words: str) -> None:
    assert problems(put(example(), place, words)) != []


@pytest.mark.req("R-10")
@pytest.mark.parametrize(
    "place",
    [
        "header.tenant_name",
        "collected.connectors[0].connector_id",
        "observations.events_dead[0].name",
    ],
)
def test_names_that_others_chose_are_quoted_and_not_judged(place: str) -> None:
    report = put(example(), place, "The 10 best scores, ranked")
    if "connector" in place:
        report = put(report, "coverage[0].connector_id", "The 10 best scores, ranked")
    assert problems(report) == []


@pytest.mark.req("R-07", "R-09")
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("collected.signals.value", -1),
        ("collected.signals.value", 13),
        ("collected.pulls.value", 5),
        ("collected.connectors[0].units.value", 1),
        ("collected.signals.window", Window(SINCE, Instant(UNTIL - 1))),
        ("observations.credits_settled.value", 1),
        ("observations.decisions[0].label", "not a code"),
        ("observations.decisions[0].label", ""),
        ("header.trigger", "AUTOMATIC"),
        ("header.report_id", ""),
        ("header.tenant_id", ""),
        ("header.generated_at", Instant(UNTIL + 1)),
        ("header.window", Window(UNTIL, SINCE)),
        ("header.window", Window(Instant(SINCE + 1), UNTIL)),
        ("header.installed_at", None),
        ("forecast.is_estimate", "certain"),
        ("forecast", NotEnough("enough", Count(1, "x", Window(SINCE, UNTIL)), None)),
        ("series[0].values", ()),
        ("series[0].values", (12,)),
        ("series[0].values", (1,) * 13),
        ("series[0].values", (12,) + (0,) * SERIES_POINTS_MAX),
        ("series[0].values", (13, -1) + (0,) * 11),
        ("series[0].starts_at", Instant(SINCE + 1)),
        ("coverage", ()),
        ("format", 2),
    ],
)
def test_what_is_not_whole_or_does_not_add_up_is_refused(place: str, value: Any) -> None:
    assert problems(put(example(), place, value)) != []


@pytest.mark.req("R-07")
def test_what_cannot_be_checked_is_refused() -> None:
    assert problems(put(example(), "series", None)) != []
    assert problems(None) != []


@pytest.mark.req("R-09")
def test_no_number_can_stand_in_a_report_without_its_disclosure() -> None:
    """Whole numbers are fields of what discloses them, and of nothing else."""
    disclosing = {"Count": {"value"}, "Estimate": {"value"}, "Series": {"bucket_seconds"}}
    named = {"Header": {"policy_version"}, "Report": {"format"}}  # they name, and count nothing
    seen = set()

    def walk(kind: Any) -> None:
        if kind in seen or not is_dataclass(kind):
            return
        seen.add(kind)
        from typing import get_args, get_type_hints

        hints = get_type_hints(kind)
        bare = {one.name for one in fields(kind) if hints[one.name] is int}
        allowed = disclosing.get(kind.__name__, set()) | named.get(kind.__name__, set())
        assert bare == allowed, kind
        for hint in hints.values():
            for inner in (hint, *get_args(hint)):
                walk(inner)

    walk(Report)
    assert {Count, Series} <= seen


@pytest.mark.req("R-10")
def test_our_own_words_pass_our_own_check() -> None:
    for words in HOW.values():
        assert problems(put(example(), "collected.signals.how", words)) == []
