"""The policy as it is drawn: numbered lines, mistakes beside them, and what a plan found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from watchkeeper.actions.plan_policy import Plan
from watchkeeper.charts import Part, Row, Tone, horizontal_bars, stacked_bars, svg
from watchkeeper.core.replay_tally import ADDED, OTHER, SAVED
from watchkeeper.core.time import HOUR, Instant, hour_of
from watchkeeper.errors import Invalid

CHANGES_SHOWN = 12
WHAT = {ADDED: Tone.TEAL, SAVED: Tone.BLUE, OTHER: Tone.GREY}

_LINE = re.compile(r"line (\d+)(?:, column \d+)?(?:: )?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a document, and in which line."""

    line: int | None
    name: str
    message: str


def mistakes_of(error: Invalid) -> list[Mistake]:
    """In the order of the lines; what is of no line comes first."""
    found = []
    for problem in error.problems:
        match = _LINE.fullmatch(problem.place)
        line, name = (int(match[1]), match[2]) if match else (None, problem.place)
        found.append(Mistake(line, name, problem.message))
    return sorted(found or [Mistake(None, "", str(error))], key=lambda one: one.line or 0)


def plan_charts(plan: Plan) -> dict[str, Markup]:
    """Flips by what they were and became, and by the hour in which they were."""
    return {"by_change": by_change(plan.by_change), "by_hour": _by_hour(plan)}


def by_change(changes: list[tuple[str, str, int]]) -> Markup:
    rows = [
        Row(f"{was} → {now}", count, _tone(was, now)) for was, now, count in changes[:CHANGES_SHOWN]
    ]
    if rest := changes[CHANGES_SHOWN:]:
        rows.append(Row(f"{len(rest)} other changes", sum(one[2] for one in rest), Tone.GREY))
    drawing = horizontal_bars("Flips by reason", rows, unit="flips", words_for_nothing="No flips")
    return Markup(svg(drawing, "by-change"))


def _by_hour(plan: Plan) -> Markup:
    first, last = hour_of(plan.since), hour_of(plan.until)
    found = plan.by_hour
    if found:
        first = max(first, min(hour for hour, _ in found) - 1)
    hours = range(first, last + 1)
    parts = [
        Part(what, [found[hour, what] for hour in hours], tone)
        for what, tone in WHAT.items()
        if any(kind == what for _, kind in found)
    ]
    drawing = stacked_bars(
        "Flips by hour",
        Instant(first * HOUR),
        HOUR,
        parts,
        unit="flips",
        words_for_nothing="No flips",
    )
    return Markup(svg(drawing, "by-hour"))


def _tone(was: str, now: str) -> Tone:
    return WHAT[ADDED if now == "ALLOW" else SAVED if was == "ALLOW" else OTHER]


def plan_facts(plan: Plan) -> dict[str, Any]:
    """The numbers of a plan, as every other door gives them."""
    told = plan.to_json()
    return {name: told[name] for name in ("runs", "credits_micro", "retimed", "accounts_flipped")}
