"""Signals of a database that was migrated before ids could come again stay as they are."""

from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from tests.databases import Databases, EngineName
from watchkeeper.store.migrations import HERE, upgrade

pytestmark = pytest.mark.req("O-13")

_INSERT = (
    "insert into signals (tenant_id, signal_id, account_id, type, occurred_at, recorded_at, seq,"
    " correlation_id, data) values ('t', '{}', '{}', 'mail', 5, 6, {}, null, '{{}}')"
)


def urls(engine: EngineName, databases: Databases, folder: Path) -> tuple[str, str]:
    """Of the owner, who migrates, and of somebody who may write anything."""
    if engine == "sqlite":
        return (f"sqlite:///{folder}/old.db",) * 2
    server, name = databases.server, databases.server.create("template0")
    made = (server.owner_url(name), server.admin_url(name))
    owner, admin = (url.replace("postgresql:", "postgresql+psycopg:") for url in made)
    return owner, admin


def test_old_signals_are_kept_and_an_id_may_come_again(
    engine: EngineName, databases: Databases, tmp_path: Path
) -> None:
    owner, admin = (create_engine(url) for url in urls(engine, databases, tmp_path))
    config = Config()
    config.set_main_option("script_location", str(HERE))
    with owner.begin() as conn:
        config.attributes["connection"] = conn
        command.upgrade(config, "0009")
    with admin.begin() as conn:
        for row in (("s1", "ann", 1), ("s2", "ann", 2), ("s3", "bob", 3)):
            conn.exec_driver_sql(_INSERT.format(*row))
    upgrade(owner)
    with admin.begin() as conn:
        conn.exec_driver_sql(_INSERT.format("s1", "ann", 4))
        sql = "select signal_id, account_id, seq, occurred_at from signals order by seq"
        found: list[Any] = list(conn.exec_driver_sql(sql).fetchall())
    owner.dispose()
    admin.dispose()
    assert [tuple(row) for row in found] == [
        ("s1", "ann", 1, 5),
        ("s2", "ann", 2, 5),
        ("s3", "bob", 3, 5),
        ("s1", "ann", 4, 5),
    ]
