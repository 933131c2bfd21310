"""Turns: reserved before the work, told to progress, finalized once.

Callers who wait at the same moment for one tenant share a transaction. A COMMIT whose
answer was lost is asked again: a reserve is found by its request id, an end by the id that
its caller brought.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from watchkeeper.actions.combine import Combiner
from watchkeeper.actions.count_turns import TurnAnswer, count_turns
from watchkeeper.actions.first_use import batched
from watchkeeper.core.envelope import retry_after_seconds
from watchkeeper.core.ids import TenantId
from watchkeeper.core.quota import Asked, Full
from watchkeeper.core.turns import NAMESPACE, Ending, Turn, TurnState, Usage
from watchkeeper.errors import CommitUnknown, Conflict, NotFound, QuotaExceeded
from watchkeeper.ids import new_id
from watchkeeper.moves import settlement
from watchkeeper.moves.settlement import Finalized, NotReserved, ReserveAnswer, Reserved
from watchkeeper.store import tenants
from watchkeeper.store import turns as turn_rows
from watchkeeper.store.database import Database
from watchkeeper.store.outbox import key_is_taken
from watchkeeper.store.transaction import Tx

TRIES_MAX = 8
CALLER = "caller"

A = TypeVar("A", bound=TurnAnswer)


class _AllRefused(Exception):
    """No request of a new tenant was right: its transaction is rolled back, and makes no tenant."""


class Turns:
    """Meters work on one database, on behalf of many threads."""

    def __init__(
        self, db: Database, *, makes_tenants: bool = False, namespace: str = NAMESPACE
    ) -> None:
        self.db = db
        self.makes_tenants = makes_tenants
        self.namespace = namespace
        self.observers: list[Callable[[Sequence[TurnAnswer]], None]] = [count_turns]
        self._reserves: Combiner[Asked, ReserveAnswer] = Combiner(
            lambda name, asked, _: self.reserve_many(TenantId(name), asked)
        )
        self._ends: Combiner[Ending, Finalized | None] = Combiner(
            lambda name, endings, _: self.finalize_many(TenantId(name), endings)
        )

    def reserve(self, tenant_id: TenantId, asked: Asked) -> Reserved:
        """Take quota before the work starts. Raises QuotaExceeded when no model has room.

        The same request id again is the same turn.
        """
        [answer] = self._reserves.submit(tenant_id, [asked])
        match answer:
            case Reserved():
                return answer
            case NotReserved():
                raise exceeded(answer)
            case _:
                raise answer

    def progress(self, tenant_id: TenantId, turn_id: str) -> None:
        """The work is alive, and has begun. Raises Conflict when the turn has ended."""

        def deed() -> None:
            with self.db.batch(tenant_id) as tx:
                if not turn_rows.progress(tx, turn_id):
                    turn = found(tx, turn_id)
                    raise Conflict(
                        f"turn {turn_id} is {turn.state}: it cannot progress", state=turn.state
                    )

        self.db.retrying(deed)

    def finalize(
        self,
        tenant_id: TenantId,
        turn_id: str,
        outcome: TurnState,
        *,
        started: bool,
        usage: Usage | None,
        ended_by: str = CALLER,
    ) -> Finalized:
        """End the turn; the loser of a race is told so, and what the winner settled."""
        ending = Ending(turn_id, outcome, started, usage, ended_by, new_id())
        [answer] = self._ends.submit(tenant_id, [ending])
        if answer is None:
            raise no_turn(turn_id)
        return answer

    def reserve_many(self, tenant_id: TenantId, asked: Sequence[Asked]) -> list[ReserveAnswer]:
        def move(tx: Tx) -> list[ReserveAnswer]:
            waiting, looked = tenants.send_lock(tx), settlement.look(tx, asked)
            tenant = tenants.locked(tx, waiting)
            with tenants.saving_seq(tx, tenant):
                return settlement.reserve(tx, tenant, self.db.policies, asked, looked)

        return self._told(self._in_doubt_again(tenant_id, move, self.makes_tenants))

    def finalize_many(
        self, tenant_id: TenantId, endings: Sequence[Ending]
    ) -> list[Finalized | None]:
        def move(tx: Tx) -> list[Finalized | None]:
            waiting, held = tenants.send_lock_and_time(tx), settlement.hold(tx, endings)
            tenant = tenants.locked(tx, waiting)
            with tenants.saving_seq(tx, tenant):
                return settlement.finalize(tx, tenant, endings, self.namespace, held)

        return self._told(self._in_doubt_again(tenant_id, move))

    def _told(self, answers: list[A]) -> list[A]:
        for observer in self.observers:
            with contextlib.suppress(Exception):  # it is committed, whatever an onlooker thinks
                observer(answers)
        return answers

    def _in_doubt_again(
        self,
        tenant_id: TenantId,
        move: Callable[[Tx], list[A]],
        makes_tenants: bool = False,
    ) -> list[A]:
        """One transaction. While its COMMIT is in doubt it is tried again: moves know their own."""
        makes_tenant = False
        unknown: CommitUnknown | None = None
        for _ in range(TRIES_MAX):
            try:
                return self._once(tenant_id, move, makes_tenant)
            except CommitUnknown as error:
                unknown = error
            except NotFound:
                if makes_tenant or not makes_tenants:
                    raise
                makes_tenant = True
            except Exception as error:
                if unknown is not None:
                    raise unknown from error
                if key_is_taken(error):
                    raise Conflict(
                        "a usage event under this key exists already; nothing was settled"
                    ) from error
                raise
        assert unknown is not None
        raise unknown

    def _once(
        self, tenant_id: TenantId, move: Callable[[Tx], list[A]], makes_tenant: bool
    ) -> list[A]:
        answers: list[A] = []

        def deed() -> list[A]:
            nonlocal answers
            with batched(self.db, tenant_id, makes_tenant=makes_tenant) as tx:
                answers = move(tx)
                if makes_tenant and all(isinstance(one, Exception) for one in answers):
                    raise _AllRefused
            return answers

        try:
            return self.db.retrying(deed)
        except _AllRefused:
            return answers


def found(tx: Tx, turn_id: str) -> Turn:
    turn = turn_rows.get(tx, turn_id)
    if turn is None:
        raise no_turn(turn_id)
    return turn


def no_turn(turn_id: str) -> NotFound:
    return NotFound(f"there is no turn {turn_id}", turn_id=turn_id)


def exceeded(answer: NotReserved) -> QuotaExceeded:
    """The refusal, in words: what each model of the cascade was refused by."""
    told = "; ".join(_phrase(full, answer.switches) for full in answer.refused.refused)
    until = answer.refused.retry_at
    return QuotaExceeded(
        f"no quota is left: {told}",
        retry_at=until,
        retry_after_seconds=None if until is None else retry_after_seconds(until, answer.at),
    )


def _phrase(full: Full, switches: dict[str, str]) -> str:
    if full.switch is not None:
        reason = switches.get(full.switch, "")
        return f"{full.model} is off by kill switch {full.switch} ({reason})"
    assert full.bucket is not None
    whose = f"user {full.bucket.user_id}" if full.bucket.user_id else "the tenant"
    return (
        f"{full.model} needs {full.reserve_micro} of the {full.bucket.period} {full.bucket.bucket}"
        f" of {whose}, where {full.used_micro} of {full.limit_micro} are taken"
    )
