"""The steps of a plan over time: when each attempt waited, and when it was carried out."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from watchkeeper.actions.show_plan import ShownPlan
from watchkeeper.charts import Lane, Span, Tone, step_timeline, svg
from watchkeeper.core.plans import Intent, IntentState
from watchkeeper.core.time import SECOND, Instant

WIDTH = 960
_TONES = {
    IntentState.SUCCEEDED: Tone.TEAL,
    IntentState.FAILED: Tone.RED,
    IntentState.REJECTED: Tone.RED,
    IntentState.EXECUTING: Tone.BLUE,
}


def plan_chart(found: ShownPlan) -> Markup | None:
    """None while nothing was begun."""
    if not found.intents:
        return None
    lanes = [
        Lane(
            step.step_id,
            [span for one in found.intents if one.step_id == step.step_id for span in _spans(one)],
        )
        for step in found.steps
    ]
    since = min(one.created_at for one in found.intents)
    ends = [found.plan.ended_at or found.now]
    ends += [one.ended_at for one in found.intents if one.ended_at is not None]
    until = Instant(max(*ends, since + SECOND))
    drawing = step_timeline(
        "Steps over time", lanes, since=since, until=until, width=WIDTH, words_for_nothing="nothing"
    )
    return Markup(svg(drawing, "steps-chart"))


def _spans(one: Intent) -> Iterator[Span]:
    words = f"attempt {one.attempt} {one.state.lower().replace('_', ' ')}"
    begun = one.executing_at
    if begun is None:
        yield Span(one.created_at, one.ended_at, words, _TONES.get(one.state, Tone.AMBER))
        return
    if begun > one.created_at:
        yield Span(one.created_at, begun, "", Tone.AMBER)
    tone = Tone.GREY if one.is_late else _TONES.get(one.state, Tone.BLUE)
    yield Span(begun, one.ended_at, words, tone)
