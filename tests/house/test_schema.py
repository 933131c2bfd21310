"""The schema keeps its promises: the tenant comes first in every key; exceptions have reasons."""

from pathlib import Path

import pytest
from sqlalchemy import PrimaryKeyConstraint, Table, UniqueConstraint, create_engine

from tests.databases import Databases, Place
from watchkeeper.store import tables
from watchkeeper.store.tables import metadata

TABLES = sorted(metadata.tables.values(), key=lambda table: table.name)

# Tables of no tenant, and why they belong to none.
SYSTEM = {
    "policies": "one document for the whole installation; overrides of tenants are part of it",
    "policy_meanings": "what the versions of that document mean",
    "shadows": "documents beside that one, for the whole installation too",
    "clock": "time is the same for everybody",
    "connectors": "their limits protect what all tenants share",
    "action_types": "a handler is the same for every tenant; policy may judge it otherwise for one",
    "connector_slots": "pulls under way are counted over all tenants",
}

# Keys of tenants' tables that do not begin with the tenant, and why.
KEYS = {
    ("api_keys", "key_id"): "a key is looked up before anybody knows whose it is",
    ("outbox", "seq"): "made by the database, never given by a caller; (tenant, id) is unique too",
}

# Indexes that do not begin with the tenant: read by workers only, who take tenants in turn.
INDEXES = {
    "outbox_live": "the claim takes a topic's tenants in turn",
    "outbox_timers": "whose time has come is asked for all tenants at once",
    "outbox_slots": "a topic's concurrency is counted over all tenants",
    "turns_running": "whose time is over is asked for all tenants at once",
}

each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
each_tenant_table = pytest.mark.parametrize(
    "table", [table for table in TABLES if table.name not in SYSTEM], ids=lambda table: table.name
)


def keys(table: Table) -> list[list[str]]:
    """The columns of the primary key and of everything else that is unique, in order."""
    unique = [one for one in table.constraints if isinstance(one, UniqueConstraint)]
    found: list[PrimaryKeyConstraint | UniqueConstraint] = [table.primary_key, *unique]
    named = [[column.name for column in key.columns] for key in found]
    indexes = [index for index in table.indexes if index.unique]
    return named + [[column.name for column in index.columns] for index in indexes]


@pytest.mark.req("O-02")
@each_tenant_table
def test_a_key_begins_with_the_tenant(table: Table) -> None:
    wrong = [key for key in keys(table) if key[0] != "tenant_id"]
    unexplained = [key for key in wrong if (table.name, key[0]) not in KEYS]
    assert unexplained == [], f"{table.name}: begin it with tenant_id, or give a reason in KEYS"


@pytest.mark.req("O-21")
@each_tenant_table
def test_a_tenants_table_names_the_tenant_of_every_row(table: Table) -> None:
    assert "tenant_id" in table.columns
    assert not table.columns["tenant_id"].nullable


@each_tenant_table
def test_an_index_begins_with_the_tenant(table: Table) -> None:
    named = {str(index.name): [column.name for column in index.columns] for index in table.indexes}
    wrong = [name for name, columns in named.items() if columns[0] != "tenant_id"]
    assert [name for name in wrong if name not in INDEXES] == []


@each_tenant_table
def test_a_reference_stays_inside_its_tenant(table: Table) -> None:
    for reference in table.foreign_key_constraints:
        assert reference.column_keys[0] == "tenant_id", f"{table.name}: {reference.column_keys}"


@each_table
def test_every_table_has_a_primary_key(table: Table) -> None:
    assert len(table.primary_key.columns) > 0


@each_table
def test_a_moment_is_called_at_and_is_a_number(table: Table) -> None:
    for column in table.columns:
        if column.name.endswith("_at"):
            assert isinstance(column.type, type(tables.Instant())), f"{table.name}.{column.name}"


def test_constraints_have_names_to_be_found_by() -> None:
    checks = [
        one
        for table in TABLES
        for one in table.constraints
        if not isinstance(one, PrimaryKeyConstraint)
    ]
    assert [str(one) for one in checks if not one.name] == []


def test_the_exceptions_are_those_the_schema_knows_and_no_more() -> None:
    assert set(SYSTEM) == tables.SYSTEM_TABLES
    assert {table for table, _ in KEYS} <= set(metadata.tables)
    assert set(INDEXES) <= {str(index.name) for table in TABLES for index in table.indexes}


SHAPES = {
    "sqlite": ["select type, name, sql from sqlite_master where sql is not null"],
    "postgresql": [
        """select c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
            a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid)
        from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
        join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        where a.attnum > 0 and not a.attisdropped""",
        """select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
        where connamespace = 'public'::regnamespace and contype in ('p', 'u', 'c')""",
        "select indexname, indexdef from pg_indexes where schemaname = 'public'",
        """select relname, array_to_string(reloptions, ',') from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r'""",
    ],
}


def shape(url: str) -> list[tuple[str, ...]]:
    """The whole schema as the database itself tells it, without what only migrations make."""
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.connect() as conn:
            rows = [r for sql in SHAPES[engine.dialect.name] for r in conn.exec_driver_sql(sql)]
    finally:
        engine.dispose()
    told = [tuple(" ".join(str(value).split()).replace(" ,", ",") for value in row) for row in rows]
    own = [row for row in told if "alembic" not in str(row) and row[0] != "trigger"]
    return sorted(own)


@pytest.mark.req("O-13")
def test_what_the_migrations_make_is_what_the_tables_say(
    place: Place, databases: Databases, tmp_path: Path
) -> None:
    """Columns, defaults, keys, checks, indexes with their predicates, storage options."""
    if place.engine == "sqlite":
        plain = f"sqlite:///{tmp_path}/plain.db"
    else:
        name = databases.server.create("template0")
        plain = databases.server.owner_url(name)
    engine = create_engine(plain.replace("postgresql:", "postgresql+psycopg:"))
    metadata.create_all(engine)
    engine.dispose()
    assert shape(place.owner_url) == shape(plain)


@pytest.mark.req("O-21")
@pytest.mark.postgresql
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_every_tenants_table_has_row_level_security_forced(place: Place) -> None:
    unguarded = place.execute(
        """SELECT relname::text FROM pg_class
           WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
             AND relname <> 'alembic_version'
             AND NOT (relrowsecurity AND relforcerowsecurity
                      AND EXISTS (SELECT FROM pg_policy WHERE polrelid = pg_class.oid))"""
    )
    assert {name for (name,) in unguarded} <= set(SYSTEM)


@pytest.mark.req("O-21")
@pytest.mark.postgresql
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_the_roles_of_the_product_own_nothing_and_skip_nothing(place: Place) -> None:
    roles = place.execute(
        """SELECT rolname::text, rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb,
                  EXISTS (SELECT FROM pg_class WHERE relowner = pg_roles.oid)
           FROM pg_roles WHERE rolname LIKE 'watchkeeper_%' ORDER BY 1"""
    )
    nothing = (False,) * 6
    assert roles == [("watchkeeper_app", *nothing), ("watchkeeper_worker", *nothing)]
