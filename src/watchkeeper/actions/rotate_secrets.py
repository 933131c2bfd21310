"""Stored secrets are encrypted anew with the newest key, and counted by their key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from watchkeeper.actions.set_sink import list_sinks, opened, sealed
from watchkeeper.errors import Invalid, Unavailable
from watchkeeper.store import sinks, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.keyring import SETTING, key_id_of
from watchkeeper.store.sinks import Sink

PAGE = 100


@dataclass(frozen=True, slots=True)
class SecretsShown:
    """Stored secrets by the key that they need, and the keys of this process."""

    key_ids: list[str]  # the newest first
    plain: int
    by_key: dict[str, int]

    @property
    def missing(self) -> list[str]:
        """Keys that stored secrets need and this process does not have."""
        return sorted(set(self.by_key) - set(self.key_ids))


@dataclass(frozen=True, slots=True)
class Rotated:
    """Sinks whose secrets were encrypted anew, and those whose secrets cannot be read."""

    changed: int
    unreadable: list[str]


def rotate_secrets(db: Database) -> Rotated:
    """Encrypt every stored secret with the newest key. It may be repeated, and run beside others.

    A process that does not have the new key yet cannot read what was encrypted with it: give
    it to all processes first.
    """
    if not db.keyring.key_ids:
        raise Invalid.at("secrets_key", f"is not set: put a key into {SETTING} first")
    changed, unreadable = 0, []
    for sink in _all(db):
        if _is_current(db, sink):
            continue
        try:
            changed += _rotate(db, sink)
        except Unavailable as error:
            unreadable.append(str(error))
    if changed:
        db.sinks.forget()
    return Rotated(changed, unreadable)


def show_secrets(db: Database) -> SecretsShown:
    """Count stored secrets by their key. Nothing is decrypted."""
    stored = [text for sink in _all(db) for text in (sink.secret, sink.old_secret) if text]
    counts = Counter(key_id_of(text) for text in stored)
    plain = counts.pop(None, 0)
    by_key = {key_id: count for key_id, count in counts.items() if key_id is not None}
    return SecretsShown(db.keyring.key_ids, plain, by_key)


def _rotate(db: Database, seen: Sink) -> int:
    def deed() -> int:
        with db.begin(seen.tenant_id) as tx:
            tenants.lock(tx)
            sink = sinks.get(tx, seen.name)
            if sink is None or _is_current(db, sink):
                return 0
            sinks.put(tx, sealed(db.keyring, opened(db.keyring, sink)))
            return 1

    return db.retrying(deed)


def _is_current(db: Database, sink: Sink) -> bool:
    return all(db.keyring.is_current(text or "") for text in (sink.secret, sink.old_secret))


def _all(db: Database) -> Iterator[Sink]:
    after = ("", "")
    while page := list_sinks(db, None, after, PAGE):
        yield from page
        after = (page[-1].tenant_id, page[-1].name)
