"""First answers to requests that carried an Idempotency-Key."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

_CLAIM = same(
    "insert into http_replies (tenant_id, route, key, fingerprint, expires_at)"
    " values (%s, %s, %s, %s, %s)"
    " on conflict (tenant_id, route, key) do update set fingerprint = excluded.fingerprint,"
    " status = null, headers = null, body = null, expires_at = excluded.expires_at"
    " where http_replies.expires_at <= %s returning key"
)
_FIND = same(
    "select fingerprint, status, headers, body from http_replies"
    " where tenant_id = %s and route = %s and key = %s"
)
_KEEP = same(
    "update http_replies set status = %s, headers = %s, body = %s, expires_at = %s"
    " where tenant_id = %s and route = %s and key = %s and fingerprint = %s and status is null"
)
_RELEASE = same(
    "delete from http_replies"
    " where tenant_id = %s and route = %s and key = %s and fingerprint = %s and status is null"
)


@dataclass(frozen=True, slots=True)
class Name:
    """What a reply is kept under, beside its tenant."""

    route: str
    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that was kept; without a status it is still being made."""

    fingerprint: str
    status: int | None
    headers: str | None
    body: str | None


def claim(tx: Tx, name: Name, expires_at: Instant) -> bool:
    """Take the name, if nobody holds it or whoever did is past its time."""
    values = (tx.tenant_id, name.route, name.key, name.fingerprint, expires_at, tx.now)
    return bool(tx.rows(_CLAIM, values))


def find(tx: Tx, name: Name) -> Reply | None:
    rows = tx.rows(_FIND, (tx.tenant_id, name.route, name.key))
    return Reply(*rows[0]) if rows else None


def keep(tx: Tx, name: Name, *, status: int, headers: str, body: str, expires_at: Instant) -> None:
    held = (tx.tenant_id, name.route, name.key, name.fingerprint)
    tx.run(_KEEP, (status, headers, body, expires_at, *held))


def release(tx: Tx, name: Name) -> None:
    tx.run(_RELEASE, (tx.tenant_id, name.route, name.key, name.fingerprint))
