"""What the screen counts: a fold over the ledgers, from where they stood at the start.

Places in a ledger are dense and in the order of commits, so nothing is counted twice or
missed, whoever wrote it: the demo, the HTTP API, or another process.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from watchkeeper.actions import show_plan, views
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind, Recorded
from watchkeeper.core.plans import IntentState, PlanStatus
from watchkeeper.store import tenants
from watchkeeper.store.database import Database

PAGE = 500
PAGES_PER_LOOK_MAX = 20
TENANTS_MAX = 12
SECONDS_KEPT = 30
NEWEST_KEPT = 6
WAITING_MAX = 50
"""Of each kind and tenant: more than that is not counted."""

Answer = tuple[str, str]
"""A result and its reason, which is empty for ALLOW."""


@dataclass(slots=True)
class Count:
    """What happened to one tenant since the start."""

    asked: int = 0  # events that came in; the retry of a deferral is not a new one
    answers: Counter[Answer] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    per_second: deque[int] = field(default_factory=lambda: deque([0], maxlen=SECONDS_KEPT))

    @property
    def runs(self) -> int:
        return self.answers["ALLOW", ""]

    @property
    def waiting(self) -> int:
        """Runs that were allowed and have not ended."""
        return max(0, self.runs - sum(self.ended.values()))

    @property
    def held_back(self) -> float | None:
        """The part of what was asked that did not become a run."""
        return None if not self.asked else 1 - min(1.0, self.runs / self.asked)

    def add(self, found: Recorded) -> None:
        entry = found.entry
        if entry.kind is Kind.RUN_ENDED:
            self.ended[entry.result or ""] += 1
        elif entry.kind is Kind.VERDICT:
            self.answers[entry.result or "", entry.reason or ""] += 1
            if '"retry_of"' not in entry.data:
                self.asked += 1
                self.per_second[-1] += 1


class Tally:
    """All tenants, and the newest verdicts."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.tenants: dict[TenantId, Count] = {}
        self.tiers: dict[TenantId, str] = {}
        self.newest: deque[Recorded] = deque(maxlen=NEWEST_KEPT)
        self.asked_of_people = 0
        self._places: dict[TenantId, int] = {}
        self._find_tenants(new_ones_from=None)

    def look(self) -> None:
        """Count what was added since the last look."""
        self._find_tenants(new_ones_from=0)
        ends = self._ends()
        for tenant_id, count in self.tenants.items():
            if ends.get(tenant_id, 0) <= self._places[tenant_id]:
                continue
            for found in self._added(tenant_id):
                count.add(found)
                self._places[tenant_id] = found.seq
                if found.entry.kind is Kind.VERDICT:
                    self.newest.append(found)

    def count_asked(self) -> None:
        """How much waits for a person's answer: drafts of plans, and actions."""
        self.asked_of_people = sum(_asked(self.db, tenant_id) for tenant_id in self.tenants)

    def next_second(self) -> None:
        for count in self.tenants.values():
            count.per_second.append(0)

    @property
    def total(self) -> Count:
        together = Count()
        for count in self.tenants.values():
            together.asked += count.asked
            together.answers += count.answers
            together.ended += count.ended
        return together

    def _find_tenants(self, *, new_ones_from: int | None) -> None:
        ends = {} if new_ones_from is not None else self._ends()
        for facts in views.list_tenants(self.db, "", TENANTS_MAX):
            self.tiers[facts.tenant_id] = facts.tier or ""
            if facts.tenant_id not in self.tenants:
                self.tenants[facts.tenant_id] = Count()
                self._places[facts.tenant_id] = ends.get(facts.tenant_id, 0)

    def _ends(self) -> dict[TenantId, int]:
        with self.db.read_system() as tx:
            return tenants.ledger_ends(tx, list(self.tenants) or None)

    def _added(self, tenant_id: TenantId) -> Iterable[Recorded]:
        for _ in range(PAGES_PER_LOOK_MAX):
            place = self._places[tenant_id]
            page = views.list_ledger(self.db, tenant_id, {}, after=place, limit=PAGE)
            yield from page
            if len(page) < PAGE:
                return


def _asked(db: Database, tenant_id: TenantId) -> int:
    drafts = show_plan.list_plans(
        db, tenant_id, {"status": PlanStatus.DRAFT}, before=None, limit=WAITING_MAX
    )
    pending = {"state": IntentState.PENDING_APPROVAL}
    intents = show_plan.list_intents(db, tenant_id, pending, before=None, limit=WAITING_MAX)
    return len(drafts) + len(intents)
