"""Comparing a database with the tables of this program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import CheckConstraint, Connection, Table, UniqueConstraint, inspect

from watchkeeper.store.tables import metadata


def differences(conn: Connection) -> list[str]:
    """How the database differs: tables, columns, keys, constraints, indexes.

    What else lies in the same database, and what is in the migrations alone (triggers,
    roles), is not looked at.
    """
    there = _parts_there(conn)
    found: list[str] = []
    for table in metadata.sorted_tables:
        parts = there.get(table.name)
        if parts is None:
            found.append(f"table {table.name} is missing")
            continue
        wanted = _parts_wanted(table, conn)
        found += [f"{table.name}: {part} is missing" for part in sorted(wanted - parts)]
        found += [f"{table.name}: {part} is unknown" for part in sorted(parts - wanted)]
    return found


def _parts_wanted(table: Table, conn: Connection) -> set[str]:
    kinds = {UniqueConstraint: "unique", CheckConstraint: "check"}
    named = {
        f"{kinds[type(part)]} {part.name}" for part in table.constraints if type(part) in kinds
    }
    columns = {
        _column(c.name, c.type.compile(conn.dialect), bool(c.nullable)) for c in table.columns
    }
    indexes = {_index(i.name, [c.name for c in i.columns], bool(i.unique)) for i in table.indexes}
    return columns | indexes | named | {_key(c.name for c in table.primary_key.columns)}


def _parts_there(conn: Connection) -> dict[str, set[str]]:
    inspector = inspect(conn)
    parts: dict[str, set[str]] = {}
    for (_, name), columns in inspector.get_multi_columns().items():
        parts[name] = {
            _column(c["name"], c["type"].compile(conn.dialect), c["nullable"]) for c in columns
        }
    for (_, name), indexes in inspector.get_multi_indexes().items():
        parts[name] |= {
            _index(i["name"], i["column_names"], bool(i["unique"]))
            for i in indexes
            if "duplicates_constraint" not in i
        }
    for (_, name), checks in inspector.get_multi_check_constraints().items():
        parts[name] |= {f"check {check['name']}" for check in checks}
    for (_, name), uniques in inspector.get_multi_unique_constraints().items():
        parts[name] |= {f"unique {unique['name']}" for unique in uniques}
    for (_, name), key in inspector.get_multi_pk_constraint().items():
        parts[name].add(_key(key["constrained_columns"] if key else ()))
    return parts


def _column(name: str, kind: str, is_nullable: bool) -> str:
    return f"column {name} {kind}" + ("" if is_nullable else " NOT NULL")


def _index(name: Any, columns: Iterable[Any], is_unique: bool) -> str:
    return f"{'unique ' if is_unique else ''}index {name} ({', '.join(map(str, columns))})"


def _key(columns: Iterable[str]) -> str:
    return f"primary key ({', '.join(columns)})"
