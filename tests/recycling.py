"""Databases of PostgreSQL that serve again: emptied after a test, where that is as good as a copy.

A copy of the template is a thousand files; what a test wrote is a few rows. A database that comes
back is looked at first, and thrown away whenever anything is doubtful:

- somebody else's session is still there, or somebody might come back to it by its name: a process
  that was started meanwhile, a thread that is still running;
- any row of any catalog was written since (a table, a trigger, a grant, statistics), whoever did
  it and whether or not it was undone; or a setting of the database was;
- a table or an index has grown, by many rows of one test or by dead ones of many.

Otherwise rows go, what the template holds comes back, and sequences begin again. What remains is
what only the storage knows of, dead rows: in no more pages than the planner takes an empty table
for. Tests that look at plans and counters ask for a copy (`brand_new`).
"""

import multiprocessing
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import TypeAlias

import psycopg

from tests.postgres import Server

STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"})
LEAVING_SECONDS_MAX = 2.0
ENDING_SECONDS_MAX = 0.05
LEAVING_POLL_SECONDS = 0.001
PAGES_OF_AN_EMPTY_TABLE = 10
"""A table that was never analyzed counts as so many, if it has fewer (`estimate_rel_size`)."""

Runner: TypeAlias = threading.Thread | BaseProcess

_starts = 0


def _count_starts(event: str, _values: tuple[object, ...]) -> None:
    global _starts
    if event in STARTS:
        _starts += 1


sys.addaudithook(_count_starts)

SESSIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
CATALOGS = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'pg_catalog'::regnamespace AND NOT relisshared
    ORDER BY relname"""
WRITTEN = """
    SELECT count(*), count(*) FILTER (WHERE age(xmin) <= age(%(since)s::xid)) FROM pg_catalog.{}"""
SETTINGS = """
    SELECT (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = own.oid),
           (age(own.xmin) <= age(%(since)s::xid))::int
    FROM pg_database own WHERE datname = current_database()"""
ESTIMATES = """
    SELECT sum(relpages)::bigint, sum(reltuples)::bigint FROM pg_class WHERE oid >= 16384"""
TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"""
SEQUENCES = "SELECT seqrelid::regclass::text FROM pg_sequence ORDER BY seqrelid"
VALUE = """
    SELECT format('SELECT setval(''{0}'', %s, %L)', last_value, is_called) FROM {0}"""
ROWS = """
    SELECT format('INSERT INTO {0} OVERRIDING SYSTEM VALUE SELECT (%L::{0}).*', own) FROM {0} own"""
GROWN = f"""
    SELECT own.relname FROM pg_class own
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
      AND {PAGES_OF_AN_EMPTY_TABLE} * 8192 < greatest(
          pg_relation_size(own.oid), pg_relation_size(nullif(own.reltoastrelid, 0)),
          (SELECT max(pg_relation_size(indexrelid)) FROM pg_index WHERE indrelid = own.oid))"""


@dataclass(frozen=True)
class Copy:
    """A database, our session in it, and how its catalogs were before anybody had it."""

    name: str
    session: psycopg.Connection
    state: list[tuple[int, int]]


@dataclass(frozen=True)
class Lent:
    """A database that a test has, and what was so when the test got it."""

    copy: Copy
    since: str
    starts: int
    running: frozenset[Runner]


@dataclass(frozen=True)
class Template:
    """How to look at a copy, and what it is given back."""

    look: str
    filled: str
    rows: dict[str, list[str]]
    sequences: list[str]

    def state(self, session: psycopg.Connection, since: str) -> list[tuple[int, int]]:
        """Rows in each catalog, and how many of them were written since; settings; estimates."""
        return session.execute(self.look.encode(), {"since": since}).fetchall()


