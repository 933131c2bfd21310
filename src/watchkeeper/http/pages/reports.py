"""Reports: what was done for a tenant, read as a page, taken away as PDF or JSON, made now."""

from __future__ import annotations

from dataclasses import dataclass, field

from fastapi import Response
from markupsafe import Markup

from watchkeeper.actions.generate_report import generate_report, heard_by
from watchkeeper.actions.show_reports import list_milestones, list_reports, report_text, show_report
from watchkeeper.charts import svg
from watchkeeper.core.reports import Count, Forecast, Line, Report, Window
from watchkeeper.http import asked
from watchkeeper.http.access import JSON, Access, needs
from watchkeeper.http.answers import cursor_of
from watchkeeper.http.context import identifier
from watchkeeper.http.page import HEADERS, Shown, pages
from watchkeeper.http.reports import PDF
from watchkeeper.render_report_charts import charts

LISTED_MAX = 50
COLLECTED = ("signals", "pulls", "units")
"""Kinds of counts that belong to what was collected; the others are observations."""

routes = pages()


@routes.get("/reports")
@needs(Access.READ)
def get_reports(page: Shown) -> Response:
    """The newest first; and how it stands with those that come by themselves."""
    db, tenant = page.server.db, page.tenant
    found = list_reports(db, tenant, asked.behind(page, "reports") or "", LISTED_MAX)
    more = cursor_of("reports", found[-1].report_id) if len(found) == LISTED_MAX else None
    return page.show(
        "reports.html", reports=found, milestones=list_milestones(db, tenant), more=more
    )


@routes.post("/reports")
@needs(Access.OPERATE)
def post_report(page: Shown) -> Response:
    """Count what was done until now, and store that as a report."""
    whose = page.ctx.tenant(page.form.get("tenant_id") or page.tenant)
    db, registry = page.server.db, page.server.registry
    made = generate_report(db, whose, hears=heard_by(db, registry))
    assert made is not None, "only a milestone has come to its end before"
    query = {"tenant": whose} if page.caller.tenant_id is None else {}
    return page.back(f"/reports/{made.header.report_id}", "generated", **query)


@routes.get("/reports/{report_id}.pdf")
@needs(Access.READ)
def get_report_pdf(report_id: str, page: Shown) -> Response:
    from watchkeeper.render_report import pdf

    known = identifier(report_id, "report")
    drawn = pdf(show_report(page.server.db, page.tenant, known))
    return Response(drawn, media_type=PDF, headers=_to_keep(f"report-{known}.pdf"))


@routes.get("/reports/{report_id}.json")
@needs(Access.READ)
def get_report_json(report_id: str, page: Shown) -> Response:
    """Byte for byte as it was stored."""
    known = identifier(report_id, "report")
    text = report_text(page.server.db, page.tenant, known)
    return Response(text, media_type=JSON, headers=_to_keep(f"report-{known}.json"))


@routes.get("/reports/{report_id}")
@needs(Access.READ)
def get_report(report_id: str, page: Shown) -> Response:
    """All sections and numbers of a report, each with how it was counted."""
    known = identifier(report_id, "report")
    report = show_report(page.server.db, page.tenant, known)
    drawn = [
        (one.of, one.heading, Markup(svg(one.drawing, f"report-chart-{n}")), one.series)
        for n, one in enumerate(charts(report), start=1)
    ]
    notes = Notes()
    return page.show(
        "report.html",
        report=report,
        header=report.header,
        collected_charts=[one for one in drawn if one[0] in COLLECTED],
        other_charts=[one for one in drawn if one[0] not in COLLECTED],
        tables=_tables(report),
        is_forecast=isinstance(report.forecast, Forecast),
        mark=notes.mark,
        series_mark=notes.of,
        notes=notes,
    )


@dataclass(slots=True)
class Notes:
    """How numbers were counted; the same way of counting has the same number everywhere."""

    known: dict[tuple[str, str, Window], int] = field(default_factory=dict)

    def mark(self, count: Count) -> int:
        return self.of(count.unit, count.how, count.window)

    def of(self, unit: str, how: str, window: Window) -> int:
        return self.known.setdefault((unit, how, window), len(self.known) + 1)


def _tables(report: Report) -> list[tuple[str, tuple[Line, ...]]]:
    seen = report.observations
    return [
        ("Decisions", seen.decisions),
        ("Runs", seen.runs),
        ("Plans", seen.plans),
        ("Steps", seen.steps),
        ("Turns", seen.turns),
        ("Credits settled", (Line("settled", seen.credits_settled),)),
        ("Events delivered", seen.events_delivered),
        ("Events dead", seen.events_dead),
    ]


def _to_keep(name: str) -> dict[str, str]:
    return {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
