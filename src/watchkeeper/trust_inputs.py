"""What a plan or a simulation may be asked: how far back, what comes in, what that costs."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from watchkeeper.actions.apply_policy import read_policy
from watchkeeper.actions.arrivals import (
    EVENTS_MAX,
    TENANTS_MAX,
    Player,
    Shape,
    Traffic,
    recorded,
    synthetic,
)
from watchkeeper.actions.ingest_signals import SIGNAL_ARRIVED
from watchkeeper.actions.simulate import START, Demand, Scene
from watchkeeper.actions.views import view_policy
from watchkeeper.core.ids import TenantId
from watchkeeper.core.policy import Policy, rules_for
from watchkeeper.core.pulls import EVERY, Budget
from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND, Instant
from watchkeeper.errors import Invalid
from watchkeeper.input_types import TOPIC, Id, Moment, TenantName, Tokens, TriggerName
from watchkeeper.inputs import Input
from watchkeeper.store.database import Database

_SPAN = re.compile(r"([1-9]\d{0,5})([smhdw])", re.ASCII)
_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_CONNECTOR = re.compile(rf"({TOPIC[1:-1]})=(\d{{1,6}}),(\d{{1,6}})", re.ASCII)
SPAN_MAX_US = 3_660 * DAY
ACCOUNTS_MAX = 100_000
UNITS_MAX = 10**12


def parse_span(text: str, at: str) -> int:
    """A length of time such as 90s, 45m, 12h, 30d or 4w, in microseconds."""
    try:
        return _span(text)
    except ValueError as error:
        raise Invalid.at(at, str(error)) from None


def _span(value: object) -> int:
    found = _SPAN.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a number and s, m, h, d or w, such as 12h or 30d")
    span = int(found[1]) * _UNITS[found[2]]
    if span > SPAN_MAX_US:
        raise ValueError("must be at most ten years")
    return span


Span = Annotated[int, BeforeValidator(_span)]
PerDay = Annotated[float, Field(ge=0, le=EVENTS_MAX, allow_inf_nan=False)]


class SimulationIn(Input):
    """Everything has a default: a week, one tenant, fifty accounts, a dozen signals a day each."""

    length: Span = 7 * DAY
    start: Moment = START
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    step: Span = MINUTE
    starved_after: Span = 4 * HOUR

    tenants: Annotated[int, Field(ge=1, le=TENANTS_MAX)] = 1
    tenant: TenantName | None = None
    tier: Id | None = None
    accounts: Annotated[int, Field(ge=1, le=ACCOUNTS_MAX)] = 50
    per_account: PerDay | None = None
    per_tenant: PerDay | None = None
    shape: Literal["flat", "office", "double"] = "flat"
    bursts: PerDay = 0.0
    burst_events: Annotated[int, Field(ge=1, le=EVENTS_MAX)] = 50
    burst_length: Span = 10 * MINUTE
    trigger_type: TriggerName = SIGNAL_ARRIVED

    recorded: bool = False
    since: Span = 30 * DAY

    model: Id | None = None
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    connectors: Annotated[list[str], Field(default_factory=list, max_length=100)]
    pull_units: Annotated[int, Field(ge=0, le=UNITS_MAX)] | None = None
    pull_units_each: Annotated[int, Field(ge=0, le=UNITS_MAX)] | None = None


def scene_of(asked: SimulationIn, db: Database | None, document: str | None) -> Scene:
    """The scene that was asked for. `db` is whose policy rules without a document, and whose
    record is played; without it, what ships rules."""
    _consistent(asked, db)
    policy, policy_from = _policy(db, document)
    demand = Demand(
        model=asked.model,
        input_tokens=asked.input_tokens,
        output_tokens=asked.output_tokens,
        connectors=dict(map(_connector, asked.connectors)),
        pull_budget=_pull_budget(asked),
    )
    if asked.recorded:
        assert db is not None
        wanted = None if asked.tenant is None else [TenantId(asked.tenant)]
        found = recorded(db, wanted, asked.since)
        players, arrivals = found.players, found.arrivals
        since, until, seed = found.since, found.until, None
    else:
        players = _players(asked)
        _knows(policy, players, asked.trigger_type)
        since, seed = asked.start, asked.seed
        until = Instant(since + asked.length)
        arrivals = synthetic(_traffic(asked), players, since, until)
    return Scene(
        players=players,
        arrivals=arrivals,
        since=since,
        until=until,
        policy=policy,
        policy_from=policy_from,
        source="recorded" if asked.recorded else "synthetic",
        seed=seed,
        demand=demand,
        step_us=asked.step,
        starved_after_us=asked.starved_after,
    )


def _consistent(asked: SimulationIn, db: Database | None) -> None:
    if asked.recorded and db is None:
        raise Invalid.at("recorded", "needs a database to read from")
    if asked.per_account is not None and asked.per_tenant is not None:
        raise Invalid.at("per_tenant", "name the rate of an account or of a tenant, not both")
    if asked.tenant is not None and asked.tenants > 1:
        raise Invalid.at("tenant", "name one tenant, or say how many, not both")
    if asked.burst_length > DAY:
        raise Invalid.at("burst_length", "must be at most a day")


def _policy(db: Database | None, document: str | None) -> tuple[Policy, str]:
    if document is not None:
        return read_policy(document), "given"
    if db is None:
        return read_policy(""), "shipped"
    return view_policy(db, None), "in force"


def _players(asked: SimulationIn) -> tuple[Player, ...]:
    if asked.tenant is not None:
        return (Player(TenantId(asked.tenant), asked.tier),)
    return tuple(Player(TenantId(f"sim-{n + 1}"), asked.tier) for n in range(asked.tenants))


def _knows(policy: Policy, players: tuple[Player, ...], trigger_type: str) -> None:
    for player in players:
        if trigger_type not in rules_for(policy, player.tenant_id, player.tier).triggers:
            raise Invalid.at("trigger_type", f"policy has no trigger type {trigger_type}")


def _traffic(asked: SimulationIn) -> Traffic:
    return Traffic(
        accounts=asked.accounts,
        per_account=asked.per_account,
        per_tenant=asked.per_tenant,
        shape=Shape(asked.shape),
        bursts=asked.bursts,
        burst_events=asked.burst_events,
        burst_us=asked.burst_length,
        trigger_type=asked.trigger_type,
        seed=asked.seed,
    )


def _connector(text: str) -> tuple[str, tuple[int, int]]:
    found = _CONNECTOR.fullmatch(f"{text}=1,3" if "=" not in text else text)
    if found is None:
        words = "must be a name, or a name and the units of a shallow and a deep pull: crm=1,3"
        raise Invalid.at("connectors", words)
    return found[1], (int(found[2]), int(found[3]))


def _pull_budget(asked: SimulationIn) -> Budget | None:
    if asked.pull_units is None:
        return None
    each = {} if asked.pull_units_each is None else {EVERY: asked.pull_units_each}
    return Budget(asked.pull_units, each)
