"""Who plays: the tenants, their tiers and their accounts. A policy of yours stays in force."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.actions import views
from watchkeeper.actions.advance_clock import clock_now
from watchkeeper.actions.apply_policy import apply_policy, read_policy
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.set_pull_budget import set_pull_budget, show_pull_budget
from watchkeeper.actions.set_schedule import NewSchedule, set_schedule
from watchkeeper.core.ids import AccountId, ScheduleId, TenantId
from watchkeeper.core.policy import overlay
from watchkeeper.core.pulls import Budget
from watchkeeper.core.time import HOUR, SECOND, Instant
from watchkeeper.demo.rules import POLICY
from watchkeeper.store.database import Database

AUTHOR = "demo"
BRIEF = "TIME_RITUAL_DAILY_BRIEF"
BRIEFED = 3
"""Accounts of each tenant that are briefed by the calendar."""

FIRST_REPORT_SECONDS = 25
"""From the first start until a tenant that `is_old` has its first milestone behind it."""


@dataclass(frozen=True, slots=True)
class Member:
    """One tenant of the demo: how many accounts it has, how loud they are, what it may spend."""

    tenant_id: TenantId
    name: str
    tier: str
    accounts: int
    signals_per_second: float
    pull_units: int
    chats_per_second: float
    users: tuple[str, ...]
    is_old: bool = False


CAST = (
    Member(
        TenantId("northwind"),
        "Northwind Traders",
        "demo-enterprise",
        140,
        4.0,
        50_000,
        0.3,
        ("nancy", "andrew", "janet", "margaret", "steven", "michael", "robert", "laura"),
        is_old=True,
    ),
    Member(
        TenantId("acme"),
        "Acme Corporation",
        "demo-team",
        90,
        2.5,
        12_000,
        0.25,
        ("wile", "tweety", "daffy", "elmer", "porky"),
    ),
    Member(
        TenantId("globex"),
        "Globex",
        "demo-team",
        70,
        1.5,
        6_000,
        0.15,
        ("hank", "frank", "mindy", "scorpio"),
    ),
    Member(
        TenantId("initech"),
        "Initech",
        "demo-starter",
        40,
        1.0,
        45,
        0.4,
        ("peter", "milton", "samir"),
    ),
)

NAMES = frozenset(member.tenant_id for member in CAST)
"""Whoever else uses the same database is left in peace."""


def account_name(number: int) -> AccountId:
    return AccountId(f"acct-{number:03d}")


def set_the_stage(db: Database) -> None:
    """Tenants, their rules, budgets and schedules. On a stage that is set, nothing changes."""
    document = overlay(views.view_policy(db, None).said, read_policy(POLICY).said)
    apply_policy(db, document, author=AUTHOR, reason="the tiers of the demo")
    now, _ = clock_now(db)
    for member in CAST:
        create_tenant(
            db,
            member.tenant_id,
            name=member.name,
            tier=member.tier,
            installed_at=_installed_at(member, now),
        )
        if show_pull_budget(db, member.tenant_id).budget is None:
            budget = Budget(member.pull_units, {"helpdesk": max(1, member.pull_units // 2)})
            set_pull_budget(db, member.tenant_id, budget, by=AUTHOR)
        known = {s.schedule_id for s in views.list_schedules(db, member.tenant_id, "", 100)}
        for number in range(BRIEFED):
            _brief(db, member, account_name(number), known)


def _installed_at(member: Member, now: Instant) -> Instant | None:
    """One tenant was installed an hour ago, so that its first milestone comes in sight."""
    return Instant(now - HOUR + FIRST_REPORT_SECONDS * SECOND) if member.is_old else None


def _brief(db: Database, member: Member, account_id: AccountId, known: set[ScheduleId]) -> None:
    """A daily brief; in the demo a day lasts a minute."""
    schedule_id = ScheduleId(f"brief-{account_id}")
    if schedule_id not in known:
        new = NewSchedule(BRIEF, cron="* * * * *", account_id=account_id)
        set_schedule(db, member.tenant_id, schedule_id, new)
