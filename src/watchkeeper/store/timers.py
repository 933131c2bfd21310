"""When a tenant's next cycle or tick is due, and the message that waits for it.

There is one of a kind. Whatever takes its place takes its message away, unless somebody has it
already: that one finds that it is no longer meant. So messages for a day or three ahead do not
pile up while plans and pulls come and go.
"""

from __future__ import annotations

from watchkeeper.core.ids import MessageId
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Tx


class Timer:
    """One kind, by its table."""

    def __init__(self, table: str) -> None:
        self._at = same(f"select due_at from {table} where tenant_id = %s")
        self._set = same(
            f"insert into {table} (tenant_id, due_at, message_id) values (%s, %s, %s)"
            " on conflict (tenant_id) do update"
            " set due_at = excluded.due_at, message_id = excluded.message_id"
        )
        self._forget = same(f"delete from {table} where tenant_id = %s")
        self._drop = Statement(
            # By the message's key: a bound and an order leave the planner no other way.
            f"""delete from outbox o using {table} t, lateral (
                select ctid, status from outbox where tenant_id = t.tenant_id
                and id >= t.message_id and id <= t.message_id order by tenant_id, id limit 1) at
            where t.tenant_id = %s and o.ctid = at.ctid and at.status = 'pending'
                and (o.status = at.status) is true""",
            f"""delete from outbox where status = 'pending' and seq in (
                select o.seq from {table} t join outbox o
                on o.tenant_id = t.tenant_id and o.id = t.message_id where t.tenant_id = ?)""",
        )

    def at(self, tx: Tx) -> Instant | None:
        """When the next is due, as far as one is under way."""
        rows = tx.rows(self._at, (tx.tenant_id,))
        return Instant(rows[0][0]) if rows else None

    def set(self, tx: Tx, at: Instant, message_id: MessageId) -> None:
        """It is due then, and this message says so. The caller writes the message."""
        tx.run(self._drop, (tx.tenant_id,))
        tx.run(self._set, (tx.tenant_id, at, message_id))

    def forget(self, tx: Tx) -> None:
        tx.run(self._drop, (tx.tenant_id,))
        tx.run(self._forget, (tx.tenant_id,))


CYCLES = Timer("plan_cycles")
TICKS = Timer("pull_ticks")
