"""Databases to measure on: durable, filled with accounts, and fresh for every round.

PostgreSQL is reached over TCP on loopback. The product logs in as an ordinary user that is held by
row-level security; the yardstick as the owner of its tables, held by nothing.
"""

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from bench import product, yardstick_postgres, yardstick_sqlite
from bench.events import account_names
from tests.postgres import LOGIN, OWNER, Server, running

DURABLE = {
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "autovacuum_naptime": "1min",
}


@contextlib.contextmanager
def postgres(**settings: str) -> Iterator[Server]:
    with running(fsync=True, settings={**DURABLE, **settings}) as server:
        yield server


def yardstick_template(server: Server) -> str:
    name = server.create()
    with psycopg.connect(server.owner_url(name), autocommit=True) as conn:
        conn.execute(yardstick_postgres.SCHEMA)
        conn.execute("vacuum analyze")
    return name


def product_template(server: Server) -> str:
    name = server.create()
    product.migrate(server.owner_url(name), LOGIN)
    product.prepare(server.tcp_url(name))
    with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
        with conn.cursor().copy(product.COPY_ACCOUNTS) as copy:
            for account in account_names():
                copy.write_row((product.TENANT, account, 0, 0))
        conn.execute("vacuum analyze")
    return name


FILLED_AT_ONCE = 250_000


def fill_history(server: Server, name: str, count: int, payload: str) -> None:
    """Messages that were delivered some time ago, as many statements as needed; then at rest."""
    _fill(server, name, product.FILL_HISTORY, count, payload)


def fill_backlog(server: Server, name: str, count: int, payload: str) -> None:
    """Messages that are due."""
    _fill(server, name, product.FILL_BACKLOG, count, payload)


def _fill(server: Server, name: str, statement: str, count: int, payload: str) -> None:
    with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
        for start in range(0, count, FILLED_AT_ONCE):
            end = min(start + FILLED_AT_ONCE, count)
            conn.execute(statement, {"start": start, "end": end - 1, "payload": payload})
        conn.execute("vacuum analyze outbox_delivered")
        conn.execute("vacuum analyze outbox")
        conn.execute("checkpoint")


@contextlib.contextmanager
def copy_of(server: Server, template: str, user: str = LOGIN) -> Iterator[str]:
    """A fresh copy of a template; gives its URL over TCP."""
    name = server.create(template)
    server.admin("checkpoint")
    try:
        yield server.tcp_url(name, user)
    finally:
        server.drop(name)


def yardstick_copy(server: Server, template: str) -> contextlib.AbstractContextManager[str]:
    return copy_of(server, template, OWNER)


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="wkbench-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def yardstick_file(home: Path) -> Path:
    path = home / "yardstick.db"
    yardstick_sqlite.create(path)
    return path


def product_file(home: Path) -> Path:
    path = home / "product.db"
    url = f"sqlite:///{path}"
    product.migrate(url, None)
    product.prepare(url)
    with contextlib.closing(sqlite3.connect(path)) as conn, conn:
        conn.executemany(
            product.INSERT_ACCOUNT,
            [(product.TENANT, name, 0, 0) for name in account_names()],
        )
    return path


def fresh_file(template: Path) -> Path:
    """A copy of a closed database; the one made before it is overwritten."""
    copy = template.with_name(f"fresh-{template.name}")
    for path in copy.parent.glob(f"{copy.name}*"):
        path.unlink()
    shutil.copy(template, copy)
    return copy
