"""Plans as this process left them when it began an action: what it knows it need not read again.

It is a hint. Under the tenant's lock the database is asked whether a plan is still as it was, and
one that is not is read.
"""

from __future__ import annotations

from collections.abc import Iterable

from watchkeeper.core.ids import MessageId
from watchkeeper.moves.plan_desk import Begun, Case
from watchkeeper.store.plan_ends import Known

KEPT_MAX = 10_000
"""What is under way here at once is far less; what was never ended makes room."""


class Recall:
    """By the message of the action that is under way."""

    def __init__(self) -> None:
        self._cases: dict[MessageId, Case] = {}

    def keep(self, begun: Iterable[Begun]) -> None:
        """Remember plans as they were committed."""
        for message, _, case in begun:
            if case.row is not None:
                case.intents = {id: one for id, one in case.intents.items() if not one.ended_at}
                self._cases[message.id] = case
        while len(self._cases) > KEPT_MAX:
            self._cases.pop(next(iter(self._cases)), None)

    def take(self, message_ids: Iterable[MessageId]) -> dict[Known, Case]:
        """What is remembered for these, once: whoever takes it may fail halfway."""
        found = {}
        for id in message_ids:
            case = self._cases.pop(id, None)
            intent = None if case is None else case.under_way
            if case is not None and case.row is not None and intent is not None:
                found[Known(case.plan.plan_id, case.row, intent.intent_id, id)] = case
        return found
