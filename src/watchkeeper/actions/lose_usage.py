"""Somebody discarded a usage event: its turn remembers, since the outbox will not."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.moves.lose_messages import DISCARDED, Lost
from watchkeeper.store import turns
from watchkeeper.store.json import loads
from watchkeeper.store.transaction import Tx


def lose_usage(tx: Tx, lost: Sequence[Lost]) -> None:
    """A dead event stays where it is, to be redriven; only one that is gone is noted."""
    for one in lost:
        if one.reason == DISCARDED:
            turns.note_fate(tx, loads(one.payload)["turn_id"], one.id, "discarded")
