"""Turns as numbers: what was reserved, refused and charged, for whoever draws the curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from watchkeeper import telemetry
from watchkeeper.moves.settlement import Finalized, NotReserved, ReserveAnswer, Reserved

TurnAnswer: TypeAlias = ReserveAnswer | Finalized | None


def count_turns(answers: Sequence[TurnAnswer]) -> None:
    """Count what a transaction did. A repeat and the loser of a race did nothing."""
    for answer in answers:
        match answer:
            case Reserved(turn=turn, is_new=True):
                telemetry.CREDITS.labels("reserved").inc(turn.reserved_micro)
            case NotReserved():
                telemetry.QUOTA_REFUSALS.inc()
            case Finalized(won=True, turn=turn):
                telemetry.TURNS.labels(turn.state, turn.settlement_method or "").inc()
                telemetry.CREDITS.labels("charged").inc(turn.charged_micro or 0)
            case _:
                pass
