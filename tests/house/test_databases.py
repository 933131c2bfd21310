"""The ground the other tests stand on: every database is new, migrated, and at the same instant."""

import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.databases import START, START_AT, Clock, Databases, Place
from tests.house.source import ROOT
from tests.postgres import LOGIN, Server
from watchkeeper.core.ids import TenantId
from watchkeeper.store.database import Database

TENANT = TenantId("acme")
GONE_SECONDS_MAX = 50

ORPHAN = """
import os, signal
from tests.postgres import running
with running() as server:
    print(server.process.base, server.process._postmaster.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.req("U-12")
def test_time_starts_at_a_fixed_date_and_moves_only_by_advance(db: Database, clock: Clock) -> None:
    assert clock.now == START
    with db.begin(TENANT) as tx:
        assert tx.now == START_AT
    clock.advance(hours=1, seconds=0.000001)
    with db.read(TENANT) as tx:
        assert tx.now == START_AT + 3_600_000_001


def test_a_database_is_empty_but_for_its_clock(place: Place) -> None:
    assert place.execute("SELECT count(*) FROM ledger") == [(0,)]
    assert place.execute("SELECT count(*) FROM clock") == [(1,)]


def test_two_databases_share_nothing(databases: Databases, engine) -> None:
    with databases.fresh(engine) as one, databases.fresh(engine) as other:
        Clock(one).advance(60)
        assert Clock(other).at == START_AT


@pytest.mark.postgresql
def test_both_engines_at_once(both) -> None:
    for name, (db, clock) in both.items():
        with db.begin(TENANT) as tx:
            assert (tx.engine, tx.now) == (name, clock.at)


@pytest.mark.req("O-21")
@pytest.mark.postgresql
def test_the_login_user_is_nobody_special(server: Server, databases: Databases) -> None:
    question = """
        SELECT rolsuper, rolbypassrls, rolcreaterole,
               (SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database())
        FROM pg_roles WHERE rolname = current_user"""
    with databases.fresh("postgresql") as place, psycopg.connect(place.url) as conn:
        assert conn.execute(question).fetchone() == (False, False, False, "wk_owner")
        with psycopg.connect(server.tcp_url(place.name)) as tcp:
            assert tcp.execute("SELECT current_user").fetchone() == (LOGIN,)


@pytest.mark.postgresql
def test_a_server_does_not_outlive_a_killed_test_run(server: Server) -> None:
    if server.process is None:
        pytest.skip("the server was given, not started")
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    folder, _pid = done.stdout.split()
    until = time.monotonic() + GONE_SECONDS_MAX
    while Path(folder).exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(folder).exists()
