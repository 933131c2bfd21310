"""Turns as a program would use them, and the books that must balance after whatever happened.

`balanced` knows nothing of the product but its tables: it adds up the turns and compares.
"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from tests.databases import Clock, Place
from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.turns import Turns
from watchkeeper.actions.watch_turns import watch_turns
from watchkeeper.core.ids import TenantId
from watchkeeper.core.quota import Asked
from watchkeeper.core.time import from_iso
from watchkeeper.core.turns import Turn, TurnState, Usage
from watchkeeper.errors import QuotaExceeded
from watchkeeper.moves.settlement import Finalized, Reserved
from watchkeeper.store import turns as turn_rows
from watchkeeper.store.database import Database

ACME = TenantId("acme")


class Meter:
    """One tenant's turns. Without another word a turn is 100 in and 100 out of standard: 400."""

    def __init__(self, db: Database, tenant_id: str = ACME, **options: Any) -> None:
        self.db = db
        self.tenant_id = TenantId(tenant_id)
        self.turns = Turns(db, makes_tenants=True, **options)

    def reserve(
        self,
        turn_id: str = "t1",
        request_id: str | None = None,
        model: str = "standard",
        tokens: tuple[int, int] = (100, 100),
        **more: Any,
    ) -> Reserved:
        asked = Asked(turn_id, request_id or f"r-{turn_id}", model, *tokens, **more)
        return self.turns.reserve(self.tenant_id, asked)

    def fits(self, turn_id: str, **more: Any) -> bool:
        try:
            self.reserve(turn_id, **more)
        except QuotaExceeded:
            return False
        return True

    def progress(self, turn_id: str = "t1") -> None:
        self.turns.progress(self.tenant_id, turn_id)

    def finalize(
        self,
        turn_id: str = "t1",
        outcome: str = "completed",
        *,
        started: bool = True,
        usage: tuple[int, int] | None = None,
    ) -> Finalized:
        used = None if usage is None else Usage(*usage)
        state = TurnState(outcome)
        return self.turns.finalize(self.tenant_id, turn_id, state, started=started, usage=used)

    def watch(self) -> int:
        return watch_turns(self.turns)

    def stored(self, turn_id: str = "t1") -> Turn:
        with self.db.read(self.tenant_id) as tx:
            found = turn_rows.get(tx, turn_id)
        assert found is not None
        return found

    def policy(self, text: str) -> int:
        return apply_policy(self.db, text, author="test", reason="test").version

    def kill(self, scope: str, target: str | None = None, *, on: bool = True) -> None:
        set_kill_switch(
            self.db, self.tenant_id, scope, target, on=on, reason="why not", set_by="test"
        )


@dataclass(frozen=True)
class Event:
    """One usage event, wherever it lies."""

    id: str
    tenant_id: str
    namespace: str
    key: str | None
    payload: dict[str, Any]


def events(place: Place) -> list[Event]:
    """Every usage event there is, delivered or not, in the order of their making."""
    found = []
    for table in ("outbox", "outbox_delivered"):
        rows = place.execute(
            f"select id, tenant_id, namespace, dedupe_key, payload from {table}"
            " where topic = 'usage_snapshot'"
        )
        for id, tenant_id, namespace, key, payload in rows:
            told = json.loads(payload) if isinstance(payload, str) else payload
            found.append(Event(str(id), tenant_id, namespace, key, told))
    return sorted(found, key=lambda event: event.id)


_TURNS = (
    "tenant_id, turn_id, request_id, user_id, tier, day_start_at, month_start_at, state,"
    " reserved_micro, charged_micro, input_tokens, output_tokens, settlement_method, event_id,"
    " tolerance_percent, effective_model, policy_version, computed_micro"
)


def balanced(place: Place, *, but_lost: bool = False) -> Counter[str]:
    """Add the turns up and compare with buckets and events; how many turns are in each state.

    `but_lost`: buckets were deleted behind the product's back, so only their bounds are checked.
    """
    books: dict[tuple, list[int]] = defaultdict(lambda: [0] * 6)
    due: dict[str, dict[str, Any]] = {}
    states: Counter[str] = Counter()
    for row in place.execute(f"select {_TURNS} from turns"):
        turn = dict(zip(_TURNS.replace(" ", "").split(","), row, strict=True))
        states[turn["state"]] += 1
        _book(books, turn)
        if turn["state"] != "running":
            due[str(turn["event_id"])] = turn
    if not but_lost:
        assert _buckets(place) == {key: tuple(sums) for key, sums in books.items()}
    told = events(place)
    assert sorted(event.id for event in told) == sorted(due), "one event for each ended turn"
    for event in told:
        _agrees(event, due[event.id])
    return states


def _book(books: dict[tuple, list[int]], turn: dict[str, Any]) -> None:
    runs = turn["state"] == "running"
    moved = (
        turn["reserved_micro"] if runs else 0,
        turn["charged_micro"] or 0,
        1,
        0 if runs else 1,
        turn["input_tokens"] or 0,
        turn["output_tokens"] or 0,
    )
    for owner in {"", turn["user_id"] or ""}:
        for period, start in (("daily", "day_start_at"), ("monthly", "month_start_at")):
            for bucket in ("total", f"tier:{turn['tier']}"):
                sums = books[turn["tenant_id"], owner, period, turn[start], bucket]
                sums[:] = [a + b for a, b in zip(sums, moved, strict=True)]


def _buckets(place: Place) -> dict[tuple, tuple]:
    rows = place.execute(
        "select tenant_id, user_id, period, start_at, bucket, reserved_micro, spent_micro,"
        " turns_reserved, turns_settled, input_tokens, output_tokens from quota_buckets"
    )
    assert all(type(amount) is int for row in rows for amount in row[5:])
    return {row[:5]: row[5:] for row in rows}


def _agrees(event: Event, turn: dict[str, Any]) -> None:
    assert event.key == f"{turn['tenant_id']}/{turn['turn_id']}/{turn['request_id']}"
    assert event.tenant_id == turn["tenant_id"]
    assert turn["charged_micro"] * 100 <= turn["reserved_micro"] * turn["tolerance_percent"]
    told = event.payload
    assert {
        "turn_id": told["turn_id"],
        "request_id": told["request_id"],
        "user_id": told.get("user_id"),
        "state": told["outcome"],
        "reserved_micro": told["reserved_credits_micro"],
        "charged_micro": told["charged_credits_micro"],
        "computed_micro": told["computed_credits_micro"],
        "input_tokens": told["input_tokens"],
        "output_tokens": told["output_tokens"],
        "settlement_method": told["settlement_method"],
        "effective_model": told["effective_model"],
        "policy_version": told["policy_version_applied"],
    }.items() <= turn.items()


def levels(place: Place, user: str = "", tenant: str = "acme") -> dict[tuple, tuple[int, int]]:
    """By period, start and bucket: what is reserved and what is spent."""
    return {
        (period, start, bucket): (reserved, spent)
        for (owner, who, period, start, bucket), (reserved, spent, *_) in _buckets(place).items()
        if (owner, who) == (tenant, user)
    }


def at_edge(clock: Clock, text: str) -> None:
    """Set the clock to a moment given as ISO 8601 in UTC."""
    clock.set(from_iso(f"{text}Z"))
