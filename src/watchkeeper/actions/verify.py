"""The audit: every invariant is asked of the live database, tenant by tenant.

It reads only, looks at a bounded number of the newest entries of each tenant, and reports a
bounded number of rows for each invariant. An empty finding means that the invariant holds. A
notice is a finding that something outside explains: it is told, and is no failure.

Each question has a read transaction of its own, and one about accounts has one for each
slice of them: on SQLite with the rollback journal nobody commits while somebody reads. All that
a question compares is read in one transaction, so that writers raise no false alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from watchkeeper.actions.scan_ledger import newest_entries
from watchkeeper.actions.tick_milestones import incomplete
from watchkeeper.actions.verify_ledger import as_data, verify_ledger
from watchkeeper.actions.verify_schedules import incomplete_schedules
from watchkeeper.core.admission import ENGINE
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind, Recorded
from watchkeeper.core.policy import TenantRules, retention_days, rules_for, tiers_of
from watchkeeper.core.policy_parse import shipped_policies
from watchkeeper.core.time import DAY, MINUTE, Instant
from watchkeeper.core.verdict_record import read_verdict, recompute
from watchkeeper.errors import NotFound
from watchkeeper.store import (
    question,
    questions,
    questions_act,
    questions_ends,
    questions_perceive,
    questions_report,
    questions_settle,
    tenants,
)
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.policies import Guess
from watchkeeper.store.question import ROWS_MAX, Question, Scope
from watchkeeper.store.questions import NOTICES, QUESTIONS
from watchkeeper.store.questions_act import ACT_QUESTIONS
from watchkeeper.store.questions_ends import ENDS_QUESTIONS
from watchkeeper.store.questions_perceive import PERCEIVE_QUESTIONS
from watchkeeper.store.questions_report import REPORT_QUESTIONS
from watchkeeper.store.questions_settle import SETTLE_QUESTIONS
from watchkeeper.store.transaction import ReadTx

ENTRIES_MAX = 1_000_000
"""Of each tenant the newest so many entries are looked at."""

RECOMPUTE_MAX = 10_000
"""Of each tenant the newest so many verdicts are decided again."""

PAGE = 500
SLICE_ACCOUNTS = 1_000
"""Accounts that a question is asked of in one transaction."""

RULES_ENTRIES = 5_000
"""Entries that are searched in one transaction for the policies they were decided under."""

GRACE_US = 10 * MINUTE
"""How long a lease may be over before somebody should have noticed."""

RECOMPUTED = "verdicts_recompute"
COMPLETE = "milestones_are_complete"
SCHEDULED = "schedules_are_complete"
REZONED = "schedules_keep_their_time_zone_data"
CHAINED = "ledger_is_chained"
TIERED = "tenant_tier_is_in_policy"


@dataclass(frozen=True, slots=True)
class Finding:
    """One invariant and the rows that break it; none of them means that it holds."""

    invariant: str
    holds: str  # what must be true, in a sentence
    rows: tuple[Mapping[str, object], ...]
    is_notice: bool = False  # what it finds is explained, or mended by the next worker

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
    told = _told()
    broken: dict[str, list[dict[str, object]]] = {name: [] for name in told}
    limit = entries_max if recompute_max is None else recompute_max
    for tenant_id in every_tenant(db) if tenants is None else tenants:
        audit = Audit(db, tenant_id, entries_max, grace_us, broken)
        _ask_questions(audit)
        _ask_about_act(audit)
        add(broken[RECOMPUTED], tenant_id, _not_recomputed(db, tenant_id, limit))
        add(broken[CHAINED], tenant_id, _unchained(db, tenant_id, entries_max))
    notices = {REZONED, *(one.name for one in NOTICES)}
    return [
        Finding(name, told[name], tuple(rows), name in notices) for name, rows in broken.items()
    ]


def _told() -> dict[str, str]:
    """Every invariant by name, and what must be true, in a sentence."""
    asked = (
        *QUESTIONS,
        *SETTLE_QUESTIONS,
        *PERCEIVE_QUESTIONS,
        *ACT_QUESTIONS,
        *REPORT_QUESTIONS,
        *ENDS_QUESTIONS,
        *NOTICES,
    )
    told = {q.name: q.holds for q in asked}
    told[COMPLETE] = "what milestones make due next is what the tenant's tick is planned for"
    told[SCHEDULED] = "what schedules made due has fired once each, or is told missed"
    told[REZONED] = "what schedules did is what today's time zone data make of them"
    told[RECOMPUTED] = "a recorded verdict follows from what was recorded with it"
    told[TIERED] = "a tenant's tier is one that the policy in force has"
    told[CHAINED] = "the ledger is what was sealed, entry by entry, and as its checkpoints say"
    return told


Rows: TypeAlias = list[dict[str, object]]
_Judged: TypeAlias = tuple[Recorded, dict[str, Any], TenantRules]


class Audit:
    """One tenant's audit: asks each question in a read transaction of its own."""

    def __init__(
        self,
        db: Database,
        tenant_id: TenantId,
        entries_max: int,
        grace_us: int,
        broken: Mapping[str, Rows],
    ) -> None:
        self.db = db
        self.entries_max = entries_max
        self._tenant_id = tenant_id
        self._grace_us = grace_us
        self._broken = broken
        self._ruled: dict[tuple[int, str | None], Rows] = {}
        self._ruled_to = -1

    def ask(self, name: str, question: Callable[[ReadTx, Scope], Rows]) -> None:
        with self.db.read(self._tenant_id) as tx:
            scope = scope_of(self.db, tx, self.entries_max, self._grace_us)
            add(self._broken[name], self._tenant_id, question(tx, scope))

    def ask_accounts(self, asked: Question) -> None:
        """Ask of one slice of accounts after the other."""
        low: str | None = ""
        while low is not None and len(self._broken[asked.name]) < ROWS_MAX:
            low = self._ask_slice(asked, low)

    def _ask_slice(self, asked: Question, low: str) -> str | None:
        """Returns where the slice ended; None for the last one."""
        with self.db.read(self._tenant_id) as tx:
            high = questions.slice_end(tx, low, SLICE_ACCOUNTS)
            scope = scope_of(self.db, tx, self.entries_max, self._grace_us)
            rules = self.rules(tx, scope)
            rows = questions.ask(tx, asked, scope, rules, low, high)
        add(self._broken[asked.name], self._tenant_id, rows)
        return high

    def learn_rules(self) -> None:
        """Find the policies of the entries that are there, some entries at a time."""
        is_behind = True
        while is_behind:
            with self.db.read(self._tenant_id) as tx:
                scope = scope_of(self.db, tx, self.entries_max, self._grace_us)
                head = question.head(tx)
                after = max(self._ruled_to, scope.after_seq)
                self._learn(tx, after, min(after + RULES_ENTRIES, head))
                is_behind = self._ruled_to < head

    def rules(self, tx: ReadTx, scope: Scope) -> Rows:
        """The rules by which the verdicts that this transaction sees were decided."""
        self._learn(tx, max(self._ruled_to, scope.after_seq), question.head(tx))
        return [row for rows in self._ruled.values() for row in rows]

    def _learn(self, tx: ReadTx, after_seq: int, until_seq: int) -> None:
        rules = _Rules(self.db, tx)
        for used in questions.ruled_by(tx, after_seq, until_seq):
            if used not in self._ruled:
                self._ruled[used] = _as_rows(rules, [used])
        self._ruled_to = max(self._ruled_to, until_seq)


