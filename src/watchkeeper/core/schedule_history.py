"""Whether a schedule did what it should: each firing that was due fired once, or was told missed.

The history is walked with the function that plans firings, from one firing to the next; so what
should have happened at each is known exactly, and compared with what was written down. What was
planned by other time zone data than today's may differ: that is a notice, and the walk goes on
from what was written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from watchkeeper.core.ledger import Kind
from watchkeeper.core.schedule import (
    CatchUp,
    Cron,
    FiringPlan,
    due_firings,
    next_fire_at,
    parse_cron,
)
from watchkeeper.core.time import Instant, to_iso
from watchkeeper.errors import Invalid

CHANGES = (Kind.SCHEDULE_SET, Kind.SCHEDULE_REMOVED)


class Told(NamedTuple):
    """One line of a schedule's history."""

    seq: int
    at: Instant
    kind: Kind
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """A schedule at one moment. Its next firing is None where the history begins too late."""

    cron: Cron
    catch_up: CatchUp
    next_at: Instant | None


class Gap(NamedTuple):
    """Something that should be there and is not, or the reverse."""

    at: Instant | None  # the firing
    why: str
    seq: int | None = None  # where it was noticed
    is_notice: bool = False  # explained by time zone data that have changed since


def standing_of(data: Mapping[str, Any], next_at: Instant | None) -> Standing:
    cron = parse_cron(data["cron"], data["timezone"])
    return Standing(cron, CatchUp(data["catch_up"]), next_at)


def gaps(
    told: Sequence[Told],
    now: Standing | None,
    zone_data: Callable[[str], str],
    *,
    is_settled: bool = True,
) -> Iterator[Gap]:
    """Every gap in a history, oldest first. `now` is the schedule as it is stored, if it is.

    `zone_data` says by which data a time zone is known today. `is_settled`: what is stored was
    read in the same state as the history.
    """
    standing: Standing | None = None
    is_known = False  # whether there should be one
    if now is not None and not any(one.kind in CHANGES for one in told):
        standing, is_known = Standing(now.cron, now.catch_up, None), True
    for _, alike in groupby(told, key=lambda one: (one.kind in CHANGES, one.at)):
        group = list(alike)
        if group[0].kind in CHANGES:
            standing, is_known = _changed(group[-1]), True
            yield from (gap for one in group for gap in _first(one, zone_data))
        elif standing is not None:
            plan = _planned(standing, group)
            is_other = any(_is_other(one, standing.cron, zone_data) for one in group)
            yield from (gap._replace(is_notice=is_other) for gap in _differences(plan, group))
            next_at = None if is_other else plan.next_fire_at
            standing = Standing(standing.cron, standing.catch_up, next_at)
        elif is_known:
            yield Gap(_instants(group)[0], "fired or missed while it was removed", group[0].seq)
    if is_settled and is_known:
        yield from _as_stored(standing, now)


def _changed(one: Told) -> Standing | None:
    if one.kind is Kind.SCHEDULE_REMOVED:
        return None
    return standing_of(one.data, Instant(one.data["next_fire_at"]))


def _is_other(one: Told, cron: Cron, zone_data: Callable[[str], str]) -> bool:
    """Whether a line was written by other time zone data; one that does not say so was not."""
    today = zone_data(cron.timezone)
    return str(one.data.get("zone_data", today)) != today


def _first(one: Told, zone_data: Callable[[str], str]) -> Iterator[Gap]:
    """A schedule that was set begins with the next firing after that."""
    standing = _changed(one)
    if standing is None or standing.next_at is None:
        return
    first = next_fire_at(standing.cron, one.at)
    if first != standing.next_at:
        why = f"it was set to begin at {to_iso(standing.next_at)} instead"
        yield Gap(first, why, one.seq, _is_other(one, standing.cron, zone_data))


def _planned(standing: Standing, group: Sequence[Told]) -> FiringPlan:
    first = _instants(group)[0] if standing.next_at is None else standing.next_at
    try:
        return due_firings(standing.cron, first, group[0].at, standing.catch_up)
    except Invalid:  # it does not fire again
        return FiringPlan((), None, first)


def _instants(group: Sequence[Told]) -> list[Instant]:
    """The firings that a group tells of; of missed ones the first."""
    keys = {Kind.SCHEDULE_FIRED: "scheduled_at", Kind.SCHEDULE_MISSED: "first_at"}
    return sorted(Instant(one.data[keys[one.kind]]) for one in group)


def _differences(plan: FiringPlan, group: Sequence[Told]) -> Iterator[Gap]:
    seq = group[0].seq
    fired = Counter(_instants([one for one in group if one.kind is Kind.SCHEDULE_FIRED]))
    for at in plan.fire:
        if at not in fired:
            yield Gap(at, "it was due and did not fire", seq)
    for at, times in sorted(fired.items()):
        if at not in plan.fire:
            yield Gap(at, "it fired and was not due", seq)
        elif times > 1:
            yield Gap(at, f"it fired {times} times", seq)
    yield from _missed(plan, [one for one in group if one.kind is Kind.SCHEDULE_MISSED], seq)


def _missed(plan: FiringPlan, told: Sequence[Told], seq: int) -> Iterator[Gap]:
    said = [
        (one.data["first_at"], one.data["last_at"], one.data["count"], one.data["is_exact"])
        for one in told
    ]
    due = plan.missed
    if due is None:
        if said:
            yield Gap(Instant(said[0][0]), "it was told missed and was not", told[0].seq)
        return
    wanted = (due.first_at, due.last_at, due.count, due.is_exact)
    if not said:
        until = "" if due.count == 1 else f", nor {due.count - 1} more until {to_iso(due.last_at)}"
        yield Gap(due.first_at, f"neither fired nor missed{until}", seq)
    elif said != [wanted]:
        yield Gap(due.first_at, f"{due.count} were missed until {to_iso(due.last_at)}", told[0].seq)


def _as_stored(standing: Standing | None, now: Standing | None) -> Iterator[Gap]:
    """What the history comes to is what is stored."""
    if standing is None:
        if now is not None:
            yield Gap(now.next_at, "it was removed and is still there")
    elif now is None:
        yield Gap(standing.next_at, "nobody removed it, and it is gone")
    elif None not in (standing.next_at, now.next_at) and standing.next_at != now.next_at:
        set_for = "nothing" if now.next_at is None else to_iso(now.next_at)
        yield Gap(standing.next_at, f"its next firing is set for {set_for}")
