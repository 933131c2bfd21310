"""`schedules`: triggers by the calendar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AsJson, Db, Limit, Tenant
from watchkeeper.cli.output import say, say_json, say_table
from watchkeeper.cli.place import opened

if TYPE_CHECKING:
    from watchkeeper.store.schedules import Schedule

app = typer.Typer(help="Set, list and remove schedules.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="SCHEDULE", help="Your id for the schedule.")]


@app.command("list")
def list_schedules(
    tenant: Tenant, limit: Limit = 100, db: Db = None, as_json: AsJson = False
) -> None:
    """List the schedules of a tenant and when each fires next."""
    from watchkeeper.actions import views
    from watchkeeper.core.ids import TenantId

    with opened(db) as database:
        rows = [as_data(s) for s in views.list_schedules(database, TenantId(tenant), "", limit)]
    if as_json:
        say_json({"items": rows})
        return
    columns = ("schedule_id", "trigger_type", "account_id", "cron", "timezone", "next_fire_at")
    say_table(columns, [[row[c] for c in columns] for row in rows], empty="There are no schedules.")


@app.command("set")
def set_one(
    schedule_id: Name,
    tenant: Tenant,
    trigger_type: Annotated[
        str, typer.Option("--trigger", metavar="TYPE", help="The trigger type it fires.")
    ],
    cron: Annotated[
        str, typer.Option("--cron", help='Cron expression, such as "0 8 * * MON-FRI".')
    ],
    timezone: Annotated[
        str, typer.Option("--timezone", help="Time zone of the cron expression.")
    ] = "UTC",
    account: Annotated[
        str | None, typer.Option("--account", help="Only this account. Default: all.")
    ] = None,
    catch_up: Annotated[
        str, typer.Option("--catch-up", help="After downtime: skip, fire_once or fire_all.")
    ] = "fire_once",
    spread_seconds: Annotated[
        int | None, typer.Option("--spread-seconds", help="Seconds to spread the accounts over.")
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Set a schedule. A schedule of the same id is replaced."""
    from watchkeeper import inputs
    from watchkeeper.actions.set_schedule import NewSchedule, set_schedule
    from watchkeeper.core.ids import AccountId, ScheduleId, TenantId
    from watchkeeper.core.schedule import CatchUp

    given = {
        "account_id": account,
        "trigger_type": trigger_type,
        "cron": cron,
        "timezone": timezone,
        "catch_up": catch_up,
        "spread_seconds": spread_seconds,
    }
    new = inputs.parse(inputs.ScheduleIn, given)
    tenant_id = TenantId(inputs.parse_tenant_id(tenant))
    with opened(db) as database:
        schedule = set_schedule(
            database,
            tenant_id,
            ScheduleId(schedule_id),
            NewSchedule(
                trigger_type=new.trigger_type,
                cron=new.cron,
                timezone=new.timezone,
                account_id=None if new.account_id is None else AccountId(new.account_id),
                catch_up=CatchUp(new.catch_up),
                spread_seconds=new.spread_seconds,
            ),
        )
    found = as_data(schedule)
    if as_json:
        say_json(found)
    else:
        say(f"Schedule {schedule_id} fires next at {found['next_fire_at']}.")


@app.command()
def remove(schedule_id: Name, tenant: Tenant, db: Db = None, as_json: AsJson = False) -> None:
    """Remove a schedule: it does not fire again."""
    from watchkeeper.actions.set_schedule import remove_schedule
    from watchkeeper.core.ids import ScheduleId, TenantId

    with opened(db) as database:
        remove_schedule(database, TenantId(tenant), ScheduleId(schedule_id))
    if as_json:
        say_json({"schedule_id": schedule_id, "removed": True})
    else:
        say(f"Schedule {schedule_id} is removed.")


def as_data(schedule: Schedule) -> dict[str, Any]:
    from watchkeeper.core.time import to_iso

    return {
        "schedule_id": schedule.schedule_id,
        "account_id": schedule.account_id,
        "trigger_type": schedule.trigger_type,
        "cron": schedule.cron,
        "timezone": schedule.timezone,
        "catch_up": schedule.catch_up,
        "spread_seconds": schedule.spread_seconds,
        "next_fire_at": to_iso(schedule.next_fire_at),
    }
