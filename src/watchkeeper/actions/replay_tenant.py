"""One tenant's recorded events, replayed under a policy that is only thought of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from watchkeeper.core.admission import switch_for
from watchkeeper.core.heat import Tier
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.policy import Policy, TenantRules, rules_for
from watchkeeper.core.policy_change import changed_as
from watchkeeper.core.policy_read import table
from watchkeeper.core.replay_tally import AccountTally, Tally, Waits
from watchkeeper.core.replay_text import TextReplay
from watchkeeper.core.time import Instant
from watchkeeper.store import heats, replay
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.replay import PAGE, Places
from watchkeeper.store.transaction import ReadTx

ACCOUNTS_SHOWN_MAX = 100
CHARGES_ASKED = 500
HEATS_ASKED = 500


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be tried: a policy, beside the one it is compared with."""

    new: Policy
    current: Policy
    since: Instant


@dataclass(frozen=True, slots=True)
class FlippedAccount:
    """An account that would have gone another way, and from where on that is inference."""

    tenant_id: str
    account_id: str
    flips: int
    runs: int  # more than recorded, or fewer
    inferred_from_seq: int
    inferred_from_at: Instant
    decision_id: str


@dataclass(slots=True)
class Delay:
    """How long signals waited for the run that saw them, in the record and in the replay."""

    before_ran: int = 0
    before_us: int = 0
    after_ran: int = 0
    after_us: int = 0

    def add(self, before: Waits, after: Waits) -> None:
        self.before_ran += before.ran
        self.before_us += before.waited_us
        self.after_ran += after.ran
        self.after_us += after.waited_us

    def join(self, other: Delay) -> None:
        self.before_ran += other.before_ran
        self.before_us += other.before_us
        self.after_ran += other.after_ran
        self.after_us += other.after_us


@dataclass(slots=True)
class TenantPlan:
    """What the change would have done to one tenant."""

    tenant_id: str
    events: int = 0
    flips: int = 0
    retimed: int = 0
    runs_before: int = 0
    runs_after: int = 0
    runs_dropped: int = 0
    metered_dropped: int = 0
    credits_dropped: int = 0
    metered_runs: int = 0
    metered_credits: int = 0
    changes: dict[tuple[str, str], int] = field(default_factory=dict)
    hours: dict[tuple[int, str], int] = field(default_factory=dict)
    accounts_flipped: int = 0
    accounts: list[FlippedAccount] = field(default_factory=list)
    delay: Delay = field(default_factory=Delay)
    hot_delay: Delay = field(default_factory=Delay)

    @property
    def runs_added(self) -> int:
        return self.runs_after - (self.runs_before - self.runs_dropped)


def places_of(db: Database, tenant_id: TenantId, since: Instant) -> Places:
    with db.read(tenant_id) as tx:
        return replay.places_since(tx, since)


def replay_tenant(
    db: Database,
    tenant_id: TenantId,
    places: Places,
    asked: Asked,
    on_page: Callable[[int], None] = lambda _: None,
) -> TenantPlan:
    """Judge every verdict between two places again. Reads only, a page at a time."""
    tally, rules = Tally(), Rules(db, tenant_id, asked)
    fold = TextReplay(rules.of, switches_of(db, tenant_id, asked), tally, loads=loads)
    found = TenantPlan(tenant_id)
    with db.read(tenant_id) as tx:
        found.metered_runs, found.metered_credits = replay.metered_since(tx, asked.since)
    after = places.after
    while after < places.until:
        until = min(after + PAGE, places.until)
        with db.read(tenant_id) as tx:
            rows = replay.page(tx, Places(after, until))
        for seq, decision_id, data in rows:
            if data is not None:
                fold.feed_text(seq, decision_id, data)
        _charge(db, tally, found)
        on_page(until - after)
        after = until
    fold.let_pass(fold.now)
    tally.finish(fold.agreed, fold.agreed_runs)
    _charge(db, tally, found)
    _gather(db, tally, found)
    return found


