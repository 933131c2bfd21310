"""The one door of admission: whatever asks for runs comes through here.

Signals, triggers, schedules, account changes and the retries of deferrals all hand
over a list of events of one tenant and get as many answers, in order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial

from watchkeeper.actions.combine import Combiner
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.core.ids import TenantId
from watchkeeper.errors import CommitUnknown, NotFound, Unavailable
from watchkeeper.moves.admission import Asked, Decided, PolicyMoved, admit
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

    def admit(self, tenant_id: TenantId, asked: Sequence[Asked]) -> list[Decided]:
        """Answers that are committed. Callers who wait together share a transaction."""
        return self._combiner.submit(tenant_id, asked) if asked else []

    def ensure_tenant(self, tenant_id: TenantId) -> None:
        """Make the tenant where first use may; elsewhere an unknown one is refused later."""
        if self.makes_tenants:
            create_tenant(self.db, tenant_id)

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
        for _ in range(TRIES_MAX):
            once = partial(self._once, tenant_id, prepare, seen_before)
            try:
                return self.db.retrying(once)
            except PolicyMoved:
                continue
            except CommitUnknown as error:
                seen_before, unknown = True, error
            except NotFound:
                if not self.makes_tenants:
                    raise
                create_tenant(self.db, tenant_id)
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
    ) -> list[Decided]:
        notify_deferred = self.notify_deferred or self.hears_deferred(tenant_id)
        with self.db.batch(tenant_id, recovering=seen_before) as tx:
            asked = prepare(tx)
            decided = (
                admit(tx, self.db.policies, asked, notify_deferred=notify_deferred) if asked else []
            )
        for observer in self.observers:
            with contextlib.suppress(Exception):  # it is committed, whatever an onlooker thinks
                observer(decided)
        return decided
