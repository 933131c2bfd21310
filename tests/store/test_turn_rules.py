"""What the database itself refuses of turns and quota, whoever asks, and what it hides."""

import contextlib
import sqlite3
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from tests.books import ACME, Meter, balanced
from tests.databases import Databases, Place
from tests.power_cut import contents
from watchkeeper.actions.show_turn import list_turns, show_quota, show_turn
from watchkeeper.core.ids import TenantId
from watchkeeper.core.turns import Turn
from watchkeeper.errors import NotFound
from watchkeeper.ids import new_id
from watchkeeper.store.database import Database
from watchkeeper.store.tables_settle import quota_buckets, turns

REFUSED = (sqlite3.IntegrityError, psycopg.errors.IntegrityError)
TERMS = Turn._fields[: Turn._fields.index("state")]
CHANGED = {"user_id": "'eve'", "decision_id": f"'{new_id()}'"}
TEXTS = ("turn_id", "request_id", "selected_model", "effective_model", "tier")


@pytest.fixture
def meter(db: Database) -> Meter:
    """One turn that runs and one that has ended."""
    meter = Meter(db)
    meter.reserve("runs", "r1", user_id="u")
    meter.reserve("ended", "r2", user_id="u")
    meter.finalize("ended", usage=(10, 10))
    return meter


@contextlib.contextmanager
def unchanged(place: Place) -> Iterator[None]:
    before = contents(place)
    yield
    assert contents(place) == before


def refuses(place: Place, statement: str) -> None:
    with pytest.raises(REFUSED):
        place.execute(statement)


def changed(column: str) -> str:
    return CHANGED.get(column) or ("'eve'" if column in TEXTS else f"{column} + 1")


@pytest.mark.req("S-02")
def test_the_terms_of_a_reserve_never_change(meter: Meter, place: Place) -> None:
    with unchanged(place):
        for turn_id in ("runs", "ended"):
            for column in ("tenant_id", *TERMS):
                value = "'bolt'" if column == "tenant_id" else changed(column)
                refuses(place, f"update turns set {column} = {value} where turn_id = '{turn_id}'")


@pytest.mark.req("S-04")
def test_a_settlement_never_changes(meter: Meter, place: Place) -> None:
    changes = {
        "state": "'failed'",
        "started_at": "7",
        "ended_at": "ended_at + 1",
        "ended_by": "'eve'",
        "finalize_id": f"'{new_id()}'",
        "settlement_method": "'estimated'",
        "input_tokens": "input_tokens + 1",
        "output_tokens": "output_tokens + 1",
        "computed_micro": "computed_micro + 1, is_capped = true",
        "charged_micro": "charged_micro - 1, is_capped = true",
        "is_capped": "true",
        "event_id": f"'{new_id()}'",
    }
    with unchanged(place):
        for column, value in changes.items():
            refuses(place, f"update turns set {column} = {value} where turn_id = 'ended'")


@pytest.mark.req("S-04")
def test_what_has_ended_does_not_run_again(meter: Meter, place: Place) -> None:
    nothing = ", ".join(
        f"{name} = null"
        for name in Turn._fields[Turn._fields.index("ended_at") :]
        if not name.startswith("event_fate")
    )
    with unchanged(place):
        refuses(place, f"update turns set state = 'running', {nothing} where turn_id = 'ended'")


@pytest.mark.req("S-04")
def test_turns_are_kept(meter: Meter, place: Place) -> None:
    with unchanged(place):
        for turn_id in ("runs", "ended"):
            refuses(place, f"delete from turns where turn_id = '{turn_id}'")
        if place.engine == "postgresql":
            refuses(place, "truncate turns")


@pytest.mark.req("S-04")
def test_a_turn_is_not_born_again_or_ended(meter: Meter, place: Place) -> None:
    names = ", ".join(("tenant_id", *Turn._fields))
    again = f"select {names} from turns where turn_id"
    ended = names.replace("request_id", "'r9'").replace("turn_id", "'t9'")
    with unchanged(place):
        refuses(place, f"insert into turns ({names}) {again} = 'runs'")
        refuses(
            place,
            f"insert into turns ({names}) select {ended} from turns where turn_id = 'ended'",
        )
        if place.engine == "sqlite":
            for key in ("turn_id", "request_id"):
                other = ", ".join("'x'" if name == key else name for name in names.split(", "))
                copy = f"select {other} from turns where turn_id = 'runs'"
                refuses(place, f"insert or replace into turns ({names}) {copy}")


SETTLED = (
    "state = 'failed', ended_at = 1, ended_by = 'eve', settlement_method = '{method}',"
    " input_tokens = 0, output_tokens = 0, computed_micro = {computed}, charged_micro = {charged},"
    " is_capped = {capped}, finalize_id = '{id}', event_id = '{id}'"
)


@pytest.mark.req("S-04")
def test_no_end_without_its_event(meter: Meter, place: Place) -> None:
    end = SETTLED.format(method="actual", computed=1, charged=1, capped="false", id=new_id())
    others = meter.stored("ended").event_id
    with unchanged(place):
        refuses(place, "update turns set state = 'failed' where turn_id = 'runs'")
        refuses(place, f"update turns set {end} where turn_id = 'runs'")
        stolen = end.rpartition(",")[0] + f", event_id = '{others}'"
        refuses(place, f"update turns set {stolen} where turn_id = 'runs'")


