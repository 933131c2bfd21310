"""The commands of the page about backups, run as they stand beside a process that writes."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import Databases, Place
from tests.docs.test_blocks import blocks
from tests.house.source import ROOT
from tests.kept_schemas import play
from tests.postgres import LOGIN, binaries
from tests.verify_clean import assert_verified
from watchkeeper.app import App
from watchkeeper.store.database import open_database

PAGE = ROOT / "docs/how-to/back-up-and-restore.md"
TIMEOUT_SECONDS = 100
ROWS = (
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) select i from n"
)
SAVE_SQLITE, RESTORE_SQLITE, SAVE_POSTGRES, RESTORE_POSTGRES = (
    block.text for block in blocks(PAGE) if block.language == "text"
)
AFTER = "".join(
    line.removeprefix("$ ") + "\n"
    for block in blocks(PAGE)
    if block.language == "console"
    for line in block.text.splitlines()
)


def run(script: str, folder: Path, **environ: str) -> None:
    """As a shell would, with our commands and those of PostgreSQL at hand."""
    path = os.pathsep.join([str(Path(sys.executable).parent), *map(str, binaries())])
    kept = {name: value for name, value in os.environ.items() if "WATCHKEEPER" not in name}
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", script.replace("watchkeeper_login", LOGIN)],
        cwd=folder,
        env={**kept, "PATH": os.pathsep.join([path, os.environ["PATH"]]), **environ},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def writing(url: str) -> Iterator[None]:
    """Somebody signals all the time."""
    begun, ended = threading.Event(), threading.Event()

    def signal() -> None:
        with contextlib.closing(App(url, migrate=False)) as app:
            number = 0
            while not ended.is_set():
                app.signal("acme", f"busy-{number}", "mail")
                number += 1
                begun.set()

    thread = threading.Thread(target=signal)
    thread.start()
    assert begun.wait(TIMEOUT_SECONDS)
    try:
        yield
    finally:
        ended.set()
        thread.join()


def entries(place: Place) -> int:
    return int(place.execute("select count(*) from ledger")[0][0])


def check(place: Place, least: int) -> None:
    assert entries(place) >= least
    with contextlib.closing(open_database(place.url)) as db:
        assert_verified(db)


@pytest.mark.req("O-13", "U-40")
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_backup_of_sqlite_is_restored_and_verified(place: Place, tmp_path: Path) -> None:
    play(place, "0006")
    least = entries(place)
    folder = Path(place.name).parent
    with writing(place.url):
        run(SAVE_SQLITE, folder)
    Path(f"{place.name}-journal").write_bytes(b"of the former file")
    run(RESTORE_SQLITE, folder)
    run(AFTER, folder)
    check(place, least)
    assert not Path(f"{place.name}-journal").exists()


@pytest.mark.req("O-13", "U-40")
@pytest.mark.postgresql
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_dump_of_postgresql_is_restored_and_verified(
    place: Place, databases: Databases, tmp_path: Path
) -> None:
    play(place, "0006")
    least = entries(place)
    with writing(place.url):
        run(SAVE_POSTGRES, tmp_path, SUPERUSER_URL=place.admin_url)
    assert "watchkeeper_app" in (tmp_path / "roles.sql").read_text()
    server = databases.server
    name = server.create()
    try:
        admin, owner = server.admin_url(name), server.owner_url(name)
        restored = Place("postgresql", server.url(name), admin, owner, name)
        environ = {"SUPERUSER_URL": admin, "WATCHKEEPER_MIGRATE_URL": owner}
        environ["WATCHKEEPER_DATABASE_URL"] = restored.url
        run(RESTORE_POSTGRES, tmp_path, **environ)
        run(AFTER, tmp_path, **environ)
        check(restored, least)
    finally:
        server.drop(name)


def test_a_plain_copy_of_a_file_that_is_written_is_no_backup(tmp_path: Path) -> None:
    """What the page warns of: here a commit was under way, and its journal stayed behind."""
    live, copy = tmp_path / "live.db", tmp_path / "copy.db"
    with contextlib.closing(sqlite3.connect(live, isolation_level=None)) as conn:
        conn.execute("create table t (x)")
        conn.execute("create index i on t (x)")
        conn.execute(f"insert into t select hex(randomblob(50)) from ({ROWS})")
        conn.execute("pragma cache_size = 1")
        conn.execute("begin")
        conn.execute("update t set x = hex(randomblob(50))")
        shutil.copy(live, copy)
        conn.execute("rollback")
    with contextlib.closing(sqlite3.connect(copy)) as conn:
        try:
            told = conn.execute("pragma integrity_check").fetchall()
        except sqlite3.DatabaseError as error:
            told = [(str(error),)]
    assert told != [("ok",)]
