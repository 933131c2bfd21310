"""A decision bundle decides to the same bytes anywhere, and a changed one says so."""

import json
from random import Random

import pytest

from tests.databases import Clock
from tests.moves.test_replay import live
from tests.play import ACME, Player, event
from watchkeeper.actions.export_bundle import export_bundle, replay_bundle
from watchkeeper.core.canonical import sha256_hex
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("T-12", "T-02")


def sealed(bundle: dict) -> dict:
    """With the hash that its content has: as somebody would who knows how it is made."""
    body = {key: value for key, value in bundle.items() if key != "hash"}
    return {**body, "hash": sha256_hex(body)}


def test_every_decision_of_any_history_decides_again(db: Database, clock: Clock) -> None:
    player = Player(db, clock)
    live(player, Random(3), 40)
    entries = player.entries(kind="verdict")
    for found in entries[:: max(1, len(entries) // 60)]:
        bundle = export_bundle(db, ACME, found.entry.entry_id)
        again = replay_bundle(json.loads(json.dumps(bundle)))
        assert again.problem is None
        assert again.is_same
        assert again.verdict is not None
        assert again.verdict.result == found.entry.result


@pytest.fixture
def bundle(db: Database, clock: Clock) -> dict:
    player = Player(db, clock)
    player.policy("[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 200\n")
    player.fire(event("ann"))
    clock.advance(100)
    [decided] = player.fire(event("ann"))
    return export_bundle(db, ACME, decided.decision_id)


def test_a_changed_bundle_says_so(bundle: dict) -> None:
    assert replay_bundle(bundle).is_same
    for name in ("tenant_id", "entry", "decision_id"):
        problem = replay_bundle({**bundle, name: bundle[name] + " "}).problem
        assert problem is not None
        assert "does not have its hash" in problem


def test_a_changed_bundle_that_was_hashed_again_says_so_too(bundle: dict) -> None:
    entry = bundle["entry"].replace("1893456000000000", "1893455000000000", 1)
    assert "decides to" in (replay_bundle(sealed({**bundle, "entry": entry})).problem or "")
    policy = bundle["policy"]
    shorter = policy["effective"].replace('"cooldown_seconds":200', '"cooldown_seconds":50')
    changed = sealed({**bundle, "policy": {**policy, "effective": shorter}})
    assert "policy does not have its hash" in (replay_bundle(changed).problem or "")
    other = sealed({**bundle, "policy": {**policy, "version": 9}})
    assert "not the one that ruled" in (replay_bundle(other).problem or "")


def test_another_engine_is_named(bundle: dict) -> None:
    entry = bundle["entry"].replace('"engine":1', '"engine":99')
    problem = replay_bundle(sealed({**bundle, "entry": entry})).problem or ""
    assert "engine 99" in problem
    assert "engine 1" in problem


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {},
        {"format": "other"},
        {"format": "watchkeeper.decision", "format_version": 2},
        {"format": "watchkeeper.decision", "format_version": 1},
    ],
    ids=str,
)
def test_what_is_no_bundle_is_refused(broken: object) -> None:
    with pytest.raises(Invalid):
        replay_bundle(broken)


@pytest.mark.parametrize("entry", ["", "{}", "[1]", '{"engine":1}'])
def test_an_entry_that_is_none_is_refused(bundle: dict, entry: str) -> None:
    with pytest.raises(Invalid):
        replay_bundle(sealed({**bundle, "entry": entry}))


def test_what_is_not_there_is_not_exported(db: Database, clock: Clock) -> None:
    Player(db, clock).fire(event())
    with pytest.raises(NotFound):
        export_bundle(db, ACME, "00000000-0000-7000-8000-000000000000")
