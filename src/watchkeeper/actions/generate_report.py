"""The one generator: a report, whether a milestone or a person asks for it.

Counting comes first, in slices of their own, so that the transaction that makes the report is
short however much has happened. Validation stands inside, before anything is stored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from watchkeeper import telemetry
from watchkeeper.actions.answer_once import AlreadyDone, Once, take
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.outside_topics import is_heard
from watchkeeper.core import envelope
from watchkeeper.core import milestones as rule
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.reports import MANUAL, Report
from watchkeeper.errors import CommitUnknown, Invalid, NotFound
from watchkeeper.handlers.registry import Registry
from watchkeeper.ids import new_id
from watchkeeper.moves import reporting
from watchkeeper.moves.reporting import Ask
from watchkeeper.store import milestones, reports, tallies, tenant_facts, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.policies import Guess
from watchkeeper.store.sinks import in_force
from watchkeeper.store.tenant_facts import TenantFacts
from watchkeeper.store.transaction import Tx

SLICES_MAX = 100_000
"""Slices of a ledger that are counted before a report; more than any ledger has."""

_log = logging.getLogger("watchkeeper.reports")

Hears = Callable[[TenantId], bool]


def heard_by(db: Database, registry: Registry) -> Hears:
    """Whether anybody listens to the news of a tenant's reports."""
    return lambda tenant_id: is_heard(in_force(db), registry, tenant_id, envelope.REPORT_GENERATED)


def generate_report(
    db: Database,
    tenant_id: TenantId,
    trigger: str = MANUAL,
    *,
    hears: Hears,
    makes_tenant: bool = False,
    once: Once | None = None,
) -> Report | None:
    """Make a report and store it. None: of a milestone that is done, or not due (any more)."""
    refuse_nobody(tenant_id)
    if makes_tenant:
        create_tenant(db, tenant_id)
    try:
        count_ledger(db, tenant_id)
        ask = Ask(new_id(), trigger, hears(tenant_id))
        report = _generated(db, tenant_id, ask, once)
    except Exception:
        telemetry.REPORTS.labels(trigger, "failed").inc()
        raise
    return report


def _generated(
    db: Database, tenant_id: TenantId, ask: Ask, once: Once | None = None
) -> Report | None:
    def deed() -> Report | None:
        with db.begin(tenant_id) as tx:
            take(tx, once, ask.report_id)
            return _generate(db, tx, ask)

    try:
        return db.retrying(deed)
    except AlreadyDone as done:
        return _stored(db, tenant_id, done.note)
    except CommitUnknown:
        stored = _stored(db, tenant_id, ask.report_id)
        if stored is None:
            raise
        return stored


def _generate(db: Database, tx: Tx, ask: Ask) -> Report | None:
    guess, facts = db.policies.exact(tx), facts_of(tx)
    if not _is_wanted(tx, guess, facts, ask.trigger):
        return None
    drawn = reporting.draw_up(tx, guess, facts, ask)
    tenant = tenants.lock(tx)
    if ask.trigger in milestones.marks(tx):  # by somebody who was quicker to lock
        return None
    reporting.store(tx, tenant, guess, ask, drawn)
    if ask.trigger != MANUAL:
        reporting.plan(tx, guess, facts_of(tx).installed_at, anew=True)
    tx.after_commit.append(partial(_count, ask.trigger))
    return drawn.report


def count_ledger(db: Database, tenant_id: TenantId, slices_max: int = SLICES_MAX) -> None:
    """Bring the counts of a tenant's ledger up to date, a slice a transaction."""

    def deed() -> bool:
        with db.begin(tenant_id) as tx:
            return tallies.count_slice(tx).is_all

    for _ in range(slices_max):
        if db.retrying(deed):
            return


def count_ledgers(db: Database) -> int:
    """A chore: ledgers that have run ahead of their counts; how many there were."""
    with db.read_system() as tx:
        behind = tallies.behind(tx)
    for tenant_id in behind:
        try:
            count_ledger(db, tenant_id)
        except Exception as error:
            _log.warning("the ledger of %s was not counted: %s", tenant_id, error)
    return len(behind)


def refuse_nobody(tenant_id: TenantId) -> None:
    """Nothing is made for nobody; the system itself is no tenant."""
    if not tenant_id or tenant_id == SYSTEM:
        raise Invalid.at("tenant_id", "a report is about one tenant, which must be named")


def facts_of(tx: Tx) -> TenantFacts:
    found = tenant_facts.get(tx)
    if found is None:
        raise NotFound(f"there is no tenant {tx.tenant_id}", tenant_id=tx.tenant_id)
    return found


def _is_wanted(tx: Tx, guess: Guess, facts: TenantFacts, trigger: str) -> bool:
    """A milestone's report is made while its window is open, and once."""
    if trigger == MANUAL:
        return True
    if facts.installed_at is None:
        return False
    age_us = tx.now - facts.installed_at
    due = rule.due(guess.rules.reports.milestones, age_us, milestones.marks(tx))
    return due is not None and due.name == trigger


def _stored(db: Database, tenant_id: TenantId, report_id: str) -> Report | None:
    """The answer to a COMMIT was lost: behind the tenant's lock it is known what came of it."""
    with db.begin(tenant_id) as tx:
        tenants.lock(tx)
        return reports.get(tx, report_id)


def _count(trigger: str) -> None:
    telemetry.REPORTS.labels(trigger, "generated").inc()