class Rules:
    """What ruled then and what is to rule, each pair resolved once."""

    def __init__(self, db: Database, tenant_id: TenantId, asked: Asked) -> None:
        self._db = db
        self._tenant_id = tenant_id
        self._asked = asked
        self._found: dict[tuple[int, str, str | None], tuple[TenantRules, TenantRules]] = {}

    def of(self, version: int, hash: str, tier: str | None) -> tuple[TenantRules, TenantRules]:
        found = self._found.get((version, hash, tier))
        if found is None:
            owner = self._tenant_id
            with self._db.read(owner) as tx:
                ruled = self._db.policies.recorded(tx, version, hash)
            new = changed_as(ruled, self._asked.current, self._asked.new)
            found = rules_for(ruled, owner, tier), rules_for(new, owner, tier)
            self._found[version, hash, tier] = found
        return found


def switches_of(
    db: Database, tenant_id: TenantId, asked: Asked
) -> Callable[[int, str], str | None]:
    """Which kill switch was on at a moment, by when each was thrown and released."""
    types = {
        name
        for policy in (asked.new, asked.current)
        for name in table(policy.effective["triggers"])
    }
    names = ["all", "tenant", *(f"trigger:{name}" for name in sorted(types))]
    changes: dict[tuple[TenantId, str], tuple[list[int], list[bool]]] = {}
    for owner in (SYSTEM, tenant_id):
        with db.read(owner) as tx:
            for at, name, is_on in replay.switches_set(tx, names):
                times, states = changes.setdefault((owner, name), ([], []))
                times.append(at)
                states.append(is_on)
    if not changes:
        return lambda _at, _type: None

    def on_at(at: int) -> Iterable[str]:
        for (_, name), (times, states) in changes.items():
            place = bisect_right(times, at)
            if place and states[place - 1]:
                yield name

    return lambda at, trigger_type: switch_for(dict.fromkeys(on_at(at), ""), trigger_type)


def _charge(db: Database, tally: Tally, found: TenantPlan) -> None:
    """What the runs that are none any more were charged."""
    dropped, tally.dropped = tally.dropped, []
    found.runs_dropped += len(dropped)
    if not found.metered_runs:
        return
    for start in range(0, len(dropped), CHARGES_ASKED):
        some = dropped[start : start + CHARGES_ASKED]
        with db.read(TenantId(found.tenant_id)) as tx:
            metered, credits = replay.charged_for(tx, some)
        found.metered_dropped += metered
        found.credits_dropped += credits


def _gather(db: Database, tally: Tally, found: TenantPlan) -> None:
    found.events, found.flips, found.retimed = tally.events, tally.flips, tally.retimed
    found.runs_before, found.runs_after = tally.runs_before, tally.runs_after
    found.changes, found.hours = tally.changes, tally.hours
    found.accounts_flipped = len(tally.accounts)
    names = list(tally.accounts)
    for start in range(0, len(names), HEATS_ASKED):
        some = names[start : start + HEATS_ASKED]
        with db.read(TenantId(found.tenant_id)) as tx:
            hot = _hot(tx, some)
        for name in some:
            account = tally.accounts[name]
            found.delay.add(account.before, account.after)
            if name in hot:
                found.hot_delay.add(account.before, account.after)
    most = nlargest(ACCOUNTS_SHOWN_MAX, tally.accounts.items(), key=lambda one: one[1].flips)
    found.accounts = [_shown(found.tenant_id, name, account) for name, account in most]


def _hot(tx: ReadTx, account_ids: Sequence[str]) -> set[str]:
    known = heats.read(tx, account_ids)
    return {name for name, heat in known.items() if heat.state.tier is Tier.HOT}


def _shown(tenant_id: str, account_id: str, account: AccountTally) -> FlippedAccount:
    return FlippedAccount(
        tenant_id,
        account_id,
        account.flips,
        account.runs,
        account.seq,
        Instant(account.first_at),
        account.decision_id,
    )
