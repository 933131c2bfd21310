"""Heat moves: with a signal or a posture, in their own transaction; by a sweep, fenced.

Where a tier changes, the ledger says so, and the account's next pulls follow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from watchkeeper.core import heat as rule
from watchkeeper.core.heat import HeatRules, HeatState, Standing, Tier
from watchkeeper.core.ids import MessageId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.pulls import PullKey, brought_forward, first_slot, ruled_anew
from watchkeeper.core.time import MINUTE, Instant
from watchkeeper.ids import new_id
from watchkeeper.store import connectors, heats, ledger, next_pulls, outbox, sweeps
from watchkeeper.store.heats import Heat
from watchkeeper.store.json import dumps, encode
from watchkeeper.store.next_pulls import NextPull
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.sweeps import Sweep
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.timers import TICKS
from watchkeeper.store.transaction import Tx

ON_SIGNAL = "pull.on_signal"
TICK = "pull.tick"
SWEEP = "heat.sweep"
ROUND_US = 30 * MINUTE
"""From the start of a round to that of the next: every account is seen well within an hour."""


class Heard(NamedTuple):
    """A signal, as far as heat is concerned."""

    account_id: str
    signal_id: str
    occurred_at: Instant
    correlation_id: str | None = None
    may_pull: bool = True


class Change(NamedTuple):
    """An account's heat, and the tier that it had before; None: it had no heat."""

    heat: Heat
    was: Tier | None
    is_ruled_anew: bool = False  # by another policy than before

    @property
    def moves(self) -> bool:
        """Whether the account has come into another tier."""
        return self.was is not self.heat.state.tier


def hear(
    rules: TenantRules,
    known: Mapping[str, Heat],
    postures: Mapping[str, str | None],
    signals: Sequence[Heard],
    now: Instant,
) -> list[Change]:
    """What signals do to the heat of their accounts; `postures` of those that had none."""
    by_account: dict[str, list[Instant]] = defaultdict(list)
    for signal in signals:
        by_account[signal.account_id].append(signal.occurred_at)
    changes = []
    for account_id, times in by_account.items():
        before = known.get(account_id)
        state = fresh(now, postures.get(account_id)) if before is None else before.state
        after = rule.heard(state, rules.heat, tuple(times), now)
        changes.append(changed(account_id, before, rule.standing(after, rules.heat), rules))
    return changes


def fresh(now: Instant, posture: str | None = None) -> HeatState:
    return HeatState(posture, entered_at=now, below_warm_at=now, below_hot_at=now, computed_at=now)


def changed(account_id: str, before: Heat | None, found: Standing, rules: TenantRules) -> Change:
    heat = Heat(
        account_id,
        found.state,
        found.changes_at,
        found.score,
        rules.policy_version,
        1 if before is None else before.version + 1,
        "" if before is None else before.place,
    )
    if before is None:
        return Change(heat, None)
    return Change(heat, before.state.tier, before.policy_version != rules.policy_version)


def pulls_on_signals(
    heat: HeatRules, changes: Sequence[Change], signals: Sequence[Heard]
) -> list[NewMessage]:
    """A message for each signal of an account that is looked at whenever it says something."""
    eager = {
        one.heat.account_id for one in changes if heat.tiers[one.heat.state.tier].pulls_on_signal
    }
    return [
        NewMessage(
            ON_SIGNAL,
            encode(
                {
                    "account_id": signal.account_id,
                    "correlation_id": signal.correlation_id,
                    "signal_id": signal.signal_id,
                }
            ),
            id=MessageId(new_id()),
        )
        for signal in signals
        if signal.account_id in eager and signal.may_pull
    ]


def entries(tx: Tx, changes: Iterable[Change], rules: TenantRules) -> list[Entry]:
    """A line of the ledger for each tier that changed: the history of tiers."""
    return [
        Entry(
            entry_id=new_id(),
            at=tx.now,
            stage=Stage.PERCEIVE,
            kind=Kind.TIER_CHANGED,
            subject=one.heat.account_id,
            data=dumps(
                {
                    "entered_at": one.heat.state.entered_at,
                    "heat_micro": one.heat.score.heat,
                    "was": None if one.was is None else one.was.name,
                }
            ),
            policy_version=rules.policy_version,
            result=one.heat.state.tier.name,
        )
        for one in changes
        if one.moves
    ]


