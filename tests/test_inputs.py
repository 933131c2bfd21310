"""What comes in is taken as it stands or refused by name; nothing is coerced."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.time import from_datetime
from watchkeeper.errors import Invalid
from watchkeeper.inputs import (
    EVENTS_PER_CALL_MAX,
    parse_id,
    parse_signals,
    parse_tenant_id,
    parse_triggers,
    place,
)

pytestmark = pytest.mark.req("D-02")

EVENT: dict[str, Any] = {"account_id": "a", "trigger_type": "T", "idempotency_key": "k"}
SIGNAL: dict[str, Any] = {"account_id": "a", "type": "t"}


def refused(parse: Any, raw: Any) -> set[str]:
    with pytest.raises(Invalid) as found:
        parse(raw)
    return {problem.place for problem in found.value.problems}


def test_an_event_is_taken_as_it_stands() -> None:
    moment = datetime(2030, 1, 1, 12, tzinfo=UTC)
    (event,) = parse_triggers(
        [
            {
                **EVENT,
                "scheduled_at": "2030-01-01T13:00:00+01:00",
                "correlation_id": "c",
                "action_saturation_score": 1,
            }
        ]
    )
    assert (event.account_id, event.trigger_type, event.idempotency_key) == ("a", "T", "k")
    assert event.scheduled_at == from_datetime(moment)
    assert event.saturation == 1.0
    assert event.correlation_id == "c"
    assert parse_triggers([{**EVENT, "scheduled_at": moment}])[0].scheduled_at == from_datetime(
        moment
    )


def test_a_mistake_is_placed_in_its_batch() -> None:
    events = [EVENT] * 3 + [{"account_id": "a", "trigger_type": "T"}]
    assert refused(parse_triggers, events) == {"events[3].idempotency_key"}
    assert refused(parse_signals, [SIGNAL, {"type": "t"}]) == {"signals[1].account_id"}
    assert refused(parse_triggers, ["x"]) == {"events[0]"}
    assert refused(parse_triggers, [EVENT] * (EVENTS_PER_CALL_MAX + 1)) == {"events"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("account_id", ""),
        ("account_id", "x" * 201),
        ("account_id", 1),
        ("account_id", None),
        ("account_id", b"a"),
        ("account_id", "a\x7f"),
        ("account_id", "a\u2028"),
        ("account_id", "\ud800"),
        ("trigger_type", "x" * 65),
        ("trigger_type", "a\tb"),
        ("idempotency_key", "x" * 256),
        ("idempotency_key", "\0"),
        ("correlation_id", ""),
        ("scheduled_at", 1893456000),
        ("scheduled_at", "2030-01-01"),
        ("scheduled_at", "2030-01-01T00:00:00"),
        ("scheduled_at", "2030-02-30T00:00:00Z"),
        ("scheduled_at", "1969-12-31T23:59:59Z"),
        ("scheduled_at", "٢٠٣٠-01-01T00:00:00Z"),
        ("scheduled_at", datetime(2030, 1, 1)),  # noqa: DTZ001 - that is the mistake
        ("action_saturation_score", True),
        ("action_saturation_score", "1"),
        ("action_saturation_score", -0.1),
        ("action_saturation_score", 1000.1),
        ("action_saturation_score", math.nan),
        ("action_saturation_score", math.inf),
        ("action_saturation_score", 10**400),
        ("tenant_id", "acme"),
        ("retry_of", "x"),
    ],
)
def test_a_wrong_value_is_refused_by_name(field: str, value: Any) -> None:
    assert refused(parse_triggers, [{**EVENT, field: value}]) == {f"events[0].{field}"}


@pytest.mark.parametrize("value", ["x" * 200, "a b", "ünï", "日本", "😀", "a/b?c#d", "'; drop"])
def test_any_printable_name_is_an_account(value: str) -> None:
    assert parse_triggers([{**EVENT, "account_id": value}])[0].account_id == value


def test_an_unknown_trigger_type_is_no_mistake() -> None:
    """It gets a verdict of its own, whatever it looks like."""
    assert parse_triggers([{**EVENT, "trigger_type": "not registered!"}])


def test_data_is_kept_as_one_line_of_sorted_json() -> None:
    (signal,) = parse_signals([{**SIGNAL, "data": {"b": "x\ny", "a": [1, None, 1.5, "é"]}}])
    assert signal.data == '{"a":[1,null,1.5,"é"],"b":"x\\ny"}'
    assert parse_signals([SIGNAL])[0].data == "{}"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize(
    "data",
    [
        [],
        "text",
        None,
        {"x": math.nan},
        {"x": 2**63},
        {"x": -(2**63)},
        {"x": "\0"},
        {"x\0": 1},
        {"x": ["\ud800"]},
        {1: 2},
        {"x": {1, 2}},
        {"x": datetime(2030, 1, 1, tzinfo=UTC)},
        {"x": b"bytes"},
        {"x": "y" * 70_000},
        nested(40),
    ],
)
def test_data_is_json_within_bounds(data: Any) -> None:
    assert refused(parse_signals, [{**SIGNAL, "data": data}]) == {"signals[0].data"}


def test_ids_have_a_form() -> None:
    assert parse_tenant_id("a_B:9-") == "a_B:9-"
    for wrong in ("", "a b", "a/b", "x" * 129, "_system", 7, None, "ü", "a\n"):
        assert refused(parse_tenant_id, wrong) == {"tenant_id"}
    assert refused(lambda raw: parse_id(raw, "schedule_id"), "a b") == {"schedule_id"}


def test_a_place_is_safe_to_show() -> None:
    assert place(["events", 3, "type"]) == "events[3].type"
    assert place(["a\nb\x1b", "x" * 100]) == "a?b?." + "x" * 64
    with pytest.raises(Invalid) as found:
        parse_triggers([{**EVENT, "canary\r\n": "canary-value"}])
    assert "canary-value" not in str(found.value)
    assert str(found.value).isprintable()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


names = st.sampled_from([*EVENT, "scheduled_at", "action_saturation_score", "x"])


@given(raw=json_values | st.dictionaries(names, json_values))
def test_anything_is_an_event_or_a_refusal(raw: Any) -> None:
    problems = []
    try:
        assert len(parse_triggers([raw])) == 1
    except Invalid as error:
        problems = [problem.place for problem in error.problems] or ["nowhere"]
    assert all(at.startswith("events[0]") for at in problems)
