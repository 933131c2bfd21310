"""Turns reserved, moved on and ended in any order, against plain books kept in Python."""

import contextlib
import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tests.books import Meter, balanced
from tests.databases import START, Databases, EngineName, Place
from watchkeeper.core.time import SECOND, to_datetime
from watchkeeper.errors import Conflict, QuotaExceeded

TENANTS = ("a", "b")


@dataclass(frozen=True)
class Rules:
    """A policy as the model understands it."""

    premium: int | None = None
    total: int = 3000
    monthly: int = 9000
    user: int = 1500
    prices: tuple[int, int] = (1, 3)  # of standard; premium is five times as dear
    tolerance: int = 110
    floor: int = 50
    silence: int = 300

    def text(self) -> str:
        premium = '"unlimited"' if self.premium is None else self.premium
        a, b = self.prices
        return (
            f"[models.standard]\ninput_multiplier_micro = {a}000000\n"
            f"output_multiplier_micro = {b}000000\n"
            f"[models.premium]\ninput_multiplier_micro = {5 * a}000000\n"
            f"output_multiplier_micro = {5 * b}000000\n"
            f"[quota]\ntolerance_percent = {self.tolerance}\nwatchdog_seconds = {self.silence}\n"
            f"generation_floor_tokens = {self.floor}\n"
            f"[quota.tenant]\ndaily.total = {self.total}\nmonthly.total = {self.monthly}\n"
            f"daily.tiers.premium = {premium}\n[quota.user.daily]\ntotal = {self.user}\n"
        )

    def cost(self, model: str, tokens: tuple[int, int]) -> int:
        dear = 5 if model == "premium" else 1
        return dear * (tokens[0] * self.prices[0] + tokens[1] * self.prices[1])


POLICIES = [
    Rules(),
    Rules(premium=2000, total=2500, tolerance=200),
    Rules(premium=0, user=400, floor=0),
    Rules(total=100, monthly=150, silence=60),
    Rules(prices=(2, 2), tolerance=100, silence=3600),
]


@dataclass
class Model:
    """What is known of one turn without looking at the database."""

    tenant: str
    turn_id: str
    user: str | None
    model: str
    rules: Rules
    tokens: tuple[int, int]
    day: str
    reserved: int
    deadline: float
    started: bool = False
    state: str = "running"
    charged: int = 0

    def settle(self, started: bool, usage: tuple[int, int] | None) -> tuple[str, int]:
        if usage is not None:
            cap = self.reserved * self.rules.tolerance // 100
            return "actual", min(self.rules.cost(self.model, usage), cap)
        if started or self.started:
            guess = self.rules.cost(self.model, (self.tokens[0], self.rules.floor))
            return "estimated", min(self.reserved, guess)
        return "released", 0

    def buckets(self) -> list[tuple]:
        return [
            (self.tenant, owner, start, bucket)
            for owner in {"", self.user or ""}
            for start in (self.day, self.day[:7])
            for bucket in ("total", f"tier:{self.model}")
        ]


@dataclass
class World:
    now: float = 0.0
    rules: Rules = field(default_factory=Rules)
    turns: list[Model] = field(default_factory=list)

    @property
    def day(self) -> str:
        return to_datetime(int((START.timestamp() + self.now) * SECOND)).date().isoformat()

    def used(self) -> dict[tuple, list[int]]:
        books: dict[tuple, list[int]] = defaultdict(lambda: [0, 0])
        for turn in self.turns:
            for key in turn.buckets():
                books[key][0] += turn.reserved if turn.state == "running" else 0
                books[key][1] += turn.charged
        return books

    def fits(self, tenant: str, user: str | None, model: str, needed: int) -> bool:
        used, day, rules = self.used(), self.day, self.rules
        limits = {
            (tenant, "", day, "total"): rules.total,
            (tenant, "", day[:7], "total"): rules.monthly,
        }
        if model == "premium" and rules.premium is not None:
            limits[tenant, "", day, "tier:premium"] = rules.premium
        if user is not None:
            limits[tenant, user, day, "total"] = rules.user
        return all(sum(used[key]) + needed <= limit for key, limit in limits.items())


class Look:
    """The same database over one connection that stays open: there are many looks."""

    def __init__(self, place: Place) -> None:
        self.engine = place.engine
        if place.engine == "sqlite":
            self.raw: Any = sqlite3.connect(place.name, timeout=30, isolation_level=None)
        else:
            self.raw = psycopg.connect(place.admin_url, autocommit=True)

    def execute(self, statement: str) -> list[tuple]:
        cursor = self.raw.execute(statement)
        return cursor.fetchall() if cursor.description else []


