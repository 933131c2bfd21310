"""/v1/reports: what was done for a tenant; /v1/milestones: which reports come by themselves."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.generate_report import generate_report, heard_by
from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.actions.show_reports import list_milestones, list_reports, report_text, show_report
from watchkeeper.core.report_json import to_json
from watchkeeper.errors import Invalid
from watchkeeper.http.access import JSON, Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, TenantQuery, answer, page, position
from watchkeeper.http.context import Ctx, identifier, is_identifier
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page
from watchkeeper.http.shapes_report import MilestoneOut, ReportOut, ReportSummaryOut
from watchkeeper.inputs import OfTenant
from watchkeeper.report_results import summary_of

PDF = "application/pdf"

routes = router("reports")


class ReportIn(OfTenant):
    """A request for a report; a report covers everything until now."""


@routes.post("/v1/reports", status_code=201, response_model=ReportOut)
@needs(Access.OPERATE)
def post_report(body: ReportIn, ctx: Ctx) -> Response:
    """Generate and store a report of what was done for a tenant until now."""
    whose = ctx.tenant_to_write(body.tenant_id)
    hears = heard_by(ctx.db, ctx.server.registry)
    made = generate_report(
        ctx.db, whose, hears=hears, makes_tenant=ctx.makes_tenants, once=ctx.once
    )
    assert made is not None, "only a milestone has come to its end before"
    return Response(to_json(made), 201, media_type=JSON)


@routes.get("/v1/reports", response_model=Page[ReportSummaryOut])
@needs(Access.READ)
def get_reports(
    ctx: Ctx, tenant_id: TenantQuery = None, limit: Limit = LIMIT, cursor: Cursor = None
) -> Response:
    """List a tenant's reports, newest first."""
    whose = ctx.tenant(tenant_id)
    before = position(cursor, "reports", "")
    if before and not is_identifier(before):
        raise Invalid.at("cursor", "is not a cursor of this list")
    found = list_reports(ctx.db, whose, before, limit)
    rows = [summary_of(one, whose).to_json() for one in found]
    return page("reports", rows, limit, found[-1].report_id if found else None)


@routes.get(
    "/v1/reports/{report_id}.pdf",
    response_class=Response,
    responses={200: {"content": {PDF: {"schema": {"type": "string", "format": "binary"}}}}},
)
@needs(Access.READ)
def get_report_pdf(report_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a report as PDF: the sections and numbers of the stored report, with plots."""
    from watchkeeper.render_report import pdf

    wanted = identifier(report_id, "report")
    found = show_report(ctx.db, ctx.tenant_of(Thing.REPORT, wanted, tenant_id), wanted)
    headers = {"Content-Disposition": f'inline; filename="report-{wanted}.pdf"'}
    return Response(pdf(found), media_type=PDF, headers=headers)


@routes.get("/v1/reports/{report_id}", response_model=ReportOut)
@needs(Access.READ)
def get_report(report_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a report, byte for byte as it was stored: canonical JSON."""
    wanted = identifier(report_id, "report")
    text = report_text(ctx.db, ctx.tenant_of(Thing.REPORT, wanted, tenant_id), wanted)
    return Response(text, media_type=JSON)


@routes.get("/v1/milestones", response_model=Page[MilestoneOut])
@needs(Access.READ)
def get_milestones(ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """List a tenant's milestones, by name: the reports that are generated automatically."""
    found = list_milestones(ctx.db, ctx.tenant(tenant_id))
    return answer({"items": [one.to_json() for one in found], "next_cursor": None})
