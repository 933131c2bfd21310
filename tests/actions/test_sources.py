"""What triggers by itself: a signal, and a change of an account."""

import pytest

from tests.databases import Clock, Place
from tests.play import ACME, LIFECYCLE, POSTURE, Player, told
from tests.verify_clean import assert_verified
from watchkeeper.actions.change_account import AccountChange, change_account
from watchkeeper.actions.ingest_signals import NewSignal, ingest_signals
from watchkeeper.actions.views import view_account
from watchkeeper.core.ids import AccountId, SignalId
from watchkeeper.errors import NotFound
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads

pytestmark = pytest.mark.req("D-20")

ANN = AccountId("ann")


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    return Player(db, clock)


def send(player: Player, *signals: NewSignal) -> list[str]:
    found = ingest_signals(player.admission, ACME, signals)
    return [told(decided) for _, decided in found]


def signal(**more: object) -> NewSignal:
    return NewSignal(**{"account_id": ANN, "type": "news", **more})


def stored(place: Place) -> list[str]:
    return [row[0] for row in place.execute("select signal_id from signals order by seq")]


def test_a_signals_key_is_its_own_else_its_id_else_made_for_it(player: Player, place) -> None:
    repeat = "SKIP DUPLICATE_IDEMPOTENCY_KEY"
    first = signal(signal_id=SignalId("s1"), idempotency_key="k1")
    assert send(player, first, first) == ["ALLOW", repeat]
    assert send(player, signal(signal_id=SignalId("k1"))) == [repeat], "an id is a key too"
    assert send(player, signal(signal_id=SignalId("s2"))) == ["SKIP DEBOUNCED"]
    assert send(player, signal(), signal()) == ["SKIP DEBOUNCED"] * 2
    assert stored(place)[:2] == ["s1", "s2"]
    assert len(stored(place)) == 4, "what is a repeat is not stored, everything else is"
    assert_verified(player.db)


def test_a_repeat_says_that_its_content_differs(player: Player) -> None:
    same = {"idempotency_key": "k"}
    signals = [signal(**same), signal(**same, data='{"a": 1}'), signal(**same, type="other")]
    found = ingest_signals(player.admission, ACME, [*signals, signal(**same)])
    duplicates = [decided.verdict.duplicate for _, decided in found[1:]]
    assert [duplicate.differs for duplicate in duplicates] == [True, True, False]


def test_a_signal_keeps_its_data_to_the_letter(player: Player, place: Place) -> None:
    data = '{"b":[1,2.50,"ü\\n€"],"a":{"z":null}}'
    send(player, signal(signal_id=SignalId("s"), data=data), signal())
    [(kept,)] = place.execute("select cast(data as text) from signals where signal_id = 's'")
    assert kept == data


def change(player: Player, account: str = "ann", **what: object) -> list[tuple[str, str]]:
    decided = change_account(player.admission, ACME, AccountId(account), AccountChange(**what))
    return [(d.event.trigger_type, told(d)) for d in decided]


def test_a_change_of_state_or_posture_is_its_trigger(player: Player) -> None:
    assert change(player, lifecycle_state="trial") == [(LIFECYCLE, "ALLOW")]
    player.clock.advance(hours=1)
    assert change(player, posture="calm") == [(POSTURE, "ALLOW")]
    player.clock.advance(hours=1)
    both = change(player, posture="tense", lifecycle_state="paying")
    assert both == [(LIFECYCLE, "ALLOW"), (POSTURE, "DEFER COOLDOWN")]
    account = view_account(player.admission.db, ACME, ANN)
    assert (account.posture, account.lifecycle_state, account.version) == ("tense", "paying", 3)
    assert_verified(player.db)


def test_a_change_that_changes_nothing_is_none(player: Player) -> None:
    change(player, posture="calm")
    before = len(player.entries())
    assert change(player, posture="calm") == []
    assert change(player) == []
    assert len(player.entries()) == before


def test_attributes_change_without_a_trigger(player: Player) -> None:
    change(player, posture="calm")
    assert change(player, attributes='{"plan":"pro"}') == []
    account = view_account(player.admission.db, ACME, ANN)
    assert loads(account.attributes) == {"plan": "pro"}
    assert (account.posture, account.version) == ("calm", 2)
    assert account.run_state.last_allowed_at is not None, "what it remembers stays"


def test_each_version_has_its_own_key(player: Player) -> None:
    change(player, posture="calm")
    player.clock.advance(hours=1)
    change(player, posture="tense")
    player.clock.advance(hours=1)
    assert change(player, posture="calm") == [(POSTURE, "ALLOW")], "back again is news again"
    keys = {loads(e.entry.data)["event"]["idempotency_key"] for e in player.entries(kind="verdict")}
    assert len(keys) == 3


def test_a_run_leaves_what_an_account_was_told(player: Player) -> None:
    change(player, posture="calm", attributes='{"a":1}')
    player.clock.advance(hours=1)
    send(player, signal())
    account = view_account(player.admission.db, ACME, ANN)
    assert (account.posture, account.attributes) == ("calm", '{"a":1}')


def test_an_account_that_nobody_met_is_not_there(player: Player) -> None:
    change(player, posture="calm")
    with pytest.raises(NotFound):
        view_account(player.admission.db, ACME, AccountId("bob"))
