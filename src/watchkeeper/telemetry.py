"""What the outside may watch: logs, metrics and traces.

Logs: one line per event whatever it contains, and no secret in any of them. Metrics: no
label names a tenant or an account, so that their number stays small and nobody's name
leaks. Traces: one signal can be followed from its arrival to the handler it woke.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TextIO

import structlog
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from watchkeeper.core.redaction import HIDDEN, redacted
from watchkeeper.failures import FACTS, traceback_of

TEXT_LENGTH_MAX = 8_000
DEPTH_MAX = 6
SECRET_NAMES = ("authorization", "password", "secret", "token", "cookie", "admin_key", "api_key")
QUIET = ("httpx", "httpx2", "httpcore", "urllib3", "asyncio", "alembic", "sqlalchemy")

LogFormat = Literal["json", "console"]

# -- logs ----------------------------------------------------------------------------


def configure_logging(
    level: str = "info",
    form: LogFormat = "json",
    *,
    secrets: Sequence[str] = (),
    stream: TextIO | None = None,
) -> None:
    """Send every line of this process, also those of libraries, through one formatter.

    `secrets` are texts that must never be written, whatever they look like.
    """
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        _Cleaner(secrets),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[_facts, *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _as_json if form == "json" else _as_words,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = name != "uvicorn.access"  # requests are logged by us


def _facts(
    _logger: object, _method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """The fields of a line about a failed call, and its traceback, which is text already."""
    record = line["_record"]
    line.update({name: vars(record)[name] for name in FACTS if name in vars(record)})
    if record.exc_text and not record.exc_info:
        line["exception"] = record.exc_text
    return line


class _Cleaner:
    """Takes secrets out of everything a line says, tracebacks included."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = [secret for secret in secrets if secret]

    def __call__(
        self, _logger: object, _method: str, line: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        error = _error_of(line.pop("exc_info", None))
        if error is not None:
            line["exception"] = traceback_of(error)  # cleaned below, with the rest
        for name in list(line):
            if not name.startswith("_"):  # structlog's own, removed before rendering
                line[name] = self._clean(name, line[name], 0)
        return line

    def _clean(self, name: str, value: object, depth: int) -> object:
        if any(secret in name.lower() for secret in SECRET_NAMES):
            return HIDDEN
        match value:
            case None | bool() | int() | float():
                return value
            case Mapping() if depth < DEPTH_MAX:
                return {str(k): self._clean(str(k), v, depth + 1) for k, v in value.items()}
            case list() | tuple() if depth < DEPTH_MAX:
                return [self._clean("", v, depth + 1) for v in value]
            case _:
                return self._text(value if isinstance(value, str) else repr(value))

    def _text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return redacted(text[:TEXT_LENGTH_MAX])


def _error_of(found: object) -> BaseException | None:
    match found:
        case BaseException():
            return found
        case (_, BaseException() as error, _):
            return error
        case True:
            return sys.exc_info()[1]
        case _:
            return None


def _as_json(_logger: object, _method: str, line: Mapping[str, Any]) -> str:
    """ASCII only: no character of the input can end the line or turn the terminal."""
    return json.dumps(line, ensure_ascii=True, default=repr, sort_keys=True)


def _as_words(_logger: object, _method: str, line: Mapping[str, Any]) -> str:
    """A line for people; a traceback follows it, indented, so that nobody takes it for a line."""
    event = _shown(line.get("event", ""))
    rest = {k: v for k, v in line.items() if k not in ("at", "level", "event", "logger")}
    told = str(rest.pop("exception", ""))
    facts = [f"{_shown(name)}={_shown(rest[name])}" for name in sorted(rest)]
    words = [str(line.get("at", "")), str(line.get("level", "")), event]
    words += [fact for fact in facts if fact not in event]
    return "\n    ".join([" ".join(words), *map(_shown, told.splitlines())])


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=repr)
    return text if text.isascii() and text.isprintable() else json.dumps(text, ensure_ascii=True)


@contextmanager
def bound(**names: str | None) -> Iterator[None]:
    """Every line written inside carries these: request_id, correlation_id."""
    with structlog.contextvars.bound_contextvars(
        **{name: value for name, value in names.items() if value is not None}
    ):
        yield


