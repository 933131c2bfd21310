"""A small database of each schema that ever was, with rows, as text in `tests/schemas/`.

`python -m tests.kept_schemas 0009` writes those of schema 0009, once, when it is new.
Its rows come from playing the product of today; of an earlier schema, those that fit into it.
A SQLite file is kept whole; of a PostgreSQL database the rows are kept, and the migrations that
made its tables are frozen (tests/house/test_migrations.py).
"""

import contextlib
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import Engine, create_engine, inspect, make_url

from tests.databases import Databases, EngineName, Place
from tests.postgres import Server
from watchkeeper.app import App
from watchkeeper.results import Decision
from watchkeeper.store.migrations import run_file

FOLDER = Path(__file__).parent / "schemas"
VERSIONS = FOLDER.parents[1] / "src/watchkeeper/store/migrations/versions"
ENGINES: tuple[EngineName, ...] = ("sqlite", "postgresql")
VERSION_TABLE = """CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"""
ROWS = """SELECT format('INSERT INTO {0} OVERRIDING SYSTEM VALUE SELECT (%L::{0}).*;', own)
    FROM {0} own ORDER BY own::text"""
SINCE = {"settle": "0002", "perceive": "0003", "act": "0004", "report": "0005", "trust": "0006"}
TOPICS = {"usage_": "0002", "pull.": "0003", "heat.": "0003", "plan.": "0004", "action.": "0004"}
TOPICS |= {"milestone.": "0005"}


def versions() -> list[str]:
    return sorted({path.name[:4] for path in VERSIONS.glob("*.sql")})


def path_of(version: str, engine: EngineName) -> Path:
    return FOLDER / f"{version}_{engine}.sql"


def load_sqlite(version: str, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.executescript(path_of(version, "sqlite").read_text())


def load_postgres(version: str, server: Server) -> str:
    """The name of a new database; whoever asks for it drops it."""
    name = server.create()
    with opened(server.owner_url(name)) as engine:
        make_schema(engine, version)
    with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute(path_of(version, "postgresql").read_text().encode())
    return name


def make_schema(engine: Engine, version: str) -> None:
    with engine.begin() as conn:
        conn.exec_driver_sql(VERSION_TABLE)
        for one in versions():
            if one <= version:
                run_file(conn, one)
        conn.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{version}')")


@contextlib.contextmanager
def opened(url: str) -> Iterator[Engine]:
    engine = create_engine(make_url(url.replace("postgresql:", "postgresql+psycopg:")))
    try:
        yield engine
    finally:
        engine.dispose()


# -- writing them ------------------------------------------------------------------------


def write(version: str, databases: Databases, engine: EngineName) -> None:
    with databases.fresh(engine) as played:
        play(played, version)
        text = (_kept_sqlite if engine == "sqlite" else _kept_postgres)(played, version, databases)
    path_of(version, engine).write_text(text)


def play(place: Place, version: str) -> None:
    """Something of everything that this schema has room for."""
    app = App(place.url, migrate=False)
    has = {stage for stage, since in SINCE.items() if since <= version}
    if "perceive" in has:

        @app.connector("crm")
        def look(pull: object) -> list[dict[str, str]]:
            return [{"type": "renewal.near"}]

    if "act" in has:

        @app.action("REQUEST_RENEWAL_MEETING", risk="low")
        def meet(action: object) -> None:
            return None

    if "settle" in has:
        app.usage_sink(lambda _: None)
        app.decision(model="premium", estimated_input_tokens=100, max_output_tokens=10)(
            lambda _: Decision(usage={"input_tokens": 9, "output_tokens": 8})
        )
    else:
        app.decision(lambda _: Decision(note="seen"))
    try:
        _play_stages(app, place, has)
    finally:
        app.close()


def _play_stages(app: App, place: Place, has: set[str]) -> None:
    app.signal("acme", "cyd", "mail.received")
    app.drain()
    app.apply_policy("[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 1200\n", reason="quieter")
    app.schedule("acme", "brief", trigger_type="TIME_RITUAL_DAILY_BRIEF", cron="0 * * * *")
    app.kill("trigger", "POSTURE_CHANGE", reason="too many", tenant_id="acme")
    for account in ("ann", "bob"):
        app.signal("acme", account, "mail.received", data={"n": 1})
        app.account("acme", account, posture="at risk")
    app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key="soon")
    app.drain()
    if "perceive" in has:
        app.set_pull_budget("acme", 100)
        app.pull("acme", "ann", "crm", "DEEP")
    if "act" in has:
        plan = app.plans.create("acme", "ann", "RENEWAL_DEFENSE", ["REQUEST_RENEWAL_MEETING"])
        app.plans.approve(plan.plan_id, by="ann")
    _pass_time(app, place, hours=1)
    if "act" in has:
        for intent in app.intents.list("acme", status="PENDING_APPROVAL"):
            app.intents.approve(intent.intent_id, by="ann")
        app.drain()
    if "report" in has:
        app.generate_report("acme")
    if "trust" in has:
        app.seal_ledger()
        app.checkpoint_ledger("acme")


