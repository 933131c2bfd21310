"""The overview of one tenant: what it does, what was refused and why, what it costs, who is needed.

All of it is read in one transaction of a bounded number of looks at indexes, so that it takes no
longer where there are a million accounts, ten million entries and a long backlog. Only the names
of topics are read before, across tenants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from urllib.parse import urlencode

from watchkeeper.actions.population import Population, Populations
from watchkeeper.actions.show_budgets import Budgets, budgets_in
from watchkeeper.core.chain import Break, Place, breaks
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.plans import IntentState, PlanStatus
from watchkeeper.core.policy import tiers_of
from watchkeeper.core.time import HOUR, MINUTE, Instant, day_of
from watchkeeper.errors import Invalid
from watchkeeper.store import (
    accounts,
    kill_switches,
    ledger,
    outbox_backlog,
    overview,
    seals,
    tallies,
    tally_series,
)
from watchkeeper.store.database import Database
from watchkeeper.store.kill_switches import KillSwitch
from watchkeeper.store.outbox_backlog import Backlog
from watchkeeper.store.policies import Guess
from watchkeeper.store.tally_series import Counted, Tail
from watchkeeper.store.transaction import ReadTx

LATE_US = MINUTE
"""A message that has been due for longer says that nobody delivers."""
SEALED_LOOKED_AT = 200
"""The newest sealed entries, compared with their seals whenever somebody looks."""
NEEDS_MAX = 50


class Window(StrEnum):
    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"


_BUCKETS = {Window.HOUR: (MINUTE, 60), Window.DAY: (HOUR, 24), Window.WEEK: (HOUR, 168)}


YOUNG_US = 3 * HOUR
"""A tenant that began so recently is looked at by the minute, unless somebody asks otherwise."""


def window_of(name: str | None) -> Window | None:
    """None: nobody asked for one."""
    if name is None:
        return None
    try:
        return Window(name)
    except ValueError:
        known = ", ".join(Window)
        raise Invalid.at("window", f"must be one of {known}") from None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts of a window, by bucket, result and reason."""

    window: Window
    starts_at: Instant
    bucket_us: int
    counts: Counter[tuple[int, str, str]]  # (bucket, result, reason)
    is_estimate: bool  # from a sample: there were too many to count while somebody waits
    until_at: Instant | None  # entries after this were not counted yet

    @property
    def buckets(self) -> int:
        return _BUCKETS[self.window][1]

    def series(self, result: str, reason: str | None = None) -> list[int]:
        """How many in each bucket; of one reason, if it is named."""
        values = [0] * self.buckets
        for (bucket, of, why), count in self.counts.items():
            if of == result and reason in (None, why):
                values[bucket] += count
        return values

    def total(self, result: str) -> int:
        return sum(count for (_, of, _), count in self.counts.items() if of == result)

    @property
    def by_reason(self) -> list[tuple[str, str, int]]:
        """Result, reason and how many, the most frequent first."""
        found: Counter[tuple[str, str]] = Counter()
        for (_, result, reason), count in self.counts.items():
            found[result, reason] += count
        ordered = sorted(found.items(), key=lambda one: (-one[1], one[0]))
        return [(result, reason, count) for (result, reason), count in ordered]


class Urgency(StrEnum):
    BAD = "bad"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Need:
    """Something that waits for a person, in words, and the page where it is dealt with."""

    urgency: Urgency
    title: str
    detail: str
    path: str
    when: str = ""  # what the moment is: since, until
    at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    now: Instant
    verdicts: Verdicts
    budgets: Budgets
    backlog: Backlog
    population: Population
    runs_under_way: int
    needs: tuple[Need, ...]
    is_new: bool  # no account was ever heard of

    @property
    def lag_us(self) -> int:
        """For how long the oldest message that is due has been so."""
        oldest = self.backlog.oldest_due_at
        return 0 if oldest is None else max(0, self.now - oldest)


def show_overview(
    db: Database, populations: Populations, tenant_id: TenantId, window: Window | None = None
) -> Overview:
    with db.read_system() as system:
        topics = outbox_backlog.due_topics(system)
    with db.read(tenant_id) as tx:
        tail = tally_series.tail(tx)
        verdicts = _verdicts(tx, window or _fitting(tx), tail)
        guess = db.policies.exact(tx)
        budgets = budgets_in(tx, guess.rules, day_of(tx.now), tail)
        backlog = outbox_backlog.backlog(tx, topics)
        return Overview(
            now=tx.now,
            verdicts=verdicts,
            budgets=budgets,
            backlog=backlog,
            population=populations.look(tx),
            runs_under_way=overview.runs_under_way(tx),
            needs=(*_lost_tier(db, tx, guess), *_needs(tx, budgets, backlog))[:NEEDS_MAX],
            is_new=not verdicts.counts and not accounts.page(tx, "", 1),
        )


def _fitting(tx: ReadTx) -> Window:
    began = tallies.first_at(tx)
    return Window.DAY if began is None or tx.now - began > YOUNG_US else Window.HOUR


def _verdicts(tx: ReadTx, window: Window, tail: Tail) -> Verdicts:
    width, count = _BUCKETS[window]
    last = tx.now // width
    first = last - count + 1
    starts_at = Instant(first * width)
    found: Iterable[Counted]
    is_estimate, until_at = False, tail.until_at
    if window is Window.HOUR:
        newest = tally_series.minutes(tx, starts_at)
        found, is_estimate, until_at = newest.counted, newest.is_estimate, None
    else:
        counted = tally_series.hours(tx, Kind.VERDICT, first, last)
        found = (*counted, *(one for one in tail.counted if one.kind == Kind.VERDICT))
    counts: Counter[tuple[int, str, str]] = Counter()
    for one in found:
        if first <= one.bucket <= last:
            counts[one.bucket - first, one.result, one.reason] += one.entries
    return Verdicts(window, starts_at, width, counts, is_estimate, until_at)


