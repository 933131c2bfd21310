"""Charts: pure functions from numbers to a drawing, and a drawing to SVG or onto a PDF page.

`stacked_bars`, `horizontal_bars`, `budget_line`, `sparkline` and `step_timeline` draw; `svg`
writes what they drew for the dashboard, with `stylesheet` for its colours; `paint` puts it on a
page. Any length of input gives a chart of bounded size.
"""

from watchkeeper.charts.bars import Part, Row, horizontal_bars, stacked_bars
from watchkeeper.charts.lines import budget_line, sparkline
from watchkeeper.charts.model import Drawing, Tone, has_meaning, tone_of
from watchkeeper.charts.palette import stylesheet
from watchkeeper.charts.svg import svg
from watchkeeper.charts.timeline import Lane, Span, step_timeline

__all__ = [
    "Drawing",
    "Lane",
    "Part",
    "Row",
    "Span",
    "Tone",
    "budget_line",
    "has_meaning",
    "horizontal_bars",
    "sparkline",
    "stacked_bars",
    "step_timeline",
    "stylesheet",
    "svg",
    "tone_of",
]
