"""The sections of a report on pages: the words and numbers of the stored report, all of them.

Every number has a mark, such as [3], and the note of that number stands below: how it was
counted, in what, over which window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from watchkeeper.charts import Tone, has_meaning, sparkline, tone_of
from watchkeeper.core.reports import (
    Count,
    Coverage,
    Forecast,
    Line,
    NotEnough,
    Report,
    Series,
    Window,
)
from watchkeeper.core.time import to_iso
from watchkeeper.render_report_charts import ReportChart, duration
from watchkeeper.render_report_page import LEFT, RIGHT, Cell, Flow, Style

TITLE = Style(23, is_bold=True)
SECTION = Style(14.5, is_bold=True)
HEADING = Style(10, is_bold=True)
BODY = Style(9)
STRONG = Style(9, is_bold=True)
LABEL = Style(7.2, tone=Tone.MUTED)
NOTE = Style(6.9, tone=Tone.MUTED)
BIG = Style(19, is_bold=True)
WIDTH = RIGHT - LEFT


def quoted(name: str) -> str:
    """What somebody else called it is shown as such."""
    return f"“{name}”"


def window_words(window: Window) -> str:
    return f"{to_iso(window.since)} to {to_iso(window.until)}"


@dataclass(slots=True)
class Notes:
    """How numbers were counted; the same way of counting has the same number everywhere."""

    _known: dict[tuple[str, str, Window], int] = field(default_factory=dict)
    _open: dict[int, tuple[str, str, Window]] = field(default_factory=dict)
    _written: set[tuple[int, int]] = field(default_factory=set)  # a page, a number

    def mark(self, count: Count) -> str:
        return self.of(count.unit, count.how, count.window)

    def of(self, unit: str, how: str, window: Window) -> str:
        key = (unit, how, window)
        number = self._known.setdefault(key, len(self._known) + 1)
        self._open[number] = key
        return f"[{number}]"

    def write(self, flow: Flow) -> None:
        """The notes of all marks since the last time, but none twice on a page."""
        flow.gap(3)
        for number, (unit, how, window) in sorted(self._open.items()):
            if (len(flow.pages), number) in self._written:
                continue
            edges = ((LEFT, LEFT + 17), (LEFT + 17, RIGHT))
            text = f"{unit}: {how}; {window_words(window)}"
            flow.row((Cell(f"[{number}]", NOTE), Cell(text, NOTE)), edges, has_rule=False)
            self._written.add((len(flow.pages), number))
        self._open.clear()


@dataclass(slots=True)
class Sections:
    """Writes one report into a flow."""

    report: Report
    flow: Flow
    charts: Sequence[ReportChart]
    notes: Notes = field(default_factory=Notes)

    def write(self) -> None:
        self._header()
        self._collected()
        self._coverage()
        self._observations()
        self._forecast()
        self._points()

    def _section(self, letter: str, title: str, keep: float = 120) -> None:
        self.flow.gap(24)
        self.flow.need(keep)
        self.flow.text(f"{letter}  {title}", SECTION)
        self.flow.gap(3)
        self.flow.rule(Tone.INK, 0.8)
        self.flow.gap(6)

    def _heading(self, text: str, keep: float = 50) -> None:
        self.flow.gap(11)
        self.flow.need(keep)
        self.flow.text(text, HEADING)
        self.flow.gap(2)

    def _header(self) -> None:
        header, flow = self.report.header, self.flow
        flow.text("Activity report", TITLE)
        flow.gap(2)
        name = header.tenant_name
        flow.text(quoted(name) if name is not None else header.tenant_id, Style(12.5))
        flow.gap(9)
        flow.rule(Tone.INK, 0.8)
        flow.gap(3)
        installed = "not known" if header.installed_at is None else to_iso(header.installed_at)
        pairs = [
            ("report", header.report_id, ""),
            ("trigger", header.trigger, ""),
            ("tenant", header.tenant_id, ""),
            ("installed at", installed, ""),
            ("generated at", to_iso(header.generated_at), ""),
            ("window", window_words(header.window), ""),
            ("window begins with", header.window_from, ""),
            ("policy version", str(header.policy_version), ""),
            ("ledger entries", str(header.entries.value), self.notes.mark(header.entries)),
            ("newest entry", str(header.last_entry.value), self.notes.mark(header.last_entry)),
            ("format", str(self.report.format), ""),
        ]
        for label, value, mark in pairs:
            edges = ((LEFT, LEFT + 104), (LEFT + 104, RIGHT))
            flow.row(
                (Cell(label, Style(8.4, tone=Tone.MUTED)), Cell(value, BODY, mark=mark)), edges
            )
        self.notes.write(flow)

    def _collected(self) -> None:
        collected, flow = self.report.collected, self.flow
        self._section("A", "What was collected")
        totals = (
            ("signals", collected.signals),
            ("pulls", collected.pulls),
            ("units", collected.units),
        )
        self._tiles(totals)
        self._plots({"signals", "pulls", "units"})
        self._heading("By connector")
        if not collected.connectors:
            flow.text("none", BODY)
        else:
            self._connectors()
        self.notes.write(flow)

    def _tiles(self, totals: Sequence[tuple[str, Count]]) -> None:
        """The totals, large, each with its run over time beside it."""
        flow = self.flow
        flow.gap(4)
        flow.need(58)
        wide = WIDTH / len(totals)
        lefts = [LEFT + n * wide for n in range(len(totals))]
        edges = [(left, left + wide - 8) for left in lefts]
        flow.row([Cell(name, LABEL) for name, _ in totals], edges, has_rule=False)
        flow.gap(-6)
        y = flow.y
        flow.row(
            [Cell(str(count.value), BIG, mark=self.notes.mark(count)) for _, count in totals],
            edges,
            has_rule=False,
        )
        after = flow.y
        for (name, count), (left, right) in zip(totals, edges, strict=True):
            chart = self._chart_of(name)
            taken = flow.fonts.width(str(count.value), BIG.height, is_bold=True) + 24
            room = right - left - taken
            if chart is not None and room > 30:
                drawing = sparkline(name, _summed(chart.series))
                flow.y = y - 5
                flow.drawing(drawing, x=left + taken, width=min(78, room))
        flow.y = after

    def _chart_of(self, of: str) -> ReportChart | None:
        return next((chart for chart in self.charts if chart.of == of), None)

    def _connectors(self) -> None:
        edges = _edges((0.46, 0.18, 0.18, 0.18))
        names = ("connector", "pulls", "units", "signals")
        self.flow.row([Cell(n, LABEL, at_right=n != "connector") for n in names], edges)
        for one in self.report.collected.connectors:
            counts = (one.pulls, one.units, one.signals)
            numbers = [self._number(count) for count in counts]
            self.flow.row([Cell(quoted(one.connector_id), BODY), *numbers], edges)

    def _number(self, count: Count) -> Cell:
        return Cell(str(count.value), BODY, at_right=True, mark=self.notes.mark(count))

    def _plots(self, wanted: Iterable[str]) -> None:
        """A drawing for every kind, with what its bars count below its name."""
        wanted = set(wanted)
        for chart in self.charts:
            if chart.of not in wanted:
                continue
            marks = {self.notes.of(one.unit, one.how, one.window) for one in chart.series}
            self.flow.gap(12)
            height = chart.drawing.height * WIDTH / chart.drawing.width
            self.flow.need(height + 30)
            edges = ((LEFT, RIGHT),)
            cell = Cell(chart.heading, HEADING, mark="".join(sorted(marks)))
            self.flow.row((cell,), edges, has_rule=False)
            self.flow.gap(4)
            self.flow.drawing(chart.drawing)

    def _coverage(self) -> None:
        self._section("B", "Coverage per connector")
        if not self.report.coverage:
            self.flow.text("none", BODY)
        for one in self.report.coverage:
            self._covered(one)
        self.notes.write(self.flow)

    def _covered(self, one: Coverage) -> None:
        self.flow.gap(7)
        self.flow.need(44)
        edges = _edges((0.22, 0.78))
        state = Cell(str(one.state), STRONG, tone=tone_of(str(one.state)))
        self.flow.row((state, Cell(quoted(one.connector_id), STRONG)), edges, has_rule=False)
        self.flow.text(one.reason, BODY, x=edges[1][0], width=edges[1][1] - edges[1][0])
        self.flow.gap(3)
        if one.pulls:
            self._lines(one.pulls, edges[1][0])
        else:
            self.flow.rule()

    def _observations(self) -> None:
        seen = self.report.observations
        self._section("C", "Observations", keep=230 if self.charts else 120)
        in_a = {"signals", "pulls", "units"}
        self._plots(chart.of for chart in self.charts if chart.of not in in_a)
        tables = (
            ("Decisions", seen.decisions),
            ("Runs", seen.runs),
            ("Plans", seen.plans),
            ("Steps", seen.steps),
            ("Turns", seen.turns),
            ("Credits settled", (Line("settled", seen.credits_settled),)),
            ("Events delivered", seen.events_delivered),
            ("Events dead", seen.events_dead),
        )
        for title, lines in tables:
            self._heading(title)
            if lines:
                self._lines(lines, LEFT)
            else:
                self.flow.text("none", Style(9, tone=Tone.MUTED))
            self.notes.write(self.flow)

    def _lines(self, lines: Sequence[Line], left: float) -> None:
        """A breakdown: label, detail and name as far as there are any, a bar, the count."""
        has_detail = any(line.detail is not None for line in lines)
        has_name = any(line.name is not None for line in lines)
        has_squares = all(has_meaning(line.label) for line in lines)
        wide = 0.24 if has_name else 0.32
        shares = [0.26, *([wide] if has_detail else []), *([0.24] if has_name else [])]
        bar = 1 - sum(shares) - 0.15
        edges = _edges((*shares, bar, 0.15), left)
        largest = max(line.count.value for line in lines) or 1
        for line in lines:
            tone = tone_of(line.label)
            cells = [Cell(line.label, BODY, tone=tone if has_squares else None)]
            if has_detail:
                cells.append(Cell(line.detail or "", BODY))
            if has_name:
                cells.append(Cell("" if line.name is None else quoted(line.name), BODY))
            share = max(0, line.count.value) / largest if len(lines) > 1 else 0.0
            cells.append(Cell("", BODY, bar=share, tone=tone))
            self.flow.row([*cells, self._number(line.count)], edges)

    def _forecast(self) -> None:
        self._section("D", "Forecast")
        outlook = self.report.forecast
        match outlook:
            case Forecast():
                self._estimates(outlook)
            case NotEnough():
                self._not_enough(outlook)
        self.notes.write(self.flow)

    def _estimates(self, outlook: Forecast) -> None:
        self.flow.text(outlook.is_estimate, STRONG)
        self.flow.text(outlook.method, BODY)
        self.flow.gap(6)
        edges = _edges((0.2, 0.16, 0.14, 0.16, 0.34))
        titles = ("estimate of", "estimate", "unit", "counted", "horizon")
        rights = {"estimate", "counted"}
        self.flow.row([Cell(name, LABEL, at_right=name in rights) for name in titles], edges)
        for one in outlook.estimates:
            cells = (
                Cell(one.of, BODY),
                Cell(str(one.value), BODY, at_right=True),
                Cell(one.unit, BODY),
                self._number(one.basis),
                Cell(window_words(one.horizon), NOTE),
            )
            self.flow.row(cells, edges)

    def _not_enough(self, outlook: NotEnough) -> None:
        self.flow.text(outlook.statement, STRONG)
        self.flow.gap(4)
        edges = _edges((0.3, 0.3, 0.4))
        for label, count in (("observed", outlook.observed), ("needed", outlook.needed)):
            self.flow.row([Cell(label, BODY), Cell(count.unit, BODY), self._number(count)], edges)

    def _points(self) -> None:
        """The numbers behind the plots, so that nothing can be read from them alone."""
        if not self.report.series:
            return
        self._section("E", "Points of the plots")
        for one in self.report.series:
            name = one.of if one.label is None else f"{one.of} · {one.label}"
            mark = self.notes.of(one.unit, one.how, one.window)
            self._heading_with_mark(name, mark)
            self.flow.text(
                f"from {to_iso(one.starts_at)}, every {one.bucket_seconds} seconds "
                f"({duration(one.bucket_seconds)})",
                NOTE,
            )
            self.flow.text("  ".join(str(value) for value in one.values) or "none", Style(7.6))
        self.notes.write(self.flow)

    def _heading_with_mark(self, text: str, mark: str) -> None:
        self.flow.gap(8)
        self.flow.need(40)
        self.flow.row((Cell(text, HEADING, mark=mark),), ((LEFT, RIGHT),), has_rule=False)


def _summed(series: Sequence[Series]) -> list[int]:
    return [sum(values) for values in zip(*(one.values for one in series), strict=True)]


def _edges(shares: Sequence[float], left: float = LEFT) -> list[tuple[float, float]]:
    """Columns that share the width, with a gap behind each."""
    edges = []
    wide = RIGHT - left
    for n, share in enumerate(shares):
        end = left + wide * share
        edges.append((left, RIGHT if n == len(shares) - 1 else end - 10))
        left = end
    return edges
