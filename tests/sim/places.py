"""The database of one run: a copy of one that is set up already, always with the same ids in it.

Beside the product's tables it has one of its own, which triggers fill: who claimed, renewed,
released and ended which message, so that a lease that two had is seen whoever it was.
"""

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg

from tests.databases import START_AT, Databases, EngineName, Place
from watchkeeper import App, ids
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant

COOLDOWN_SECONDS = 60
POLICY = f"""
run_budget_per_day = 8
[triggers.SIGNAL_ARRIVED]
debounce_seconds = 5
cooldown_seconds = {COOLDOWN_SECONDS}
max_per_account_per_hour = 3
[triggers.TIME_RITUAL_DAILY_BRIEF]
debounce_seconds = 300
[quota]
watchdog_seconds = 120
[quota.tenant.daily]
total = 4000
[plans]
per_cycle_max = 1
cycle_seconds = 30
outcome_timeout_seconds = 300
[autonomy]
mode = "auto_low_risk"
[plan_types.RENEWAL_DEFENSE]
max_retries_per_step = 2
[delivery.topics.letters]
max_attempts = 3
backoff_max_seconds = 60
[delivery.topics.posted]
max_attempts = 4
backoff_max_seconds = 60
"""
TENANTS = ("acme", "beta")
ACTIONS = ("REQUEST_RENEWAL_MEETING", "PREP_RENEWAL_BRIEF", "ESCALATE_SUPPORT_RISK")
CONNECTOR = "crm"
KIND = "RENEWAL_DEFENSE"
UNITS_PER_DAY = 4

_LOG = "insert into sim_leases (message_id, token, process, what, at, until_at) values"
SQLITE = f"""
create table sim_leases (n integer primary key, message_id text, token text, process text,
    what text, at bigint, until_at bigint);
create trigger sim_claim after update of locked_by on outbox
    when new.locked_by is not null and new.locked_by is not old.locked_by begin {_LOG}
    (new.id, new.locked_by, sim_process(), 'claim', new.updated_at, new.locked_until); end;
create trigger sim_born after insert on outbox when new.locked_by is not null begin {_LOG}
    (new.id, new.locked_by, sim_process(), 'claim', new.updated_at, new.locked_until); end;
create trigger sim_renew after update of locked_until on outbox
    when new.locked_by is not null and new.locked_by is old.locked_by begin {_LOG}
    (new.id, new.locked_by, sim_process(), 'renew', new.updated_at, new.locked_until); end;
create trigger sim_release after update of locked_by on outbox
    when new.locked_by is null and old.locked_by is not null begin {_LOG}
    (new.id, old.locked_by, sim_process(), 'release', new.updated_at, null); end;
create trigger sim_done after delete on outbox when old.locked_by is not null begin {_LOG}
    (old.id, old.locked_by, sim_process(), 'done', null, null); end;
"""
POSTGRESQL = f"""
create table sim_leases (n bigint generated always as identity primary key, message_id text,
    token text, process text, what text, at bigint, until_at bigint);
create function sim_log() returns trigger language plpgsql security definer as $$
declare who text := current_setting('application_name');
begin
    if tg_op = 'DELETE' then
        if old.locked_by is not null then
            {_LOG} (old.id, old.locked_by, who, 'done', null, null);
        end if;
        return old;
    elsif tg_op = 'INSERT' then
        if new.locked_by is not null then
            {_LOG} (new.id, new.locked_by, who, 'claim', new.updated_at, new.locked_until);
        end if;
    elsif new.locked_by is not null and new.locked_by is distinct from old.locked_by then
        {_LOG} (new.id, new.locked_by, who, 'claim', new.updated_at, new.locked_until);
    elsif new.locked_by is not null and new.locked_until is distinct from old.locked_until then
        {_LOG} (new.id, new.locked_by, who, 'renew', new.updated_at, new.locked_until);
    elsif new.locked_by is null and old.locked_by is not null then
        {_LOG} (new.id, old.locked_by, who, 'release', new.updated_at, null);
    end if;
    return new;
end $$;
create trigger sim_log after insert or update or delete on outbox
    for each row execute function sim_log();
"""


