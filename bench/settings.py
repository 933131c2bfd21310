"""How long a run of the benchmarks is, and what it says meanwhile."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    rounds: int = 5
    seconds: float = 0.8  # per variant, batch size and round
    seed: int = 1
    messages: int = 40_000  # per drain
    delivered: int = 5_000_000  # before a drain beside a history
    delivered_deep: int = 10_000_000  # before a claim, and
    backlog: int = 1_000_000  # due beside it
    passed: int = 1_000_000  # messages after which the outbox is measured
    samples: int = 500  # of latency
    accounts: int = 1_000_000  # of a sweep
    entries: int = 10_000_000  # of the ledger of a report
    replayed: int = 1_000_000  # events of a plan
    replayed_many: int = 10_000_000  # of a long one; a multiple of 400,000

    def tell(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


QUICK = Settings(
    rounds=2,
    seconds=0.3,
    messages=20_000,
    delivered=200_000,
    delivered_deep=400_000,
    backlog=100_000,
    passed=500_000,
    samples=150,
    accounts=200_000,
    entries=1_000_000,
    replayed=100_000,
    replayed_many=1_200_000,
)
