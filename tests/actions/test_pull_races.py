"""Many who pull at once: the last unit has one taker, and a limit is one limit for all."""

import contextlib
import time
from collections.abc import Iterator

import pytest

from tests.actions.test_turn_races import at_once
from tests.databases import START_AT, Clock, Databases, EngineName, Place
from tests.looking import Lookout, decisions, messages, reasons, spent
from tests.play import ACME
from tests.postgres import Server
from tests.proxy import Proxy, proxied
from tests.rivals import race
from tests.verify_clean import assert_verified
from watchkeeper.actions.request_pull import request_pull
from watchkeeper.actions.set_connector import ConnectorChange, set_connector
from watchkeeper.actions.tick_pulls import tick_pulls
from watchkeeper.core.heat import Depth
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.pulls import PullReason
from watchkeeper.core.time import DAY, SECOND, Instant, day_of
from watchkeeper.errors import CommitUnknown
from watchkeeper.store.database import Database, open_database, wall_clock

MANY = 16
RATE, BURST = 50, 50
SECONDS = 3.0


def opened(db: Database, url: str, engine: EngineName) -> contextlib.ExitStack:
    """Handles of their own on PostgreSQL; SQLite has one writer in a process anyway."""
    stack = contextlib.ExitStack()
    stack.handles = [
        stack.enter_context(contextlib.closing(open_database(url, pool_size=1)))
        if engine == "postgresql"
        else db
        for _ in range(MANY)
    ]
    return stack


def ask(db: Database, account: str, connector: str = "crm", **more: object):
    return request_pull(db, ACME, AccountId(account), connector, Depth.SHALLOW, **more)


@pytest.mark.req("P-08")
def test_the_last_unit_has_one_taker(
    db: Database, clock: Clock, place: Place, engine: EngineName
) -> None:
    lookout = Lookout(db, clock)
    lookout.budget(5, crm=100)
    for n in range(4):
        lookout.ask(f"before{n}")
    with opened(db, place.url, engine) as stack:
        found = at_once(MANY, lambda n: ask(stack.handles[n], f"a{n}"))
    assert reasons(found) == {"SCHEDULED": 1, "BUDGET_EXCEEDED": MANY - 1}
    assert spent(place) == {"": (5, 5), "crm": (5, 5)}
    assert_verified(db)


@pytest.mark.req("P-08", "P-09")
def test_the_first_of_a_day_in_both_scopes_at_once(
    db: Database, clock: Clock, place: Place, engine: EngineName
) -> None:
    lookout = Lookout(db, clock)
    lookout.budget(10, crm=7)
    clock.set(Instant(START_AT + DAY))
    with opened(db, place.url, engine) as stack:
        found = at_once(MANY, lambda n: ask(stack.handles[n], f"a{n}", "crm" if n % 2 else "erp"))
    allowed = [one for one in found if one.is_scheduled]
    assert len(allowed) == 10
    rows = place.execute("select day, connector_id, units from pull_days order by 2")
    today = day_of(START_AT) + 1
    assert [(day, name) for day, name, _ in rows] == [(today, n) for n in ("", "crm", "erp")]
    assert rows[0][2] == 10 == rows[1][2] + rows[2][2]
    assert rows[1][2] <= 7
    assert_verified(db)


@pytest.mark.req("P-07")
def test_one_id_has_one_taker(db: Database, clock: Clock, place: Place, engine: EngineName) -> None:
    Lookout(db, clock).budget(100)
    with opened(db, place.url, engine) as stack:
        found = at_once(MANY, lambda n: ask(stack.handles[n], "ann", pull_job_id="one"))
    assert reasons(found) == {"SCHEDULED": 1, "DUPLICATE_PULL_JOB_ID": MANY - 1}
    assert len(messages(place, "pull.requested")) == 1
    assert spent(place)[""] == (1, 1)