# -- what waits for a person ---------------------------------------------------------------


def _needs(tx: ReadTx, budgets: Budgets, backlog: Backlog) -> Iterator[Need]:
    """The worst first: what is wrong, then what is stopped, then what waits."""
    yield from _broken_ledger(tx)
    yield from _letters(tx, backlog)
    yield from _switches(kill_switches.in_force(tx))
    yield from _breakers(tx)
    yield from _plans(tx)
    yield from _nearly_used(budgets)


def _lost_tier(db: Database, tx: ReadTx, guess: Guess) -> Iterator[Need]:
    tier = guess.tier
    if tier is not None and tier not in tiers_of(db.policies.policy(tx, guess.version)):
        title = f"The tenant tier {tier} is not in the policy"
        yield Need(
            Urgency.BAD, title, "No tier limits apply to this tenant.", "/policy?view=tenant"
        )


def _broken_ledger(tx: ReadTx) -> Iterator[Need]:
    found = newest_break(tx)
    if found is not None:
        title = f"Entry {found.seq:,} of the ledger does not match its hash"
        yield Need(Urgency.BAD, title, found.why, "/ledger")


def newest_break(tx: ReadTx) -> Break | None:
    """The first of the newest sealed entries that is not what was sealed."""
    begun = seals.beginning(tx)
    start = max(begun.seq, seals.head(tx).seq - SEALED_LOOKED_AT)
    before = begun.hash if start == begun.seq else seals.hash_at(tx, start)
    if before is None:
        return None
    sealed = seals.hashes_after(tx, start, SEALED_LOOKED_AT)
    stored = {one.seq: one for one in ledger.as_stored(tx, start, len(sealed))} if sealed else {}
    found = breaks(Place(start, before), sealed, stored)
    was_pruned = bool(found) and seals.beginning(tx) != begun
    return found[0][0] if found and not was_pruned else None


def _letters(tx: ReadTx, backlog: Backlog) -> Iterator[Need]:
    if backlog.dead:
        many = backlog.dead >= outbox_backlog.COUNTED_MAX
        title = _counted(backlog.dead, "dead letter", many=many)
        detail = "Every attempt failed. Redrive or discard them."
        yield Need(Urgency.BAD, title, detail, "/outbox?status=dead")
    oldest = backlog.oldest_due_at
    if oldest is not None and tx.now - oldest > LATE_US:
        detail = "Messages are due and no worker takes them: is a worker running?"
        yield Need(
            Urgency.BAD, "Delivery is late", detail, "/outbox?status=pending", "since", oldest
        )
    for queue in backlog.unhandled:
        title = f"No handler for {queue.topic}"
        detail = f"{_counted(queue.unhandled, 'message')} without a handler or a sink."
        asked = urlencode({"status": "pending", "topic": queue.topic})
        yield Need(Urgency.BAD, title, detail, f"/outbox?{asked}")


def _switches(on: Sequence[KillSwitch]) -> Iterator[Need]:
    for switch in on:
        title = f"Kill switch on: {switch.name}"
        detail = f"{switch.reason} ({switch.set_by})"
        yield Need(Urgency.BAD, title, detail, "/kill-switches", "since", switch.set_at)


def _breakers(tx: ReadTx) -> Iterator[Need]:
    for name, failures, until in overview.open_breakers(tx, NEEDS_MAX):
        detail = f"{_counted(failures, 'failure')} in a row opened the circuit breaker."
        yield Need(
            Urgency.BAD, f"Connector {name} is paused", detail, "/connectors", "until", until
        )


def _plans(tx: ReadTx) -> Iterator[Need]:
    count = partial(_counted, of=overview.COUNTED_MAX)
    if asked := overview.intents_in(tx, IntentState.PENDING_APPROVAL):
        title = f"{count(asked, 'action')} to approve"
        yield Need(Urgency.WAIT, title, "Plans wait for your answer.", "/plans")
    if drafts := overview.plans_in(tx, PlanStatus.DRAFT):
        title = f"{count(drafts, 'plan')} to approve"
        yield Need(Urgency.WAIT, title, "A draft does nothing until it is approved.", "/plans")
    if paused := overview.plans_in(tx, PlanStatus.PAUSED):
        title = count(paused, "paused plan")
        yield Need(Urgency.WAIT, title, "Resume or abort them.", "/plans")


def _nearly_used(budgets: Budgets) -> Iterator[Need]:
    for meter in budgets.meters:
        if not meter.is_nearly_used:
            continue
        if not meter.remaining:
            title, detail = f"{meter.name}: used up", "Anything beyond the budget is refused"
            yield Need(Urgency.BAD, title, detail, "/budgets", "until", meter.until)
            continue
        title = f"{meter.name}: {meter.percent} % used"
        ahead = None if meter.projection is None else meter.projection.exhausted_at
        detail = (
            "It lasts for the period at this pace." if ahead is None else "At this pace it lasts"
        )
        yield Need(Urgency.WAIT, title, detail, "/budgets", "until" if ahead else "", ahead)


def _counted(count: int, what: str, *, many: bool = False, of: int | None = None) -> str:
    more = "+" if many or (of is not None and count >= of) else ""
    return f"{count:,}{more} {what}{'' if count == 1 else 's'}"
