"""Column types that mean the same thing on SQLite and PostgreSQL."""

from __future__ import annotations

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.dialects.postgresql import JSON as PostgresJSON
from sqlalchemy.dialects.postgresql import UUID
from sqlalchemy.types import TypeEngine

Instant = BigInteger
"""Microseconds since 1970 UTC (core/time.py)."""

Micro = BigInteger
"""Micro-credits and what they are computed from: whole numbers, never floats."""


def identifier() -> TypeEngine[str]:
    """A UUID made by us: 16 bytes on PostgreSQL, its text on SQLite; text in Python."""
    return String(36).with_variant(UUID(as_uuid=False), "postgresql")


def document() -> TypeEngine[str]:
    """JSON kept byte for byte as it was written, so that it can be hashed as it stands.

    Python sees text on both: PostgreSQL's `json` refuses what is not JSON and keeps the
    rest unchanged, which `jsonb` would not (and its parsing was the largest single cost of
    an admission).
    """
    return Text().with_variant(_JsonText(), "postgresql")


class _JsonText(PostgresJSON):
    """PostgreSQL's json, handed over as text in both directions."""

    def bind_processor(self, dialect: object) -> None:  # noqa: ARG002
        return None

    def result_processor(self, dialect: object, coltype: object) -> None:  # noqa: ARG002
        return None
