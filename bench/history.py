"""A tenant's history, as the product would have recorded it, made without a database.

Signals fall on the accounts of a tenant, some busy and most quiet; every account has its daily
brief; a few events repeat a key, are scheduled, or say how saturated the account is. Deferrals get
their one retry, a second late. Verdicts, entries and their texts are made by the product's own
gate, so that a replay under the same policy must find no difference.
"""

import heapq
import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

from watchkeeper.core.admission import Case, Duplicate, Event, decide, evolve
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import Policy, TenantRules, rules_for
from watchkeeper.core.run_state import RunState, TenantRuns
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.core.verdict_record import record
from watchkeeper.store.json import dumps

START = 1_893_456_000
SIGNAL, BRIEF, POSTURE = "SIGNAL_ARRIVED", "TIME_RITUAL_DAILY_BRIEF", "POSTURE_CHANGE"
BUSY = 0.1  # of the accounts: they get half of the signals
REPEATED, SATURATION, RITUAL, CHANGE = 0.01, 0.02, 0.02, 0.03


class Line(NamedTuple):
    """One row of the ledger, as far as a verdict fills it."""

    seq: int
    decision_id: str
    at: int
    subject: str
    trigger_type: str
    result: str
    reason: str | None
    version: int
    data: str


class History:
    """Lines of one tenant, oldest first; equal seeds give equal lines."""

    def __init__(
        self,
        policy: Policy,
        seed: int,
        *,
        tenant_id: str = "t",
        accounts: int = 2000,
        per_second: float = 4.0,
    ) -> None:
        self.rules: TenantRules = rules_for(policy, tenant_id, None)
        self._random = random.Random(seed)
        self._accounts = accounts
        self._per_second = per_second
        self._states: dict[str, RunState] = {}
        self._tenant = TenantRuns()
        self._waiting: list[tuple[int, int, Event]] = []
        self._numbers = itertools.count(1)
        self._prefix = f"{self._random.getrandbits(48):012x}"
        self._held: list[tuple[str, str]] = []

    def lines(self, count: int) -> Iterator[Line]:
        now = START * SECOND
        for seq in range(1, count + 1):
            now += int(self._random.expovariate(self._per_second) * SECOND)
            whole = -(-now // SECOND) * SECOND
            if self._waiting and self._waiting[0][0] + SECOND <= whole:
                due, _, event = heapq.heappop(self._waiting)
                yield self._judge(seq, event, max(whole, due + SECOND))
            else:
                yield self._judge(seq, self._fresh(seq, whole), whole)

    def _fresh(self, seq: int, now: int) -> Event:
        dice = self._random
        busy = int(self._accounts * BUSY)
        number = dice.randrange(busy) if dice.random() < 0.5 else dice.randrange(self._accounts)
        kind, more = SIGNAL, {}
        roll = dice.random()
        if roll < RITUAL:
            kind, more = BRIEF, {"scheduled_at": Instant(now - dice.randrange(3) * SECOND)}
        elif roll < RITUAL + CHANGE:
            kind = POSTURE
        elif roll < RITUAL + CHANGE + SATURATION:
            more = {"saturation": round(dice.random() * 1.2, 3)}
        key = f"{self._prefix}-{seq:09d}"
        if self._held and dice.random() < REPEATED:
            key = dice.choice(self._held)[0]
        return Event(AccountId(f"account-{number:06d}"), kind, key, **more)

    def _judge(self, seq: int, event: Event, now: int) -> Line:
        decision_id = DecisionId(f"{self._prefix[:8]}-{self._prefix[8:]}-7000-8000-{seq:012x}")
        state = self._states.setdefault(event.account_id, RunState())
        held = dict(self._held).get(event.idempotency_key)
        repeat = None if held is None else Duplicate(DecisionId(held))
        case = Case(event, state, self._tenant, self.rules, Instant(now), None, repeat)
        verdict = decide(case)
        data = dumps(record(case, verdict, None))
        evolve(case, verdict, decision_id, seq)
        if len(self._held) < 50 and event.retry_of is None and held is None:
            self._held.append((event.idempotency_key, decision_id))
        if verdict.defer_until is not None:
            owner, moved = event.retry_of or decision_id, event.retry_of is not None
            again = event._replace(
                retry_of=owner, moved=moved, idempotency_key=f"retry:{owner}:{moved}"
            )
            heapq.heappush(self._waiting, (verdict.defer_until, next(self._numbers), again))
        return Line(
            seq,
            decision_id,
            now,
            event.account_id,
            event.trigger_type,
            verdict.result.value,
            None if verdict.reason is None else verdict.reason.value,
            self.rules.policy_version,
            data,
        )