def set_up(url: str) -> None:
    """Two tenants, a policy with small numbers, a connector with a budget, three actions."""
    ids.follow(0, lambda: START_AT * 1_000)
    app = App(url, migrate=False, wall=lambda: Instant(START_AT), webhooks_private=True)
    try:
        app.apply_policy(POLICY, reason="simulation")
        for tenant in TENANTS:
            create_tenant(app.admission.db, TenantId(tenant))
            app.set_pull_budget(tenant, UNITS_PER_DAY)
        app.connector(CONNECTOR, max_concurrency=1, cadence=False)(lambda _pull: None)
        for action, risk in zip(ACTIONS, ("low", "low", "medium"), strict=True):
            app.action(action, risk=risk)(lambda _action: None)
        app.sink("post", topic="posted", url="http://127.0.0.1:9/", secret="whsec_" + "A" * 32)
    finally:
        app.close()
        ids.follow_nobody()


class Ground:
    """Gives each run a database of its own."""

    def __init__(self, databases: Databases) -> None:
        self.databases = databases

    @contextlib.contextmanager
    def fresh(self, engine: EngineName) -> Iterator["Site"]:
        site: Site
        if engine == "sqlite":
            with tempfile.TemporaryDirectory(prefix="wksim-", dir=self._memory) as folder:
                path = Path(folder) / "sim.db"
                path.write_bytes(self._sqlite)
                url = f"sqlite:///{path}"
                site = SqliteSite(Place("sqlite", url, url, url, str(path)))
                with contextlib.closing(site):
                    yield site
            return
        server = self.databases.server
        name = server.create(self._postgresql)
        place = Place(
            "postgresql", server.url(name), server.admin_url(name), server.owner_url(name), name
        )
        try:
            with contextlib.closing(PostgresSite(place)) as site:
                yield site
        finally:
            server.drop(name)

    @cached_property
    def _memory(self) -> str | None:
        return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    @cached_property
    def _sqlite(self) -> bytes:
        with self.databases.fresh("sqlite") as place:
            place.execute("delete from clock")
            set_up(place.url)
            with contextlib.closing(sqlite3.connect(place.name)) as conn:
                conn.execute("pragma journal_mode = delete")
                conn.executescript(SQLITE)
                conn.execute("vacuum")
            return Path(place.name).read_bytes()

    @cached_property
    def _postgresql(self) -> str:
        server = self.databases.server
        name = server.create(self.databases.postgres_template)
        set_up(server.url(name))
        server.admin(POSTGRESQL, name)
        for table in ("outbox", "ledger", "turns", "plans", "intents"):
            server.admin(f"alter table {table} set (autovacuum_enabled = false)", name)
        return name


class Site:
    """One database, looked at from above: nothing that is asked here is part of the play."""

    place: Place

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def told(self, now: Instant) -> None:
        """What time it is, where the database is asked for it."""

    def close(self) -> None:
        raise NotImplementedError


class SqliteSite(Site):
    def __init__(self, place: Place) -> None:
        self.place = place
        self._conn: sqlite3.Connection | None = None

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        if self._conn is None:  # not before the product has chosen the journal
            self._conn = sqlite3.connect(
                self.place.name, isolation_level=None, timeout=0, check_same_thread=False
            )
        return self._conn.execute(statement).fetchall()

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()


class PostgresSite(Site):
    def __init__(self, place: Place) -> None:
        self.place = place
        self._conn = psycopg.connect(place.admin_url, autocommit=True)
        self._told = 0

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        return self._conn.execute(statement.encode()).fetchall()

    def told(self, now: Instant) -> None:
        if now != self._told:
            self._told = now
            self._conn.execute("update clock set now_at = %s", (now,))

    def blocked(self, pids: list[int]) -> set[int]:
        """Which of these sessions wait for a lock of another."""
        rows = self._conn.execute(
            "select pid from unnest(%s::int[]) pid where pg_blocking_pids(pid) <> '{}'", (pids,)
        )
        return {pid for (pid,) in rows.fetchall()}

    def blocking(self, pid: int) -> list[int]:
        """For whom this session waits."""
        [(pids,)] = self._conn.execute("select pg_blocking_pids(%s)", (pid,)).fetchall()
        return list(pids)

    def close(self) -> None:
        self._conn.close()
