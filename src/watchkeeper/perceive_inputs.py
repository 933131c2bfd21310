"""What comes in from outside about looking: pulls, their budgets, the limits of connectors."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, WithJsonSchema

from watchkeeper.actions.set_connector import ConnectorChange
from watchkeeper.core.pulls import EVERY, Budget
from watchkeeper.errors import Invalid, Problem
from watchkeeper.input_types import TOPIC, AccountName, ConnectorName, Correlation, Depth, Id
from watchkeeper.inputs import Input, OfTenant, parse_value

UNITS_MAX = 10**12
LIMIT_MAX = 1_000_000
CAPS_MAX = 1000
MILLI = 1000

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_CAP = re.compile(TOPIC)
_FIRST = date(1970, 1, 1)

Units = Annotated[int, Field(ge=0, le=UNITS_MAX)]
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX)]
Rate = Annotated[float, Field(ge=1 / MILLI, le=LIMIT_MAX, allow_inf_nan=False)]


def _day(value: object) -> object:
    """The number of a UTC day since 1970."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = value.isoformat()
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise ValueError("must be a date, such as 2030-01-31")
    try:
        day = (date.fromisoformat(value) - _FIRST).days
    except ValueError:
        raise ValueError("is not a day of the calendar") from None
    if day < 0:
        raise ValueError("lies before 1970")
    return day


def _caps(value: object) -> object:
    """One number is a cap for each connector."""
    return {EVERY: value} if isinstance(value, int) and not isinstance(value, bool) else value


def _names(caps: dict[str, int]) -> dict[str, int]:
    for name in caps:
        if name != EVERY and not _CAP.fullmatch(name):
            raise ValueError(f"must have connectors as keys, or {EVERY!r} for all others")
    return caps


Day = Annotated[int, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
Caps = Annotated[
    dict[str, Units],
    Field(max_length=CAPS_MAX),
    BeforeValidator(_caps),
    AfterValidator(_names),
    WithJsonSchema(
        {
            "description": "A cap for each connector: one number, or by connector;"
            f" {EVERY!r} is each that is not named.",
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": UNITS_MAX},
                {
                    "type": "object",
                    "additionalProperties": {
                        "type": "integer",
                        "minimum": 0,
                        "maximum": UNITS_MAX,
                    },
                },
            ],
        }
    ),
]


class PullIn(OfTenant):
    """A request for one pull; without your id, a repeat within the hour is a duplicate."""

    account_id: AccountName
    connector_id: ConnectorName
    depth: Depth
    pull_job_id: Id | None = None
    correlation_id: Correlation | None = None


class PullBudgetIn(OfTenant):
    max_pull_units_per_day: Units
    max_per_connector_per_day: Caps | None = None

    def budget(self) -> Budget:
        return Budget(self.max_pull_units_per_day, self.max_per_connector_per_day or {})


class DepthUnitsIn(Input):
    """Units of a pull by depth; an absent depth stays as it is."""

    SHALLOW: Limit | None = None
    DEEP: Limit | None = None


class ConnectorIn(OfTenant):
    """Limits of a connector: an absent limit stays as it is, null removes it.

    With a tenant, they are the tenant's own rate, beside the shared one.
    """

    rate_per_second: Rate | None = None
    burst: Limit | None = None
    max_concurrency: Limit | None = None
    depth_units: DepthUnitsIn | None = None

    def change(self) -> ConnectorChange:
        units = self.depth_units or DepthUnitsIn()
        shared = {"rate_per_second": "milli_per_second", "max_concurrency": "max_concurrency"}
        lifted = [
            theirs
            for ours, theirs in shared.items()
            if ours in self.model_fields_set and getattr(self, ours) is None
        ]
        return ConnectorChange(
            milli_per_second=milli_of(self.rate_per_second),
            burst=self.burst,
            max_concurrency=self.max_concurrency,
            shallow_units=units.SHALLOW,
            deep_units=units.DEEP,
            lifted=frozenset(lifted),
        )

    def own_rate(self) -> OwnRate:
        """What it says of one tenant, who has a rate of its own and nothing else."""
        problems = [
            Problem(name, "must be absent with tenant_id: all tenants share it")
            for name in ("max_concurrency", "depth_units")
            if name in self.model_fields_set
        ]
        if "rate_per_second" not in self.model_fields_set:
            problems.append(Problem("rate_per_second", "is required with tenant_id; null lifts it"))
        if problems:
            raise Invalid(str(problems[0]), problems)
        return OwnRate(milli_of(self.rate_per_second), self.burst or 1)


class OwnRate(NamedTuple):
    """A tenant's own rate at a connector; None: none."""

    milli_per_second: int | None
    burst: int


_CONNECTOR: TypeAdapter[str] = TypeAdapter(ConnectorName)
_DAYS: TypeAdapter[int] = TypeAdapter(Day)


def parse_connector_id(raw: object) -> str:
    return parse_value(_CONNECTOR, raw, "connector_id")


def parse_day(raw: object, at: str = "date") -> int:
    return parse_value(_DAYS, raw, at)


def milli_of(rate_per_second: float | None) -> int | None:
    return None if rate_per_second is None else max(1, round(rate_per_second * MILLI))
