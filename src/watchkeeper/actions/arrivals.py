"""What comes in while a policy is simulated: made up from rates, or as it was recorded.

Made-up arrivals follow one seed: the same seed gives the same arrivals, on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any, NamedTuple

from watchkeeper.actions.ingest_signals import SIGNAL_ARRIVED
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.time import DAY, HOUR, MINUTE, Instant
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.store import replay, tenant_facts
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.replay import PAGE, Places

EVENTS_MAX = 250_000
"""Arrivals of one simulation: all of them, and what they lead to, are kept in memory."""
TENANTS_MAX = 50
PER_ACCOUNT = 12.0
WEEK_HOURS = 7 * 24
EPOCH_WEEKDAY = 3  # 1970 began on a Thursday


class Shape(StrEnum):
    """How a day runs. The mean over a whole week is the rate that was asked for."""

    FLAT = "flat"
    OFFICE = "office"  # working hours of working days, next to nothing otherwise
    DOUBLE = "double"  # a hump in the morning and one in the evening, every day


_OFFICE = (1, 1, 1, 1, 1, 1, 2, 6, 14, 20, 20, 18, 14, 17, 20, 19, 16, 10, 5, 3, 2, 1, 1, 1)
_DOUBLE = (2, 1, 1, 1, 2, 4, 8, 14, 20, 18, 12, 9, 8, 8, 9, 10, 12, 16, 20, 18, 13, 8, 5, 3)
_WEEKEND = 0.1


class Player(NamedTuple):
    """A tenant of the simulation."""

    tenant_id: TenantId
    tier: str | None = None


class Arrival(NamedTuple):
    """One event that comes from outside, at its moment."""

    at: Instant
    tenant_id: TenantId
    account_id: AccountId
    trigger_type: str
    key: str
    is_signal: bool
    scheduled_at: Instant | None = None
    saturation: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Made-up arrivals: rates are events a day, of an account or of a tenant as a whole."""

    accounts: int = 50  # of each tenant
    per_account: float | None = None
    per_tenant: float | None = None
    shape: Shape = Shape.FLAT
    bursts: float = 0.0  # a day, of each tenant, each on one account
    burst_events: int = 50
    burst_us: int = 10 * MINUTE
    trigger_type: str = SIGNAL_ARRIVED
    seed: int = 1

    def per_day(self) -> float:
        """Of one tenant, without its bursts. An account has a dozen a day unless it is said."""
        if self.per_tenant is not None:
            return self.per_tenant
        return self.accounts * (PER_ACCOUNT if self.per_account is None else self.per_account)


def synthetic(
    traffic: Traffic, players: Sequence[Player], since: Instant, until: Instant
) -> list[Arrival]:
    """Every arrival from `since` to before `until`, in order of time."""
    found: list[Arrival] = []
    for player in players:
        random = Random(f"{traffic.seed}/{player.tenant_id}")
        for at, account in _moments(traffic, random, since, until):
            found.append(_made_up(traffic, player.tenant_id, at, account, len(found)))
            if len(found) > EVENTS_MAX:
                raise _too_many()
    return sorted(found, key=_moment)


def _moments(
    traffic: Traffic, random: Random, since: Instant, until: Instant
) -> Iterator[tuple[Instant, int]]:
    weight, peak = weights(traffic.shape)
    for at in _drawn(random, traffic.per_day() * peak, since, until):
        if random.random() * peak < weight(at):
            yield at, random.randrange(traffic.accounts)
    for begins in _drawn(random, traffic.bursts, since, until):
        account = random.randrange(traffic.accounts)
        for _ in range(traffic.burst_events):
            at = Instant(begins + int(random.random() * traffic.burst_us))
            if at < until:
                yield at, account


def _drawn(random: Random, per_day: float, since: Instant, until: Instant) -> Iterator[Instant]:
    """Moments at random, so many a day on average."""
    if per_day <= 0:
        return
    at = float(since)
    while (at := at + random.expovariate(per_day / DAY)) < until:
        yield Instant(int(at))


