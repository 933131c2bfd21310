"""The same random program four ways: in batches and one by one, on SQLite and on PostgreSQL."""

import re
from collections.abc import Iterator
from random import Random

import pytest

from tests.databases import Clock, Databases
from tests.play import LATER, Player, event, told
from tests.verify_clean import assert_verified
from watchkeeper.store.database import Database

POLICY = """
spread_seconds = 0
idempotency_ttl_seconds = 900
run_budget_per_day = 9
[triggers.A]
debounce_seconds = 10
cooldown_seconds = 60
max_per_account_per_hour = 2
[triggers.B]
debounce_seconds = 0
cooldown_seconds = 0
max_per_tenant_per_hour = 4
[triggers.C]
debounce_seconds = 0
cooldown_seconds = 300
"""
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|retry:[0-9a-f]{64}")


def programs(dice: Random):
    """Pauses, each with a batch of account, type, key (or none of its own) and score."""
    for _ in range(8):
        batch = [
            (
                dice.choice(["ann", "bob", "Ünï €"]),
                dice.choice(["A", "B", "C", "UNKNOWN"]),
                dice.choice(["k1", "k2", "", "", "", ""]),
                dice.choice([None, None, 0.0, 1.0, 0.1]),
            )
            for _ in range(dice.randrange(10))
        ]
        yield dice.choice([0, 1, 9, 60, 299, 300, 1800, 3600]), batch


def play(db: Database, clock: Clock, program, *, one_by_one: bool) -> list[str]:
    """Every answer, then everything that is remembered, ids by the order of their appearance."""
    player = Player(db, clock)
    player.policy(POLICY)
    said: list[str] = []
    numbers = iter(range(10_000))
    for pause, batch in program:
        clock.advance(pause)
        player.deliver([LATER[0]])
        events = [
            event(account, trigger, key or f"fresh-{next(numbers)}", saturation=score)
            for account, trigger, key, score in batch
        ]
        calls = [[one] for one in events] if one_by_one else [events]
        for call in calls:
            said += [f"{told(d)} {d.verdict}" for d in player.fire(*call)]
    return list(normal([*said, *remembered(clock)]))


def remembered(clock: Clock) -> Iterator[str]:
    for columns, table, order in (
        ("seq, at, subject, trigger_type, result, reason, data", "ledger", "tenant_id, seq"),
        ("hour, hour_runs, day, day_runs, ledger_seq", "tenants", "tenant_id"),
        ("account_id, last_allowed_at, last_allowed_seq, triggers, pending", "accounts", "1"),
        ("topic, next_attempt_at, status, payload", "outbox", "seq"),
        ("fingerprint, expires_at", "reservations", "expires_at, fingerprint"),
    ):
        cast = columns.replace("data", "cast(data as text)").replace(
            "payload", "cast(payload as text)"
        )
        for row in clock.place.execute(f"select {cast} from {table} order by {order}"):
            yield f"{table} {row}"


def normal(lines: list[str]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for line in lines:
        yield ID.sub(lambda found: seen.setdefault(found[0], f"#{len(seen)}"), line)


@pytest.mark.postgresql
@pytest.mark.req("D-17")
@pytest.mark.parametrize("seed", range(6))
def test_a_batch_is_its_events_in_order_on_both_engines(databases: Databases, seed: int) -> None:
    program = list(programs(Random(seed)))
    stories = {}
    for engine in ("sqlite", "postgresql"):
        for one_by_one in (False, True):
            with databases.opened(engine) as (db, clock):
                stories[engine, one_by_one] = play(db, clock, program, one_by_one=one_by_one)
                assert_verified(db)
    expected = stories["sqlite", True]
    for way, story in stories.items():
        assert story == expected, way
