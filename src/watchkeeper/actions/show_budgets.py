"""What a tenant may use and has used: runs, pull units and credits, each with where it leads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from watchkeeper.core import quota
from watchkeeper.core.admission import Result
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.projection import Projection, project
from watchkeeper.core.pulls import EVERY, TOTAL, Budget, Consumed
from watchkeeper.core.quota import TENANT_WIDE, BucketKey, Period, Scope
from watchkeeper.core.time import DAY, HOUR, Instant, day_of, hour_of
from watchkeeper.errors import Invalid
from watchkeeper.store import pull_budgets, quotas, tally_series, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.quotas import Bucket
from watchkeeper.store.tally_series import Counted, Tail
from watchkeeper.store.transaction import ReadTx

NEARLY_PERCENT = 80
HOURS_A_DAY = 24


class Unit(StrEnum):
    RUNS = "runs"
    UNITS = "units"
    CREDITS = "credits"  # counted in millionths


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """How much of one budget is used. A limit of None is none."""

    name: str
    unit: Unit
    used: int
    limit: int | None
    since: Instant
    until: Instant
    held: int = 0  # of what is used: reserved, not spent yet
    count: int | None = None  # of pulls or turns that used it
    projection: Projection | None = None

    @property
    def remaining(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def percent(self) -> int | None:
        if self.limit is None:
            return None
        return 100 if not self.limit else self.used * 100 // self.limit

    @property
    def is_nearly_used(self) -> bool:
        return self.percent is not None and self.percent >= NEARLY_PERCENT and self.used > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The budgets of one UTC day, as they stand or stood at its end."""

    day: int
    today: int
    now: Instant
    runs: Meter
    pulls: Meter | None  # None: there is no pull budget, so nothing may be pulled
    connectors: tuple[Meter, ...]
    credits: tuple[Meter, ...]
    pull_budget: Budget | None
    lines: dict[Unit, tuple[int, ...]] = field(default_factory=dict)  # used by the hour, summed
    until_at: Instant | None = None  # up to here it was counted, if not to the end

    @property
    def is_today(self) -> bool:
        return self.day == self.today

    @property
    def meters(self) -> tuple[Meter, ...]:
        pulls = () if self.pulls is None else (self.pulls,)
        return (self.runs, *pulls, *self.connectors, *self.credits)


def show_budgets(db: Database, tenant_id: TenantId, day: int | None = None) -> Budgets:
    """Of a UTC day that has begun, counted from 1970; today without one."""
    with db.read(tenant_id) as tx:
        rules, today = db.policies.exact(tx).rules, day_of(tx.now)
        if day is not None and day > today:
            raise Invalid.at("date", "lies in the future: nothing was used yet")
        return budgets_in(tx, rules, today if day is None else day, tally_series.tail(tx))


def budgets_in(tx: ReadTx, rules: TenantRules, day: int, tail: Tail) -> Budgets:
    """The same in a transaction, with what the tallies do not have yet."""
    lines = {
        Unit.RUNS: _summed(_of_day(tx, Kind.VERDICT, day, tail), Result.ALLOW),
        Unit.UNITS: _summed(_of_day(tx, Kind.PULL_DECIDED, day, tail), "SCHEDULED"),
        Unit.CREDITS: _summed(_of_day(tx, Kind.TURN_SETTLED, day, tail), None),
    }
    since = Instant(day * DAY)
    consumed = pull_budgets.consumed(tx, day)
    budget = pull_budgets.get(tx)
    stored = quotas.of_owner(tx, TENANT_WIDE, since, quota.month_start(since))
    return Budgets(
        day=day,
        today=day_of(tx.now),
        now=tx.now,
        runs=_runs(tx, rules, day, lines[Unit.RUNS]),
        pulls=None if budget is None else _pulls(tx, day, budget, consumed.get(TOTAL, Consumed())),
        connectors=tuple(_connectors(tx, day, budget, consumed)),
        credits=tuple(_credits(tx, rules, since, stored)),
        pull_budget=budget,
        lines=lines,
        until_at=tail.until_at,
    )


