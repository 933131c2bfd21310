"""What an account and its tenant remember of the runs they were allowed.

These are the only values of the core that change: a fold over many events would
spend most of its time copying otherwise. They are owned by whoever folds (a
transaction that holds the tenant's lock, or a replay) and change only in `evolve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from watchkeeper.core.ids import DecisionId
from watchkeeper.core.time import HOUR, Instant

OVERDUE_US = HOUR
"""A retry this late no longer holds its account's slot nor coalesces fresh events."""


class Pending(NamedTuple):
    """The one retry of a deferral that is still to come."""

    due_at: Instant
    decision_id: DecisionId

    def holds(self, now: Instant) -> bool:
        return now < self.due_at + OVERDUE_US


class TriggerState:
    """What an account remembers of one trigger type."""

    __slots__ = ("hour", "last_deferred_at", "last_trigger_at", "run_count")

    def __init__(
        self,
        last_trigger_at: Instant | None = None,
        last_deferred_at: Instant | None = None,
        hour: int = 0,
        run_count: int = 0,
    ) -> None:
        self.last_trigger_at = last_trigger_at
        self.last_deferred_at = last_deferred_at
        self.hour = hour
        self.run_count = run_count

    def copy(self) -> TriggerState:
        return TriggerState(self.last_trigger_at, self.last_deferred_at, self.hour, self.run_count)

    def runs_in(self, hour: int) -> int:
        return self.run_count if self.hour == hour else 0


class RunState:
    """What an account remembers: of all its runs, and of each trigger type."""

    __slots__ = ("last_allowed_at", "last_allowed_seq", "last_run_was_retry", "pending", "triggers")

    def __init__(
        self,
        last_allowed_at: Instant | None = None,
        last_allowed_seq: int = 0,
        last_run_was_retry: bool = False,
        triggers: dict[str, TriggerState] | None = None,
        pending: dict[str, Pending] | None = None,
    ) -> None:
        self.last_allowed_at = last_allowed_at
        self.last_allowed_seq = last_allowed_seq
        self.last_run_was_retry = last_run_was_retry
        self.triggers = {} if triggers is None else triggers
        self.pending = {} if pending is None else pending

    def copy(self) -> RunState:
        """The same memory, to be folded on without changing this one."""
        return RunState(
            self.last_allowed_at,
            self.last_allowed_seq,
            self.last_run_was_retry,
            {name: one.copy() for name, one in self.triggers.items()},
            dict(self.pending),
        )

    def slots(self, now: Instant, *, but: str) -> Iterator[Instant]:
        """The moments that deferrals of other trigger types have reserved and still hold."""
        for trigger_type, pending in self.pending.items():
            if trigger_type != but and pending.holds(now):
                yield pending.due_at

    def end_pending(self, trigger_type: str, decision_id: DecisionId) -> bool:
        """Forget the retry of this deferral, if it is still the one that is awaited."""
        pending = self.pending.get(trigger_type)
        if pending is None or pending.decision_id != decision_id:
            return False
        del self.pending[trigger_type]
        return True


class TenantRuns:
    """What a tenant remembers: ALLOWs of this UTC hour by trigger type, and of this UTC day."""

    __slots__ = ("day", "day_runs", "hour", "hour_runs")

    def __init__(
        self,
        hour: int = 0,
        hour_runs: dict[str, int] | None = None,
        day: int = 0,
        day_runs: int = 0,
    ) -> None:
        self.hour = hour
        self.hour_runs = {} if hour_runs is None else hour_runs
        self.day = day
        self.day_runs = day_runs

    def copy(self) -> TenantRuns:
        return TenantRuns(self.hour, dict(self.hour_runs), self.day, self.day_runs)

    def runs_in_hour(self, hour: int, trigger_type: str) -> int:
        return self.hour_runs.get(trigger_type, 0) if self.hour == hour else 0

    def runs_in_day(self, day: int) -> int:
        return self.day_runs if self.day == day else 0

    def count(self, hour: int, day: int, trigger_type: str) -> None:
        if self.hour != hour:
            self.hour, self.hour_runs = hour, {}
        self.hour_runs[trigger_type] = self.hour_runs.get(trigger_type, 0) + 1
        if self.day != day:
            self.day, self.day_runs = day, 0
        self.day_runs += 1


def encode_triggers(state: RunState) -> dict[str, list[int | None]]:
    return {
        name: [t.last_trigger_at, t.last_deferred_at, t.hour, t.run_count]
        for name, t in state.triggers.items()
    }


def decode_triggers(raw: Mapping[str, list[Any]]) -> dict[str, TriggerState]:
    return {name: TriggerState(*values) for name, values in raw.items()}


def encode_pending(state: RunState) -> dict[str, list[int | str]]:
    return {name: [p.due_at, p.decision_id] for name, p in state.pending.items()}


def decode_pending(raw: Mapping[str, list[int | str]]) -> dict[str, Pending]:
    return {
        name: Pending(Instant(int(due_at)), DecisionId(str(decision_id)))
        for name, (due_at, decision_id) in raw.items()
    }
