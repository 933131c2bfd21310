"""Try a policy on what has happened: which verdicts would have been others, and what that costs.

Nothing is written. Tenants are replayed one after the other, or in processes of their
own, the largest first; each is read a page at a time. A tenant is never split: its accounts
share caps, a budget and idempotency keys, and its policy changes for all of them at once.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from watchkeeper.actions.apply_policy import read_policy
from watchkeeper.actions.replay_tenant import (
    ACCOUNTS_SHOWN_MAX,
    Asked,
    Delay,
    FlippedAccount,
    TenantPlan,
    places_of,
    replay_tenant,
)
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.policy import Change, Policy, diff
from watchkeeper.core.replay_tally import label
from watchkeeper.core.time import DAY, SECOND, Instant, to_iso
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.store import tenant_facts, tenants
from watchkeeper.store.database import Database, open_database
from watchkeeper.store.replay import Places

SINCE_US = 30 * DAY
PROCESSES_MAX = 64
WORTHWHILE = 200_000
"""Entries for which it pays to start processes."""
TENANTS_SHOWN_MAX = 1_000
LOOK_SECONDS = 0.2

Progress = Callable[[int, int], None]
"""Told how many entries of how many have been gone through."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a policy would have changed, had it ruled what was recorded."""

    since: Instant
    until: Instant
    against: Policy
    changes: tuple[Change, ...]
    tenants: tuple[TenantPlan, ...]

    @property
    def events(self) -> int:
        return sum(one.events for one in self.tenants)

    @property
    def flips(self) -> int:
        return sum(one.flips for one in self.tenants)

    @property
    def runs_before(self) -> int:
        return sum(one.runs_before for one in self.tenants)

    @property
    def runs_after(self) -> int:
        return sum(one.runs_after for one in self.tenants)

    @property
    def extra_runs(self) -> int:
        return self.runs_after - self.runs_before

    @property
    def by_change(self) -> list[tuple[str, str, int]]:
        """Verdicts that would have been others: what they were, what they became, how many."""
        found: Counter[tuple[str, str]] = Counter()
        for one in self.tenants:
            found.update(one.changes)
        ordered = sorted(found.items(), key=lambda one: (-one[1], one[0]))
        return [(label(was), label(now), count) for (was, now), count in ordered]

    @property
    def by_hour(self) -> Counter[tuple[int, str]]:
        """Flips by hour and by what they did."""
        found: Counter[tuple[int, str]] = Counter()
        for one in self.tenants:
            found.update(one.hours)
        return found

    @property
    def accounts(self) -> list[FlippedAccount]:
        """Those with the most flips."""
        every = [account for one in self.tenants for account in one.accounts]
        return nlargest(ACCOUNTS_SHOWN_MAX, every, key=lambda account: account.flips)

    def to_json(self) -> dict[str, Any]:
        """As the HTTP API and the command give it."""
        shown = [one for one in self.tenants if one.flips or one.retimed or one.events]
        shown.sort(key=lambda one: -one.flips)
        return {
            "flips": self.flips,
            "retimed": sum(one.retimed for one in self.tenants),
            "events": self.events,
            "since": to_iso(self.since),
            "until": to_iso(self.until),
            "against": {"version": self.against.version, "hash": self.against.hash},
            "changes": [
                {"path": c.path, "before": c.before, "after": c.after} for c in self.changes
            ],
            "runs": self._runs(),
            "credits_micro": self._credits(),
            "by_change": [
                {"was": was, "now": now, "count": count} for was, now, count in self.by_change
            ],
            "signal_delay": _delay([one.delay for one in self.tenants]),
            "hot_signal_delay": _delay([one.hot_delay for one in self.tenants]),
            "tenants": [_tenant(one) for one in shown[:TENANTS_SHOWN_MAX]],
            "accounts_flipped": sum(one.accounts_flipped for one in self.tenants),
            "accounts": [_account(one) for one in self.accounts],
        }

    def _runs(self) -> dict[str, int]:
        return {
            "before": self.runs_before,
            "after": self.runs_after,
            "saved": sum(one.runs_dropped for one in self.tenants),
            "added": sum(one.runs_added for one in self.tenants),
        }

    def _credits(self) -> dict[str, int]:
        """What saved runs were charged; added ones at the mean of their tenant's."""
        added = 0
        for one in self.tenants:
            if one.metered_runs:
                added += one.runs_added * one.metered_credits // one.metered_runs
        return {
            "saved": sum(one.credits_dropped for one in self.tenants),
            "added": added,
            "metered_runs": sum(one.metered_runs for one in self.tenants),
        }


