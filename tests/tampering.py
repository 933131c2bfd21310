"""What somebody with the database's own rights can do to a ledger: triggers do not stop them."""

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import psycopg

from tests.databases import Place
from watchkeeper.core.chain import genesis, links
from watchkeeper.core.ids import TenantId
from watchkeeper.store import ledger
from watchkeeper.store.database import Database

COLUMNS = {  # a lie for each column, which its type allows
    "at": "at + 1",
    "stage": "'act'",
    "kind": "'account.changed'",
    "subject": "subject || 'x'",
    "correlation_id": "'forged'",
    "policy_version": "policy_version + 1",
    "trigger_type": "'FORGED'",
    "result": "'FORGED'",
    "reason": "'FORGED'",
    "data": "{data}",
    "entry_id": "{id}",
}
FORGED_ID = "01920000-0000-7000-8000-0000000{seq:05d}"


class Intruder:
    """Works beneath every policy and trigger, on one tenant's rows."""

    def __init__(self, place: Place, tenant: str = "acme") -> None:
        self.place = place
        self.tenant = tenant

    def edit(self, seq: int, column: str) -> None:
        cast = "json" if self.place.engine == "postgresql" else "text"
        kind = "uuid" if self.place.engine == "postgresql" else "text"
        data = f"cast(replace(cast(data as text), '}}', ' }}') as {cast})"
        new = FORGED_ID.format(seq=seq)
        value = COLUMNS[column].format(data=data, id=f"cast('{new}' as {kind})")
        self.run(f"update ledger set {column} = {value} where {self.at(seq)}")

    def delete(self, seq: int) -> None:
        self.run(f"delete from ledger where {self.at(seq)}")

    def cut(self, seq: int) -> None:
        """Everything from here on is gone."""
        self.run(f"delete from ledger where tenant_id = '{self.tenant}' and seq >= {seq}")

    def swap(self, one: int, other: int) -> None:
        for old, new in ((one, -1), (other, one), (-1, other)):
            self.run(f"update ledger set seq = {new} where {self.at(old)}")

    def forget_seals(self, seq: int = 1) -> None:
        """And the seals, as if they had never been made."""
        where = f"tenant_id = '{self.tenant}' and to_seq >= {seq}"
        self.run(f"delete from ledger_seals where {where}")

    def count(self, seq: int) -> None:
        self.run(f"update tenants set ledger_seq = {seq} where tenant_id = '{self.tenant}'")

    def seal_again(self, db: Database, last: int) -> None:
        """Somebody who knows how: every hash is made anew, and the chain agrees with itself."""
        self.forget_seals()
        with db.read(TenantId(self.tenant)) as tx:
            hashes = links(genesis(self.tenant), ledger.as_stored(tx, 0, last))
        text = b"".join(hashes).hex()
        blob = f"'\\x{text}'" if self.place.engine == "postgresql" else f"x'{text}'"
        self.run(f"insert into ledger_seals values ('{self.tenant}', 1, {last}, {blob}, 0)")

    def at(self, seq: int) -> str:
        return f"tenant_id = '{self.tenant}' and seq = {seq}"

    def run(self, statement: str) -> None:
        with self._beneath() as conn:
            conn.execute(statement)

    @contextlib.contextmanager
    def _beneath(self) -> Iterator[Any]:
        if self.place.engine == "postgresql":
            with psycopg.connect(self.place.admin_url, autocommit=True) as conn:
                conn.execute("set session_replication_role = replica")
                yield conn
            return
        with contextlib.closing(sqlite3.connect(self.place.name, timeout=30)) as conn, conn:
            conn.execute("begin immediate")
            triggers = conn.execute(
                "select name, sql from sqlite_master where type = 'trigger'"
            ).fetchall()
            for name, _ in triggers:
                conn.execute(f"drop trigger {name}")
            yield conn
            for _, sql in triggers:
                conn.execute(sql)
