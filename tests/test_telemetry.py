"""Logs on one line and without secrets; traces from the request to the handler; few labels."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.databases import Databases
from tests.http.door import opened
from watchkeeper import telemetry
from watchkeeper.actions.topics import register_decision
from watchkeeper.failures import log_failure

CANARY = "canary-of-the-process"


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """What is written while logging is configured; everything is put back afterwards."""
    others = {name: logging.getLogger(name) for name in (*telemetry.QUIET, "uvicorn")}
    levels = {name: logger.level for name, logger in others.items()}
    stream = io.StringIO()
    form = getattr(request, "param", "json")
    telemetry.configure_logging("debug", form, secrets=[CANARY], stream=stream)
    yield stream
    for name, logger in others.items():
        logger.setLevel(levels[name])


def read(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


FORGERIES = [
    "a\nb",
    'a\r\n{"level": "info"}',
    "\x1b[2Jcleared",
    "a\u2028b\u2029c",
    "a\x85b",
    "\x00\x07\x7f",
    "\u202egnp.exe",
    "a\ud800b",
]


@pytest.mark.req("O-23")
@pytest.mark.parametrize("lines", ["json", "console"], indirect=True)
@pytest.mark.parametrize("text", FORGERIES)
def test_an_event_is_one_line_whatever_it_contains(lines: io.StringIO, text: str) -> None:
    log = structlog.get_logger("test")
    log.info("request", path=text, inner={"deep": [text]}, **{"na" + text: 1})
    log.info(text)
    logging.getLogger("library").warning("it said %s", text)
    written = lines.getvalue()
    assert written.count("\n") == 3
    assert len(written.splitlines()) == 3
    assert written.isascii()
    assert all(line.isprintable() for line in written.split("\n"))


SECRETS = [
    "Authorization: Bearer wk_0123456789abcdef_SECRETSECRETSECRETSECRETSECRETSECRETSECRET1",
    "wk_0123456789abcdef_SECRETSECRETSECRETSECRETSECRETSECRETSECRET1",
    "postgresql://user:SECRET@host/db",
    "password=SECRET",
    '{"api_key": "SECRET"}',
]


@pytest.mark.req("O-23")
@pytest.mark.parametrize("lines", ["json", "console"], indirect=True)
@pytest.mark.parametrize("text", [*SECRETS, CANARY])
def test_a_secret_is_written_nowhere(lines: io.StringIO, text: str) -> None:
    log = structlog.get_logger("test")
    log.info("event", said=text, inner=[{"x": text}])
    log.info(text)
    log.info("named", authorization="SECRET", password="SECRET", admin_key="SECRET")
    logging.getLogger("library").error("failed: %s", text)
    try:
        raise ValueError(text)
    except ValueError:
        log.exception("broken")
        logging.getLogger("library").exception("broken too")
    written = lines.getvalue()
    assert "SECRET" not in written
    assert CANARY not in written
    assert written.count("raise ValueError") == 2
    assert len([line for line in written.splitlines() if not line.startswith("    ")]) == 6


@pytest.mark.parametrize("lines", ["console"], indirect=True)
def test_a_traceback_is_readable_and_looks_like_no_line(lines: io.StringIO) -> None:
    try:
        raise ValueError("no\n2030-01-01 info forged \x1b[2J")
    except ValueError as error:
        log_failure(error, "decision", {"tenant_id": "acme", "attempt": 1})
    first, *rest = lines.getvalue().splitlines()
    assert "decision handler failed" in first
    assert first.count("tenant_id=acme") == 1
    assert "    Traceback (most recent call last):" in rest
    assert all(line.startswith("    ") and line.isprintable() for line in rest)


def test_lines_carry_what_is_bound(lines: io.StringIO) -> None:
    with telemetry.bound(request_id="r-1", correlation_id=None):
        structlog.get_logger("test").info("inside")
    structlog.get_logger("test").info("outside")
    inside, outside = read(lines)
    assert inside["request_id"] == "r-1"
    assert "correlation_id" not in inside
    assert "request_id" not in outside
    assert {"at", "event", "level", "logger"} <= set(inside)


def test_a_line_has_a_bound(lines: io.StringIO) -> None:
    structlog.get_logger("test").info("much", text="x" * 1_000_000)
    assert len(lines.getvalue()) < 2 * telemetry.TEXT_LENGTH_MAX


def test_libraries_that_talk_much_are_quiet(lines: io.StringIO) -> None:
    logging.getLogger("httpx2").info("HTTP Request: GET https://x?token=SECRET")
    assert lines.getvalue() == ""


@pytest.mark.req("O-30")
def test_no_label_names_a_tenant_or_an_account() -> None:
    for family in telemetry.REGISTRY.collect():
        for sample in family.samples:
            assert not {"tenant", "tenant_id", "account", "account_id"} & set(sample.labels)


@pytest.fixture(scope="module")
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.mark.req("O-30")
def test_a_trace_goes_on_where_a_message_carried_it(spans: InMemorySpanExporter) -> None:
    assert telemetry.traceparent() is None
    with telemetry.span("ingest", events=3):
        carried = telemetry.traceparent()
    assert carried is not None
    with telemetry.span("handle", carried, topic="decision.evaluation_requested"):
        pass
    first, second = spans.get_finished_spans()[-2:]
    assert second.context.trace_id == first.context.trace_id
    assert second.parent.span_id == first.context.span_id
    assert first.attributes["watchkeeper.events"] == 3


def test_a_parent_that_is_none_begins_a_trace(spans: InMemorySpanExporter) -> None:
    with telemetry.span("alone", "nonsense"):
        pass
    assert spans.get_finished_spans()[-1].parent is None


@pytest.mark.req("O-30")
def test_one_signal_is_followed_from_its_arrival_to_its_handler(
    spans: InMemorySpanExporter, databases: Databases
) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    with databases.opened("sqlite") as (db, clock), opened(db, clock) as door:
        client = door.client(door.tenant(), "ingest")
        body = {"signals": [{"account_id": "a", "type": "t", "correlation_id": "c-1"}]}
        parent = f"00-{trace_id}-b7ad6b7169203331-01"
        client.post("/v1/signals", json=body, headers={"traceparent": parent})
        seen: list[dict] = []
        register_decision(
            door.server.registry, lambda _: seen.append(structlog.contextvars.get_contextvars())
        )
        door.server.workers.drain()
    assert [found["correlation_id"] for found in seen] == ["c-1"]
    arrived, handled = spans.get_finished_spans()[-2:]
    assert (arrived.name, handled.name) == ("http", "handle")
    assert {f"{span.context.trace_id:032x}" for span in (arrived, handled)} == {trace_id}
    assert handled.parent.span_id == arrived.context.span_id
    assert not any("query" in name for span in (arrived, handled) for name in span.attributes)
