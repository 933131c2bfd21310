"""Plans as this process left them when it began an action: what it knows it need not read again.

It is a hint. Under the tenant's lock the database is asked whether a plan is still as it was, and
one that is not is read. The same goes for what plans are judged by, for a moment: who takes it to
be as it was is refused by the database where it is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.moves.plan_case import Begun, Case
from watchkeeper.store.plan_ends import Guess, Known

KEPT_MAX = 10_000
"""What is under way here at once is far less; what was never ended makes room."""

GUESSED_SECONDS_MAX = 1.0
"""What was found so long ago is nothing to go by."""


class Recall:
    """Plans by the message of the action that is under way, and what its tenant's are judged by."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._cases: dict[MessageId, Case] = {}
        self._guesses: dict[TenantId, Guess] = {}

    def keep(self, begun: Iterable[Begun], row: str | None) -> None:
        """Remember plans as they were committed: those that were written are known by `row`."""
        for message, _, case in begun:
            if case.is_written:
                case.row, case.is_written = row, False
            case.intents = {id: one for id, one in case.intents.items() if not one.ended_at}
            if case.row is not None and len(case.intents) == 1:  # a late one ends without the plan
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

    def learn(self, tenant_id: TenantId, guess: Guess) -> None:
        """It was so, a moment ago."""
        if len(self._guesses) >= KEPT_MAX:
            self._guesses.clear()
        self._guesses[tenant_id] = guess

    def guess(self, tenant_id: TenantId) -> Guess | None:
        """What is so by now, once: whoever is refused for it has to look."""
        guess, at = self._guesses.pop(tenant_id, None), self.clock()
        if guess is None or at - guess.at > GUESSED_SECONDS_MAX:
            return None
        return guess._replace(now=Instant(guess.now + int((at - guess.at) * SECOND)), at=at)
