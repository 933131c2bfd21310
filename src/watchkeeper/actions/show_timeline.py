"""Everything that happened to one account, across all stages, newest first, a page at a time.

What bears the account's name is read along its own index. What follows from it (the turns and
messages of its runs, its plans and their actions) bears names of its own, which these entries
lead to: so for each page somewhat more of them is read than is shown. All of it is bounded,
however much has happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.core.admission import Result
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.ledger import Kind, Recorded, Stage
from watchkeeper.store import ledger, signals, timelines
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.signals import Signal
from watchkeeper.store.transaction import ReadTx

LED_BY = 150
"""Of the account's own entries before the oldest that is shown, so many are followed to what came
of them: a message that died later than that after its run is in the ledger, and not here."""
READ = 2 * LED_BY
PLANS_MAX = 200

OWN = frozenset(
    {
        Kind.VERDICT,
        Kind.RUN_ENDED,
        Kind.ACCOUNT_CHANGED,
        Kind.TIER_CHANGED,
        Kind.PULL_DECIDED,
        Kind.PULL_ENDED,
        Kind.PROPOSAL_REFUSED,
    }
)
"""Kinds whose subject is an account. Others may have a subject that happens to read the same."""
LED = frozenset(
    {Kind.TURN_RESERVED, Kind.TURN_REFUSED, Kind.TURN_SETTLED}
    | {Kind.MESSAGE_DEAD, Kind.MESSAGE_REDRIVEN, Kind.MESSAGE_DISCARDED}
) | frozenset(kind for kind in Kind if kind.isupper() and kind is not Kind.PROPOSAL_REFUSED)
"""Kinds whose subject is a turn, a message or a plan."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One entry, and the signal that it answers, if one did."""

    found: Recorded
    signal: Signal | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """A page; `next_before` is where the next one begins, if there may be one."""

    entries: Sequence[Happened]
    next_before: int | None
    has_older_plans: bool  # more than are looked at: their entries are in the ledger only


def show_timeline(
    db: Database,
    tenant_id: TenantId,
    account_id: AccountId,
    *,
    before: int,
    stage: Stage | None,
    limit: int,
) -> Timeline:
    with db.read(tenant_id) as tx:
        own = ledger.newest(tx, {"subject": account_id}, before=before, limit=READ)
        floor = own[READ - LED_BY].seq if len(own) == READ else 0
        own = [one for one in own if one.entry.kind in OWN]
        plans = timelines.of_plans(tx, account_id, PLANS_MAX)
        names = _led_to(tx, own) | plans.names
        led = timelines.of_subjects(tx, names, before=before, floor=floor, limit=READ)
        if len(led) == READ:  # there may be others below them
            floor = led[-1].seq
        told = [one for one in own if one.seq >= floor]
        told += [one for one in led if one.entry.kind in LED]
        told = [one for one in told if stage is None or one.entry.stage == stage]
        told.sort(key=lambda one: one.seq, reverse=True)
        shown = told[:limit]
        heard = _heard(tx, account_id, shown)
    older = shown[-1].seq if len(told) > limit else floor
    happened = [Happened(one, heard.get(one.seq)) for one in shown]
    return Timeline(happened, older or None, plans.is_cut)


def _led_to(tx: ReadTx, own: Sequence[Recorded]) -> frozenset[str]:
    """The messages and turns that came of these entries; a run's message has its decision's id."""
    allowed = [one.entry.entry_id for one in own if one.entry.result == Result.ALLOW]
    messages = {
        str(loads(one.entry.data)["message_id"])
        for one in own
        if one.entry.kind == Kind.PULL_DECIDED and one.entry.result == "SCHEDULED"
    }
    return timelines.of_runs(tx, allowed).names | frozenset(allowed) | messages


def _heard(tx: ReadTx, account_id: AccountId, shown: Sequence[Recorded]) -> dict[int, Signal]:
    """The signals that the shown verdicts answer, by their places. A repeat is stored once."""
    if not shown:
        return {}
    first, last = shown[-1].seq, shown[0].seq
    return signals.by_place(tx, account_id, first - 1, last, len(shown))