def _pass_time(app: App, place: Place, *, hours: int) -> None:
    for _ in range(hours * 12):
        place.execute("UPDATE clock SET now_at = now_at + 300000000")
        app.drain()


def _kept_sqlite(played: Place, version: str, databases: Databases) -> str:
    path = databases.folder / f"schema-{version}.db"
    path.unlink(missing_ok=True)
    with opened(f"sqlite:///{path}") as engine:
        make_schema(engine, version)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as conn:
        named = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = conn.execute(named).fetchall()
        conn.execute("ATTACH ? AS played", (played.name,))
        for name, _ in triggers:
            conn.execute(f"DROP TRIGGER {name}")
        for table, columns in _shared(f"sqlite:///{path}", played.url).items():
            conn.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM played.{table}")
        _drop_later(conn, version)
        for _, text in triggers:
            conn.execute(text)
        conn.execute("DETACH played")
        return "\n".join(conn.iterdump()) + "\n"


def _kept_postgres(played: Place, version: str, databases: Databases) -> str:
    server = databases.server
    name = server.create()
    with opened(server.owner_url(name)) as engine:
        make_schema(engine, version)
    shared = _shared(server.owner_url(name), played.owner_url)
    with (
        psycopg.connect(server.admin_url(name), autocommit=True) as conn,
        psycopg.connect(played.admin_url) as source,
    ):
        conn.execute("SET session_replication_role = replica")
        for table, columns in shared.items():
            copy = f"COPY {table} ({columns})".encode()
            with (
                source.cursor().copy(copy + b" TO STDOUT") as rows,
                conn.cursor().copy(copy + b" FROM STDIN") as into,
            ):
                for row in rows:
                    into.write(row)
        _drop_later(conn, version)
        texts = [text for table in shared for (text,) in conn.execute(ROWS.format(table).encode())]
        texts.append(_sequence(conn))
    server.drop(name)
    return "\n".join(texts) + "\n"


def _sequence(conn: psycopg.Connection) -> str:
    [(name, last)] = conn.execute(
        "SELECT pg_get_serial_sequence('outbox', 'seq'), coalesce(max(seq), 0) + 1 FROM outbox"
    ).fetchall()
    return f"SELECT setval({sql.Literal(name).as_string()}, {last}, false);"


def _shared(url: str, other: str) -> dict[str, str]:
    """The tables of one database, each with the columns that the other has too."""
    with opened(url) as engine, opened(other) as newer:
        old, new = inspect(engine), inspect(newer)
        return {
            table: ", ".join(
                sorted(
                    {f'"{column["name"]}"' for column in old.get_columns(table)}
                    & {f'"{column["name"]}"' for column in new.get_columns(table)}
                )
            )
            for table in sorted(old.get_table_names())
            if table != "alembic_version"
        }


def _drop_later(conn: sqlite3.Connection | psycopg.Connection, version: str) -> None:
    """Messages that only a later schema knows how to handle."""
    for topic, since in TOPICS.items():
        if since > version:
            for table in ("outbox", "outbox_delivered"):
                conn.execute(f"DELETE FROM {table} WHERE topic LIKE '{topic}%'")


def main(wanted: list[str]) -> None:
    databases = Databases()
    try:
        for version in wanted:
            for engine in ENGINES:
                write(version, databases, engine)
    finally:
        databases.close()


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit("name a schema, such as 0009"))
