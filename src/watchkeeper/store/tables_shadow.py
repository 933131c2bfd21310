"""The part of the schema that is about trust: what policies mean, and shadows of them."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Table, Text

from watchkeeper.store.metadata import metadata
from watchkeeper.store.types import Instant, identifier

policy_meanings = Table(  # each version with the shipped values of its time under it
    "policy_meanings",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("effective", Text, nullable=False),  # canonical JSON
)

shadows = Table(  # policies that are asked beside the one in force, and never act
    "shadows",
    metadata,
    Column("name", Text, primary_key=True),
    Column("shadow_id", identifier(), nullable=False),  # another one each time it is set
    Column("hash", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("effective", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("set_at", Instant, nullable=False),
)

shadow_states = Table(  # how far a shadow has followed a tenant's ledger, and what it knows there
    "shadow_states",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("shadow_id", identifier(), nullable=False),
    Column("seq", Instant, nullable=False),
    Column("state", Text, nullable=False),
)

shadow_accounts = Table(  # accounts that would be elsewhere under a shadow
    "shadow_accounts",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("account_id", Text, primary_key=True),
    Column("state", Text, nullable=False),
)

shadow_flips = Table(  # verdicts that a shadow would have given otherwise
    "shadow_flips",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("seq", Instant, primary_key=True, autoincrement=False),
    Column("decision_id", identifier(), nullable=False),
    Column("account_id", Text, nullable=False),
    Column("was", Text, nullable=False),
    Column("would_be", Text, nullable=False),
)
