"""When a report is due, when a failure is tried again, and which windows have passed.

Pure: the age of a tenant, what is done, and the moment go in. A milestone's window reaches from
its age to that of the next one, and that of the last has no end; so at most one is due.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from watchkeeper.core.time import HOUR, MINUTE, SECOND, Instant

FIRST_BACKOFF_US = 30 * MINUTE
BACKOFF_US = 120 * MINUTE
ERROR_LENGTH_MAX = 1000


@dataclass(frozen=True, slots=True, order=True)
class Milestone:
    """A report that comes by itself, once a tenant is so old."""

    after_us: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRules:
    """What policy says of reports. Milestones stand youngest first."""

    milestones: tuple[Milestone, ...] = ()
    tick_us: int = 300 * SECOND
    forecast_min_us: int = 6 * HOUR
    kept_days: int = 365


@dataclass(frozen=True, slots=True)
class MilestoneState:
    """How it went with one milestone of one tenant so far."""

    milestone: str
    last_run_at: Instant | None = None
    attempts: int = 0
    failures: int = 0  # in all, and so in a row: a success is the last attempt there is
    last_error: str | None = None
    last_error_at: Instant | None = None
    backoff_until_at: Instant | None = None

    def is_backing_off(self, now: Instant) -> bool:
        return self.backoff_until_at is not None and now < self.backoff_until_at


class Outcome(StrEnum):
    """What a milestone's marker says. Either is final."""

    GENERATED = "GENERATED"
    MISSED = "MISSED"


@dataclass(frozen=True, slots=True)
class NotInstalled:
    """No installation time: nothing is ever due, and that is no error."""


@dataclass(frozen=True, slots=True)
class NothingDue:
    pass


@dataclass(frozen=True, slots=True)
class BackingOff:
    milestone: Milestone
    until_at: Instant


@dataclass(frozen=True, slots=True)
class Due:
    milestone: Milestone


Verdict: TypeAlias = NotInstalled | NothingDue | BackingOff | Due


def windows(milestones: Iterable[Milestone]) -> Iterator[tuple[Milestone, int | None]]:
    """Each milestone, youngest first, with the age at which its window is over."""
    ordered = sorted(milestones)
    ends = [one.after_us for one in ordered[1:]]
    yield from zip(ordered, [*ends, None], strict=True) if ordered else ()


def due(milestones: Iterable[Milestone], age_us: int, done: Container[str]) -> Milestone | None:
    """The one whose window the age lies in, unless it is done."""
    for milestone, end_us in windows(milestones):
        if milestone.after_us <= age_us and (end_us is None or age_us < end_us):
            return None if milestone.name in done else milestone
    return None


def missed(
    milestones: Iterable[Milestone], age_us: int, done: Container[str]
) -> tuple[Milestone, ...]:
    """Those whose window is over though nothing came of it: recorded so, and not made up for."""
    return tuple(
        milestone
        for milestone, end_us in windows(milestones)
        if end_us is not None and age_us >= end_us and milestone.name not in done
    )


def judge(
    rules: ReportRules,
    installed_at: Instant | None,
    done: Container[str],
    states: Mapping[str, MilestoneState],
    now: Instant,
) -> Verdict:
    """What a tick has to do for a tenant."""
    if installed_at is None:
        return NotInstalled()
    milestone = due(rules.milestones, now - installed_at, done)
    if milestone is None:
        return NothingDue()
    state = states.get(milestone.name)
    if state is not None and state.is_backing_off(now):
        assert state.backoff_until_at is not None
        return BackingOff(milestone, state.backoff_until_at)
    return Due(milestone)


def next_tick(
    rules: ReportRules,
    installed_at: Instant | None,
    done: Container[str],
    states: Mapping[str, MilestoneState],
) -> Instant | None:
    """When a tick has something to do next; None: never, as things are.

    Never an immediate retry: what has failed is looked at when its backoff is over.
    """
    if installed_at is None:
        return None
    moments = []
    for milestone, _ in windows(rules.milestones):
        if milestone.name in done:
            continue
        state = states.get(milestone.name)
        begins_at = installed_at + milestone.after_us
        until = state.backoff_until_at if state is not None else None
        moments.append(begins_at if until is None else max(begins_at, until))
    return Instant(min(moments)) if moments else None


def attempted(state: MilestoneState, now: Instant) -> MilestoneState:
    """An attempt was made, and came to a report."""
    return replace(state, last_run_at=now, attempts=state.attempts + 1, backoff_until_at=None)


def failed(state: MilestoneState, now: Instant, error: str) -> MilestoneState:
    """An attempt was made, and failed. A clock that stepped back shortens no backoff."""
    failures = state.failures + 1
    until = now + backoff_us(failures)
    return replace(
        state,
        last_run_at=now,
        attempts=state.attempts + 1,
        failures=failures,
        last_error=error[:ERROR_LENGTH_MAX],
        last_error_at=now,
        backoff_until_at=Instant(max(until, state.backoff_until_at or 0)),
    )


def backoff_us(failures: int) -> int:
    """How long to leave it alone after so many failures: half an hour, then two hours each."""
    assert failures >= 1
    return FIRST_BACKOFF_US if failures == 1 else BACKOFF_US
