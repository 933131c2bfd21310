"""Who plays: the tenants, their tiers and their accounts. A policy of yours stays in force."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.actions import views
from watchkeeper.actions.apply_policy import apply_policy, read_policy
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.set_schedule import NewSchedule, set_schedule
from watchkeeper.core.ids import AccountId, ScheduleId, TenantId
from watchkeeper.core.policy import overlay
from watchkeeper.store.database import Database

AUTHOR = "demo"
BRIEF = "TIME_RITUAL_DAILY_BRIEF"
BRIEFED = 3
"""Accounts of each tenant that are briefed by the calendar."""

POLICY = """\
[tiers.demo-enterprise]
spread_seconds = 20
[tiers.demo-enterprise.triggers.SIGNAL_ARRIVED]
debounce_seconds = 2
cooldown_seconds = 8
max_per_account_per_hour = 60
[tiers.demo-enterprise.triggers.TIME_RITUAL_DAILY_BRIEF]
debounce_seconds = 30
cooldown_seconds = 4
max_per_account_per_hour = "unlimited"

[tiers.demo-team]
spread_seconds = 20
[tiers.demo-team.triggers.SIGNAL_ARRIVED]
debounce_seconds = 3
cooldown_seconds = 15
max_per_account_per_hour = 20
[tiers.demo-team.triggers.TIME_RITUAL_DAILY_BRIEF]
debounce_seconds = 30
cooldown_seconds = 4
max_per_account_per_hour = "unlimited"

[tiers.demo-starter]
run_budget_per_day = 120
[tiers.demo-starter.triggers.SIGNAL_ARRIVED]
debounce_seconds = 5
cooldown_seconds = 20
max_per_account_per_hour = 4
max_per_tenant_per_hour = 40
"""


@dataclass(frozen=True, slots=True)
class Member:
    """One tenant of the demo: how many accounts it has, and how loud they are."""

    tenant_id: TenantId
    name: str
    tier: str
    accounts: int
    signals_per_second: float


CAST = (
    Member(TenantId("northwind"), "Northwind Traders", "demo-enterprise", 140, 4.0),
    Member(TenantId("acme"), "Acme Corporation", "demo-team", 90, 2.5),
    Member(TenantId("globex"), "Globex", "demo-team", 70, 1.5),
    Member(TenantId("initech"), "Initech", "demo-starter", 40, 1.0),
)


def account_name(number: int) -> AccountId:
    return AccountId(f"acct-{number:03d}")


def set_the_stage(db: Database) -> None:
    """Tenants, their rules and their schedules. On a stage that is set, nothing changes."""
    document = overlay(views.view_policy(db, None).said, read_policy(POLICY).said)
    apply_policy(db, document, author=AUTHOR, reason="the tiers of the demo")
    for member in CAST:
        create_tenant(db, member.tenant_id, name=member.name, tier=member.tier)
        known = {s.schedule_id for s in views.list_schedules(db, member.tenant_id, "", 100)}
        for number in range(BRIEFED):
            _brief(db, member, account_name(number), known)


def _brief(db: Database, member: Member, account_id: AccountId, known: set[ScheduleId]) -> None:
    """A daily brief; in the demo a day lasts a minute."""
    schedule_id = ScheduleId(f"brief-{account_id}")
    if schedule_id not in known:
        new = NewSchedule(BRIEF, cron="* * * * *", account_id=account_id)
        set_schedule(db, member.tenant_id, schedule_id, new)
