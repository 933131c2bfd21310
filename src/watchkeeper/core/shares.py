"""Shares: how many of the places one party may hold, so that others find room."""

from __future__ import annotations

from enum import StrEnum


class NoPlace(StrEnum):
    """Why a party gets no place now."""

    FULL = "full"
    SHARE = "share"


class Places:
    """A bounded number of places. A party holds at most as many as stay free.

    A party that floods gets half of them, two get a third each: a newcomer finds a place in any
    case, and who is alone is not slowed down before half of the places are taken.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self._held: dict[str, int] = {}

    def take(self, party: str) -> NoPlace | None:
        """Take one place, or say why there is none."""
        free = self.total - self.taken
        if free <= 0:
            return NoPlace.FULL
        held = self.held(party)
        if held >= free:
            return NoPlace.SHARE
        self._held[party] = held + 1
        self.taken += 1
        return None

    def held(self, party: str) -> int:
        return self._held.get(party, 0)

    def leave(self, party: str) -> None:
        """Give one place of this party back."""
        held = self.held(party)
        assert held > 0, "a place that is given back was taken"
        self.taken -= 1
        if held == 1:
            del self._held[party]
        else:
            self._held[party] = held - 1
