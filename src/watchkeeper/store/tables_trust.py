"""The part of the schema that is about trust: what each version of the policy means."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Table, Text

from watchkeeper.store.metadata import metadata

policy_meanings = Table(  # each version with the shipped values of its time under it
    "policy_meanings",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("effective", Text, nullable=False),  # canonical JSON
)
