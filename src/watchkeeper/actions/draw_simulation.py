"""A simulation as one picture: the load of each hour, and the budgets that were tightest."""

from __future__ import annotations

import re

from watchkeeper.actions.simulated import BurnDown, Simulation
from watchkeeper.charts import Drawing, Part, budget_line, stacked_bars, stylesheet, svg, tone_of
from watchkeeper.charts.model import Size, Text, Tone
from watchkeeper.core.time import HOUR

BUDGETS_MAX = 6
WIDTH = 720.0
HEIGHT = 200.0
TITLE = 22.0
GAP = 14.0

_ROOT = re.compile(r"<svg ")


def tightest(found: Simulation, most: int) -> list[BurnDown]:
    """Budgets with a limit, those that were used up to the highest part of it first."""
    limited = [one for one in found.budgets if one.limit is not None]
    limited.sort(key=lambda one: (-one.peak / max(1, one.limit or 0), one.tenant_id, one.budget))
    return limited[:most]


def drawn(found: Simulation) -> str:
    """One SVG document that stands by itself, in light and in dark."""
    drawings = [_load(found), *(_burn_down(found, one) for one in tightest(found, BUDGETS_MAX))]
    parts, y = [], GAP
    for drawing in drawings:
        named = Drawing(
            WIDTH,
            drawing.height + TITLE,
            drawing.title,
            drawing.summary,
            (Text(4, 14, drawing.title, Tone.INK, size=Size.BODY),),
        )
        parts.append(_at(svg(named), y))
        parts.append(_at(svg(drawing), y + TITLE))
        y += drawing.height + TITLE + GAP
    size = f'viewBox="0 0 {WIDTH:g} {y:g}" width="{WIDTH:g}" height="{y:g}"'
    paper = f'<rect class="wk-fill-{Tone.PAPER}" width="{WIDTH:g}" height="{y:g}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wk-chart" {size}>'
        f"<style>{stylesheet()}</style>{paper}{''.join(parts)}</svg>\n"
    )


def _at(picture: str, y: float) -> str:
    return _ROOT.sub(f'<svg y="{y:g}" ', picture, count=1)


def _load(found: Simulation) -> Drawing:
    parts = [
        Part("ALLOW", [hour.allowed for hour in found.hours], tone_of("ALLOW")),
        Part("DEFER", [hour.deferred for hour in found.hours], tone_of("DEFER")),
        Part("SKIP", [hour.skipped for hour in found.hours], tone_of("SKIP")),
    ]
    starts_at = found.hours[0].at
    return stacked_bars("Verdicts an hour", starts_at, HOUR, parts, width=WIDTH, height=HEIGHT)


def _burn_down(found: Simulation, one: BurnDown) -> Drawing:
    return budget_line(
        f"{one.budget} of {one.tenant_id}, used",
        one.points,
        since=found.since,
        until=found.until,
        budget=one.limit,
        unit=one.unit,
        width=WIDTH,
        height=HEIGHT,
    )
