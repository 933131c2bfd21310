"""The hash chain over a tenant's ledger: what one entry's hash is, and what breaks the chain.

The hash of an entry is the SHA-256 of a JSON object in the form of RFC 8785 that holds the
entry's columns, its data as the text that is stored, and the hash of the entry before it. The
first entry follows a hash that is the tenant's own. `docs/ledger.md` has the exact form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from json.encoder import encode_basestring
from typing import Any

from watchkeeper.core.canonical import canonical_json
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.time import Instant

FORM = 1
HASH_BYTES = 32

_text = encode_basestring


class Broken(StrEnum):
    """In which way the ledger is not what was sealed. Codes are public contract."""

    CHANGED = "changed"  # the entry is not the one that was sealed at its place
    MOVED = "moved"  # it was sealed at another place
    MISSING = "missing"  # it was sealed and is not there, and later ones are
    CUT = "cut"  # it was there and is not, nor is anything after it
    UNLINKED = "unlinked"  # the seals themselves have a gap before it
    REWRITTEN = "rewritten"  # everything agrees, but not with the checkpoint


@dataclass(frozen=True, slots=True)
class Break:
    """One place at which the chain is broken, and how."""

    seq: int
    what: Broken
    why: str
    entry_id: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a tenant's ledger, and the hash that the chain has there."""

    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is kept outside: up to `seq`, the chain of this tenant led to `hash`."""

    tenant_id: TenantId
    seq: int
    hash: str  # hexadecimal
    at: Instant


def genesis(tenant_id: str) -> Place:
    """What the first entry of a tenant follows."""
    text = canonical_json({"form": FORM, "genesis": "watchkeeper ledger", "tenant_id": tenant_id})
    return Place(0, hashlib.sha256(text.encode()).digest())


def envelope(previous: bytes, found: Recorded) -> str:
    """The text that is hashed. Written out, keys in order: it is made for every entry."""
    e = found.entry
    return (
        f'{{"at":{e.at:d},"correlation_id":{_or_null(e.correlation_id)},"data":{_text(e.data)},'
        f'"entry_id":{_text(e.entry_id)},"form":{FORM},"kind":{_text(e.kind)},'
        f'"policy_version":{e.policy_version:d},"previous":"{previous.hex()}",'
        f'"reason":{_or_null(e.reason)},"result":{_or_null(e.result)},"seq":{found.seq:d},'
        f'"stage":{_text(e.stage)},"subject":{_text(e.subject)},'
        f'"tenant_id":{_text(found.tenant_id)},"trigger_type":{_or_null(e.trigger_type)}}}'
    )


def columns(previous: bytes, found: Recorded) -> dict[str, Any]:
    """The same as a value: its canonical JSON is the text that is hashed."""
    e = found.entry
    return {
        "at": int(e.at),
        "correlation_id": e.correlation_id,
        "data": e.data,
        "entry_id": e.entry_id,
        "form": FORM,
        "kind": str(e.kind),
        "policy_version": e.policy_version,
        "previous": previous.hex(),
        "reason": e.reason,
        "result": e.result,
        "seq": found.seq,
        "stage": str(e.stage),
        "subject": e.subject,
        "tenant_id": found.tenant_id,
        "trigger_type": e.trigger_type,
    }


def link(previous: bytes, found: Recorded) -> bytes:
    """The hash of an entry that follows the entry with the hash `previous`."""
    return hashlib.sha256(envelope(previous, found).encode()).digest()


def links(start: Place, entries: Sequence[Recorded]) -> list[bytes]:
    """The hashes of the entries that follow a place, up to the first gap."""
    hashes, previous = [], start.hash
    for seq, found in enumerate(entries, start.seq + 1):
        if found.seq != seq:
            break
        previous = link(previous, found)
        hashes.append(previous)
    return hashes


def unpacked(hashes: bytes) -> list[bytes]:
    return [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]


def breaks(
    start: Place, sealed: Sequence[bytes], entries: Mapping[int, Recorded]
) -> list[tuple[Break, Recorded | None]]:
    """Where entries differ from what was sealed after a place, in order.

    Each entry is judged by the sealed hash before it, so that one that was changed does not
    cast doubt on those that follow.
    """
    found: list[tuple[Break, Recorded | None]] = []
    previous = start.hash
    for seq, expected in enumerate(sealed, start.seq + 1):
        entry = entries.get(seq)
        if entry is None:
            found.append((Break(seq, Broken.MISSING, "it was sealed and is not there"), None))
        elif link(previous, entry) != expected:
            why = "it is not what was sealed at its place"
            found.append((Break(seq, Broken.CHANGED, why, entry.entry.entry_id), entry))
        previous = expected
    return found


def belongs_at(entry: Recorded, before: Place, sealed: bytes) -> bool:
    """Whether this is the entry that was sealed after `before`, wherever it stands now."""
    there = Recorded(entry.tenant_id, before.seq + 1, entry.entry)
    return link(before.hash, there) == sealed


def _or_null(value: str | None) -> str:
    return "null" if value is None else _text(value)
