"""The connection breaks while a turn's COMMIT is under way: the caller is told how it went."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.books import Meter, balanced, events
from tests.databases import Databases, Place
from tests.metered import USED, Worker
from tests.postgres import Server
from tests.proxy import Proxy, proxied
from watchkeeper import App, Decision
from watchkeeper.errors import CommitUnknown
from watchkeeper.store.database import open_database

pytestmark = pytest.mark.postgresql

LOST = pytest.mark.parametrize("fate", ["lose commit", "lose answer"])


@pytest.fixture
def place(databases: Databases) -> Iterator[Place]:
    with databases.fresh("postgresql") as found:
        yield found


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with proxied(server.tcp_port) as found:
        yield found


@pytest.fixture
def meter(place: Place, server: Server, proxy: Proxy) -> Iterator[Meter]:
    """Its database is behind the proxy."""
    db = open_database(server.tcp_url(place.name, port=proxy.port))
    meter = Meter(db)
    meter.reserve("warm", "warm")
    meter.finalize("warm", usage=(1, 1))
    yield meter
    db.close()


@LOST
@pytest.mark.req("S-01", "S-04")
def test_a_reserve_is_made_once(meter: Meter, proxy: Proxy, place: Place, fate) -> None:
    proxy.fates = [fate]
    reserved = meter.reserve("t1")
    assert proxy.fates == [], "the cut was made"
    assert reserved.turn.is_running
    assert meter.reserve("t1").turn == reserved.turn
    assert place.execute("select count(*) from ledger where kind = 'turn.reserved'") == [(2,)]
    assert balanced(place) == {"running": 1, "completed": 1}


@LOST
@pytest.mark.req("S-04")
def test_an_end_is_the_callers_own(meter: Meter, proxy: Proxy, place: Place, fate) -> None:
    meter.reserve("t1")
    proxy.fates = [fate]
    ended = meter.finalize("t1", usage=(10, 10))
    assert proxy.fates == []
    assert ended.won, "it was this call, whichever of its tries was committed"
    assert ended.turn.charged_micro == 40
    assert not meter.finalize("t1", "failed").won
    assert len(events(place)) == 2
    assert balanced(place) == {"completed": 2}


@pytest.mark.req("S-04")
def test_also_when_it_is_lost_again_and_again(meter: Meter, proxy: Proxy, place: Place) -> None:
    meter.reserve("t1")
    proxy.fates = ["lose commit", "lose answer", "lose answer", "lose commit"]
    assert meter.finalize("t1", usage=(10, 10)).won
    assert balanced(place) == {"completed": 2}


@LOST
@pytest.mark.req("S-04")
def test_one_of_many_who_race_has_won(meter: Meter, proxy: Proxy, place: Place, fate) -> None:
    meter.reserve("t1")
    proxy.fates = [fate, "forward", fate]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: meter.finalize("t1", usage=(10, 10)), range(16)))
    assert sum(one.won for one in found) == 1
    assert balanced(place) == {"completed": 2}


@pytest.mark.req("S-04")
def test_what_cannot_be_found_out_is_said_to_be_unknown(
    meter: Meter, proxy: Proxy, place: Place
) -> None:
    meter.reserve("t1")
    proxy.fates = ["refuse"]
    with pytest.raises(CommitUnknown):
        meter.finalize("t1", usage=(10, 10))
    proxy.refuses = False
    assert balanced(place) == {"completed": 2}, "for it had been committed"
    assert not meter.finalize("t1").won


@LOST
@pytest.mark.req("S-06")
def test_the_watchdog_counts_what_it_ended(meter: Meter, proxy: Proxy, place: Place, fate) -> None:
    meter.reserve("t1")
    place.execute("update clock set now_at = now_at + 301000000")
    proxy.fates = [fate]
    assert meter.watch() == 1
    assert balanced(place) == {"completed": 1, "failed": 1}


@LOST
@pytest.mark.req("S-04")
def test_the_start_of_a_metered_run(server: Server, place: Place, proxy: Proxy, fate) -> None:
    """Its attempt is given back; what was reserved is taken up again."""
    app = App(server.tcp_url(place.name, port=proxy.port), migrate=False)
    worker = Worker(app)
    worker.trigger()
    [message] = worker.claim()
    proxy.fates = [fate]
    assert worker.start(message) == {}
    assert proxy.fates == []
    [message] = worker.claim()
    [run] = worker.start(message).values()
    worker.end(message, run, Decision(usage=USED))
    assert place.execute("select state from runs") == [("SUCCEEDED",)]
    assert balanced(place) == {"completed": 1}
    app.close()


@LOST
@pytest.mark.req("S-04")
def test_the_end_of_a_metered_run(server: Server, place: Place, proxy: Proxy, fate) -> None:
    """It is written again until it is known, as a worker does, and settled once."""
    app = App(server.tcp_url(place.name, port=proxy.port), migrate=False)
    worker = Worker(app)
    worker.trigger()
    [message] = worker.claim()
    [run] = worker.start(message).values()
    proxy.fates = [fate]
    with pytest.raises(CommitUnknown):
        worker.end(message, run, Decision(usage=USED))
    assert proxy.fates == []
    worker.end(message, run, Decision(usage=USED))
    assert place.execute("select state, charged_micro from turns") == [("completed", 40)]
    assert place.execute("select state from runs") == [("SUCCEEDED",)]
    assert balanced(place) == {"completed": 1}
    app.close()
