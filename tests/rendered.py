"""A report with something in every section, and the text that can be read out of a PDF."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pypdf

from watchkeeper.core.reports import (
    Collected,
    ConnectorCounts,
    Count,
    Coverage,
    CoverageState,
    Estimate,
    Forecast,
    Header,
    Line,
    NotEnough,
    Observations,
    Outlook,
    Report,
    Series,
    Window,
)
from watchkeeper.core.time import DAY, HOUR, Instant, from_iso

INSTALLED_AT = from_iso("2030-03-04T06:12:09.250000Z")
NOW = Instant(INSTALLED_AT + DAY)
WINDOW = Window(INSTALLED_AT, NOW)
HALF_HOUR = 1800


def counted(value: int, how: str = "ledger entries of kind signal", unit: str = "entries") -> Count:
    return Count(value, how, WINDOW, unit)


def line(label: str, value: int, detail: str | None = None, name: str | None = None) -> Line:
    return Line(label, counted(value, f"ledger entries that say {label}"), detail, name)


def series(of: str, label: str | None, factor: int, unit: str = "entries") -> Series:
    starts_at = Instant(INSTALLED_AT // (HOUR // 2) * (HOUR // 2))
    values = tuple(factor * (n % 7) + n // 9 for n in range(49))
    how = f"ledger entries of {of}, by the bucket of their time"
    return Series(of, label, unit, how, WINDOW, starts_at, HALF_HOUR, values)


FORECAST = Forecast(
    "an estimate, not a count",
    "the count of the window, scaled to the horizon, rounded down",
    (Estimate("signals", 61_803, "entries", counted(8_829), Window(NOW, Instant(NOW + 7 * DAY))),),
)
NOT_ENOUGH = NotEnough(
    "not enough observation",
    counted(3_611, "seconds between the ends of the window", "seconds"),
    counted(21_600, "seconds that a forecast needs", "seconds"),
)


def report(
    *,
    tenant_name: str | None = "Nordlicht Reederei GmbH",
    connector: str = "crm",
    trigger_type: str = "inbox.changed",
    topic: str = "usage_snapshot",
    forecast: Outlook = FORECAST,
) -> Report:
    header = Header(
        report_id="0197a3c2-77aa-7cc1-b0f1-6b1e9a4c2d10",
        trigger="AUTO_24H",
        tenant_id="nordlicht",
        tenant_name=tenant_name,
        installed_at=INSTALLED_AT,
        generated_at=NOW,
        window=WINDOW,
        window_from="the installation of the tenant",
        entries=counted(18_234, "entries of the tenant's ledger"),
        last_entry=counted(20_991, "place of the newest entry", "place"),
        policy_version=17,
    )
    of_connector = ConnectorCounts(connector, counted(651), counted(777), counted(2_921))
    coverage = (
        Coverage(connector, CoverageState.PARTIAL, "14 of 24 hours", (line("answered", 60),)),
        Coverage("calendar", CoverageState.MISSING, "no pull was planned", ()),
    )
    observations = Observations(
        decisions=(
            line("ALLOW", 286, "within limits", trigger_type),
            line("DEFER", 564, "cooldown", trigger_type),
            line("SKIP", 997, "debounced", "calendar.changed"),
        ),
        runs=(line("succeeded", 190), line("failed", 10)),
        plans=(line("PLAN_CREATED", 31),),
        steps=(line("STEP_STARTED", 77), line("STEP_FAILED", 0)),
        turns=(line("reserved", 302), line("refused", 4)),
        credits_settled=counted(8_887_030, "credits of settled turns", "micro-credits"),
        events_delivered=(line("delivered", 411, None, topic),),
        events_dead=(),
    )
    return Report(
        header,
        Collected(
            counted(2_924), counted(654), counted(779, "units of pulls", "units"), (of_connector,)
        ),
        coverage,
        observations,
        forecast,
        (
            series("signals", None, 9),
            series("pulls", None, 2),
            series("decisions", "ALLOW", 1),
            series("decisions", "DEFER", 2),
            series("decisions", "SKIP", 3),
            series("credits", None, 12_345, "micro-credits"),
        ),
    )


def emptied(full: Report) -> Report:
    """The same report of a tenant for whom nothing was done."""
    nothing = counted(0)
    none = Observations((), (), (), (), (), nothing, (), ())
    header = replace(full.header, tenant_name=None, installed_at=None)
    collected = Collected(nothing, nothing, nothing, ())
    return replace(
        full, header=header, collected=collected, coverage=(), observations=none, series=()
    )


FRAME_LINES = 2


def pages_of(data: bytes) -> list[str]:
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data), strict=True).pages]


def keys_of(data: bytes) -> set[str]:
    """Every key of every dictionary in the file."""
    reader = pypdf.PdfReader(io.BytesIO(data), strict=True)
    found: set[str] = set()
    waiting: list[Any] = [reader.get_object(number) for number in reader.xref[0]]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found |= set(one)
            waiting += [one.raw_get(key) for key in one]
        elif isinstance(one, list):
            waiting += list(one)
    assert "/MediaBox" in found
    return found


def text_of(data: bytes) -> str:
    """All pages without what stands on each of them: what is left reads on from page to page."""
    return "\n".join("\n".join(page.split("\n")[FRAME_LINES:]) for page in pages_of(data))


def squeezed(text: str) -> str:
    """Without spaces and line ends: where a line breaks does not matter."""
    return re.sub(r"\s+", "", text)


def leaves(value: Any) -> Iterator[str | int]:
    """Every text and number of a JSON document."""
    if isinstance(value, dict):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one)
    elif value is not None:
        yield value
