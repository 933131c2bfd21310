"""Messages whose rows are moved while they are being acked: who holds them ends them, nobody else.

A row that somebody updates gets another place. Who waited for that somebody looks again.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.actions.test_recall import Carrier, Running, late
from tests.carrying import sound
from tests.consumers import wait_until_blocked
from tests.databases import Clock, Place
from tests.messages import claim, delivered, ids, letter, live, put
from watchkeeper.actions.deliver_messages import exchange
from watchkeeper.ids import new_token
from watchkeeper.store.database import Database
from watchkeeper.store.outbox_settle import ack

pytestmark = [pytest.mark.postgresql, pytest.mark.parametrize("engine", ["postgresql"])]

WAIT = 60.0
RENEWED = "update outbox set locked_until = locked_until + 1 where id = '{id}'"
CLAIMED = (
    "update outbox set locked_until = locked_until + 1, attempts = attempts + 1,"
    f" locked_by = '{new_token()}' where id = '{{id}}'"
)


@contextmanager
def changing(place: Place, statement: str, *message_ids: str) -> Iterator[psycopg.Connection]:
    """Somebody else has changed these messages and has not committed yet."""
    with psycopg.connect(place.admin_url) as conn:
        for id in message_ids:
            assert conn.execute(statement.format(id=id).encode()).rowcount == 1
        yield conn


def while_waiting(place: Place, deed: Callable[[], Any], statement: str, *message_ids: str) -> Any:
    """What a deed answers that has to wait until the change is committed."""
    with ThreadPoolExecutor(1) as pool, changing(place, statement, *message_ids) as conn:
        answer = pool.submit(deed)
        wait_until_blocked(place)
        assert not answer.done()
        conn.commit()
        return answer.result(WAIT)


@pytest.mark.req("S-13", "O-11")
def test_an_ack_that_waited_for_a_renewal_is_done(db: Database, place: Place) -> None:
    put(db, *[letter() for _ in range(3)])
    claimed = claim(db)

    def acked() -> set[str]:
        with db.begin_system() as tx:
            return ack(tx, claimed)

    assert while_waiting(place, acked, RENEWED, claimed[1].id) == set(ids(claimed))
    assert sorted(delivered(place)) == sorted(ids(claimed))
    assert live(place) == {}


@pytest.mark.req("S-13", "O-11")
def test_an_ack_that_waited_for_another_claim_is_refused(db: Database, place: Place) -> None:
    put(db, *[letter() for _ in range(3)])
    claimed = claim(db)
    mine = {claimed[0].id, claimed[2].id}

    def acked() -> set[str]:
        with db.begin_system() as tx:
            return ack(tx, claimed)

    assert while_waiting(place, acked, CLAIMED, claimed[1].id) == mine
    assert set(delivered(place)) == mine
    assert set(live(place)) == {claimed[1].id}


@pytest.mark.req("S-13", "O-11")
@pytest.mark.parametrize("statement", [RENEWED, CLAIMED], ids=["renewed", "claimed"])
def test_an_ack_by_place_that_waited_is_not_counted(
    db: Database, place: Place, statement: str
) -> None:
    """The dispatcher then asks by the key, as above."""
    put(db, letter())
    [message] = claim(db)
    found = while_waiting(place, lambda: exchange(db, [message], []), statement, message.id)
    assert not found.are_acked
    assert set(live(place)) == {message.id}


@pytest.fixture(params=["read", "guessed"])
def worker(place: Place, clock: Clock, request: pytest.FixtureRequest) -> Iterator[Carrier]:
    """One that reads before it decides; and, where time goes by, one that does not wait for it."""
    if request.param == "guessed":
        clock.make_real()
    made = Carrier(place.url)
    yield made
    sound(place)
    made.close()


@pytest.mark.req("A-09", "S-13")
def test_an_outcome_that_waited_for_a_renewal_is_written(worker: Carrier, place: Place) -> None:
    plan_id, second = worker.second()

    def go_on() -> list[Running]:
        return worker.go_on(second)

    [third] = while_waiting(place, go_on, RENEWED, second[0].id)
    assert third[1].step_id == "step-3"
    assert worker.steps(plan_id) == ["DONE", "DONE", "AUTO_EXECUTED"]
    assert set(live(place)) >= {third[0].id}
    assert second[0].id in delivered(place)
    assert second[0].id not in live(place)


@pytest.mark.req("A-09", "A-12", "S-13")
def test_an_outcome_that_waited_for_another_claim_is_not(worker: Carrier, place: Place) -> None:
    """Whoever holds the message now says how it ended."""
    plan_id, second = worker.second()
    assert while_waiting(place, lambda: worker.go_on(second), CLAIMED, second[0].id) == []
    assert worker.steps(plan_id) == ["DONE", "AUTO_EXECUTED", "PENDING"]
    assert second[0].id in live(place)
    assert late(place, plan_id) == []
