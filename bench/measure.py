"""Measuring side by side: variants take short turns in random order, and only ratios count.

A machine is never equally fast for a minute. So the variants of one cell alternate every fraction
of a second, a ratio is formed within each round, and what is reported is the median of the rounds
with the smallest and the largest beside it.
"""

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.events import Event, Feed


@dataclass(frozen=True)
class Variant:
    """What is measured, and how its input is made from events, which is not."""

    step: Callable[[Any], object]
    prepare: Callable[[list[Event]], Any] = lambda events: events


WARM_UP_BATCHES = 8
SLICES = 6
EVENTS_MADE_AHEAD = 1_500


@dataclass(frozen=True)
class Ratio:
    """How one variant did against another, per round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    def __str__(self) -> str:
        return f"{self.median:.2f} [{min(self.rounds):.2f}..{max(self.rounds):.2f}]"


class Turn:
    """One variant at one batch size: how many events it has done, in how much time."""

    def __init__(self, variant: Variant, size: int, seed: int) -> None:
        self.variant = variant
        self.size = size
        self.feed = Feed(seed)
        self.events = 0
        self.elapsed = 0.0

    def warm_up(self) -> None:
        for _ in range(WARM_UP_BATCHES):
            self.variant.step(self._batch())

    def run(self, seconds: float) -> None:
        """At least one batch; events are made outside the clock."""
        until = self.elapsed + seconds
        while self.elapsed < until:
            ahead = max(1, EVENTS_MADE_AHEAD // self.size)
            for batch in [self._batch() for _ in range(ahead)]:
                started = time.perf_counter()
                self.variant.step(batch)
                self.elapsed += time.perf_counter() - started
                self.events += self.size
                if self.elapsed >= until:
                    break

    def _batch(self) -> Any:
        return self.variant.prepare(self.feed.batch(self.size))

    @property
    def rate(self) -> float:
        return self.events / self.elapsed


def alternate(
    variants: Mapping[str, Variant], size: int, seconds: float, dice: random.Random
) -> dict[str, float]:
    """Events per second of each variant, measured in alternating slices."""
    turns = {name: Turn(one, size, dice.getrandbits(60)) for name, one in variants.items()}
    for turn in turns.values():
        turn.warm_up()
    # What is alive by now (libraries, mostly) is never garbage: searched again and again, it would
    # be charged to whichever variant happens to allocate next.
    gc.collect()
    gc.freeze()
    for _ in range(SLICES):
        names = list(turns)
        dice.shuffle(names)
        for name in names:
            turns[name].run(seconds / SLICES)
    return {name: turn.rate for name, turn in turns.items()}


def ratio(rounds: Sequence[Mapping[str, float]], of: str, to: str) -> Ratio:
    return Ratio(tuple(rates[of] / rates[to] for rates in rounds))


def median_of(rounds: Sequence[Mapping[str, float]], name: str) -> float:
    return statistics.median(rates[name] for rates in rounds)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def met(is_met: bool) -> str:
    return "yes" if is_met else "NO"
