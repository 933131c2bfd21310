"""A process that dies while it migrates a SQLite file leaves the file as it was.

Each child is killed at another statement of the upgrade, or inside its commit, with a cache so
small that pages reach the file long before: what puts them back is a real hot journal.
"""

import contextlib
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from tests.house.test_schema import shape
from tests.kept_schemas import load_sqlite
from tests.verify_clean import assert_verified
from watchkeeper.app import App
from watchkeeper.store import migrations
from watchkeeper.store.database import open_database
from watchkeeper.store.tables import metadata

KILLED = 9
READS = ("PRAGMA", "SELECT")
STATEMENTS_MAX = 2_000
AT_ONCE = 4
TIMEOUT_SECONDS = 90


def start_app(url: str) -> None:
    App(url).close()


def run_migrate(url: str) -> None:
    migrations.migrate(url)


def die_at(statement: int) -> None:
    """In this process, from here on: end without a word before the n-th statement that writes."""
    left = [statement]

    def count(text: str) -> None:
        left[0] -= not text.lstrip().upper().startswith(READS)
        if left[0] == 0:
            os._exit(KILLED)

    def watch(driver: sqlite3.Connection, _record: object) -> None:
        driver.execute("PRAGMA cache_size = 1")
        driver.set_trace_callback(count)

    event.listen(Engine, "connect", watch)


def killed_at(statement: int, deed: Callable[[str], None], url: str) -> bool:
    """Whether a child process was; one that came to its end before was not."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            die_at(statement)
            deed(url)
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED), f"a start after a crash failed at statement {statement}"
    return code == KILLED


def contents(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return list(conn.iterdump())


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """Children are copies of this process: what it has imported, they need not."""
    run_migrate("sqlite://")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "watchkeeper.db"


def survive_every_kill(path: Path, deed: Callable[[str], None]) -> int:
    """Kill at each statement in turn; how many there were. Each start finds what the first did."""
    before = contents(path)
    for statement in range(1, STATEMENTS_MAX):
        if not killed_at(statement, deed, f"sqlite:///{path}"):
            return statement - 1
        assert contents(path) == before, f"killed at statement {statement}"
    raise AssertionError("it never ends")


@pytest.mark.req("O-10", "O-13")
def test_a_first_start_that_is_killed_leaves_nothing(path: Path, tmp_path: Path) -> None:
    assert survive_every_kill(path, start_app) > len(metadata.tables)
    plain = open_database(f"sqlite:///{tmp_path / 'plain.db'}")
    metadata.create_all(plain.writer)
    plain.close()
    assert shape(f"sqlite:///{path}") == shape(f"sqlite:///{tmp_path / 'plain.db'}")


@pytest.mark.req("O-10", "O-13")
def test_an_upgrade_that_is_killed_leaves_the_former_schema_and_its_rows(path: Path) -> None:
    load_sqlite("0004", path)
    assert survive_every_kill(path, run_migrate) > 40
    with contextlib.closing(open_database(f"sqlite:///{path}")) as db:
        assert migrations.version_of(db) == migrations.HEAD
        assert_verified(db)


def test_a_kill_in_the_middle_leaves_a_hot_journal(path: Path) -> None:
    """Otherwise the tests above would show nothing about pages that were written already."""
    assert killed_at(100, run_migrate, f"sqlite:///{path}")
    assert path.stat().st_size > 0
    assert Path(f"{path}-journal").stat().st_size > 0


WAITING = """
import sys
from watchkeeper.app import App
from watchkeeper.cli.main import app
from watchkeeper.store.migrations import migrate
migrate("sqlite://")
print("ready", flush=True)
sys.stdin.readline()
{deed}
"""
DEEDS = {
    "app": "App({url!r}, journal={journal!r}).close()",
    "migrate": "app(['migrate', '--db', {url!r}])",
}


@contextlib.contextmanager
def waiting(source: str, journal: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        env={**os.environ, "WATCHKEEPER_SQLITE_JOURNAL": journal},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.req("O-13")
@pytest.mark.parametrize("journal", ["rollback", "wal"])
@pytest.mark.parametrize("deed", DEEDS)
def test_processes_that_start_at_once_all_succeed(path: Path, deed: str, journal: str) -> None:
    url = f"sqlite:///{path}"
    source = WAITING.format(deed=DEEDS[deed].format(url=url, journal=journal))
    with contextlib.ExitStack() as ending:
        started = [ending.enter_context(waiting(source, journal)) for _ in range(AT_ONCE)]
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=TIMEOUT_SECONDS)[1] for process in started]
        assert [process.returncode for process in started] == [0] * AT_ONCE, said
    with contextlib.closing(open_database(url)) as db:
        assert migrations.version_of(db) == migrations.HEAD


def test_a_start_tells_the_log_once_what_was_migrated(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    start_app(f"sqlite:///{path}")
    start_app(f"sqlite:///{path}")
    told = [(record.name, record.getMessage()) for record in caplog.records]
    assert told == [
        ("watchkeeper.migrations", f"database migrated from schema none to {migrations.HEAD}")
    ]


QUIET = """
import logging
logging.basicConfig(level=logging.DEBUG)
from watchkeeper import App
App("sqlite://").close()
"""


def test_a_fresh_process_hears_nothing_of_alembic() -> None:
    """Alembic tells of its plugins when it is imported."""
    done = subprocess.run(
        [sys.executable, "-c", QUIET], capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert "alembic" not in done.stderr
    assert done.stderr.count("database migrated") == 1


def test_a_migrated_database_is_opened_without_the_write_lock(path: Path) -> None:
    start_app(f"sqlite:///{path}")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as rival:
        rival.execute("begin immediate")
        start_app(f"sqlite:///{path}")