@pytest.mark.req("P-05", "P-07")
def test_many_schedulers_tick_at_once(
    db: Database, clock: Clock, place: Place, engine: EngineName
) -> None:
    lookout = Lookout(db, clock)
    lookout.connector()
    lookout.budget(1000)
    lookout.signal(*[f"a{n}" for n in range(30)])
    lookout.make_due(place)
    with opened(db, place.url, engine) as stack:
        found = at_once(MANY, lambda n: tick_pulls(stack.handles[n], ACME))
    assert sorted(len(one) for one in found) == [0] * (MANY - 1) + [30]
    assert len(messages(place, "pull.requested")) == 30
    assert spent(place)["crm"] == (30, 30)
    assert_verified(db)


@pytest.mark.req("P-10")
def test_slots_are_never_more_than_the_limit(
    db: Database, clock: Clock, place: Place, engine: EngineName
) -> None:
    """Of two tenants, so that not even a tenant's lock keeps them apart."""
    both = [Lookout(db, clock, TenantId(name)) for name in ("acme", "other")]
    for one in both:
        one.budget(100)
    both[0].connector(max_concurrency=5)

    def deed(n: int):
        tenant = both[n % 2].tenant_id
        return request_pull(stack.handles[n], tenant, AccountId(f"a{n}"), "crm", Depth.SHALLOW)

    with opened(db, place.url, engine) as stack:
        found = at_once(MANY, deed)
    assert reasons(found) == {"SCHEDULED": 5, "RATE_LIMIT": MANY - 5}
    assert place.execute("select count(*) from connector_slots") == [(5,)]


@pytest.mark.postgresql
@pytest.mark.req("P-10", "P-06")
def test_limiters_are_locked_in_one_order(databases: Databases) -> None:
    """Ticks of many tenants that want the same two connectors, some in the other order."""
    with databases.opened("postgresql") as (db, clock):
        place = clock.place
        tenants = [Lookout(db, clock, TenantId(f"t{n}")) for n in range(8)]
        for name in ("crm", "erp"):
            tenants[0].connector(name, milli_per_second=10**6, burst=1000, max_concurrency=1000)
        for n, one in enumerate(tenants):
            one.budget(1000)
            one.signal(*[f"a{m}" for m in range(10)])
            later = "crm" if n % 2 else "erp"
            place.execute(
                f"update next_pulls set due_at = {START_AT} - case connector_id"
                f" when '{later}' then 5 else 9 end where tenant_id = 't{n}'"
            )
        deadlocks = "select deadlocks from pg_stat_database where datname = current_database()"
        before = place.execute(deadlocks)
        with opened(db, place.url, "postgresql") as stack:
            found = at_once(8, lambda n: tick_pulls(stack.handles[n], tenants[n].tenant_id))
        assert [len(one) for one in found] == [20] * 8
        assert place.execute(deadlocks) == before
        assert place.execute("select count(*) from connector_slots") == [(160,)]
        assert_verified(db)


@pytest.mark.req("P-10")
def test_two_who_change_a_connector_at_once_both_do(
    db: Database, clock: Clock, place: Place, engine: EngineName
) -> None:
    changes = [ConnectorChange(burst=7), ConnectorChange(deep_units=9)] * 4
    with opened(db, place.url, engine) as stack:
        at_once(8, lambda n: set_connector(stack.handles[n], "crm", changes[n], by="test"))
    assert place.execute("select burst, deep_units from connectors") == [(7, 9)]


# -- many processes --------------------------------------------------------------------------------


def pull_for(url: str, tenant: str, seconds: float) -> list[int]:
    """Ask as fast as it goes; the moments at which this process was let through."""
    granted = []
    with contextlib.closing(open_database(url, pool_size=1)) as db:
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            number += 1
            answer = request_pull(
                db, TenantId(tenant), AccountId(f"{tenant}-{number}"), "crm", Depth.SHALLOW
            )
            if answer.is_scheduled:
                granted.append(int(answer.at))
            else:
                assert answer.reason is PullReason.RATE_LIMIT
                wait = (answer.retry_at - answer.at) / SECOND
                time.sleep(max(0.0, min(wait, 0.02)))
    return granted