class TurnsMachine(RuleBasedStateMachine):
    """Two processes, each with what it remembers of the policy, on one database."""

    databases: Databases
    engine: EngineName

    def __init__(self) -> None:
        super().__init__()
        self._opened = contextlib.ExitStack()
        place = self._opened.enter_context(self.databases.fresh(self.engine))
        self.look = Look(place)
        self._opened.callback(self.look.raw.close)
        self.processes = []
        for _ in range(2):
            db = place.open(pool_size=2)
            self._opened.callback(db.close)
            self.processes.append(db)
        self.world = World()
        Meter(self.processes[0]).policy(Rules().text())

    def teardown(self) -> None:
        self._opened.close()

    turns = Bundle("turns")
    either = st.sampled_from([0, 1])

    def meter(self, process: int, tenant: str) -> Meter:
        return Meter(self.processes[process], tenant)

    @rule(
        target=turns,
        process=either,
        tenant=st.sampled_from(TENANTS),
        user=st.sampled_from([None, "u", "v"]),
        model=st.sampled_from(["standard", "premium"]),
        tokens=st.tuples(st.integers(0, 60), st.integers(0, 60)),
    )
    def reserve(self, process: int, tenant: str, user: str | None, model: str, tokens) -> Any:
        world, rules = self.world, self.world.rules
        wanted = ["premium", "standard"] if model == "premium" else ["standard"]
        fitting = [
            (name, rules.cost(name, tokens))
            for name in wanted
            if world.fits(tenant, user, name, rules.cost(name, tokens))
        ]
        turn_id = f"t{len(world.turns)}"
        meter = self.meter(process, tenant)
        try:
            turn = meter.reserve(turn_id, None, model, tokens, user_id=user).turn
        except QuotaExceeded:
            assert not fitting
            return multiple()
        assert (turn.effective_model, turn.reserved_micro) == fitting[0]
        known = Model(
            tenant,
            turn_id,
            user,
            turn.effective_model,
            rules,
            tokens,
            world.day,
            turn.reserved_micro,
            world.now + rules.silence,
        )
        world.turns.append(known)
        return known

    @rule(process=either, turn=turns)
    def ask_again(self, process: int, turn: Model) -> None:
        again = self.meter(process, turn.tenant).reserve("new", f"r-{turn.turn_id}", "premium")
        assert (again.is_new, again.turn.turn_id) == (False, turn.turn_id)

    @rule(process=either, turn=turns)
    def progress(self, process: int, turn: Model) -> None:
        try:
            self.meter(process, turn.tenant).progress(turn.turn_id)
        except Conflict:
            assert turn.state != "running"
            return
        assert turn.state == "running"
        turn.started = True
        turn.deadline = self.world.now + turn.rules.silence

    @rule(
        process=either,
        turn=turns,
        outcome=st.sampled_from(["completed", "failed", "cancelled"]),
        started=st.booleans(),
        usage=st.none() | st.tuples(st.integers(0, 200), st.integers(0, 200)),
    )
    def finalize(self, process: int, turn: Model, outcome: str, started: bool, usage) -> None:
        """Also of what has ended long ago."""
        meter = self.meter(process, turn.tenant)
        ended = meter.finalize(turn.turn_id, outcome, started=started, usage=usage)
        assert ended.won is (turn.state == "running")
        if ended.won:
            method, turn.charged = turn.settle(started, usage)
            turn.state = outcome
            assert ended.turn.settlement_method == method
        assert (ended.turn.state, ended.turn.charged_micro) == (turn.state, turn.charged)

    @rule(process=either)
    def watch(self, process: int) -> None:
        silent = [
            turn
            for turn in self.world.turns
            if turn.state == "running" and turn.deadline < self.world.now
        ]
        assert self.meter(process, "a").watch() == len(silent)
        for turn in silent:
            _, turn.charged = turn.settle(False, None)
            turn.state = "failed"

    @rule(process=either, rules=st.sampled_from(POLICIES))
    def change_the_policy(self, process: int, rules: Rules) -> None:
        self.meter(process, "a").policy(rules.text())
        self.world.rules = rules

    @rule(seconds=st.sampled_from([1, 59, 60, 300, 301, 86_399, 86_400, 31 * 86_400]))
    def time_passes(self, seconds: int) -> None:
        self.world.now += seconds
        self.look.execute(f"update clock set now_at = now_at + {seconds * SECOND}")

    @invariant()
    def the_books_agree(self) -> None:
        balanced(self.look)
        rows = self.look.execute(
            "select tenant_id, user_id, period, start_at, bucket, reserved_micro, spent_micro"
            " from quota_buckets"
        )
        found = {}
        for tenant, user, period, start, bucket, reserved, spent in rows:
            day = to_datetime(start).date().isoformat()
            key = (tenant, user, day if period == "daily" else day[:7], bucket)
            found[key] = [reserved, spent]
        assert found == dict(self.world.used())


@pytest.mark.req("S-01", "S-02", "S-04", "S-05", "S-06")
@pytest.mark.parametrize(
    "engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
)
def test_no_history_breaks_the_books(databases: Databases, engine: EngineName) -> None:
    machine = type("Machine", (TurnsMachine,), {"databases": databases, "engine": engine})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12 if engine == "sqlite" else 6,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
