"""A stored report as a PDF and as charts for the dashboard: the same numbers as its JSON.

Nothing is counted here. `pdf` writes every text and number of the report, each number with how
it was counted and over which window, and gives the same bytes for the same report as long as the
same versions of the extra `pdf` are installed.
"""

from __future__ import annotations

from watchkeeper.charts import svg as svg_of
from watchkeeper.charts.model import Tone
from watchkeeper.core.reports import Report
from watchkeeper.core.time import to_iso
from watchkeeper.render_report_charts import ReportChart, charts
from watchkeeper.render_report_fonts import Fonts, load
from watchkeeper.render_report_page import HEIGHT, LEFT, RIGHT, Flow, Pen, Style, written
from watchkeeper.render_report_sections import Sections

_FRAME = Style(7.4, tone=Tone.MUTED)

__all__ = ["ReportChart", "charts", "pdf", "svg"]


def pdf(report: Report, *, fonts: Fonts | None = None) -> bytes:
    """Raises Unavailable, naming the extra, where what it needs is not installed."""
    flow = Flow(load() if fonts is None else fonts)
    Sections(report, flow, charts(report)).write()
    header = report.header

    def frame(pen: Pen, number: int, count: int) -> None:
        top, bottom = HEIGHT - 40, 34
        _ends(pen, top, "Watchkeeper · activity report", header.report_id)
        pen.rule(LEFT, top - 6, RIGHT, Tone.GRID)
        generated = f"{header.trigger} · generated {to_iso(header.generated_at)}"
        _ends(pen, bottom, generated, f"page {number} of {count}")

    return written(
        flow, frame, title=f"Activity report {header.report_id}", subject=header.tenant_id
    )


def _ends(pen: Pen, y: float, left: str, right: str) -> None:
    """One text at each end of a line; both are ours, a name would be too long for it."""
    shown = pen.fonts.shown(right)
    pen.line(LEFT, y, pen.fonts.shown(left), _FRAME)
    pen.line(RIGHT - pen.fonts.width(shown, _FRAME.height), y, shown, _FRAME)


def svg(report: Report) -> tuple[tuple[str, str], ...]:
    """The charts of a report for a page of the dashboard: what is counted, and its drawing."""
    return tuple(
        (chart.of, svg_of(chart.drawing, f"report-chart-{place}"))
        for place, chart in enumerate(charts(report), start=1)
    )
