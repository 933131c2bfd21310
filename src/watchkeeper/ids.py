"""New identifiers: UUID version 7, so that keys made later sort later.

The random part comes from a generator that is seeded by the operating system
once per process (and again after a fork): reading the system's randomness for
every identifier was a measurable part of a batch.

All chance in this package is drawn here, so that one seed can stand for it.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from random import Random
from uuid import UUID

_random = Random(secrets.randbits(256))
_bits = _random.getrandbits
_secret_bits: Callable[[int], int] = secrets.randbits
_nanoseconds: Callable[[], int] = time.time_ns


def _reseed() -> None:
    _random.seed(secrets.randbits(256))


os.register_at_fork(after_in_child=_reseed)


def follow(seed: int, nanoseconds: Callable[[], int]) -> None:
    """From here on, until `follow_nobody`, what is drawn follows from the seed.

    For simulations, which must be able to play a run again: what was a secret is none then.
    """
    global _secret_bits, _nanoseconds
    _random.seed(seed)
    _secret_bits, _nanoseconds = Random(seed).getrandbits, nanoseconds


def follow_nobody() -> None:
    global _secret_bits, _nanoseconds
    _reseed()
    _secret_bits, _nanoseconds = secrets.randbits, time.time_ns


def draw() -> float:
    """A number from 0 up to 1: for what is spread at random."""
    return _random.random()


def new_token() -> str:
    """What ends a lease, as a UUID: nobody can guess it."""
    return str(UUID(int=_secret_bits(128), version=4))


def new_id() -> str:
    """A fresh UUIDv7 as text. Unique; not a secret."""
    ms, noise = _nanoseconds() // 1_000_000, _bits(74)
    a, b, c = noise >> 62, noise >> 48 & 0x3FFF | 0x8000, noise & 0xFFFFFFFFFFFF
    return f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7{a:03x}-{b:04x}-{c:012x}"


def turned(id: str) -> str:
    """The id beside this one, always the same: for what follows from it exactly once.

    It keeps the time of the other, and differs in the last bit.
    """
    return f"{id[:-1]}{int(id[-1], 16) ^ 1:x}"


def is_uuid(text: str) -> bool:
    """Whether PostgreSQL would take it for an identifier, written the way we write it."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
