"""The one collection that every table of the schema belongs to."""

from __future__ import annotations

from sqlalchemy import MetaData

metadata = MetaData()
