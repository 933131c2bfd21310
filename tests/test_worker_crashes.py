"""Workers that are killed, paused beyond their lease, or lose their database: nothing is lost.

Each worker is a process of its own. Time is real; the tests wait for what happens, with a limit.
"""

import contextlib
import json
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.databases import Clock, Place, migrate
from tests.messages import delivered, letter, live, one, put, registry
from tests.postgres import running
from tests.test_workers import WAIT, until
from watchkeeper.store.database import Database, open_database
from watchkeeper.workers import Workers, WorkerSettings

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


class Worker:
    """A worker process, and what it has said so far."""

    def __init__(self, url: str, lease: float, attempts: int) -> None:
        command = [sys.executable, "-m", "tests.worker_process", url, str(lease), str(attempts)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.said: list[str] = []
        self._counts: queue.Queue[dict[str, int]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("counts "):
                self._counts.put(json.loads(line[7:]))
            self.said.append(line.strip())

    def begun(self) -> list[str]:
        return [line[6:] for line in self.said if line.startswith("begin ")]

    def counts(self) -> dict[str, int]:
        assert self.process.stdin
        self.process.stdin.write("counts\n")
        self.process.stdin.flush()
        return self._counts.get(timeout=WAIT)

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def stop(self) -> None:
        assert self.process.stdin
        if self.process.poll() is None:
            self.process.stdin.write("stop\n")
            self.process.stdin.flush()
        self.end()

    def end(self) -> None:
        self.process.wait(WAIT)
        self._reader.join(WAIT)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()


@pytest.fixture
def worker(place: Place, clock: Clock) -> Iterator[Callable[..., Worker]]:
    clock.make_real()
    started: list[Worker] = []

    def start(lease: float = 60.0, attempts: int = 10) -> Worker:
        made = Worker(place.url, lease, attempts)
        started.append(made)
        until(lambda: made.said)
        return made

    yield start
    for made in started:
        if made.process.poll() is None:
            made.process.send_signal(signal.SIGCONT)
            made.kill()


def pause_between_transactions(place: Place, worker: Worker) -> None:
    """Who is stopped inside of one keeps its locks, and nobody else could do anything."""

    def is_between() -> bool:
        worker.process.send_signal(signal.SIGSTOP)
        if _is_quiet(place):
            return True
        worker.process.send_signal(signal.SIGCONT)
        return False

    until(is_between)


def _is_quiet(place: Place) -> bool:
    if place.engine == "postgresql":
        return not place.execute(
            "select 1 from pg_stat_activity where xact_start is not null"
            " and datname = current_database() and pid <> pg_backend_pid()"
            " and backend_type = 'client backend'"
        )
    with contextlib.closing(sqlite3.connect(place.name, timeout=0, isolation_level=None)) as conn:
        try:
            conn.execute("begin exclusive")
        except sqlite3.OperationalError:
            return False
        conn.execute("rollback")
        return True


def order(do: str, **more: str) -> Any:
    return letter()._replace(payload=json.dumps({"do": do, **more}))


@pytest.mark.req("S-15", "S-16", "O-10")
def test_a_message_that_kills_its_worker_comes_to_an_end(
    db: Database, place: Place, worker: Any
) -> None:
    [poison] = put(db, order("die"))
    fine = put(db, *[order("work") for _ in range(20)])
    begun: Counter[str] = Counter()
    for _ in range(6):
        one_life = worker(lease=2.0, attempts=3)
        until(lambda w=one_life: w.process.poll() is not None or _is_over(place, poison))
        if one_life.process.poll() is None:
            one_life.stop()
            begun.update(one_life.begun())
            break
        one_life.end()
        begun.update(one_life.begun())
    stored = one(place, poison)
    assert (stored.status, stored.attempts, stored.dead_reason) == ("dead", 3, "OUTCOME_UNKNOWN")
    assert begun[poison] == 3
    until(lambda: _drained(db, place, fine))


def _is_over(place: Place, id: str) -> bool:
    return one(place, id).status == "dead"


def _drained(db: Database, place: Place, wanted: list[str]) -> bool:
    from watchkeeper.actions.dispatch import drain

    handlers = registry()
    handlers.handle("letters", lambda _: None)
    drain(db, handlers)
    return set(wanted) <= set(delivered(place))


@pytest.mark.req("S-13", "O-11")
def test_a_worker_that_was_paused_beyond_its_lease_changes_nothing(
    db: Database, place: Place, worker: Any, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    [id] = put(db, order("wait", **{"for": str(gate)}))
    paused = worker(lease=5.0)
    until(paused.begun)
    pause_between_transactions(place, paused)
    gate.touch()
    other = worker()
    until(lambda: delivered(place) == [id])
    [before] = place.execute("select attempts, done_at from outbox_delivered")
    paused.process.send_signal(signal.SIGCONT)
    until(lambda: paused.counts().get("fenced"))
    assert paused.counts().get("delivered", 0) == 0
    assert place.execute("select attempts, done_at from outbox_delivered") == [before]
    assert before[0] == 2
    assert other.begun() == [id]


@pytest.mark.req("S-16", "O-10")
def test_a_killed_worker_loses_nothing(
    db: Database, place: Place, worker: Any, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    wanted = put(db, *[order("wait", **{"for": str(gate)}) for _ in range(12)])
    first = worker(lease=5.0)
    until(lambda: len(first.begun()) == 4)
    first.kill()
    gate.touch()
    second = worker()
    until(lambda: len(delivered(place)) == 12)
    assert set(delivered(place)) == set(wanted)
    second.stop()
    assert Counter(first.begun() + second.begun()).most_common(1)[0][1] <= 2
    assert live(place) == {}


@pytest.mark.req("S-12")
def test_several_processes_share_the_work_without_doing_it_twice(
    db: Database, place: Place, worker: Any
) -> None:
    workers = [worker(lease=30.0) for _ in range(3)]
    wanted = put(db, *[order("work") for _ in range(300)])
    until(lambda: len(delivered(place)) == 300)
    begun = [id for one_worker in workers for id in one_worker.begun()]
    until(lambda: len([id for w in workers for id in w.begun()]) >= 300)
    begun = [id for one_worker in workers for id in one_worker.begun()]
    assert sorted(begun) == sorted(wanted)


@pytest.mark.req("S-16", "O-14")
def test_a_process_that_is_asked_to_stop_gives_its_messages_back(
    db: Database, place: Place, worker: Any, tmp_path: Path
) -> None:
    put(db, *[order("work") for _ in range(10)])
    stopped = worker(lease=600.0)
    until(lambda: len(delivered(place)) == 10)
    stopped.stop()
    assert stopped.process.returncode == 0
    assert live(place) == {}


@pytest.mark.req("O-10", "O-11")
@pytest.mark.postgresql
def test_workers_survive_the_restart_of_their_database() -> None:
    with running(fsync=True) as server:
        name = server.create()
        migrate(server.owner_url(name))
        db = open_database(server.url(name))
        handlers = registry(concurrency=2)
        gate, inside = threading.Event(), threading.Event()
        seen: Counter[str] = Counter()

        def call(message: Any) -> None:
            seen[message.id] += 1
            inside.set()
            gate.wait(WAIT)

        handlers.handle("letters", call)
        wanted = put(db, letter(), letter())
        workers = Workers(db, handlers, WorkerSettings(poll_seconds=0.1))
        workers.start()
        try:
            assert inside.wait(WAIT)
            assert server.process is not None
            server.process.kill()
            gate.set()
            until(lambda: sum(seen.values()) >= 1)
            time.sleep(0.3)
            server.process.start()
            until(lambda: workers.counts["delivered"] == 2)
            wanted += put(db, letter())
            until(lambda: workers.counts["delivered"] == 3)
        finally:
            workers.stop(2)
            db.close()
        assert set(seen) == set(wanted)
        assert set(seen.values()) == {1}, "a kept result was acked, not the work done again"