def plan_policy(
    db: Database,
    document: str | Mapping[str, object],
    *,
    since_us: int = SINCE_US,
    tenant_ids: Sequence[TenantId] | None = None,
    processes: int | None = 1,
    outside_above: int | None = None,
    entries_max: int | None = None,
    on_progress: Progress | None = None,
) -> Plan:
    """Replay what was recorded under another policy. Raises Invalid for a wrong document.

    The change is laid on whatever ruled at the time; the document in force changes nothing.
    Without a number of processes there is one per core, where the history is long enough for it.
    More than `outside_above` entries are replayed in another process even if it is one, and more
    than `entries_max` are not begun with.
    """
    new = read_policy(document)
    if processes is not None and not 1 <= processes <= PROCESSES_MAX:
        raise Invalid.at("processes", f"must be from 1 to {PROCESSES_MAX}")
    with db.read(SYSTEM) as tx:
        current, now = db.policies.current(tx), tx.now
    asked = Asked(new, current, Instant(max(0, now - since_us)))
    parts = _parts(db, tenant_ids, asked.since)
    entries = sum(until - after for _, (after, until) in parts)
    if entries_max is not None and entries > entries_max:
        raise Conflict(
            f"{entries:,} entries of the ledger lie in this time, more than {entries_max:,}",
            entries=entries,
        )
    progress = _Progress(entries, on_progress)
    if processes is None:
        processes = min(os.cpu_count() or 1, PROCESSES_MAX) if entries > WORTHWHILE else 1
    processes = min(processes, len(parts))
    is_long = outside_above is not None and entries > outside_above
    if (processes > 1 or is_long) and not db.is_in_memory:
        found = _in_processes(db, parts, asked, processes, progress)
    else:
        found = [
            replay_tenant(db, tenant_id, places, asked, progress.add) for tenant_id, places in parts
        ]
    return Plan(asked.since, now, current, tuple(diff(current, new)), tuple(found))


def _parts(
    db: Database, tenant_ids: Sequence[TenantId] | None, since: Instant
) -> list[tuple[TenantId, Places]]:
    """The tenants with the part of each ledger that is to be gone through, the longest first."""
    if tenant_ids is None:
        with db.read_system() as system:
            tenant_ids = [one for one in tenants.all_ids(system) if one != SYSTEM]
    for tenant_id in tenant_ids:
        with db.read(tenant_id) as tx:
            if tenant_facts.get(tx) is None:
                raise NotFound(f"there is no tenant {tenant_id}", tenant_id=tenant_id)
    parts = [(tenant_id, places_of(db, tenant_id, since)) for tenant_id in tenant_ids]
    parts.sort(key=lambda part: part[1].after - part[1].until)
    return [part for part in parts if part[1].until > part[1].after]


class _Progress:
    """How far it is, for whoever looks on."""

    def __init__(self, total: int, told: Progress | None) -> None:
        self._total = total
        self._told = told
        self._done = 0

    def add(self, count: int) -> None:
        self.at(self._done + count)

    def at(self, done: int) -> None:
        self._done = done
        if self._told is not None:
            self._told(done, self._total)


# -- in processes of their own ---------------------------------------------------------------

_own: dict[str, Any] = {}
"""In a process that replays: its database, what is asked, and the count all of them share."""


def _begin(url: str, asked: Asked, count: Any) -> None:
    gc.freeze()  # libraries are never garbage, and
    gc.set_threshold(100_000, 20, 20)  # what a replay makes is thrown away, and holds no cycles
    _own.update(db=open_database(url, pool_size=2), asked=asked, count=count)


def _replay_one(tenant_id: TenantId, places: Places) -> TenantPlan:
    count = _own["count"]

    def on_page(entries: int) -> None:
        with count.get_lock():
            count.value += entries

    return replay_tenant(_own["db"], tenant_id, places, _own["asked"], on_page)


def _in_processes(
    db: Database,
    parts: Sequence[tuple[TenantId, Places]],
    asked: Asked,
    processes: int,
    progress: _Progress,
) -> list[TenantPlan]:
    spawning = multiprocessing.get_context("spawn")  # a fork would share connections and locks
    count = spawning.Value("q", 0)
    url = db.writer.url.render_as_string(hide_password=False)
    with ProcessPoolExecutor(processes, spawning, _begin, (url, asked, count)) as pool:
        waiting: list[Future[TenantPlan]] = [pool.submit(_replay_one, *part) for part in parts]
        left = set(waiting)
        try:
            while left:
                left = wait(left, LOOK_SECONDS).not_done
                progress.at(count.value)
            return [one.result() for one in waiting]
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


# -- as plain data -----------------------------------------------------------------------------


def _delay(delays: Sequence[Delay]) -> dict[str, Any]:
    whole = Delay()
    for one in delays:
        whole.join(one)
    return {
        "signals_before": whole.before_ran,
        "signals_after": whole.after_ran,
        "mean_seconds_before": _mean(whole.before_us, whole.before_ran),
        "mean_seconds_after": _mean(whole.after_us, whole.after_ran),
    }


def _mean(total_us: int, count: int) -> float | None:
    return None if not count else round(total_us / count / SECOND, 3)


def _tenant(one: TenantPlan) -> dict[str, Any]:
    return {
        "tenant_id": one.tenant_id,
        "events": one.events,
        "flips": one.flips,
        "retimed": one.retimed,
        "runs_before": one.runs_before,
        "runs_after": one.runs_after,
        "accounts_flipped": one.accounts_flipped,
    }


def _account(one: FlippedAccount) -> dict[str, Any]:
    return {
        "tenant_id": one.tenant_id,
        "account_id": one.account_id,
        "flips": one.flips,
        "runs": one.runs,
        "inferred_from": {
            "seq": one.inferred_from_seq,
            "at": to_iso(one.inferred_from_at),
            "decision_id": one.decision_id,
        },
    }
