"""The events that every variant of an admission benchmark is given.

About one in a hundred repeats an idempotency key, one in a hundred names an account that does not
exist yet, the others fall on twenty thousand accounts. Eight in a hundred are deferred, and those
have accounts of their own: a retry that is awaited holds up whatever else its account is sent.
Logical time passes at one millisecond an event whatever the speed of a variant, so that all of them
meet the same mix of verdicts.
"""

import itertools
import random
import time
from dataclasses import dataclass

ACCOUNTS = 20_000
REPEATED = 0.01
NEW_ACCOUNTS = 0.01
HELD = 0.08
OLD_KEYS_KEPT_MAX = 500

PLAIN_TRIGGER = "BENCH_PLAIN"  # debounced, else allowed
HELD_TRIGGER = "BENCH_HELD"  # of these a tenant is allowed none per hour: each is deferred
DEBOUNCE_SECONDS = 1

MILLISECOND = 1_000  # instants are whole microseconds
DAY = 86_400_000 * MILLISECOND

# One clock for all feeds of a process: time never runs backwards for a database that they share.
_ticks = itertools.count(time.time_ns() // 1000 - DAY, MILLISECOND)


@dataclass(frozen=True, slots=True)
class Event:
    key: str
    account: str
    kind: str
    at: int
    body: dict[str, object]


def account_names() -> list[str]:
    """The accounts that exist before the first event."""
    return [f"{prefix}-{number:06d}" for prefix in ("acct", "held") for number in range(ACCOUNTS)]


class Feed:
    """An endless source of batches; equal seeds give equal events, times and prefix aside."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._prefix = f"{self._random.getrandbits(48):012x}"
        self._count = 0
        self._old_keys: list[str] = []

    def batch(self, size: int) -> list[Event]:
        return [self._event() for _ in range(size)]

    def _event(self) -> Event:
        roll = self._random.random
        self._count += 1
        is_held = roll() < HELD
        account = f"{'held' if is_held else 'acct'}-{self._random.randrange(ACCOUNTS):06d}"
        return Event(
            key=self._key(),
            account=f"new-{self._prefix}-{self._count}" if roll() < NEW_ACCOUNTS else account,
            kind=HELD_TRIGGER if is_held else PLAIN_TRIGGER,
            at=next(_ticks),
            body={
                "source": "crm",
                "subject": "the renewal window of this account has opened; context is attached",
                "score": round(roll(), 4),
                "attributes": {"region": "eu-west-1", "tier": "gold", "tags": ["a", "b", "c"]},
                "note": "x" * 60,
            },
        )

    def _key(self) -> str:
        if self._old_keys and self._random.random() < REPEATED:
            return self._random.choice(self._old_keys)
        key = f"{self._prefix}-{self._count:08d}-{self._random.getrandbits(32):08x}"
        if len(self._old_keys) < OLD_KEYS_KEPT_MAX:
            self._old_keys.append(key)
        return key
