"""The overview: what happens, what was refused and why, what it costs, and what waits for a person.

Its question is one action; here it is put into words and drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Response
from markupsafe import Markup

from watchkeeper.actions.overview import Verdicts, Window, show_overview, window_of
from watchkeeper.actions.show_budgets import Budgets, Meter, Unit, running_total
from watchkeeper.charts import Part, Tone, budget_line, stacked_bars, svg, tone_of
from watchkeeper.core.admission import Result
from watchkeeper.core.phrases import phrase_of
from watchkeeper.core.quota import MICRO
from watchkeeper.core.time import DAY, Instant
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import Shown, pages

REASONS_DRAWN_MAX = 6
METERS_MAX = 5
WIDE, TALL = 520.0, 200.0
_WINDOWS = {
    Window.HOUR: "the last hour",
    Window.DAY: "the last 24 hours",
    Window.WEEK: "the last 7 days",
}
# Blue is what is allowed, wherever it is drawn.
_TONES = (Tone.AMBER, Tone.VIOLET, Tone.TEAL, Tone.SKY, Tone.OLIVE, Tone.RED)

routes = pages()


@routes.get("/")
@needs(Access.READ)
def get_overview(page: Shown) -> Response:
    window = window_of(page.request.query_params.get("window"))
    found = show_overview(page.server.db, page.server.populations, page.tenant, window)
    daily = daily_credits(found.budgets)
    return page.show(
        "overview.html",
        found=found,
        window=found.verdicts.window,
        windows=_WINDOWS,
        sentence=_sentence(found.verdicts),
        results=_drawn_results(found.verdicts),
        reasons=_drawn_reasons(found.verdicts),
        refused=_refused(found.verdicts),
        runs=drawn_line(found.budgets, found.budgets.runs, "Runs of this UTC day"),
        daily=daily,
        credits=drawn_line(found.budgets, daily, "Credits of this UTC day"),
        meters=sorted(found.budgets.meters, key=_fullest_first)[:METERS_MAX],
        population=found.population,
        lag_us=found.lag_us,
        tiers=[(tier.name, count) for tier, count in found.population.tiers.items()],
    )


def _sentence(verdicts: Verdicts) -> str:
    """The window in one sentence, for who sees this for the first time."""
    totals = {result: verdicts.total(result) for result in Result}
    asked = sum(totals.values())
    within = _WINDOWS[verdicts.window]
    about = "about " if verdicts.is_estimate else ""
    if not asked:
        return f"No triggers in {within}."
    said = (
        f"In {within} {about}{asked:,} {'trigger' if asked == 1 else 'triggers'}:"
        f" {totals[Result.ALLOW]:,} allowed, {totals[Result.DEFER]:,} deferred,"
        f" {totals[Result.SKIP]:,} skipped."
    )
    most = next((reason for result, reason, _ in verdicts.by_reason if result != "ALLOW"), None)
    return f"{said} Most common reason: {most}." if most else said


def _drawn_results(verdicts: Verdicts) -> Markup:
    parts = [Part(str(one), verdicts.series(one), tone_of(one)) for one in Result]
    title = f"Verdicts in {_WINDOWS[verdicts.window]}, by result"
    return _bars(title, verdicts, parts, "verdicts", "by-result")


def _drawn_reasons(verdicts: Verdicts) -> Markup:
    """The reasons that refused most, each a layer; what is left is one more."""
    reasons = [row for row in verdicts.by_reason if row[0] != Result.ALLOW]
    parts = [
        Part(reason or result, verdicts.series(result, reason), tone)
        for (result, reason, _), tone in zip(reasons[:REASONS_DRAWN_MAX], _TONES, strict=False)
    ]
    if rest := reasons[REASONS_DRAWN_MAX:]:
        layers = [verdicts.series(result, reason) for result, reason, _ in rest]
        summed = [sum(values) for values in zip(*layers, strict=True)]
        parts.append(Part("others", summed, Tone.GREY))
    title = f"Refusals in {_WINDOWS[verdicts.window]}, by reason"
    return _bars(title, verdicts, parts, "verdicts", "by-reason")


def _bars(title: str, verdicts: Verdicts, parts: Sequence[Part], unit: str, name: str) -> Markup:
    parts = parts or [Part("refused", [0] * verdicts.buckets, Tone.GREY)]
    nothing = f"nothing in {_WINDOWS[verdicts.window]}"
    drawing = stacked_bars(
        title,
        verdicts.starts_at,
        verdicts.bucket_us,
        parts,
        unit=unit,
        width=WIDE,
        height=TALL,
        words_for_nothing=nothing,
    )
    return Markup(svg(drawing, name))


def _refused(verdicts: Verdicts) -> list[tuple[str, str, int, str]]:
    """Result, reason, how many, and what the reason means."""
    return [
        (result, reason, count, phrase_of(reason) or "")
        for result, reason, count in verdicts.by_reason
        if result != Result.ALLOW
    ]


def daily_credits(budgets: Budgets) -> Meter | None:
    """The day's credits over all models, if there is such a bucket."""
    return next((one for one in budgets.credits if one.until - one.since == DAY), None)


def drawn_line(budgets: Budgets, meter: Meter | None, title: str) -> Markup | None:
    """What was used by the hour, against its limit, and where it leads; None without a meter."""
    if meter is None:
        return None
    points = running_total(budgets.lines[meter.unit], budgets.day, budgets.now, meter.used)
    ahead = _ahead(meter) if budgets.is_today else []
    scale = MICRO if meter.unit is Unit.CREDITS else 1
    drawing = budget_line(
        title,
        [(at, _scaled(value, scale)) for at, value in points],
        since=meter.since,
        until=meter.until,
        budget=None if meter.limit is None else _scaled(meter.limit, scale),
        projection=[(at, _scaled(value, scale)) for at, value in ahead],
        unit=str(meter.unit),
        width=WIDE,
        height=TALL,
    )
    return Markup(svg(drawing, f"line-{meter.unit}"))


def _ahead(meter: Meter) -> list[tuple[Instant, int]]:
    """To the end of the period, or to where nothing is left."""
    found = meter.projection
    if found is None or meter.remaining == 0:
        return []
    if found.exhausted_at is None or meter.limit is None:
        return [(meter.until, found.at_end)]
    return [(found.exhausted_at, meter.limit)]


def _scaled(value: int, scale: int) -> int | float:
    return value if scale == 1 else round(value / scale, 2)


def _fullest_first(meter: Meter) -> tuple[int, str]:
    return (-1 if meter.percent is None else meter.percent) * -1, meter.name
