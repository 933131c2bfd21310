"""Idempotency keys: the change that each of them stands for, and the first answer to it."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

_TAKE = same(
    "insert into http_replies (tenant_id, route, key, fingerprint, deed, expires_at)"
    " values (%s, %s, %s, %s, %s, %s)"
    " on conflict (tenant_id, route, key) do update set fingerprint = excluded.fingerprint,"
    " deed = excluded.deed, status = null, headers = null, body = null,"
    " expires_at = excluded.expires_at"
    " where http_replies.expires_at <= %s"
    " or (http_replies.status is null and http_replies.deed is null) returning key"
)
_FIND = same(
    "select fingerprint, deed, status, headers, body from http_replies"
    " where tenant_id = %s and route = %s and key = %s and expires_at > %s"
    " and (status is not null or deed is not null)"
)
_NOTE = same("update http_replies set deed = %s where tenant_id = %s and route = %s and key = %s")
_KEEP = same(
    "insert into http_replies"
    " (tenant_id, route, key, fingerprint, status, headers, body, expires_at)"
    " values (%s, %s, %s, %s, %s, %s, %s, %s)"
    " on conflict (tenant_id, route, key) do update set fingerprint = excluded.fingerprint,"
    " status = excluded.status, headers = excluded.headers, body = excluded.body,"
    " expires_at = excluded.expires_at"
    " where http_replies.expires_at <= %s"
    " or (http_replies.status is null and http_replies.fingerprint = excluded.fingerprint)"
)


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a request beside its tenant, and the fingerprint of its content."""

    route: str
    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A key that was used. `deed`: a note of the change, in JSON. No status: no answer was kept."""

    fingerprint: str
    deed: str | None
    status: int | None
    headers: str | None
    body: str | None


def take(tx: Tx, name: Name, deed: str, *, now: Instant, expires_at: Instant) -> bool:
    """Write the key into the transaction of its change; False when it was used before.

    Whoever comes second waits here until the first one has committed.
    """
    values = (tx.tenant_id, name.route, name.key, name.fingerprint, deed, expires_at, now)
    return bool(tx.rows(_TAKE, values))


def find(tx: Tx, name: Name, now: Instant) -> Reply | None:
    rows = tx.rows(_FIND, (tx.tenant_id, name.route, name.key, now))
    return Reply(*rows[0]) if rows else None


def note(tx: Tx, name: Name, deed: str) -> None:
    tx.run(_NOTE, (deed, tx.tenant_id, name.route, name.key))


def keep(tx: Tx, name: Name, *, status: int, headers: str, body: str, expires_at: Instant) -> None:
    held = (tx.tenant_id, name.route, name.key, name.fingerprint)
    tx.run(_KEEP, (*held, status, headers, body, expires_at, tx.now))