def _of_day(tx: ReadTx, kind: Kind, day: int, tail: Tail) -> list[Counted]:
    first = day * HOURS_A_DAY
    found = tally_series.hours(tx, kind, first, first + HOURS_A_DAY - 1)
    more = [one for one in tail.counted if one.kind == kind and one.bucket // HOURS_A_DAY == day]
    return found + more


def _summed(counted: Iterable[Counted], result: str | None) -> tuple[int, ...]:
    """What was used in each hour of the day: entries of verdicts, else what they moved."""
    hours = [0] * HOURS_A_DAY
    for one in counted:
        if result in (None, one.result):
            used = one.entries if one.kind == Kind.VERDICT else one.amount
            hours[one.bucket % HOURS_A_DAY] += used
    return tuple(hours)


def running_total(
    hours: Sequence[int], day: int, now: Instant, used: int
) -> list[tuple[Instant, int]]:
    """The day's line from midnight on, up to now or to its end; it ends at what is used."""
    points, total = [(Instant(day * DAY), 0)], 0
    for number, count in enumerate(hours):
        end = Instant(day * DAY + (number + 1) * HOUR)
        if hour_of(now) < day * HOURS_A_DAY + number + 1:
            break
        total += count
        points.append((end, min(total, used)))
    last = Instant(min(now, (day + 1) * DAY))
    return [*(point for point in points if point[0] < last), (last, used)]


def _runs(tx: ReadTx, rules: TenantRules, day: int, hours: Sequence[int]) -> Meter:
    counters = tenants.runs(tx)
    is_now = counters is not None and day == day_of(tx.now)
    used = counters.runs_in_day(day) if counters is not None and is_now else sum(hours)
    return _meter(tx, "Runs", Unit.RUNS, used, rules.run_budget_per_day, day)


def _pulls(tx: ReadTx, day: int, budget: Budget, used: Consumed) -> Meter:
    return _meter(tx, "Pull units", Unit.UNITS, used.units, budget.total, day, count=used.pulls)


def _connectors(
    tx: ReadTx, day: int, budget: Budget | None, consumed: dict[str, Consumed]
) -> Iterator[Meter]:
    capped = set() if budget is None else set(budget.connectors) - {EVERY}
    for name in sorted((set(consumed) | capped) - {TOTAL}):
        used = consumed.get(name, Consumed())
        cap = None if budget is None else budget.cap(name)
        yield _meter(tx, name, Unit.UNITS, used.units, cap, day, count=used.pulls)


def _meter(
    tx: ReadTx,
    name: str,
    unit: Unit,
    used: int,
    limit: int | None,
    day: int,
    count: int | None = None,
) -> Meter:
    since, until = Instant(day * DAY), Instant((day + 1) * DAY)
    ahead = project(used, limit, since=since, now=tx.now, until=until)
    return Meter(
        name=name,
        unit=unit,
        used=used,
        limit=limit,
        since=since,
        until=until,
        count=count,
        projection=ahead,
    )


def _credits(
    tx: ReadTx, rules: TenantRules, since: Instant, stored: Sequence[Bucket]
) -> Iterator[Meter]:
    """Every bucket of the day and its month that has a limit or was used."""
    starts = {Period.DAILY: since, Period.MONTHLY: quota.month_start(since)}
    buckets = {bucket.key: bucket for bucket in stored}
    for scope, period, name in rules.quota.limits:
        if scope is Scope.TENANT:
            key = BucketKey(TENANT_WIDE, period, starts[period], name)
            buckets.setdefault(key, Bucket(key, quota.EMPTY))
    for key in sorted(buckets, key=lambda key: (key.period, key.bucket != quota.TOTAL, key.bucket)):
        bucket = buckets[key]
        used, limit = bucket.level.used, quota.limit_of(key, rules.quota)
        until = quota.next_start(key)
        which = "all models" if key.bucket == quota.TOTAL else f"models of {key.bucket[5:]}"
        yield Meter(
            name=f"Credits, {key.period}, {which}",
            unit=Unit.CREDITS,
            used=used,
            limit=limit,
            since=key.start_at,
            until=until,
            held=bucket.level.reserved,
            count=bucket.turns_reserved,
            projection=project(used, limit, since=key.start_at, now=tx.now, until=until),
        )
