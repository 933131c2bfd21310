"""How many accounts are in each tier: exact at once for most tenants, a minute old for large ones.

Counting a million accounts takes longer than anybody should wait for a page. So up to a bound
they are counted when asked for; beyond it the last whole count is shown with its time, and one
that is older than a minute is made anew beside, once for all who look.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from watchkeeper.core.heat import TIERS, Tier
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.store import overview
from watchkeeper.store.database import Database
from watchkeeper.store.overview import TIERS_COUNTED_MAX
from watchkeeper.store.transaction import ReadTx

KEPT_SECONDS = 60.0
KEPT_MAX = 1_000
"""Tenants whose count is remembered."""

_log = logging.getLogger("watchkeeper.population")


@dataclass(frozen=True, slots=True)
class Population:
    """Accounts by tier, the hottest first. Where it is not exact, the last one is `at least`."""

    tiers: Mapping[Tier, int]
    counted_at: Instant
    is_exact: bool = True
    is_live: bool = True

    @property
    def total(self) -> int:
        return sum(self.tiers.values())


@dataclass(frozen=True, slots=True)
class _Kept:
    found: Population
    until: float


class Populations:
    """The counts of large tenants, as this process made them last."""

    def __init__(self, db: Database, *, counted_max: int = TIERS_COUNTED_MAX) -> None:
        self._db = db
        self._counted_max = counted_max
        self._kept: dict[TenantId, _Kept] = {}
        self._counting: set[TenantId] = set()
        self._lock = threading.Lock()

    def look(self, tx: ReadTx) -> Population:
        """What can be told now. It never takes longer than the bound allows."""
        some = overview.tiers_up_to(tx, self._counted_max)
        if sum(some.values()) <= self._counted_max:
            return Population({tier: some[tier] for tier in reversed(TIERS)}, tx.now)
        with self._lock:
            kept = self._kept.get(tx.tenant_id)
            is_fresh = kept is not None and kept.until > time.monotonic()
            begins = not is_fresh and tx.tenant_id not in self._counting
            if begins:
                self._counting.add(tx.tenant_id)
        if begins:
            name = "watchkeeper population"
            args = (tx.tenant_id,)
            threading.Thread(target=self.count, args=args, name=name, daemon=True).start()
        if kept is not None:
            return kept.found
        return Population(some, tx.now, is_exact=False)

    def count(self, tenant_id: TenantId) -> None:
        """Count one tenant's accounts, however many there are, and remember that for a while."""
        try:
            with self._db.read(tenant_id) as tx:
                tiers = overview.tiers(tx)
                counted_at = tx.now
            ordered = {tier: tiers[tier] for tier in reversed(TIERS)}
            found = Population(ordered, counted_at, is_live=False)
            with self._lock:
                if len(self._kept) >= KEPT_MAX:
                    self._kept.clear()
                self._kept[tenant_id] = _Kept(found, time.monotonic() + KEPT_SECONDS)
        except Exception as error:  # whoever looks next tries again
            _log.info("the accounts of %s were not counted: %s", tenant_id, type(error).__name__)
        finally:
            with self._lock:
                self._counting.discard(tenant_id)
