"""The hash of an entry: pinned to the byte, and different for whatever differs."""

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.canonical import canonical_json
from watchkeeper.core.chain import (
    HASH_BYTES,
    Broken,
    Place,
    belongs_at,
    breaks,
    columns,
    envelope,
    genesis,
    link,
    links,
    unpacked,
)
from watchkeeper.core.ledger import Entry, Recorded
from watchkeeper.core.time import Instant

pytestmark = pytest.mark.req("T-03")

FIRST = Recorded(
    "acme",
    1,
    Entry(
        entry_id="01920000-0000-7000-8000-000000000001",
        at=Instant(1_893_456_000_000_000),
        stage="decide",
        kind="verdict",
        subject="acct-é",
        data='{"n":1,"word":"\\"quoted\\""}',
        policy_version=3,
        result="ALLOW",
        trigger_type="SIGNAL_ARRIVED",
    ),
)

words = st.text(st.characters(exclude_categories=["Cs"]))
entries = st.builds(
    Entry,
    entry_id=words,
    at=st.integers(0, 2**53 - 1),
    stage=words,
    kind=words,
    subject=words,
    data=words,
    policy_version=st.integers(0, 2**31 - 1),
    correlation_id=st.none() | words,
    trigger_type=st.none() | words,
    result=st.none() | words,
    reason=st.none() | words,
)


def test_the_form_is_pinned() -> None:
    """A change of it breaks every chain there is: then FORM must change, and this with it."""
    start = genesis("acme")
    assert (
        start.hash
        == hashlib.sha256(b'{"form":1,"genesis":"watchkeeper ledger","tenant_id":"acme"}').digest()
    )
    text = (
        '{"at":1893456000000000,"correlation_id":null,'
        '"data":"{\\"n\\":1,\\"word\\":\\"\\\\\\"quoted\\\\\\"\\"}",'
        '"entry_id":"01920000-0000-7000-8000-000000000001","form":1,"kind":"verdict",'
        f'"policy_version":3,"previous":"{start.hash.hex()}","reason":null,"result":"ALLOW",'
        '"seq":1,"stage":"decide","subject":"acct-é","tenant_id":"acme",'
        '"trigger_type":"SIGNAL_ARRIVED"}'
    )
    assert envelope(start.hash, FIRST) == text
    assert link(start.hash, FIRST) == hashlib.sha256(text.encode()).digest()


@given(entries, words, st.integers(1, 2**53 - 1), st.binary(min_size=32, max_size=32))
def test_what_is_hashed_is_canonical_json(
    entry: Entry, tenant: str, seq: int, previous: bytes
) -> None:
    found = Recorded(tenant, seq, entry)
    text = envelope(previous, found)
    assert text == canonical_json(columns(previous, found))
    told = json.loads(text)
    assert {name: told[name] for name in Entry._fields} == entry._asdict()


def test_every_tenant_begins_elsewhere() -> None:
    assert genesis("acme") != genesis("bolt")


@pytest.mark.parametrize("name", Entry._fields)
def test_every_column_counts(name: str) -> None:
    value = getattr(FIRST.entry, name)
    other = 7 if isinstance(value, int) else f"{value}x"
    changed = replace(FIRST, entry=FIRST.entry._replace(**{name: other}))
    start = genesis("acme").hash
    assert link(start, changed) != link(start, FIRST)


def chained(count: int) -> tuple[Place, list[Recorded], list[bytes]]:
    start = genesis("acme")
    made = [
        replace(FIRST, seq=n, entry=FIRST.entry._replace(subject=f"a{n}"))
        for n in range(1, count + 1)
    ]
    return start, made, links(start, made)


def test_a_chain_that_was_not_touched_has_no_breaks() -> None:
    start, made, hashes = chained(20)
    assert len(hashes) == 20
    assert unpacked(b"".join(hashes)) == hashes
    assert all(len(one) == HASH_BYTES for one in hashes)
    assert breaks(start, hashes, {one.seq: one for one in made}) == []


def test_links_end_at_a_gap() -> None:
    start, made, hashes = chained(5)
    assert links(start, made[:2] + made[3:]) == hashes[:2]


@given(st.integers(1, 20), st.integers(1, 20))
def test_only_what_was_changed_is_named(one: int, other: int) -> None:
    start, made, hashes = chained(20)
    there = {found.seq: found for found in made}
    there[one] = replace(there[one], entry=there[one].entry._replace(reason="another"))
    del there[other]
    found = {place.seq: place.what for place, _ in breaks(start, hashes, there)}
    assert found == {one: Broken.CHANGED} | {other: Broken.MISSING}


def test_an_entry_is_known_at_another_place() -> None:
    start, made, hashes = chained(9)
    moved = replace(made[6], seq=3)
    places = [start, *(Place(n, one) for n, one in enumerate(hashes, 1))]
    assert belongs_at(moved, places[6], hashes[6])
    assert not belongs_at(moved, places[2], hashes[2])
