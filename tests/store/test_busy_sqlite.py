"""A SQLite file that others have: who could not get it has left nothing, and tries again.

Who has the file is told when to let go, so that nothing here depends on how long anything takes.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

import pytest

from tests.databases import Databases, Place
from tests.messages import letter, live
from watchkeeper.errors import Busy
from watchkeeper.store import sqlite
from watchkeeper.store.database import SQLITE_TRIES_MAX, Database, open_database
from watchkeeper.store.outbox import enqueue

Hold = Callable[[str], sqlite3.Connection]


@pytest.fixture
def place(databases: Databases) -> Iterator[Place]:
    with databases.fresh("sqlite") as found:
        yield found


@pytest.fixture
def impatient(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 1)
    with contextlib.closing(open_database(place.url, journal="rollback")) as db:
        with db.begin_system():
            pass  # the connection has this patience from here on
        yield db


@pytest.fixture
def hold(place: Place, impatient: Database) -> Iterator[Hold]:
    with contextlib.ExitStack() as ending:

        def begin(how: str) -> sqlite3.Connection:
            made = sqlite3.connect(place.name, isolation_level=None)
            ending.enter_context(contextlib.closing(made))
            made.execute(how)
            made.execute("select count(*) from outbox").fetchall()
            return made

        yield begin


def write(db: Database) -> None:
    with db.begin_system() as tx:
        enqueue(tx, [letter()])


def write_batch(db: Database) -> None:
    with db.batch_system() as tx:
        enqueue(tx, [letter()])


@pytest.mark.req("O-11")
@pytest.mark.parametrize("how", ["begin immediate", "begin"])
@pytest.mark.parametrize("deed", [write, write_batch])
def test_a_transaction_that_found_the_file_taken_runs_again(
    impatient: Database, place: Place, hold: Hold, how: str, deed: Callable[[Database], None]
) -> None:
    """Another writer has it from the start; a reader has it only when it comes to the COMMIT."""
    rival = hold(how)
    tries: list[int] = []

    def once() -> None:
        tries.append(len(tries))
        if len(tries) == SQLITE_TRIES_MAX:
            rival.execute("rollback")
        deed(impatient)

    impatient.retrying(once)
    assert len(tries) == SQLITE_TRIES_MAX
    assert len(live(place)) == 1, "what could not be committed the first time left nothing"


@pytest.mark.req("O-11")
@pytest.mark.parametrize("how", ["begin immediate", "begin"])
@pytest.mark.parametrize("deed", [write, write_batch])
def test_a_file_that_stays_taken_is_an_outage(
    impatient: Database, place: Place, hold: Hold, how: str, deed: Callable[[Database], None]
) -> None:
    rival = hold(how)
    tries: list[int] = []
    with pytest.raises(Busy) as failed:
        impatient.retrying(lambda: tries.append(1) or deed(impatient))
    assert isinstance(failed.value.__cause__, sqlite3.OperationalError)
    assert len(tries) == SQLITE_TRIES_MAX
    rival.execute("rollback")
    assert live(place) == {}
    deed(impatient)
    assert len(live(place)) == 1, "and the connection is as good as new"


@pytest.mark.parametrize("text", ["select * from nowhere", "nonsense"])
def test_what_fails_for_another_reason_is_not_tried_again(impatient: Database, text: str) -> None:
    tries: list[int] = []

    def once() -> None:
        tries.append(1)
        with impatient.begin_system() as tx:
            tx._driver.execute(text)

    with pytest.raises(sqlite3.OperationalError):
        impatient.retrying(once)
    assert len(tries) == 1
