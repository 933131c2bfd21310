"""What a replay tells, and to whom."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeAlias

from watchkeeper.core.replay_gate import Answer

Data: TypeAlias = dict[str, Any]


class Waiting(NamedTuple):
    """A retry that comes when it is due, of an account that has left its record."""

    due_at: int
    number: int  # those that are due together come in the order in which they were deferred
    account_id: str
    trigger_type: str
    deferral: str
    moved: bool = False
    saturation: float | None = None


class Observer(Protocol):
    """Who is told what became of the events of accounts that differ from their record.

    Of the others only the number is of interest: the replay counts them itself.
    """

    def compared(
        self, seq: int, decision_id: str, at: int, event: Data, was: Answer, now: Answer
    ) -> None:
        """An event was judged again, the first that differs or one after it."""

    def passed_over(self, decision_id: str, at: int, event: Data, was: Answer) -> None:
        """A recorded retry of an account that has left its record: its own comes instead."""

    def retried(self, waiting: Waiting, answer: Answer) -> None:
        """A retry of an account that has left its record was judged."""