def follow(tx: Tx, rules: TenantRules, changes: Iterable[Change]) -> None:
    """Bring the next pulls of accounts whose tier or policy changed to where they belong now."""
    moved = {one.heat.account_id: one for one in changes if one.moves or one.is_ruled_anew}
    if not moved:
        return
    if any(one.was is None for one in moved.values()):
        start_sweeping(tx, Instant(tx.now + ROUND_US))
    names = [one.connector_id for one in connectors.with_cadence(tx)]
    if not names:
        return
    known = {
        (pull.account_id, pull.connector_id): pull
        for pull in next_pulls.of_accounts(tx, sorted(moved))
    }
    now = tx.now
    placed = []
    for account_id, one in moved.items():
        for name in names:
            before = known.get((account_id, name))
            after = _placed(tx, rules.heat, one, name, before, now)
            if after != before:
                placed.append(after)
    if placed:
        next_pulls.save(tx, placed)
        ensure_tick(tx, Instant(min(pull.due_at for pull in placed)))


def place_missing(tx: Tx, rules: TenantRules, found: Iterable[tuple[str, Tier, str]]) -> None:
    """Accounts that a connector does not look at yet get their first slot, spread."""
    placed = [_first(tx, rules.heat, *one) for one in found]
    if placed:
        next_pulls.save(tx, placed)
        ensure_tick(tx, Instant(min(pull.due_at for pull in placed)))


def _first(tx: Tx, heat: HeatRules, account_id: str, tier: Tier, connector_id: str) -> NextPull:
    cadence_us = heat.tiers[tier].cadence_us
    slot_at = first_slot(PullKey(tx.tenant_id, account_id, connector_id), cadence_us, tx.now)
    overdue_at = Instant(slot_at + cadence_us)
    return NextPull(account_id, connector_id, tier, slot_at, slot_at, overdue_at, None)


def _placed(
    tx: Tx, heat: HeatRules, one: Change, connector_id: str, before: NextPull | None, now: Instant
) -> NextPull:
    tier = one.heat.state.tier
    if before is None:
        return _first(tx, heat, one.heat.account_id, tier, connector_id)
    cadence_us = heat.tiers[tier].cadence_us
    slot_at, due_at = before.slot_at, before.due_at
    if one.was is not None and tier > one.was:
        slot_at = brought_forward(slot_at, before.pulled_at, cadence_us, now)
        due_at = min(due_at, slot_at)
    elif one.is_ruled_anew:
        key = PullKey(tx.tenant_id, before.account_id, connector_id)
        slot_at = ruled_anew(key, slot_at, cadence_us, now)
        due_at = slot_at if due_at == before.slot_at else due_at  # else a limit has moved it
    return NextPull(
        before.account_id,
        connector_id,
        tier,
        slot_at,
        due_at,
        Instant(slot_at + cadence_us),
        before.pulled_at,
    )


def start_sweeping(tx: Tx, round_at: Instant) -> None:
    """Begin the tenant's first round then, unless there is one."""
    if sweeps.start(tx, round_at):
        plan_sweep(tx, Sweep(round_at, ""))


def plan_sweep(tx: Tx, sweep: Sweep) -> None:
    """The next slice, or the next round when its time has come, is a message."""
    due_at = sweep.round_at if not sweep.after_account and sweep.round_at > tx.now else None
    payload = encode({"after": sweep.after_account, "round_at": sweep.round_at})
    outbox.enqueue_plain(tx, [NewMessage(SWEEP, payload, due_at=due_at, id=MessageId(new_id()))])


def ensure_tick(tx: Tx, at: Instant) -> None:
    """See to it that a tick comes then or before. The caller holds the tenant's lock."""
    planned = TICKS.at(tx)
    if planned is None or at < planned:
        plan_tick(tx, at)


def mend_tick(tx: Tx) -> None:
    """If the next tick is long over it was lost: somebody discarded it, say."""
    planned, due = TICKS.at(tx), next_pulls.next_due(tx)
    if due and (planned is None or planned < tx.now - ROUND_US):
        plan_tick(tx, Instant(max(min(due.values()), tx.now)))


def plan_tick(tx: Tx, at: Instant) -> None:
    due_at, id = None if at <= tx.now else at, MessageId(new_id())
    TICKS.set(tx, at, id)
    message = NewMessage(TICK, encode({"due_at": at}), due_at=due_at, id=id)
    outbox.enqueue_plain(tx, [message])


def told_posture(
    tx: Tx, tenant: LockedTenant, book: PolicyBook, account_id: str, posture: str | None
) -> None:
    """An account's posture changed, in this transaction; its heat and next pulls follow."""
    rules = book.exact(tx).rules
    before = heats.read(tx, [account_id]).get(account_id)
    state = fresh(tx.now) if before is None else before.state
    after = rule.told_posture(state, rules.heat, posture, tx.now)
    changes = [changed(account_id, before, rule.standing(after, rules.heat), rules)]
    heats.save(tx, [changes[0].heat])
    ledger.append(tx, tenant, entries(tx, changes, rules))
    follow(tx, rules, changes)