class Recycling:
    """Lends copies of one template; a test process has one of these for each template."""

    def __init__(self, server: Server, template: str) -> None:
        self._server = server
        self._name = template
        self._template: Template | None = None
        self._idle: list[Copy] = []
        self.doubts: list[str] = []
        """Why databases were thrown away."""

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The name of a database that is as the template is, for the length of the block."""
        copy = self._idle.pop() if self._idle else self._copied()
        one = Lent(copy, _now(copy.session), _starts, _running())
        try:
            yield copy.name
        finally:
            self._take_back(one)

    def close(self) -> None:
        while self._idle:
            self._dispose(self._idle.pop())

    def _copied(self) -> Copy:
        name = self._server.create(self._name)
        session = psycopg.connect(self._server.admin_url(name), autocommit=True)
        session.prepare_threshold = 1
        session.execute("SET session_replication_role = replica")
        self._template = self._template or _read(session)
        return Copy(name, session, self._template.state(session, _now(session)))

    def _take_back(self, one: Lent) -> None:
        try:
            doubt = self._doubt(one)
            if not doubt:
                self._empty(one.copy.session)
                self._idle.append(one.copy)
                return
        except psycopg.Error as error:
            doubt = str(error)
        self.doubts.append(doubt)
        self._dispose(one.copy)

    def _dispose(self, copy: Copy) -> None:
        copy.session.close()
        self._server.drop(copy.name)

    def _doubt(self, one: Lent) -> str:
        """Why this database cannot be trusted any more; nothing if it can."""
        copy = one.copy
        if one.starts != _starts:
            return "a process was started"
        if left := _left(one.running):
            return f"still running: {', '.join(sorted(runner.name for runner in left))}"
        if not _is_alone(copy.session):
            return "sessions are still there"
        assert self._template is not None
        if self._template.state(copy.session, one.since) != copy.state:
            return "a catalog was written"
        if grown := copy.session.execute(GROWN).fetchall():
            return f"grown: {', '.join(table for (table,) in grown)}"
        return ""

    def _empty(self, session: psycopg.Connection) -> None:
        template = self._template
        assert template is not None
        filled = [table for (table,) in session.execute(template.filled)]
        deeds = [f"DELETE FROM {table}" for table in filled]
        deeds += [row for table in filled for row in template.rows.get(table, [])]
        deeds += template.sequences
        # What was counted is told to the server, and then forgotten.
        deeds += ["SELECT pg_stat_force_next_flush()"]
        session.execute("; ".join(deeds).encode(), prepare=False)
        session.execute("SELECT pg_stat_reset()")


def _read(session: psycopg.Connection) -> Template:
    """From a copy that nobody has touched."""
    written = [WRITTEN.format(catalog) for (catalog,) in session.execute(CATALOGS)]
    look = " UNION ALL ".join([*written, SETTINGS, ESTIMATES])
    tables = [table for (table,) in session.execute(TABLES)]
    rows = {table: [row for (row,) in session.execute(ROWS.format(table))] for table in tables}
    kept = {table: found for table, found in rows.items() if found}
    # A table with rows of its own is put right every time: that it has rows says nothing.
    filled = " UNION ALL ".join(
        f"SELECT '{table}'" + ("" if table in kept else f" WHERE EXISTS (SELECT 1 FROM {table})")
        for table in tables
    )
    named = [one for (one,) in session.execute(SEQUENCES)]
    sequences = [one for name in named for (one,) in session.execute(VALUE.format(name))]
    return Template(look, filled, kept, sequences)


def _now(session: psycopg.Connection) -> str:
    """As databases tell the time: everything that is written from here on is younger."""
    [(since,)] = session.execute("SELECT pg_current_xact_id()::xid::text").fetchall()
    return str(since)


def _running() -> frozenset[Runner]:
    """Threads, and processes of `multiprocessing`, which starts them in ways of its own."""
    return frozenset([*threading.enumerate(), *multiprocessing.active_children()])


def _left(before: frozenset[Runner]) -> frozenset[Runner]:
    """Who runs that did not before; who was told to end may need a moment to."""
    until = time.monotonic() + ENDING_SECONDS_MAX
    while (left := _running() - before) and time.monotonic() < until:
        time.sleep(LEAVING_POLL_SECONDS)
    return left


def _is_alone(session: psycopg.Connection) -> bool:
    """Whether everybody else is gone; who has said goodbye may need a moment to be."""
    until = time.monotonic() + LEAVING_SECONDS_MAX
    while session.execute(SESSIONS).fetchall() != [(0,)]:
        if time.monotonic() > until:
            return False
        time.sleep(LEAVING_POLL_SECONDS)
    return True
