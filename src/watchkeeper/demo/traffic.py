"""What comes in: quiet hours, waves, storms on single accounts, and webhooks sent twice.

A day lasts 48 seconds. The same seed gives the same traffic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from watchkeeper.actions.ingest_signals import NewSignal
from watchkeeper.core.ids import SignalId
from watchkeeper.demo.cast import Member, account_name

DAY_SECONDS = 48.0
STORM_EVERY_SECONDS = 7.0
STORM_SECONDS = (4.0, 11.0)
STORM_SIGNALS_PER_SECOND = (10.0, 30.0)
REPEATED = 0.12
"""The part of webhooks whose sender did not wait for the answer and sent them again."""

SIGNALS_PER_TICK_MAX = 400
KINDS = (
    "email.received",
    "crm.deal_updated",
    "support.ticket_opened",
    "payment.failed",
    "usage.dropped",
    "calendar.changed",
)


@dataclass(slots=True)
class Storm:
    """One account that cannot stop: a loop in somebody's integration, say."""

    account: int
    kind: str
    until: float
    signals_per_second: float


@dataclass(slots=True)
class Traffic:
    """The signals of one tenant."""

    member: Member
    random: Random
    storms: list[Storm] = field(default_factory=list)
    repeats: list[NewSignal] = field(default_factory=list)
    sent: int = 0

    def tick(self, at: float, seconds: float, pace: float = 1.0) -> list[NewSignal]:
        """What arrives in the `seconds` before `at`, both counted from the start.

        At a slower pace there are fewer signals and fewer storms; a storm is a storm.
        """
        self.storms = [storm for storm in self.storms if storm.until > at]
        if not self.sent or self.random.random() < pace * seconds / STORM_EVERY_SECONDS:
            self.storms.append(self._storm(at))
        again, self.repeats = self.repeats, []
        fresh = list(self._fresh(at, seconds, pace))[:SIGNALS_PER_TICK_MAX]
        self.repeats = [signal for signal in fresh if self.random.random() < REPEATED]
        return again + fresh

    def _fresh(self, at: float, seconds: float, pace: float) -> Iterator[NewSignal]:
        calm = self.member.signals_per_second * wave(at) * seconds * pace
        for _ in range(self._count(calm)):
            account = int(self.member.accounts * self.random.random() ** 2.5)
            yield self._signal(account, self.random.choice(KINDS))
        for storm in self.storms:
            for _ in range(self._count(storm.signals_per_second * seconds)):
                yield self._signal(storm.account, storm.kind)

    def _storm(self, at: float) -> Storm:
        return Storm(
            account=self.random.randrange(self.member.accounts),
            kind=self.random.choice(KINDS),
            until=at + self.random.uniform(*STORM_SECONDS),
            signals_per_second=self.random.uniform(*STORM_SIGNALS_PER_SECOND),
        )

    def _signal(self, account: int, kind: str) -> NewSignal:
        self.sent += 1
        unique = f"{self.random.getrandbits(64):016x}"
        return NewSignal(
            account_id=account_name(account),
            type=kind,
            signal_id=SignalId(f"demo-{unique}"),
            correlation_id=f"hook-{unique[:8]}",
            data=f'{{"number":{self.sent}}}',
        )

    def _count(self, expected: float) -> int:
        """A whole number whose mean is `expected`."""
        whole = math.floor(expected)
        return whole + (self.random.random() < expected - whole)


def wave(at: float) -> float:
    """Business hours: nearly nothing at night, twice the mean at noon. It begins at nine."""
    return 0.15 + 1.7 * math.sin(math.pi * (at / DAY_SECONDS + 9 / 24)) ** 2