def _ask_questions(audit: Audit) -> None:
    audit.learn_rules()
    for one in (*QUESTIONS, *NOTICES):
        if one.is_sliced:
            audit.ask_accounts(one)
        else:
            audit.ask(one.name, partial(_decided, audit, one))
    ask_settle(audit, SETTLE_QUESTIONS)
    for one in PERCEIVE_QUESTIONS:
        audit.ask(one.name, partial(_asked_by, questions_perceive.ask, one))
    for one in REPORT_QUESTIONS:
        audit.ask(one.name, partial(_asked_by, questions_report.ask, one))
    audit.ask(COMPLETE, lambda tx, _scope: incomplete(audit.db, tx))
    audit.ask(SCHEDULED, lambda tx, scope: incomplete_schedules(tx, scope.after_seq).rows)
    audit.ask(REZONED, lambda tx, scope: incomplete_schedules(tx, scope.after_seq).notices)
    audit.ask(TIERED, lambda tx, _scope: _lost_tier(audit.db, tx, audit.db.policies.exact(tx)))


def ask_settle(audit: Audit, asked: Sequence[Question]) -> None:
    for one in asked:
        audit.ask(one.name, partial(_settled, audit.entries_max, one))


def _ask_about_act(audit: Audit) -> None:
    for one in ENDS_QUESTIONS:
        audit.ask(one.name, partial(_ended, audit.db, one))
    for one in ACT_QUESTIONS:
        audit.ask(one.name, partial(_acted, audit.db, one))


