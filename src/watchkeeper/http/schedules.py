"""/v1/schedules"""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.actions.set_schedule import NewSchedule, remove_schedule, set_schedule
from watchkeeper.actions.views import list_schedules, view_schedule
from watchkeeper.core.ids import AccountId, ScheduleId
from watchkeeper.core.schedule import CatchUp
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import (
    LIMIT,
    Cursor,
    Limit,
    TenantQuery,
    answer,
    nothing,
    page,
    position,
)
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page, ScheduleOut
from watchkeeper.input_types import Id
from watchkeeper.inputs import ScheduleIn

routes = router("schedules")


@routes.put("/v1/schedules/{schedule_id}", response_model=ScheduleOut)
@needs(Access.ADMINISTER)
def put_schedule(schedule_id: Id, body: ScheduleIn, ctx: Ctx) -> Response:
    """Set a schedule that fires a trigger, for one account or for all of the tenant."""
    account_id = None if body.account_id is None else AccountId(body.account_id)
    new = NewSchedule(
        trigger_type=body.trigger_type,
        cron=body.cron,
        timezone=body.timezone,
        account_id=account_id,
        catch_up=CatchUp(body.catch_up),
        spread_seconds=body.spread_seconds,
    )
    tenant_id = ctx.tenant_to_write(body.tenant_id)
    name, makes_tenant = ScheduleId(schedule_id), ctx.makes_tenants
    schedule = set_schedule(ctx.db, tenant_id, name, new, makes_tenant=makes_tenant)
    return answer(views.schedule(schedule))


@routes.get("/v1/schedules", response_model=Page[ScheduleOut])
@needs(Access.READ)
def get_schedules(
    ctx: Ctx, tenant_id: TenantQuery = None, limit: Limit = LIMIT, cursor: Cursor = None
) -> Response:
    """List the tenant's schedules, by id."""
    after = position(cursor, "schedules", "")
    found = list_schedules(ctx.db, ctx.tenant(tenant_id), after, limit)
    last = found[-1].schedule_id if found else None
    return page("schedules", [views.schedule(one) for one in found], limit, last)


@routes.get("/v1/schedules/{schedule_id}", response_model=ScheduleOut)
@needs(Access.READ)
def get_schedule(schedule_id: Id, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a schedule, and when it fires next."""
    name = ScheduleId(schedule_id)
    whose = ctx.tenant_of(Thing.SCHEDULE, name, tenant_id)
    return answer(views.schedule(view_schedule(ctx.db, whose, name)))


@routes.delete("/v1/schedules/{schedule_id}", status_code=204)
@needs(Access.ADMINISTER)
def delete_schedule(schedule_id: Id, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Delete a schedule. It does not fire again."""
    name = ScheduleId(schedule_id)
    remove_schedule(ctx.db, ctx.tenant_of(Thing.SCHEDULE, name, tenant_id), name)
    return nothing()