@pytest.mark.req("S-05", "S-03")
def test_no_charge_above_the_tolerance(meter: Meter, place: Place) -> None:
    """Even together with an event of the right key, which only the end itself may write."""
    allowed = {"method": "actual", "computed": 440, "charged": 440, "capped": "false"}
    for wrong in (
        {"charged": 441, "computed": 441},
        {"charged": -1},
        {"charged": 439},
        {"computed": 439},
        {"method": "released"},
        {"method": "guessed"},
        {"charged": 400, "computed": 440, "capped": "false"},
    ):
        with unchanged(place), pytest.raises(REFUSED):
            end_by_hand(place, SETTLED.format(**(allowed | wrong), id=new_id()))
    end_by_hand(place, SETTLED.format(**allowed, id=new_id()))
    assert place.execute("select count(*) from turns where state <> 'running'") == [(2,)]


def end_by_hand(place: Place, end: str) -> None:
    """Event and end in one transaction, as the product does it, with figures of our own."""
    id = end.rpartition("event_id = '")[2].rstrip("'")
    event = (
        "insert into outbox (id, tenant_id, namespace, topic, dedupe_key, payload,"
        " next_attempt_at, is_due, created_at, updated_at) values"
        f" ('{id}', 'acme', 'x', 'usage_snapshot', 'acme/runs/r1', '{{}}', 1, true, 1, 1)"
    )
    if place.engine == "sqlite":
        connection = sqlite3.connect(place.name)
    else:
        connection = psycopg.connect(place.admin_url)
    with contextlib.closing(connection) as opened, opened:
        opened.execute(event)
        opened.execute(f"update turns set {end} where turn_id = 'runs'")


@pytest.mark.req("S-03")
def test_buckets_are_never_negative(meter: Meter, place: Place) -> None:
    with unchanged(place):
        for column in (
            "reserved_micro", "spent_micro", "turns_reserved", "turns_settled", "input_tokens",
            "output_tokens",
        ):  # fmt: skip
            refuses(place, f"update quota_buckets set {column} = -1")
        refuses(place, "update quota_buckets set period = 'weekly'")
        refuses(place, "update quota_buckets set bucket = 'premium'")


@pytest.mark.req("S-03")
@pytest.mark.postgresql
def test_money_columns_are_whole_numbers(databases: Databases) -> None:
    with databases.opened("postgresql") as (_, clock):
        found = clock.place.execute(
            "select column_name from information_schema.columns where (column_name like '%_micro'"
            " or column_name like '%tokens') and data_type <> 'bigint'"
            " and table_name not like 'heat%'"  # where a micro is a millionth of one
        )
        assert found == []


# -- who may see and do what, on PostgreSQL ------------------------------------------------------


@pytest.fixture
def two(databases: Databases) -> Iterator[tuple[Database, Place]]:
    """Two tenants with a running turn each."""
    with databases.opened("postgresql") as (db, clock):
        for tenant in ("acme", "bolt"):
            Meter(db, tenant).reserve("t1", "r1")
        yield db, clock.place


@pytest.mark.postgresql
@pytest.mark.req("S-01", "S-02")
def test_another_tenants_turns_and_buckets_are_invisible(two: tuple[Database, Place]) -> None:
    db, place = two
    with unchanged(place):
        with db.begin(ACME) as tx:
            for table in ("turns", "quota_buckets"):
                owners = tx.conn.execute(text(f"select distinct tenant_id from {table}")).all()
                assert owners == [("acme",)]
            for statement in (
                "update turns set progressed_at = 1 where tenant_id = 'bolt'",
                "update quota_buckets set spent_micro = 1 where tenant_id = 'bolt'",
                "delete from quota_buckets where tenant_id = 'bolt'",
            ):
                assert tx.conn.execute(text(statement)).rowcount == 0
        for table in (turns, quota_buckets):
            names = ", ".join(column.name for column in table.columns)
            theirs = names.replace("tenant_id", "'bolt'").replace("period,", "'monthly',")
            copy = f"insert into {table.name} ({names}) select {theirs} from {table.name} limit 1"
            with pytest.raises(Exception, match="row-level security"), db.begin(ACME) as tx:
                tx.conn.execute(text(copy))


@pytest.mark.postgresql
@pytest.mark.req("S-02", "S-04")
def test_workers_may_only_note_what_became_of_events(two: tuple[Database, Place]) -> None:
    db, place = two
    with unchanged(place):
        for statement in (
            "update turns set state = 'failed'",
            "update turns set reserved_micro = 0",
            "update turns set deadline_at = 1",
            "delete from turns",
            "select count(*) from quota_buckets",
            "update quota_buckets set spent_micro = 0",
        ):
            with pytest.raises(Exception, match="permission denied"), db.begin_system() as tx:
                tx.conn.execute(text(statement))


@pytest.mark.postgresql
@pytest.mark.req("S-02", "S-04")
def test_the_app_is_refused_what_everybody_is(two: tuple[Database, Place]) -> None:
    db, place = two
    with unchanged(place):
        for statement, why in (
            ("delete from turns", "delete of turns is refused"),
            ("update turns set reserved_micro = 0", "update of turns is refused"),
            ("update turns set state = 'failed'", "without its usage event"),
            ("update quota_buckets set spent_micro = -1", "quota_is_not_negative"),
        ):
            with pytest.raises(Exception, match=why), db.begin(ACME) as tx:
                tx.conn.execute(text(statement))


@pytest.mark.req("S-01")
def test_a_tenant_finds_nothing_of_another_through_the_product(db: Database, place: Place) -> None:
    Meter(db, "acme").reserve("t1", "r1", user_id="u")
    bolt = Meter(db, "bolt")
    bolt.reserve("t2", "r2")
    with pytest.raises(NotFound):
        show_turn(db, TenantId("bolt"), "t1")
    assert [turn.turn_id for turn in list_turns(db, TenantId("bolt"))] == ["t2"]
    assert {b.reserved for b in show_quota(db, TenantId("bolt"), "u")} == {0}
    for deed in (bolt.progress, bolt.finalize):
        with pytest.raises(NotFound):
            deed("t1")
    assert balanced(place) == {"running": 2}