def _decided(audit: Audit, one: Question, tx: ReadTx, scope: Scope) -> Rows:
    return questions.ask(tx, one, scope, audit.rules(tx, scope))


def _asked_by(
    ask: Callable[[ReadTx, Question, Scope], Rows], one: Question, tx: ReadTx, scope: Scope
) -> Rows:
    return ask(tx, one, scope)


def _settled(entries_max: int, one: Question, tx: ReadTx, scope: Scope) -> Rows:
    since = questions_settle.since_newest(tx, entries_max)
    return questions_settle.ask(tx, one, scope, since)


def _ended(db: Database, one: Question, tx: ReadTx, scope: Scope) -> Rows:
    limits = _limits(_Rules(db, tx), questions_ends.ruled_by(tx, scope.after_seq))
    return questions_ends.ask(tx, one, scope, limits)


def _acted(db: Database, one: Question, tx: ReadTx, scope: Scope) -> Rows:
    outcome_us = db.policies.exact(tx).rules.act.outcome_timeout_us
    return questions_act.ask(tx, one, scope, outcome_us)


def every_tenant(db: Database) -> list[TenantId]:
    with db.read_system() as tx:
        return tenants.all_ids(tx)


def add(found: Rows, tenant_id: TenantId, rows: Rows) -> None:
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


def _lost_tier(db: Database, tx: ReadTx, guess: Guess) -> list[dict[str, object]]:
    if guess.tier is None or guess.tier in tiers_of(db.policies.policy(tx, guess.version)):
        return []
    return [{"tier": guess.tier, "policy_version": guess.version}]


def _limits(rules: _Rules, used: Sequence[tuple[int, str, str | None]]) -> list[dict[str, object]]:
    """How often a step of each plan type may be tried, under each policy that was used."""
    return [
        {
            "attempts_max": kind.attempts_max,
            "hash": hash,
            "plan_type": name,
            "tier": tier or "",
            "version": version,
        }
        for version, hash, tier in used
        for name, kind in rules.of(version, tier, hash).act.types.items()
    ]


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
        wanted = {"kind": Kind.VERDICT.value}
        page = newest_entries(db, tenant_id, wanted, before=before, limit=min(PAGE, limit))
        found.extend(_disagreements(_judged(db, tenant_id, page)))
        if not page:
            break
        before = page[-1].seq
        limit -= len(page)
    return found


def _judged(db: Database, tenant_id: TenantId, page: Sequence[Recorded]) -> list[_Judged]:
    """The verdicts of this engine with their rules; an older one may have judged otherwise."""
    parsed = [(recorded, loads(recorded.entry.data)) for recorded in page]
    with db.read(tenant_id) as tx:
        of = _Rules(db, tx).of
        return [
            (recorded, data, of(_version(data), data["tenant"]["tier"], data["policy"]["hash"]))
            for recorded, data in parsed
            if data["engine"] == ENGINE
        ]


def _disagreements(judged: Sequence[_Judged]) -> Iterator[dict[str, object]]:
    for recorded, data, rules in judged:
        said = disagreement(data, recorded, rules)
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
