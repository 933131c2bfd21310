"""A second quota, written from docs/settle.md alone. It shares no code with the product.

    quota = Quota(document)                          # the whole effective policy, as plain data
    taken = quota.reserve("t1", "standard", 100, 100, at=moment, user="kim")
    taken.model, taken.credits                       # None: no model of the cascade has room
    quota.settle("t1", usage=(40, 30))               # or started=True, or nothing of both
    quota.books[Bucket("", "monthly", "2030-01", "total")].spent

`at` is in microseconds since 1970. Periods are named by their UTC day or month.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLION = 1_000_000


class Bucket(NamedTuple):
    user: str  # empty: the tenant as a whole
    period: str
    start: str  # 2030-01-31 or 2030-01
    name: str  # total, or tier:premium


@dataclass
class Level:
    reserved: int = 0
    spent: int = 0


class Taken(NamedTuple):
    """A reserve: what it was taken from, and by which prices it will be settled."""

    model: str
    credits: int
    prices: tuple[int, int]
    estimate: int
    buckets: tuple[Bucket, ...]


class Charge(NamedTuple):
    method: str
    credits: int
    computed: int


def moment(at: int) -> datetime:
    return EPOCH + timedelta(microseconds=at)


def price(tokens: int, multiplier: int) -> int:
    """Rounded up."""
    whole, rest = divmod(tokens * multiplier, MILLION)
    return whole + (rest > 0)


class Quota:
    """The turns and the buckets of one tenant."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.models: Mapping[str, Any] = document["models"]
        self.rules: Mapping[str, Any] = document["quota"]
        self.books: defaultdict[Bucket, Level] = defaultdict(Level)
        self.running: dict[str, Taken] = {}
        self.switches: set[str] = set()

    # -- Reserve --------------------------------------------------------------------------------

    def reserve(
        self,
        turn: str,
        model: str,
        input_tokens: int,
        output_tokens: int,
        *,
        at: int,
        user: str | None = None,
        is_done: bool = False,
    ) -> Taken | None:
        """Of the cascade the first model that fits; work that is done already always does."""
        for name in self.cascade(model):
            own = self.models[name]
            prices = (own["input_multiplier_micro"], own["output_multiplier_micro"])
            needed = price(input_tokens, prices[0]) + price(output_tokens, prices[1])
            buckets = tuple(self.touched(own["tier"], user, at))
            if is_done or (self.may(own["tier"]) and all(self.fits(b, needed) for b in buckets)):
                taken = Taken(name, needed, prices, input_tokens, buckets)
                for bucket in buckets:
                    self.books[bucket].reserved += needed
                self.running[turn] = taken
                return taken
        return None

    def cascade(self, model: str) -> Iterator[str]:
        following = model
        while following != "none":
            yield following
            following = self.models[following].get("downgrade_to", "none")

    def touched(self, tier: str, user: str | None, at: int) -> Iterator[Bucket]:
        day = moment(at).date().isoformat()
        for owner in ["", *([user] if user else [])]:
            for period, start in (("daily", day), ("monthly", day[:7])):
                for name in ("total", f"tier:{tier}"):
                    yield Bucket(owner, period, start, name)

    def may(self, tier: str) -> bool:
        return not self.switches & {"all", "tenant", f"tier:{tier}"}

    def fits(self, bucket: Bucket, needed: int) -> bool:
        limits = self.rules["user" if bucket.user else "tenant"].get(bucket.period, {})
        if bucket.name == "total":
            limit = limits.get("total", "unlimited")
        else:
            limit = limits.get("tiers", {}).get(bucket.name.removeprefix("tier:"), "unlimited")
        level = self.books[bucket]
        return limit == "unlimited" or level.spent + level.reserved + needed <= limit

    # -- Settle ---------------------------------------------------------------------------------

    def settle(
        self, turn: str, *, usage: tuple[int, int] | None = None, started: bool = False
    ) -> Charge:
        """The reserve goes back to where it was taken from, and the charge goes there."""
        taken = self.running.pop(turn)
        charge = self.charge(taken, usage, started)
        for bucket in taken.buckets:
            self.books[bucket].reserved -= taken.credits
            self.books[bucket].spent += charge.credits
        return charge

    def charge(self, taken: Taken, usage: tuple[int, int] | None, started: bool) -> Charge:
        if usage is not None:
            cost = price(usage[0], taken.prices[0]) + price(usage[1], taken.prices[1])
            most = taken.credits * self.rules["tolerance_percent"] // 100
            return Charge("actual", min(cost, most), cost)
        if not started:
            return Charge("released", 0, 0)
        floor = self.rules["generation_floor_tokens"]
        cost = price(taken.estimate, taken.prices[0]) + price(floor, taken.prices[1])
        return Charge("estimated", min(cost, taken.credits), min(cost, taken.credits))
