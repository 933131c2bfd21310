"""How long a run of the benchmarks is, and what it says meanwhile."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    rounds: int = 5
    seconds: float = 0.8  # per variant, batch size and round
    seed: int = 1
    messages: int = 20_000  # per drain
    samples: int = 500  # of latency

    def tell(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


QUICK = Settings(rounds=2, seconds=0.3, messages=10_000, samples=150)
