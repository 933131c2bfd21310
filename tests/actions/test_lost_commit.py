"""The connection breaks at COMMIT: before the server has it, or before its answer is back."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.databases import Clock, Databases, Place
from tests.play import ACME, LIFECYCLE, POSTURE, Player, event, told
from tests.postgres import Server
from tests.proxy import Fate, Proxy, proxied
from tests.verify_clean import assert_verified
from watchkeeper.actions.change_account import AccountChange, change_account
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.errors import CommitUnknown
from watchkeeper.store.database import Database, open_database

pytestmark = [pytest.mark.postgresql, pytest.mark.req("D-12", "D-04")]

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
def player(place: Place, server: Server, proxy: Proxy) -> Iterator[Player]:
    """Its database is behind the proxy; its clock is not."""
    db = open_database(server.tcp_url(place.name, port=proxy.port))
    create_tenant(db, ACME)
    yield Player(db, Clock(place))
    db.close()


@pytest.fixture
def direct(place: Place) -> Iterator[Database]:
    db = place.open()
    yield db
    db.close()


def verdicts(place: Place) -> list[tuple]:
    return place.execute("select entry_id, result from ledger where kind = 'verdict' order by seq")


@LOST
def test_the_answer_is_the_verdict_that_was_decided(player, proxy, place, direct, fate) -> None:
    proxy.fates, before = [fate], proxy.commits
    decided = player.fire(event("ann"), event("ann"), event("bob"))
    assert [told(d) for d in decided] == ["ALLOW", "SKIP DEBOUNCED", "ALLOW"]
    assert proxy.fates == [], "the cut was made"
    tries = proxy.commits - before
    assert tries == 2 if fate == "lose commit" else 1 <= tries <= 2
    assert [str(id) for id, _ in verdicts(place)] == [d.decision_id for d in decided]
    assert player.tell(event("ann", key=decided[0].event.idempotency_key)) == [
        "SKIP DUPLICATE_IDEMPOTENCY_KEY"
    ]
    assert_verified(direct)


def test_also_when_it_is_lost_again_and_again(player, proxy, place, direct) -> None:
    fates: list[Fate] = ["lose commit", "lose answer", "lose answer", "lose commit"]
    proxy.fates = fates
    assert player.tell(event("ann"), event("bob")) == ["ALLOW", "ALLOW"]
    assert len(verdicts(place)) == 2
    assert proxy.fates == []
    assert_verified(direct)


def test_what_cannot_be_found_out_is_said_to_be_unknown(player, proxy, place, direct) -> None:
    proxy.fates = ["refuse"]
    with pytest.raises(CommitUnknown):
        player.fire(event("ann"))
    proxy.refuses = False
    assert [result for _, result in verdicts(place)] == ["ALLOW"], "for it had been committed"
    assert player.tell(event("bob")) == ["ALLOW"]
    assert_verified(direct)


@LOST
def test_many_callers_in_one_transaction(player, proxy, place, direct, fate) -> None:
    player.tell(event("warm"))
    proxy.fates = [fate, "forward", fate]
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda n: player.tell(event(f"a{n}")), range(40)))
    assert said == [["ALLOW"]] * 40
    assert len(verdicts(place)) == 41
    assert_verified(direct)


@LOST
def test_a_change_of_an_account_is_made_and_answered_once(
    player, proxy, place, direct, fate
) -> None:
    proxy.fates = [fate]
    change = AccountChange(posture="calm", lifecycle_state="live")
    decided = change_account(player.admission, ACME, AccountId("ann"), change)
    assert [d.event.trigger_type for d in decided] == [LIFECYCLE, POSTURE]
    assert [told(d) for d in decided] == ["ALLOW", "DEFER COOLDOWN"]
    assert place.execute("select version from accounts") == [(1,)]
    assert len(player.entries(kind="account.changed")) == 1
    assert_verified(direct)


@LOST
def test_a_retry_is_evaluated_once(player, proxy, place, direct, fate) -> None:
    player.fire(event("ann"))
    player.clock.advance(100)
    player.fire(event("ann"))
    player.clock.advance(200)
    [message] = player.claim(["decision.retry"])
    proxy.fates = [fate]
    player.handle(message)
    player.ack([message])
    assert [result for _, result in verdicts(place)] == ["ALLOW", "DEFER", "ALLOW"]
    assert_verified(direct)


def test_after_a_restart_of_the_server_nobody_meets_a_dead_connection(databases) -> None:
    """However many of them lay idle in the pool."""
    with databases.opened("postgresql") as (db, clock):
        player = Player(db, clock)
        player.fire(event("ann"))
        together = threading.Barrier(16)

        def hold(_: int) -> None:
            with db.read(ACME):
                together.wait(60)

        def cut_all() -> None:
            with ThreadPoolExecutor(16) as pool:
                list(pool.map(hold, range(16)))
            clock.place.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )

        cut_all()
        assert player.tell(event("bob")) == ["ALLOW"]
        cut_all()
        create_tenant(db, TenantId("bolt"))
        assert_verified(db)


@LOST
def test_a_lost_connection_is_thrown_away_without_a_word_of_the_pool(
    player, proxy, caplog: pytest.LogCaptureFixture, fate
) -> None:
    proxy.fates = [fate]
    with pytest.raises(CommitUnknown), player.db.begin(ACME) as tx:
        tx.conn.exec_driver_sql("select 1")
    assert [one for one in caplog.records if one.name.startswith("sqlalchemy")] == []
    assert player.tell(event("ann")) == ["ALLOW"]
