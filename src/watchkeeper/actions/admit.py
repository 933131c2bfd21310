"""The one door of admission: whatever asks for runs comes through here.

Signals, triggers, schedules, account changes and the retries of deferrals all hand
over a list of events of one tenant and get as many answers, in order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial

from watchkeeper.actions.answer_once import AlreadyDone, Once, take
from watchkeeper.actions.combine import Combiner
from watchkeeper.actions.first_use import batched
from watchkeeper.core.ids import TenantId
from watchkeeper.errors import CommitUnknown, NotFound, Unavailable
from watchkeeper.moves.admission import Asked, Decided, PolicyMoved, admit, decided_from
from watchkeeper.store import ledger
from watchkeeper.store.database import Database
from watchkeeper.store.transaction import Tx

TRIES_MAX = 8


class Admission:
    """Admits events on one database, on behalf of many threads."""

    def __init__(
        self, db: Database, *, makes_tenants: bool = False, notify_deferred: bool = False
    ) -> None:
        self.db = db
        self.makes_tenants = makes_tenants
        self.notify_deferred = notify_deferred
        self.hears_deferred: Callable[[TenantId], bool] = lambda _: False
        self._combiner: Combiner[Asked, Decided] = Combiner(
            lambda name, asked, again: self.admit_alone(TenantId(name), asked, seen_before=again)
        )
        self.observers: list[Callable[[Sequence[Decided]], None]] = []

    def admit(
        self, tenant_id: TenantId, asked: Sequence[Asked], once: Once | None = None
    ) -> list[Decided]:
        """Answers that are committed. Callers who wait together share a transaction.

        A request with an Idempotency-Key has one of its own; its repeat gets the first verdicts.
        """
        if once is None or not asked:
            return self._combiner.submit(tenant_id, asked) if asked else []

        def prepare(tx: Tx) -> Sequence[Asked]:
            take(tx, once, [one.decision_id for one in asked])
            return asked

        try:
            return self.admit_with(tenant_id, prepare)
        except AlreadyDone as done:
            return self._decided(tenant_id, done.note)

    def _decided(self, tenant_id: TenantId, decision_ids: Sequence[str]) -> list[Decided]:
        with self.db.read(tenant_id) as tx:
            found = ledger.by_ids(tx, decision_ids)
        return [decided_from(found[one]) for one in decision_ids]

    def admit_alone(
        self, tenant_id: TenantId, asked: Sequence[Asked], *, seen_before: bool = False
    ) -> list[Decided]:
        """The same in a transaction of its own.

        `seen_before`: these very decisions may be in the ledger already (a lost COMMIT, a
        message delivered twice); what is found there is answered, and not decided again.
        """
        return self.admit_with(tenant_id, lambda _: asked, seen_before=seen_before)

    def admit_with(
        self,
        tenant_id: TenantId,
        prepare: Callable[[Tx], Sequence[Asked]],
        *,
        seen_before: bool = False,
    ) -> list[Decided]:
        """Admit what `prepare` finds to be asked, in the transaction in which it found it.

        Once a COMMIT had no answer, the outcome is either found or said to be unknown.
        """
        unknown: CommitUnknown | None = None
        makes_tenant = False
        for _ in range(TRIES_MAX):
            once = partial(self._once, tenant_id, prepare, seen_before, makes_tenant)
            try:
                return self.db.retrying(once)
            except PolicyMoved:
                continue
            except AlreadyDone:
                raise
            except CommitUnknown as error:
                seen_before, unknown = True, error
            except NotFound:
                if makes_tenant or not self.makes_tenants:
                    raise
                makes_tenant = True
            except Exception as error:
                if unknown is None:
                    raise
                raise unknown from error
        if unknown is not None:
            raise unknown
        raise Unavailable("the policy or the connection changed again and again; try later")

    def _once(
        self,
        tenant_id: TenantId,
        prepare: Callable[[Tx], Sequence[Asked]],
        seen_before: bool,
        makes_tenant: bool,
    ) -> list[Decided]:
        notify_deferred = self.notify_deferred or self.hears_deferred(tenant_id)
        with batched(self.db, tenant_id, makes_tenant=makes_tenant, recovering=seen_before) as tx:
            asked = prepare(tx)
            decided = (
                admit(tx, self.db.policies, asked, notify_deferred=notify_deferred) if asked else []
            )
        for observer in self.observers:
            with contextlib.suppress(Exception):  # it is committed, whatever an onlooker thinks
                observer(decided)
        return decided
