"""What a report must be before it is stored: whole, disclosed, consistent, and facts only.

Fails closed: a field that nobody has thought of is taken for words of ours and read as such.
Names that others chose are left alone, whatever they say; they stand in fields of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from watchkeeper.core.report_json import from_json, to_json, to_plain
from watchkeeper.core.reports import (
    FORMAT,
    MANUAL,
    SERIES_POINTS_MAX,
    Count,
    Forecast,
    Header,
    NotEnough,
    Outlook,
    Report,
    Series,
)

QUOTED = frozenset({"report_id", "trigger", "tenant_id", "tenant_name", "connector_id", "name"})
"""Fields for what others chose."""

CODES = frozenset({"label", "detail", "state"})
"""Fields for results, reasons and states: codes of the contract, not prose."""

MOMENTS = frozenset({"since", "until", "installed_at", "generated_at", "starts_at"})

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,99}")
_TRIGGER = re.compile(rf"{MANUAL}|AUTO_[A-Z0-9_]{{1,59}}")
_JUDGEMENT = re.compile(
    r"\b(?:"
    # scores and rankings
    r"scor(?:e|es|ed|ing)|rat(?:ing|ings|ed)|grad(?:e|es|ed)|rank(?:s|ed|ing|ings)?|top|leading"
    r"|lagging|first[- ]class|percentile|benchmark(?:s|ed)?|index(?:es)?"
    # judgements
    r"|good|bad|best|worst|better|worse|great|poor|poorly|excellent|healthy|unhealthy|strong"
    r"|weak|high|higher|highest|low|lower|lowest|optimal|suboptimal|ideal|insufficient"
    r"|satisfactory|unsatisfactory|concerning|alarming|critical|severe|problematic|impressive"
    r"|efficient|inefficient|effective|ineffective|success rate|too (?:many|few|much|little)"
    # comparisons
    r"|than|versus|vs|compared|comparison|average|typical|typically|usual|usually|unusual"
    r"|normal|abnormal|increase[sd]?|decrease[sd]?|improve[sd]?|improvement|improving|decline[sd]?"
    r"|trend(?:s|ing)?|growth|relative to"
    # advice
    r"|should|must|ought|recommend(?:s|ed|ation|ations)?|advis(?:e|es|ed|able)|advice"
    r"|suggest(?:s|ed|ion|ions)?|consider|please|try|need to|urgent"
    r")\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d|%")


def problems(report: Report) -> list[str]:
    """Everything that is wrong with a report, each with its place; none: it may be stored."""
    try:
        found = [*_structure(report), *_words(to_plain(report), "report", "")]
        found += [*_counts(report), *_sums(report), *_series(report)]
    except Exception as error:
        return [f"report: it cannot be checked ({type(error).__name__}: {error})"]
    return found


def _structure(report: Report) -> Iterator[str]:
    if from_json(to_json(report)) != report:
        yield "report: it does not load back to itself"
    header = report.header
    if report.format != FORMAT:
        yield "report.format: not known"
    if not header.report_id or not header.tenant_id:
        yield "report.header: it names no report or no tenant"
    if not _TRIGGER.fullmatch(header.trigger):
        yield "report.header.trigger: neither MANUAL nor a milestone"
    if header.window.since > header.window.until:
        yield "report.header.window: it ends before it begins"
    if header.generated_at != header.window.until:
        yield "report.header.window: it does not end when the report was made"
    yield from _beginning(header)
    yield from _outlook(report.forecast)


def _beginning(header: Header) -> Iterator[str]:
    """With the installation; a report that was asked for can do without one."""
    if header.trigger == MANUAL and header.installed_at is None:
        return
    if header.installed_at is None or header.window.since != min(
        header.installed_at, header.window.until
    ):
        yield "report.header.window: it does not begin with the installation"


def _outlook(outlook: Outlook) -> Iterator[str]:
    match outlook:
        case NotEnough(statement=statement) if statement != "not enough observation":
            yield "report.forecast.statement: it does not say that observation is not enough"
        case Forecast(is_estimate=said) if "estimate" not in said:
            yield "report.forecast.is_estimate: it does not say so"
        case Forecast(method=method) if not method:
            yield "report.forecast.method: missing"


def _words(value: Any, place: str, field: str) -> Iterator[str]:
    """Read whatever is text, unless its field is for names, codes or moments."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _words(inner, f"{place}.{key}", key)
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield from _words(inner, f"{place}[{n}]", field)
    elif isinstance(value, str) and field in CODES:
        if not _CODE.fullmatch(value):
            yield f"{place}: not a code"
    elif isinstance(value, str) and field not in QUOTED | MOMENTS:
        yield from _prose(value, place)
    elif isinstance(value, float | bool):
        yield f"{place}: not a whole number"


def _prose(text: str, place: str) -> Iterator[str]:
    if not text.strip():
        yield f"{place}: empty"
    found = _JUDGEMENT.search(text)
    if found is not None:
        yield f"{place}: says {found.group()!r}; a report states facts only"
    if _NUMBER.search(text):
        yield f"{place}: has a number without its disclosure"


def _every(value: Any, kind: type, place: str = "report") -> Iterator[tuple[str, Any]]:
    if isinstance(value, kind):
        yield place, value
    if isinstance(value, tuple):
        for n, inner in enumerate(value):
            yield from _every(inner, kind, f"{place}[{n}]")
    elif hasattr(type(value), "__dataclass_fields__"):
        for name in type(value).__dataclass_fields__:
            yield from _every(getattr(value, name), kind, f"{place}.{name}")


def _counts(report: Report) -> Iterator[str]:
    for place, count in _every(report, Count):
        if type(count.value) is not int or count.value < 0:
            yield f"{place}.value: not a count"
        if count.window != report.header.window:
            yield f"{place}.window: not the window of the report"


def _sums(report: Report) -> Iterator[str]:
    """Parts make the whole."""
    collected = report.collected
    for name, whole in (("pulls", collected.pulls), ("units", collected.units)):
        parts = sum(getattr(one, name).value for one in collected.connectors)
        if parts != whole.value:
            yield f"report.collected.{name}: its connectors have {parts} in all"
    named = [one.connector_id for one in collected.connectors]
    if named != [one.connector_id for one in report.coverage]:
        yield "report.coverage: not the connectors of what was collected"
    totals: dict[tuple[str, str | None], int] = {
        ("signals", None): collected.signals.value,
        ("pulls", None): collected.pulls.value,
        ("units", None): collected.units.value,
        ("credits settled", None): report.observations.credits_settled.value,
    }
    for one in report.series:
        wanted = totals.get((one.of, one.label))
        if wanted is not None and sum(one.values) != wanted:
            yield f"report.series {one.of}: its points add up to {sum(one.values)}"


def _series(report: Report) -> Iterator[str]:
    for place, one in _every(report, Series):
        width = one.bucket_seconds * 1_000_000
        if one.window != report.header.window:
            yield f"{place}.window: not the window of the report"
        if not 1 <= len(one.values) <= SERIES_POINTS_MAX:
            yield f"{place}.values: none, or too many"
        elif any(type(value) is not int or value < 0 for value in one.values):
            yield f"{place}.values: not counts"
        elif not (
            one.starts_at <= one.window.since
            and one.window.until < one.starts_at + width * len(one.values)
        ):
            yield f"{place}: its buckets do not cover the window"
