"""From a few stretches of a long list to how much there was in each bucket of time.

The list is in order of time and its places are counted, so how many entries lie between two
stretches is known, and from when to when. What a stretch is made of stands for all that lies
between it and the next, spread evenly over that time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from watchkeeper.core.time import Instant

Answer: TypeAlias = tuple[str, str]
"""A result and its reason."""


class Stretch(NamedTuple):
    """Entries beside each other: when they begin, and how many of each answer there are."""

    begins_at: Instant
    counts: Mapping[Answer, int]
    stands_for: float  # how many times as many lie between it and the next stretch


def by_bucket(
    stretches: Sequence[Stretch], *, since: Instant, until: Instant, bucket_us: int
) -> Counter[tuple[int, Answer]]:
    """About how many of each answer there were in each bucket, numbered from 1970."""
    found: dict[tuple[int, Answer], float] = {}
    for number, one in enumerate(stretches):
        following = stretches[number + 1].begins_at if number + 1 < len(stretches) else until
        start, end = max(one.begins_at, since), max(following, since)
        for bucket, share in _shares(start, end, bucket_us):
            for key, count in one.counts.items():
                place = (bucket, key)
                found[place] = found.get(place, 0.0) + count * one.stands_for * share
    return Counter({place: round(count) for place, count in found.items()})


def _shares(start: Instant, end: Instant, bucket_us: int) -> list[tuple[int, float]]:
    """The buckets that a time falls into, and what part of it falls into each."""
    first, last = start // bucket_us, max(start, end - 1) // bucket_us
    if first == last:
        return [(first, 1.0)]
    length = end - start
    shares = []
    for bucket in range(first, last + 1):
        within = min(end, (bucket + 1) * bucket_us) - max(start, bucket * bucket_us)
        shares.append((bucket, within / length))
    return shares
