"""A statement, written once for each engine where they differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """Text for psycopg (`%s`) and for sqlite3 (`?`), side by side; same parameters, same rows."""

    postgresql: str
    sqlite: str


def same(sql: str) -> Statement:
    """Both engines understand it; only the mark of a parameter differs."""
    assert "?" not in sql
    return Statement(sql, sql.replace("%s", "?"))