# -- metrics -------------------------------------------------------------------------

REGISTRY = CollectorRegistry()
METRICS_MEDIA = "text/plain; version=0.0.4; charset=utf-8"

VERDICTS = Counter(
    "watchkeeper_verdicts", "Verdicts given.", ["result", "reason"], registry=REGISTRY
)
ADMISSION_SECONDS = Histogram(
    "watchkeeper_admission_seconds", "Time to admit one batch, commit included.", registry=REGISTRY
)
BATCH_EVENTS = Histogram(
    "watchkeeper_batch_events",
    "Events admitted in one transaction.",
    buckets=(1, 2, 5, 10, 50, 100, 250, 500, 1000),
    registry=REGISTRY,
)
OUTBOX = Gauge(
    "watchkeeper_outbox_messages", "Messages waiting.", ["topic", "status"], registry=REGISTRY
)
DELIVERIES = Counter(
    "watchkeeper_deliveries",
    "Messages claimed, and how their attempts ended; fenced: the lease was lost meanwhile.",
    ["topic", "outcome"],
    registry=REGISTRY,
)
HANDLER_SECONDS = Histogram(
    "watchkeeper_handler_seconds",
    "Time in a handler of yours, and whether it returned or raised.",
    ["topic", "outcome"],
    buckets=(0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900),
    registry=REGISTRY,
)
RUNS = Counter("watchkeeper_runs", "Decision runs that ended.", ["outcome"], registry=REGISTRY)
RUN_SECONDS = Histogram(
    "watchkeeper_run_seconds",
    "Time from the verdict to the end of its run.",
    ["outcome"],
    buckets=(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600),
    registry=REGISTRY,
)
TURNS = Counter(
    "watchkeeper_turns",
    "Turns that ended, and how they were settled.",
    ["outcome", "settlement_method"],
    registry=REGISTRY,
)
CREDITS = Counter(
    "watchkeeper_credits_micro", "Micro-credits reserved and charged.", ["kind"], registry=REGISTRY
)
QUOTA_REFUSALS = Counter(
    "watchkeeper_quota_refusals", "Reserves for which no model had room.", registry=REGISTRY
)
PULLS = Counter(
    "watchkeeper_pulls",
    "Pulls that were asked for, by clock, signal or hand, and whether they were scheduled.",
    ["connector", "depth", "tier", "result", "reason"],
    registry=REGISTRY,
)
PULL_UNITS = Counter(
    "watchkeeper_pull_units",
    "Units that scheduled pulls cost.",
    ["connector", "depth", "tier"],
    registry=REGISTRY,
)
MILESTONE_DECISIONS = Counter(
    "watchkeeper_milestone_decisions",
    "What ticks decided: due, backing off, or nothing to do.",
    ["decision", "milestone"],
    registry=REGISTRY,
)
REPORTS = Counter(
    "watchkeeper_reports",
    "Reports that were asked for, by milestone or hand, and what came of it.",
    ["trigger", "result"],
    registry=REGISTRY,
)
MILESTONES_MISSED = Counter(
    "watchkeeper_milestones_missed",
    "Windows that passed without a report.",
    ["milestone"],
    registry=REGISTRY,
)
MILESTONE_BACKOFFS = Gauge(
    "watchkeeper_milestone_backoffs",
    "Tenants whose report failed and is left alone for now.",
    ["milestone"],
    registry=REGISTRY,
)
PLANS = Counter(
    "watchkeeper_plans", "What became of plans, step by step.", ["transition"], registry=REGISTRY
)
PLAN_STEPS = Counter(
    "watchkeeper_plan_steps",
    "Attempts started, by who had to say yes; steps that ended, failures by reason.",
    ["event", "reason"],
    registry=REGISTRY,
)
INTENTS = Counter(
    "watchkeeper_intents",
    "Answers to intents, and outcomes too late.",
    ["event"],
    registry=REGISTRY,
)
INTENTS_OPEN = Gauge(
    "watchkeeper_intents_open", "Intents that have not ended.", ["status"], registry=REGISTRY
)
CYCLES = Counter(
    "watchkeeper_plan_cycles", "Cycles of plans, of one tenant each.", registry=REGISTRY
)
CYCLE_DEEDS = Counter(
    "watchkeeper_plan_cycle_deeds", "What cycles did.", ["deed"], registry=REGISTRY
)
HTTP_REQUESTS = Counter(
    "watchkeeper_http_requests",
    "Requests answered; status client_closed: the client hung up before.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
HTTP_SECONDS = Histogram(
    "watchkeeper_http_seconds", "Time to answer.", ["route"], registry=REGISTRY
)
HTTP_IN_FLIGHT = Gauge("watchkeeper_http_in_flight", "Requests under way.", registry=REGISTRY)
NAMES_MAX = 200
"""Connectors, and topics, that are counted by name in one process. Users make up both."""
OTHER = "other"
_connectors: set[str] = set()
_topics: set[str] = set()


def connector_label(connector_id: str) -> str:
    """The name of the connector, or `other` when too many names were seen before it."""
    return _label(_connectors, connector_id)


def topic_label(topic: str) -> str:
    """The name of the topic, or `other` when too many names were seen before it."""
    return _label(_topics, topic)


def _label(seen: set[str], name: str) -> str:
    if name not in seen:
        if len(seen) >= NAMES_MAX:
            return OTHER
        seen.add(name)
    return name


def exposition() -> bytes:
    """Everything measured, in Prometheus's text format."""
    return generate_latest(REGISTRY)


def set_outbox(counted: Iterable[tuple[str, str, int]]) -> None:
    """What waits in the outbox now: topic, status, how many."""
    OUTBOX.clear()
    for topic, status, count in counted:
        OUTBOX.labels(topic, status).set(count)


def set_backoffs(counted: Mapping[str, int]) -> None:
    """Backoffs in force now, by milestone."""
    MILESTONE_BACKOFFS.clear()
    for milestone, count in counted.items():
        MILESTONE_BACKOFFS.labels(milestone).set(count)


def set_open_intents(counted: Iterable[tuple[str, int]]) -> None:
    """What is asked for and has not ended: status, how many."""
    INTENTS_OPEN.clear()
    for status, count in counted:
        INTENTS_OPEN.labels(status).set(count)


def count_deliveries(counted: Mapping[tuple[str, str], int]) -> None:
    """Count messages by topic and outcome."""
    for (topic, outcome), count in counted.items():
        DELIVERIES.labels(topic_label(topic), outcome).inc(count)


def count_run(outcome: str, seconds: float) -> None:
    """Count a decision run that ended, so many seconds after its verdict."""
    RUNS.labels(outcome).inc()
    RUN_SECONDS.labels(outcome).observe(max(0.0, seconds))


def count_verdict(result: str, reason: str | None) -> None:
    VERDICTS.labels(result, reason or "").inc()


# -- traces --------------------------------------------------------------------------

_tracer = trace.get_tracer("watchkeeper")
_propagator = TraceContextTextMapPropagator()
TRACEPARENT = "traceparent"


@contextmanager
def span(name: str, parent: str | None = None, **facts: str | int) -> Iterator[trace.Span]:
    """One step of a trace; under `parent`, a traceparent that came with a request or message."""
    context = None if parent is None else _propagator.extract({TRACEPARENT: parent})
    with _tracer.start_as_current_span(
        name, context, attributes={f"watchkeeper.{key}": value for key, value in facts.items()}
    ) as current:
        yield current


@contextmanager
def handling(topic: str, parent: str | None, correlation_id: str | None) -> Iterator[None]:
    """Around one call of a handler: timed, with its correlation id, in the trace it came with."""
    began, outcome = time.perf_counter(), "raised"
    try:
        with bound(correlation_id=correlation_id):
            if parent is None:
                yield
            else:
                with span("handle", parent, topic=topic):
                    yield
        outcome = "returned"
    finally:
        HANDLER_SECONDS.labels(topic_label(topic), outcome).observe(time.perf_counter() - began)


def traceparent() -> str | None:
    """The current span as a message may carry it; None when nothing is being recorded."""
    if not trace.get_current_span().is_recording():
        return None
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get(TRACEPARENT)