def weights(shape: Shape) -> tuple[Callable[[Instant], float], float]:
    """How busy an hour is against the mean of the week, and the busiest hour of it."""
    hours: list[float] = []
    for day in range(7):
        match shape:
            case Shape.FLAT:
                hours += [1.0] * 24
            case Shape.OFFICE:
                hours += [one * (_WEEKEND if day >= 5 else 1.0) for one in _OFFICE]
            case Shape.DOUBLE:
                hours += _DOUBLE
    mean = sum(hours) / WEEK_HOURS
    even = [one / mean for one in hours]

    def weight(at: Instant) -> float:
        return even[(at // HOUR + EPOCH_WEEKDAY * 24) % WEEK_HOURS]

    return weight, max(even)


def _made_up(
    traffic: Traffic, tenant_id: TenantId, at: Instant, account: int, number: int
) -> Arrival:
    return Arrival(
        at=at,
        tenant_id=tenant_id,
        account_id=AccountId(f"acct-{account + 1:05d}"),
        trigger_type=traffic.trigger_type,
        key=f"sim-{number:06d}",
        is_signal=traffic.trigger_type == SIGNAL_ARRIVED,
    )


class Recorded(NamedTuple):
    """What the ledger holds of a window: who asked, and when."""

    players: tuple[Player, ...]
    arrivals: list[Arrival]
    since: Instant
    until: Instant


def recorded(db: Database, tenant_ids: Sequence[TenantId] | None, since_us: int) -> Recorded:
    """Signals and triggers as they came. Retries are left out: the simulation has its own."""
    with db.read_system() as system:
        until = system.now
        known = {one.tenant_id: one for one in tenant_facts.page(system, "", TENANTS_MAX + 1)}
        if tenant_ids is None and len(known) > TENANTS_MAX:
            raise Invalid.at("tenant", f"there are more than {TENANTS_MAX}: name one")
    players: list[Player] = []
    arrivals: list[Arrival] = []
    since = Instant(until - since_us)
    for tenant_id in sorted(known) if tenant_ids is None else tenant_ids:
        with db.read(tenant_id) as tx:
            facts = tenant_facts.get(tx)
        if facts is None:
            raise NotFound(f"there is no tenant {tenant_id}", tenant_id=tenant_id)
        players.append(Player(facts.tenant_id, facts.tier))
        arrivals += _of_tenant(db, facts.tenant_id, since, EVENTS_MAX - len(arrivals))
    return Recorded(tuple(players), sorted(arrivals, key=_moment), since, until)


def _of_tenant(db: Database, tenant_id: TenantId, since: Instant, most: int) -> list[Arrival]:
    found: list[Arrival] = []
    with db.read(tenant_id) as tx:
        places = replay.places_since(tx, since)
    for after in range(places.after, places.until, PAGE):
        with db.read(tenant_id) as tx:
            rows = replay.page(tx, Places(after, min(after + PAGE, places.until)))
        for _, _, text in rows:
            data: Mapping[str, Any] = {} if text is None else loads(text)
            if data and "retry_of" not in data["event"]:
                found.append(_as_recorded(tenant_id, Instant(data["now"]), data["event"]))
        if len(found) > most:
            raise _too_many()
    return found


def _as_recorded(tenant_id: TenantId, at: Instant, event: Mapping[str, Any]) -> Arrival:
    return Arrival(
        at=at,
        tenant_id=tenant_id,
        account_id=AccountId(event["account_id"]),
        trigger_type=event["trigger_type"],
        key=event["idempotency_key"],
        is_signal="signal_id" in event and event["trigger_type"] == SIGNAL_ARRIVED,
        scheduled_at=event.get("scheduled_at"),
        saturation=event.get("saturation"),
    )


def _too_many() -> Invalid:
    words = f"more than {EVENTS_MAX} events: simulate a shorter time, lower rates or fewer tenants"
    return Invalid.at("events", words)


def _moment(one: Arrival) -> Instant:
    """What arrives in the same moment stays in the order in which it was found."""
    return one.at
