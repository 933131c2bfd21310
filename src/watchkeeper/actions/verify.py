"""The audit: every invariant is asked of the live database, tenant by tenant.

It reads only, a statement at a time, looks at a bounded number of the newest entries of
each tenant, and reports a bounded number of rows for each invariant. An empty finding
means that the invariant holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.actions.tick_milestones import incomplete
from watchkeeper.actions.verify_ledger import as_data, verify_ledger
from watchkeeper.actions.verify_schedules import incomplete_schedules
from watchkeeper.core.admission import ENGINE
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.policy import TenantRules, retention_days, rules_for
from watchkeeper.core.policy_parse import shipped_policies
from watchkeeper.core.time import DAY, MINUTE, Instant
from watchkeeper.core.verdict_record import read_verdict, recompute
from watchkeeper.errors import NotFound
from watchkeeper.store import (
    ledger,
    question,
    questions,
    questions_act,
    questions_perceive,
    questions_report,
    questions_settle,
    tenants,
)
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.question import ROWS_MAX, Scope
from watchkeeper.store.questions import QUESTIONS
from watchkeeper.store.questions_act import ACT_QUESTIONS
from watchkeeper.store.questions_perceive import PERCEIVE_QUESTIONS
from watchkeeper.store.questions_report import REPORT_QUESTIONS
from watchkeeper.store.questions_settle import SETTLE_QUESTIONS
from watchkeeper.store.transaction import ReadTx

ENTRIES_MAX = 1_000_000
"""Of each tenant the newest so many entries are looked at."""

RECOMPUTE_MAX = 10_000
"""Of each tenant the newest so many verdicts are decided again."""

PAGE = 500
GRACE_US = 10 * MINUTE
"""How long a lease may be over before somebody should have noticed."""

RECOMPUTED = "verdicts_recompute"
COMPLETE = "milestones_are_complete"
SCHEDULED = "schedules_are_complete"
CHAINED = "ledger_is_chained"


@dataclass(frozen=True, slots=True)
class Finding:
    """One invariant and the rows that break it; none of them means that it holds."""

    invariant: str
    holds: str  # what must be true, in a sentence
    rows: tuple[Mapping[str, object], ...]

    @property
    def is_clean(self) -> bool:
        return not self.rows


def verify(
    db: Database,
    tenants: Sequence[TenantId] | None = None,
    *,
    recompute_max: int | None = RECOMPUTE_MAX,
    entries_max: int = ENTRIES_MAX,
    grace_us: int = GRACE_US,
) -> list[Finding]:
    """A finding for each invariant, over the tenants named or all. `None` recomputes all."""
    asked = (
        *QUESTIONS,
        *SETTLE_QUESTIONS,
        *PERCEIVE_QUESTIONS,
        *ACT_QUESTIONS,
        *REPORT_QUESTIONS,
    )
    told = {q.name: q.holds for q in asked}
    told[COMPLETE] = "what milestones make due next is what the tenant's tick is planned for"
    told[SCHEDULED] = "what schedules made due has fired once each, or is told missed"
    told[RECOMPUTED] = "a recorded verdict follows from what was recorded with it"
    told[CHAINED] = "the ledger is what was sealed, entry by entry, and as its checkpoints say"
    broken: dict[str, list[dict[str, object]]] = {name: [] for name in told}
    limit = entries_max if recompute_max is None else recompute_max
    for tenant_id in every_tenant(db) if tenants is None else tenants:
        with db.read(tenant_id) as tx:
            rules = _Rules(db, tx)
            scope = scope_of(db, tx, entries_max, grace_us)
            ruled = _as_rows(rules, questions.ruled_by(tx, scope.after_seq))
            for one in QUESTIONS:
                rows = questions.ask(tx, one, scope, ruled)
                add(broken[one.name], tenant_id, rows)
            since = questions_settle.since_newest(tx, entries_max)
            for one in SETTLE_QUESTIONS:
                rows = questions_settle.ask(tx, one, scope, since)
                add(broken[one.name], tenant_id, rows)
            for one in PERCEIVE_QUESTIONS:
                add(broken[one.name], tenant_id, questions_perceive.ask(tx, one, scope))
            for one in REPORT_QUESTIONS:
                add(broken[one.name], tenant_id, questions_report.ask(tx, one, scope))
            add(broken[COMPLETE], tenant_id, incomplete(db, tx))
            add(broken[SCHEDULED], tenant_id, incomplete_schedules(tx, scope.after_seq))
            outcome_us = db.policies.exact(tx).rules.act.outcome_timeout_us
            for one in ACT_QUESTIONS:
                rows = questions_act.ask(tx, one, scope, outcome_us)
                add(broken[one.name], tenant_id, rows)
        add(broken[RECOMPUTED], tenant_id, _not_recomputed(db, tenant_id, limit))
        add(broken[CHAINED], tenant_id, _unchained(db, tenant_id, entries_max))
    return [Finding(name, told[name], tuple(rows)) for name, rows in broken.items()]


def every_tenant(db: Database) -> list[TenantId]:
    with db.read_system() as tx:
        return tenants.all_ids(tx)


def add(
    found: list[dict[str, object]], tenant_id: TenantId, rows: Sequence[dict[str, object]]
) -> None:
    found.extend({"tenant_id": tenant_id, **row} for row in rows[: ROWS_MAX - len(found)])


def scope_of(db: Database, tx: ReadTx, entries_max: int, grace_us: int) -> Scope:
    after_seq, after_at = question.place_before_newest(tx, entries_max)
    kept_us = retention_days(db.policies.current(tx)) * DAY - MINUTE
    return Scope(
        tenant_id=tx.tenant_id,
        after_seq=after_seq,
        after_at=after_at,
        kept_since=Instant(tx.now - kept_us),
        stale_before=Instant(tx.now - grace_us),
    )


class _Rules:
    """The rules of one tenant by policy version and tier, each resolved once."""

    def __init__(self, db: Database, tx: ReadTx) -> None:
        self._db = db
        self._tx = tx
        self._found: dict[tuple[int, str | None, str | None], TenantRules] = {}

    def of(self, version: int, tier: str | None, hash: str | None = None) -> TenantRules:
        """With the hash that a verdict names: what shipped then may not be what ships now."""
        found = self._found.get((version, tier, hash))
        if found is None:
            book, tx = self._db.policies, self._tx
            known = version == 0 and hash in shipped_policies()
            policy = book.recorded(tx, 0, hash or "") if known else book.policy(tx, version)
            found = self._found[version, tier, hash] = rules_for(policy, tx.tenant_id, tier)
        return found


def _as_rows(rules: _Rules, used: Sequence[tuple[int, str | None]]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for version, tier in used:
        resolved = rules.of(version, tier)
        for name, rule in resolved.triggers.items():
            rows.append(
                {
                    "account_cap": rule.account_cap,
                    "budget": resolved.run_budget_per_day,
                    "cooldown": rule.cooldown_us,
                    "tenant_cap": rule.tenant_cap,
                    "tier": tier or "",
                    "trigger_type": name,
                    "ttl": resolved.idempotency_ttl_us,
                    "version": version,
                }
            )
    return rows


def _unchained(db: Database, tenant_id: TenantId, newest: int) -> list[dict[str, object]]:
    """Where the chain of the newest entries is broken; nobody has none."""
    try:
        report = verify_ledger(db, tenant_id, newest=newest)
    except NotFound:
        return []
    return [as_data(one) for one in report.breaks]


def _not_recomputed(db: Database, tenant_id: TenantId, limit: int) -> list[dict[str, object]]:
    """The newest verdicts that do not follow from their entries, a page at a time."""
    found: list[dict[str, object]] = []
    before: int | None = None
    while limit > 0 and len(found) < ROWS_MAX:
        with db.read(tenant_id) as tx:
            page = ledger.newest(tx, {"kind": "verdict"}, before=before, limit=min(PAGE, limit))
            found.extend(_disagreements(_Rules(db, tx), page))
        if not page:
            break
        before = page[-1].seq
        limit -= len(page)
    return found


def _disagreements(rules: _Rules, page: Sequence[Recorded]) -> Iterator[dict[str, object]]:
    for recorded in page:
        data = loads(recorded.entry.data)
        if data["engine"] != ENGINE:
            continue  # an older engine may have judged otherwise
        said = disagreement(
            data, recorded, rules.of(_version(data), data["tenant"]["tier"], data["policy"]["hash"])
        )
        if said is not None:
            yield {"decision_id": recorded.entry.entry_id, "seq": recorded.seq, "why": said}


def _version(data: Mapping[str, Any]) -> int:
    return int(data["policy"]["version"])


def disagreement(data: dict[str, Any], recorded: Recorded, rules: TenantRules) -> str | None:
    """How an entry differs from what its own content gives; None when it does not."""
    entry, verdict = recorded.entry, read_verdict(data)
    again = recompute(data, rules)
    if again != verdict:
        return f"recorded {verdict}, recomputed {again}"
    columns = (entry.result, entry.reason, entry.at, entry.subject, entry.trigger_type)
    event = data["event"]
    inside = (verdict.result, verdict.reason, data["now"])
    if columns != (*inside, event["account_id"], event["trigger_type"]):
        return f"columns say {columns}"
    if (entry.policy_version, rules.policy_hash) != (_version(data), data["policy"]["hash"]):
        return f"policy {entry.policy_version} is not the one in the entry"
    return None
