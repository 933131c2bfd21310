"""The gates of connectors: what a tenant's pulls have to pass, read, judged and written back.

What is decided is decided in `core.limits`. Here the parts of a gate are brought together from
where they are kept: the tenant's own part, and the one that all tenants share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from watchkeeper.core import limits
from watchkeeper.core.limits import Breaker, BreakerRule, Bucket, Gate, Hold, Limit, Room
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.pulls import PullReason
from watchkeeper.core.time import MINUTE, Instant
from watchkeeper.store import connectors, kill_switches, tenants
from watchkeeper.store.connectors import Connector, ConnectorState
from watchkeeper.store.transaction import Tx

KILLED_PAUSE_US = MINUTE
"""When to see whether a kill switch is off again."""

Refusal: TypeAlias = tuple[PullReason, Instant | None, str]
"""Why, when to ask again, and in words."""


class Seen(NamedTuple):
    """What is known of some connectors for a tenant, before anything is locked for all."""

    switches: Mapping[str, str]
    states: Mapping[str, ConnectorState]
    connectors: Mapping[str, Connector]


def see(tx: Tx, names: Iterable[str]) -> Seen:
    """The caller holds the tenant's lock, so the tenant's own part stays as it is seen."""
    wanted = sorted(names)
    switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
    return Seen(switches, connectors.states(tx, wanted), connectors.read(tx, wanted))


def rooms(
    tx: Tx, rules: TenantRules, seen: Seen, names: Iterable[str], most: int
) -> dict[str, Room]:
    """How many pulls of each connector could pass now. Nothing is locked, nothing is taken."""
    limited = [name for name, one in seen.connectors.items() if one.max_concurrency]
    slots = connectors.slots(tx, limited)
    found = {}
    for name in names:
        if switch_on(seen.switches, name) is not None:
            found[name] = Room(0, Instant(tx.now + KILLED_PAUSE_US))
            continue
        gate = gate_of(seen.states.get(name), seen.connectors.get(name), slots.get(name, 0))
        found[name] = limits.room(gate, rules.pulls.breaker, tx.now, most)
    return found


class Gates:
    """The gates of some connectors at one moment: as they were found, and as they are left."""

    def __init__(
        self,
        names: Iterable[str],
        states: Mapping[str, ConnectorState],
        known: Mapping[str, Connector | None],
        slots: Mapping[str, int],
        now: Instant,
    ) -> None:
        self.now = now  # after the wait for the limiter, so that nobody schedules by an old time
        self.states = {name: states.get(name) or ConnectorState(name) for name in names}
        self.connectors = {name: known.get(name) or Connector(name) for name in names}
        self.found = {
            name: gate_of(self.states[name], self.connectors[name], slots.get(name, 0))
            for name in self.states
        }
        self.left = {name: limits.by_clock(gate, now) for name, gate in self.found.items()}

    def refuse(self, name: str) -> Refusal | None:
        """What can be asked without taking anything."""
        gate = self.left[name]
        stop = limits.stopped(gate, self.now)
        if stop is None:
            return None
        self.left[name] = gate._replace(waiting=gate.waiting + 1)
        is_broken = stop.limit is Limit.BREAKER
        reason = PullReason.CIRCUIT_OPEN if is_broken else PullReason.RATE_LIMIT
        return reason, stop.retry_at, _words(stop.limit, gate)

    def take(self, name: str, rule: BreakerRule) -> bool:
        """Take the tokens, the probe and the slot; whether this pull is the probe."""
        gate = self.left[name]
        self.left[name] = limits.passed(gate, rule, self.now)
        return limits.is_probe(gate, self.now)

    def save(self, tx: Tx) -> None:
        """Write what differs from how it was found; the shared part last."""
        changed = [name for name in sorted(self.left) if self.left[name] != self.found[name]]
        states = [_state(self.states[name], self.left[name]) for name in changed]
        connectors.put_states(tx, [one for one in states if one != self.states[one.connector_id]])
        for name in changed:
            shared = _connector(self.connectors[name], self.left[name])
            if shared != self.connectors[name]:
                connectors.save_state(tx, shared)


class Starts:
    """Holds and breakers, asked again when a worker takes up pulls that were queued.

    One pull at a time tries a connector whose breaker was open: where there is one, the tenant
    is locked.
    """

    def __init__(self, tx: Tx, names: Iterable[str], rule: BreakerRule) -> None:
        wanted = sorted(set(names))
        states = connectors.states(tx, wanted)
        if any(state.breaker.open_until_at is not None for state in states.values()):
            tenants.lock(tx)
            states = connectors.states(tx, wanted)
        self._tx = tx
        self._rule = rule
        self._states = states
        self._connectors = connectors.read(tx, wanted)

    def refuse(self, name: str) -> tuple[Instant, str] | None:
        """Until when a pull has to wait, and why."""
        gate = gate_of(self._states.get(name), self._connectors.get(name), 0)
        stop = limits.resting(gate, self._tx.now)
        return None if stop is None else (stop.retry_at, _words(stop.limit, gate))

    def begin(self, name: str) -> None:
        """Note that a pull begins: where the breaker was open, it is the probe."""
        state = self._states.get(name)
        if state is None or state.breaker.open_until_at is None:
            return
        state = state._replace(breaker=limits.probing(state.breaker, self._rule, self._tx.now))
        self._states[name] = state
        connectors.put_states(self._tx, [state])


def gate_of(own: ConnectorState | None, shared: Connector | None, slots: int) -> Gate:
    return Gate(
        Breaker() if own is None else own.breaker,
        None
        if shared is None or shared.held_until_at is None
        else Hold(shared.held_until_at, shared.probe_at),
        _bucket(own),
        _bucket(shared),
        None if shared is None else shared.max_concurrency,
        slots,
    )


def _bucket(of: ConnectorState | Connector | None) -> Bucket | None:
    rate = None if of is None else of.rate
    return None if of is None or rate is None else Bucket(rate, of.scheduled_at)


def _state(own: ConnectorState, gate: Gate) -> ConnectorState:
    scheduled_at = own.scheduled_at if gate.own is None else gate.own.scheduled_at
    return own._replace(scheduled_at=scheduled_at, breaker=gate.breaker)


def _connector(shared: Connector, gate: Gate) -> Connector:
    scheduled_at = shared.scheduled_at if gate.shared is None else gate.shared.scheduled_at
    until_at, probe_at = (None, None) if gate.hold is None else gate.hold
    return shared._replace(scheduled_at=scheduled_at, held_until_at=until_at, probe_at=probe_at)


def _words(limit: Limit, gate: Gate) -> str:
    match limit:
        case Limit.BREAKER:
            return f"it failed {gate.breaker.failures} times in a row"
        case Limit.HOLD:
            return "its upstream asked for patience"
        case Limit.OWN_RATE:
            return "the tenant's rate is used up"
        case Limit.SHARED_RATE:
            return "its rate is used up"
        case Limit.SLOTS:
            return f"{gate.slots_max} of its pulls are under way"


def switch_on(switches: Mapping[str, str], connector_id: str) -> str | None:
    """The kill switch that stops a connector's pulls."""
    for name in ("all", "tenant", f"connector:{connector_id}"):
        if name in switches:
            return name
    return None