@pytest.mark.slow
@pytest.mark.postgresql
@pytest.mark.req("P-10")
def test_one_rate_under_eight_processes(databases: Databases) -> None:
    """By the database's clock: never above rate and burst in any window, and the burst is used."""
    with databases.fresh("postgresql") as place:
        clock = Clock(place)
        with contextlib.closing(place.open()) as db:
            for n in range(8):
                Lookout(db, clock, TenantId(f"t{n}")).budget(10**6)
            Lookout(db, clock).connector(
                has_cadence=False, milli_per_second=RATE * 1000, burst=BURST
            )
            clock.make_real()
            place.execute("update connectors set scheduled_at = 0")
            race(pull_for, [(place.url, f"t{n}", SECONDS) for n in range(8)])
            rows = place.execute(
                "select at from ledger where kind = 'pull.decided' and result = 'SCHEDULED'"
                " order by at"
            )
            moments = [at for (at,) in rows]
            interval = SECOND // RATE
            for first in range(len(moments)):
                for last in range(first, len(moments)):
                    span = moments[last] - moments[first]
                    assert last - first + 1 <= span // interval + BURST
            assert len(moments) >= BURST  # how much more is a matter of who else uses the machine
            assert_verified(db)


@pytest.mark.postgresql
@pytest.mark.req("P-09", "P-10")
def test_a_worker_whose_clock_is_a_day_off(databases: Databases) -> None:
    with databases.fresh("postgresql") as place:
        clock = Clock(place)
        with contextlib.closing(place.open()) as db:
            lookout = Lookout(db, clock)
            lookout.budget(3)
            lookout.connector(milli_per_second=1, burst=3)
            clock.make_real()
            today = day_of(wall_clock())
            for offset in (-DAY, DAY, 0):
                wrong = place.open(wall=lambda off=offset: Instant(wall_clock() + off))
                with contextlib.closing(wrong) as other:
                    assert ask(other, f"a{offset}").is_scheduled
            days = {row[0] for row in place.execute("select day from pull_days")}
            assert days <= {today, today + 1}, "the database's day, whatever a worker thinks"


# -- a COMMIT whose answer is lost -----------------------------------------------------------------


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with proxied(server.tcp_port) as found:
        yield found


@pytest.mark.postgresql
@pytest.mark.req("P-06", "P-07")
@pytest.mark.parametrize("fate", ["lose commit", "lose answer"])
def test_a_tick_whose_commit_was_lost(
    databases: Databases, server: Server, proxy: Proxy, fate
) -> None:
    with databases.fresh("postgresql") as place:
        clock = Clock(place)
        db = open_database(server.tcp_url(place.name, port=proxy.port))
        with contextlib.closing(db):
            lookout = Lookout(db, clock)
            lookout.connector()
            lookout.budget(100)
            lookout.signal("ann", "bob")
            lookout.make_due(place)
            planned = Instant(messages(place, "pull.tick")[0]["due_at"])
            proxy.fates = [fate]
            with pytest.raises(CommitUnknown):
                tick_pulls(db, ACME, planned)
            assert proxy.fates == [], "the cut was made"
            done = fate == "lose answer"
            again = tick_pulls(db, ACME, planned)  # its message comes again
            assert len(again) == (0 if done else 2)
            assert len(messages(place, "pull.requested")) == 2
            assert spent(place)["crm"] == (2, 2)
            assert decisions(place) == {("SCHEDULED", None): 2}
            assert_verified(db)


@pytest.mark.postgresql
@pytest.mark.req("P-07")
def test_asked_again_after_a_lost_commit_it_is_one_pull(
    databases: Databases, server: Server, proxy: Proxy
) -> None:
    with databases.fresh("postgresql") as place:
        db = open_database(server.tcp_url(place.name, port=proxy.port))
        with contextlib.closing(db):
            lookout = Lookout(db, Clock(place))
            lookout.budget(100)
            proxy.fates = ["lose answer"]
            with pytest.raises(CommitUnknown):
                lookout.ask()
            assert lookout.ask().reason is PullReason.DUPLICATE
            assert spent(place)[""] == (1, 1)
            assert_verified(db)
