"""Questions that change nothing: what there is, a page at a time.

They run in read transactions, so that whoever looks never waits for whoever writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from watchkeeper.actions.keep_ledger import why_gone
from watchkeeper.actions.scan_ledger import entries_after, newest_entries
from watchkeeper.core.admission import Result
from watchkeeper.core.ids import (
    SYSTEM,
    AccountId,
    DecisionId,
    MessageId,
    ScheduleId,
    TenantId,
)
from watchkeeper.core.ledger import Kind, Recorded
from watchkeeper.core.policy import Policy, merged_view
from watchkeeper.core.time import Instant
from watchkeeper.core.toml_text import to_toml
from watchkeeper.errors import NotFound
from watchkeeper.moves.admission import Decided, decided_from
from watchkeeper.results import run_of
from watchkeeper.store import (
    accounts,
    api_keys,
    clock,
    kill_switches,
    ledger,
    outbox_counts,
    outbox_desk,
    policies,
    runs,
    schedules,
    tenant_facts,
)
from watchkeeper.store.accounts import Account
from watchkeeper.store.api_keys import ApiKey
from watchkeeper.store.database import Database
from watchkeeper.store.kill_switches import KillSwitch
from watchkeeper.store.outbox_desk import Filter, StoredMessage
from watchkeeper.store.runs import RunStatus, StoredRun
from watchkeeper.store.schedules import Schedule
from watchkeeper.store.tenant_facts import TenantFacts

OLDEST = 2**62  # before this place in the ledger lies everything


@dataclass(frozen=True, slots=True)
class DecisionView:
    """A decision, and the run that its ALLOW caused."""

    decided: Decided
    seq: int
    run: StoredRun | None


# -- tenants and keys ------------------------------------------------------------------


def tenant_exists(db: Database, tenant_id: TenantId) -> bool:
    with db.read(tenant_id) as tx:
        return tenant_facts.get(tx) is not None


def view_tenant(db: Database, tenant_id: TenantId) -> TenantFacts:
    with db.read(tenant_id) as tx:
        found = tenant_facts.get(tx)
    if found is None:
        raise NotFound(f"there is no tenant {tenant_id}", tenant_id=tenant_id)
    return found


def list_tenants(db: Database, after: str, limit: int) -> list[TenantFacts]:
    with db.read(SYSTEM) as tx:
        return tenant_facts.page(tx, after, limit)


def list_api_keys(db: Database, tenant_id: TenantId | None, after: str, limit: int) -> list[ApiKey]:
    """The keys of a tenant; without one, everybody's."""
    with db.read(SYSTEM if tenant_id is None else tenant_id) as tx:
        return api_keys.page(tx, tenant_id, after, limit)


# -- accounts, schedules, switches -----------------------------------------------------


def list_accounts(db: Database, tenant_id: TenantId, after: str, limit: int) -> list[Account]:
    with db.read(tenant_id) as tx:
        return accounts.page(tx, after, limit)


def view_account(db: Database, tenant_id: TenantId, account_id: AccountId) -> Account:
    with db.read(tenant_id) as tx:
        found = accounts.get(tx, account_id)
    if found is None:
        raise NotFound(f"there is no account {account_id}", account_id=account_id)
    return found


def list_schedules(db: Database, tenant_id: TenantId, after: str, limit: int) -> list[Schedule]:
    with db.read(tenant_id) as tx:
        return schedules.page(tx, after, limit)


def view_schedule(db: Database, tenant_id: TenantId, schedule_id: ScheduleId) -> Schedule:
    with db.read(tenant_id) as tx:
        found = schedules.get(tx, schedule_id)
    if found is None:
        raise NotFound(f"there is no schedule {schedule_id}", schedule_id=schedule_id)
    return found


def list_kill_switches(db: Database, tenant_id: TenantId) -> list[KillSwitch]:
    """Those in force for a tenant, the system's among them."""
    with db.read(tenant_id) as tx:
        return kill_switches.in_force(tx)


# -- decisions and the ledger ------------------------------------------------------------


def list_decisions(
    db: Database,
    tenant_id: TenantId,
    filters: Mapping[str, str],
    *,
    before: int,
    since: Instant | None,
    until: Instant | None,
    limit: int,
) -> list[DecisionView]:
    """Decisions that match every filter, newest first."""
    wanted = {**filters, "kind": Kind.VERDICT.value}
    found = newest_entries(
        db, tenant_id, wanted, before=before, since=since, until=until, limit=limit
    )
    allowed = [DecisionId(one.entry.entry_id) for one in found if one.entry.result == Result.ALLOW]
    with db.read(tenant_id) as tx:
        started = runs.started(tx, allowed)
    return [view_of(one, started.get(DecisionId(one.entry.entry_id))) for one in found]


def view_decision(db: Database, tenant_id: TenantId, decision_id: DecisionId) -> DecisionView:
    with db.read(tenant_id) as tx:
        found = ledger.by_ids(tx, [decision_id]).get(decision_id)
        run = runs.get(tx, decision_id)
        if found is None or found.entry.kind is not Kind.VERDICT:
            raise why_gone(tx, "decision", decision_id)
    return view_of(found, run)


def run_status(view: DecisionView) -> RunStatus | None:
    """None where nothing was allowed to run."""
    run = run_of(view.decided, view.run)
    return None if run is None else run.state


def list_ledger(
    db: Database, tenant_id: TenantId, filters: Mapping[str, str], *, after: int, limit: int
) -> list[Recorded]:
    """Entries that follow a place and match every filter, oldest first."""
    return entries_after(db, tenant_id, filters, after=after, limit=limit)


def view_of(found: Recorded, run: StoredRun | None) -> DecisionView:
    return DecisionView(decided_from(found), found.seq, run)


def list_messages(
    db: Database, tenant_id: TenantId, wanted: Filter, before: MessageId | None, limit: int
) -> list[StoredMessage]:
    """Messages that match, delivered ones too, newest first."""
    with db.read(tenant_id) as tx:
        return outbox_desk.page(tx, wanted, before=before, limit=limit)


def count_messages(db: Database) -> list[tuple[str, str, int]]:
    """Topic, status and how many, of what is not delivered, over all tenants."""
    counts: Counter[tuple[str, str]] = Counter()
    with db.read_system() as tx:
        for _, topic, status, count in outbox_counts.by_topic(tx):
            counts[topic, status] += count
    return [(topic, status, count) for (topic, status), count in counts.items()]


# -- policy and the clock ----------------------------------------------------------------


def view_policy(db: Database, tenant_id: TenantId | None, version: int | None = None) -> Policy:
    """A version of the document, by default the one in force; merged for one tenant."""
    with db.read(SYSTEM if tenant_id is None else tenant_id) as tx:
        number = policies.current_version(tx) if version is None else version
        policy = db.policies.policy(tx, number)
        if tenant_id is None:
            return policy
        facts = tenant_facts.get(tx)
    tier = None if facts is None else facts.tier
    own = merged_view(policy, tenant_id, tier)
    return Policy(policy.version, policy.hash, to_toml(own), own, own)


def virtual_now(db: Database) -> Instant | None:
    """What the virtual clock shows; None where time is real."""
    with db.read(SYSTEM) as tx:
        return clock.virtual_now(tx)
