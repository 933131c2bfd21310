"""A report is made here, and nowhere else: counted, checked, stored and marked in one transaction.

Counting holds the place up to which the ledger was counted, so that the numbers stand still; the
tenant's row is locked only for what is written in the end. What the check refuses is not stored,
not even in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from watchkeeper.core import envelope
from watchkeeper.core import milestones as rule
from watchkeeper.core.ids import MessageId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.milestones import Milestone, MilestoneState, Outcome, ReportRules
from watchkeeper.core.report_build import build
from watchkeeper.core.report_check import problems
from watchkeeper.core.report_facts import Facts
from watchkeeper.core.report_json import to_json
from watchkeeper.core.reports import MANUAL, Report, Window
from watchkeeper.core.time import Instant
from watchkeeper.errors import Conflict
from watchkeeper.ids import new_id
from watchkeeper.store import connectors, ledger, milestones, outbox, reports, tallies
from watchkeeper.store.json import dumps, encode
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.policies import Guess
from watchkeeper.store.tenant_facts import TenantFacts
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

TICK = "milestone.tick"
PROBLEMS_MAX = 3
CONNECTORS_MAX = 1_000


class Ask(NamedTuple):
    """Which report is asked for, and whether anybody wants to hear of it."""

    report_id: str
    trigger: str
    is_heard: bool


class Drawn(NamedTuple):
    """A report that was checked, and its document."""

    report: Report
    document: str


def draw_up(tx: Tx, guess: Guess, tenant: TenantFacts, ask: Ask) -> Drawn:
    """Count, put into words, check; nothing of it is written yet but how far was counted."""
    while not (counted := tallies.count_slice(tx)).is_all:
        pass
    window, begins = _window(tx, tenant)
    facts = Facts(
        report_id=ask.report_id,
        trigger=ask.trigger,
        tenant_id=tx.tenant_id,
        tenant_name=tenant.name,
        installed_at=tenant.installed_at,
        window=window,
        window_from=begins,
        last_seq=counted.seq,
        policy_version=guess.version,
        forecast_min_us=guess.rules.reports.forecast_min_us,
        connectors=tuple(one.connector_id for one in connectors.page(tx, CONNECTORS_MAX)),
        tallies=tallies.within(tx, window),
        delivered=tallies.delivered(tx, window),
    )
    report = build(facts)
    refuse_unfit(report)
    return Drawn(report, to_json(report))


def _window(tx: Tx, tenant: TenantFacts) -> tuple[Window, str]:
    """From the installation until now; without one, from the tenant's first entry."""
    until = tx.now
    if tenant.installed_at is not None:
        return Window(min(tenant.installed_at, until), until), "the installation"
    first_at = tallies.first_at(tx)
    return Window(until if first_at is None else min(first_at, until), until), "the first entry"


def refuse_unfit(report: Report) -> None:
    """The check that stands before every store, whoever asked for the report."""
    found = problems(report)
    if found:
        more = "" if len(found) <= PROBLEMS_MAX else f" and {len(found) - PROBLEMS_MAX} more"
        raise Conflict(f"the report is refused: {'; '.join(found[:PROBLEMS_MAX])}{more}")


def store(tx: Tx, tenant: LockedTenant, guess: Guess, ask: Ask, drawn: Drawn) -> None:
    """The report, its marker, its line in the ledger, and the news. The tenant is locked."""
    report = drawn.report
    reports.add(tx, report, drawn.document)
    if ask.trigger != MANUAL:
        milestones.mark(tx, ask.trigger, Outcome.GENERATED, ask.report_id)
        known = milestones.states(tx).get(ask.trigger) or MilestoneState(ask.trigger)
        milestones.put(tx, rule.attempted(known, tx.now))
    data = {
        **_bounds(guess, ask.trigger),
        "last_seq": report.header.last_entry.value,
        "trigger": ask.trigger,
        "window": [report.header.window.since, report.header.window.until],
    }
    entry = _entry(tx, guess, Kind.REPORT_GENERATED, ask.trigger, data, ask.report_id)
    ledger.append_and_save(tx, tenant, [entry])
    if ask.is_heard:
        outbox.enqueue_plain(tx, [_news(tx, report)])


def _bounds(guess: Guess, trigger: str) -> dict[str, int]:
    """The window of a milestone, as ages: from, and to where it has an end."""
    for milestone, end_us in rule.windows(guess.rules.reports.milestones):
        if milestone.name == trigger:
            end = {} if end_us is None else {"to_us": end_us}
            return {"from_us": milestone.after_us, **end}
    return {}


def miss(tx: Tx, tenant: LockedTenant, guess: Guess, missed: tuple[Milestone, ...]) -> None:
    """Windows that have passed are recorded so, for good."""
    for one in missed:
        milestones.mark(tx, one.name, Outcome.MISSED, None)
    entries = [
        _entry(tx, guess, Kind.MILESTONE_MISSED, one.name, {"after_us": one.after_us})
        for one in missed
    ]
    if entries:
        ledger.append_and_save(tx, tenant, entries)


def fail(tx: Tx, tenant: LockedTenant, guess: Guess, milestone: str, error: str) -> MilestoneState:
    """An attempt came to nothing: what, when, and when it is tried again."""
    known = milestones.states(tx).get(milestone) or MilestoneState(milestone)
    state = rule.failed(known, tx.now, error)
    milestones.put(tx, state)
    data = {
        "backoff_until": state.backoff_until_at,
        "error": state.last_error,
        "failures": state.failures,
    }
    entry = _entry(tx, guess, Kind.REPORT_FAILED, milestone, data)
    ledger.append_and_save(tx, tenant, [entry])
    return state


def plan(tx: Tx, guess: Guess, installed_at: Instant | None, *, anew: bool) -> Instant | None:
    """See to the tenant's next tick, and say when it is; the caller holds the tenant's lock.

    `anew`: the one that was planned has come, or is lost, so there has to be another message.
    """
    rules: ReportRules = guess.rules.reports
    done, states = milestones.marks(tx), milestones.states(tx)
    at = rule.next_tick(rules, installed_at, done, states)
    is_planned = at == milestones.tick_at(tx)
    milestones.set_tick(tx, at, guess.version)
    if at is not None and (anew or not is_planned):
        due_at = None if at <= tx.now else at
        message = NewMessage(TICK, encode({"due_at": at}), due_at=due_at, id=MessageId(new_id()))
        outbox.enqueue_plain(tx, [message])
    return at


def _entry(
    tx: Tx,
    guess: Guess,
    kind: Kind,
    subject: str,
    data: Mapping[str, object],
    entry_id: str | None = None,
) -> Entry:
    return Entry(
        entry_id=entry_id or new_id(),
        at=tx.now,
        stage=Stage.REPORT,
        kind=kind,
        subject=subject,
        data=dumps(dict(data)),
        policy_version=guess.version,
    )


def _news(tx: Tx, report: Report) -> NewMessage:
    header = report.header
    told = envelope.report_generated(
        tx.tenant_id,
        header.report_id,
        trigger=header.trigger,
        since=header.window.since,
        until=header.window.until,
    )
    return NewMessage(envelope.REPORT_GENERATED, encode(told), id=MessageId(new_id()))
