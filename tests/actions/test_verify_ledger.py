"""Whatever is done to a sealed ledger is found, and the first entry that suffered is named."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.databases import Clock, Place
from tests.play import ACME, Player, event
from tests.tampering import COLUMNS, Intruder
from tests.verify_clean import assert_verified, broken
from watchkeeper.actions import seal_ledger as sealer
from watchkeeper.actions.keep_ledger import make_checkpoint, read_checkpoint
from watchkeeper.actions.seal_ledger import seal_batch, seal_ledger, seal_tenant
from watchkeeper.actions.verify import CHAINED
from watchkeeper.actions.verify_ledger import checkpoint_data, verify_ledger
from watchkeeper.core.chain import Broken, Checkpoint
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.store import tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps

pytestmark = pytest.mark.req("T-03")

ENTRIES = 12
_numbers = count(1)
places = st.integers(1, ENTRIES)


def told(db: Database, tenant: TenantId = ACME, **options: object) -> list[tuple[int, str]]:
    return [(one.seq, str(one.what)) for one in verify_ledger(db, tenant, **options).breaks]


class Case:
    """A tenant of its own, with so many entries, sealed in batches of any size."""

    def __init__(self, db: Database, place: Place, sizes: list[int], entries: int = ENTRIES):
        self.db, self.place = db, place
        self.tenant = TenantId(f"t{next(_numbers)}")
        player = Player(db, Clock(place), self.tenant)
        for size in [*sizes, entries]:
            missing = entries - len(player.entries()) - (0 if player.entries() else 1)
            player.fire(*(event(f"a{n}") for n in range(min(size, missing))))
            seal_batch(db, self.tenant)
        self.intruder = Intruder(place, self.tenant)

    def told(self, **options: object) -> list[tuple[int, str]]:
        return told(self.db, self.tenant, **options)


def per_example(test):
    """Each example has a tenant of its own in the test's database."""
    calm = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=12, suppress_health_check=calm)(test)


sizes = st.lists(st.integers(1, ENTRIES), max_size=4)


# -- each kind of tampering, anywhere -------------------------------------------------------


@per_example
@given(sizes=sizes, seq=places, column=st.sampled_from(sorted(COLUMNS)))
def test_an_edit_is_found_and_named(
    db: Database, place: Place, sizes: list[int], seq: int, column: str
) -> None:
    case = Case(db, place, sizes)
    assert case.told() == []
    case.intruder.edit(seq, column)
    assert case.told() == [(seq, "changed")]


@per_example
@given(sizes=sizes, seq=st.integers(1, ENTRIES - 1))
def test_a_deletion_is_found_and_named(
    db: Database, place: Place, sizes: list[int], seq: int
) -> None:
    case = Case(db, place, sizes)
    case.intruder.delete(seq)
    assert case.told() == [(seq, "missing")]


@per_example
@given(sizes=sizes, pair=st.sets(places, min_size=2, max_size=2))
def test_a_swap_is_found_and_named(
    db: Database, place: Place, sizes: list[int], pair: set[int]
) -> None:
    case = Case(db, place, sizes)
    one, other = sorted(pair)
    case.intruder.swap(one, other)
    report = verify_ledger(db, case.tenant)
    assert [(b.seq, b.what) for b in report.breaks] == [(one, Broken.MOVED), (other, Broken.MOVED)]
    assert f"entry {other}" in report.breaks[0].why


@per_example
@given(sizes=sizes, seq=places)
def test_a_cut_tail_is_found_and_named(
    db: Database, place: Place, sizes: list[int], seq: int
) -> None:
    case = Case(db, place, sizes)
    case.intruder.cut(seq)
    assert case.told()[0] == (seq, "cut")


@per_example
@given(seq=st.integers(2, ENTRIES))
def test_a_cut_without_a_trace_is_found_by_a_checkpoint(
    db: Database, place: Place, seq: int
) -> None:
    """Entries, seals and the counter all agree: only what lies outside knows."""
    case = Case(db, place, [])
    known = Checkpoint(case.tenant, *_head(db, case.tenant), Instant(0))
    case.intruder.cut(seq)
    case.intruder.count(seq - 1)
    case.intruder.seal_again(db, seq - 1)
    assert case.told() == []
    assert case.told(checkpoint=known) == [(seq, "cut")]


@per_example
@given(seq=places)
def test_a_rewritten_chain_is_found_by_a_checkpoint(db: Database, place: Place, seq: int) -> None:
    case = Case(db, place, [])
    known = Checkpoint(case.tenant, *_head(db, case.tenant), Instant(0))
    case.intruder.edit(seq, "result")
    case.intruder.seal_again(db, ENTRIES)
    assert case.told() == []
    assert case.told(checkpoint=known) == [(ENTRIES, "rewritten")]


def _head(db: Database, tenant: TenantId) -> tuple[int, str]:
    sealed = verify_ledger(db, tenant).sealed
    return sealed.seq, sealed.hash.hex()


# -- what is not sealed yet -----------------------------------------------------------------


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    player = Player(db, clock)
    player.fire(*(event(f"a{n}") for n in range(9)))
    return player


def test_the_unsealed_tail_is_visible_as_such(player: Player) -> None:
    before = verify_ledger(player.db, ACME)
    assert (before.is_clean, before.entries, before.unsealed, before.sealed.seq) == (True, 0, 10, 0)
    assert seal_ledger(player.db) == 10
    player.fire(event("b"))
    after = verify_ledger(player.db, ACME)
    assert (after.is_clean, after.entries, after.unsealed, after.sealed.seq) == (True, 10, 1, 10)


def test_a_gap_in_what_is_not_sealed_is_found_and_never_sealed(
    player: Player, place: Place
) -> None:
    Intruder(place).delete(6)
    assert told(player.db) == [(6, "missing")]
    assert seal_ledger(player.db) == 5
    assert seal_ledger(player.db) == 0
    assert told(player.db) == [(6, "missing")]


def test_an_unsealed_tail_that_was_cut_is_found_by_the_counter(
    player: Player, place: Place
) -> None:
    Intruder(place).cut(8)
    assert told(player.db) == [(8, "cut")]


def test_what_the_tenant_never_counted_is_found(player: Player, place: Place) -> None:
    Intruder(place).count(7)
    assert told(player.db) == [(8, "changed")]


def test_lost_seals_are_found(player: Player, place: Place) -> None:
    for _ in range(3):
        seal_tenant(player.db, ACME)
        player.fire(event("b"), event("c"))
    seal_tenant(player.db, ACME)
    Intruder(place).run("delete from ledger_seals where from_seq = 11")
    assert told(player.db) == [(11, "unlinked")]


# -- sealing ------------------------------------------------------------------------------


def test_sealing_twice_changes_nothing(player: Player, place: Place) -> None:
    assert seal_ledger(player.db) == 10
    rows = place.execute("select * from ledger_seals")
    assert seal_ledger(player.db) == 0
    assert place.execute("select * from ledger_seals") == rows


def test_every_tenant_is_sealed_the_systems_own_too(player: Player) -> None:
    player.policy("spread_seconds = 0")
    Player(player.db, player.clock, TenantId("bolt")).fire(event())
    seal_ledger(player.db)
    for tenant in (ACME, TenantId("bolt"), SYSTEM):
        report = verify_ledger(player.db, tenant)
        assert report.is_clean
        assert report.entries > 0
        assert report.unsealed == 0


def test_batches_follow_each_other(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealer, "BATCH", 3)
    monkeypatch.setattr(sealer, "BATCHES_MAX", 2)
    assert seal_ledger(player.db) == 10
    report = verify_ledger(player.db, ACME)
    assert (report.is_clean, report.entries) == (True, 10)


def test_who_comes_second_seals_nothing(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another sealer has gone on between our reading and our writing, twice in different ways."""
    hashed = sealer.chain.links

    def overtaken(start, entries):
        monkeypatch.setattr(sealer.chain, "links", hashed)
        assert seal_batch(player.db, ACME) == 10
        return hashed(start, entries[:ours])

    for ours in (10, 4):
        player.fire(*(event(f"c{n}{ours}") for n in range(10)))
        if ours == 10:
            assert seal_tenant(player.db, ACME) == 20
            player.fire(*(event(f"d{n}") for n in range(10)))
        monkeypatch.setattr(sealer.chain, "links", overtaken)
        assert seal_batch(player.db, ACME) == 0
    assert verify_ledger(player.db, ACME).is_clean
    assert verify_ledger(player.db, ACME).unsealed == 0


def test_a_crash_between_reading_and_writing_leaves_nothing(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> bool:
        raise RuntimeError("pulled the plug")

    with monkeypatch.context() as broken_add:
        broken_add.setattr(sealer.seals, "add", crash)
        with pytest.raises(RuntimeError):
            seal_ledger(player.db)
    assert verify_ledger(player.db, ACME).unsealed == 10
    assert seal_ledger(player.db) == 10


@pytest.mark.postgresql
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_the_tenants_lock_is_not_taken(player: Player) -> None:
    """A writer holds the tenant's row: sealing goes on, where rows have locks."""
    with player.db.begin(ACME) as tx:
        tenants.lock(tx)
        assert seal_ledger(player.db) == 10


# -- checkpoints ----------------------------------------------------------------------------


def test_a_checkpoint_holds_later(player: Player) -> None:
    made = make_checkpoint(player.db, ACME, made_by="test")
    assert made.seq == 10
    player.fire(event("later"))
    again = read_checkpoint(dumps(checkpoint_data(made)))
    assert again == made
    report = verify_ledger(player.db, ACME, checkpoint=again)
    assert report.is_clean
    assert report.checkpoint == made


def test_since_a_checkpoint_only_what_follows_is_looked_at(player: Player, place: Place) -> None:
    make_checkpoint(player.db, ACME, made_by="test")
    player.fire(*(event(f"b{n}") for n in range(5)))
    seal_ledger(player.db)
    report = verify_ledger(player.db, ACME, since_checkpoint=True)
    assert (report.after_seq, report.entries) == (10, 5)
    Intruder(place).edit(4, "data")
    assert told(player.db, since_checkpoint=True) == []
    assert told(player.db) == [(4, "changed")]
    Intruder(place).edit(12, "data")
    assert told(player.db, since_checkpoint=True) == [(12, "changed")]


def test_a_recorded_checkpoint_is_compared_unasked(player: Player, place: Place) -> None:
    make_checkpoint(player.db, ACME, made_by="test")
    Intruder(place).edit(3, "reason")
    Intruder(place).seal_again(player.db, 10)
    assert told(player.db) == [(10, "rewritten")]
    assert told(player.db, since_checkpoint=True) == [(10, "rewritten")]


def test_only_the_newest_may_be_asked_for(player: Player, place: Place) -> None:
    seal_ledger(player.db)
    Intruder(place).edit(3, "reason")
    assert told(player.db, newest=7) == []
    assert told(player.db, newest=8) == [(3, "changed")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        '{"tenant_id":"a","seq":0,"hash":"' + "0" * 64 + '","at":"2030-01-01T00:00:00Z","form":1}',
        '{"tenant_id":"a","seq":true,"hash":"'
        + "0" * 64
        + '","at":"2030-01-01T00:00:00Z","form":1}',
        '{"tenant_id":"a","seq":1,"hash":"' + "G" * 64 + '","at":"2030-01-01T00:00:00Z","form":1}',
        '{"tenant_id":"a","seq":1,"hash":"00","at":"2030-01-01T00:00:00Z","form":1}',
        '{"tenant_id":"a","seq":1,"hash":"' + "0" * 64 + '","at":"today","form":1}',
        '{"tenant_id":"a","seq":1,"hash":"' + "0" * 64 + '","at":"2030-01-01T00:00:00Z","form":9}',
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_checkpoint(text)


def test_a_checkpoint_of_another_tenant_is_refused(player: Player) -> None:
    made = make_checkpoint(player.db, ACME, made_by="test")
    Player(player.db, player.clock, TenantId("bolt")).fire(event())
    with pytest.raises(Invalid, match="acme"):
        verify_ledger(player.db, TenantId("bolt"), checkpoint=made)
    with pytest.raises(NotFound):
        verify_ledger(player.db, TenantId("nobody"))


def test_an_empty_ledger_has_no_checkpoint(db: Database, place: Place) -> None:
    place.execute("insert into tenants (tenant_id, created_at) values ('bare', 0)")
    with pytest.raises(Conflict, match="empty"):
        make_checkpoint(db, TenantId("bare"), made_by="test")


# -- the audit ------------------------------------------------------------------------------


@pytest.mark.req("T-30")
def test_the_audit_asks_the_chain_too(player: Player, place: Place) -> None:
    seal_ledger(player.db)
    assert_verified(player.db)
    Intruder(place).edit(5, "correlation_id")
    [row] = broken(player.db)[CHAINED]
    assert (row["tenant_id"], row["seq"], row["what"]) == ("acme", 5, "changed")
    assert broken(player.db, entries_max=3) == {}


@pytest.mark.req("T-01")
@pytest.mark.parametrize(
    "statement",
    [
        "update ledger set reason = 'x'",
        "delete from ledger",
        "update ledger_seals set sealed_at = 1",
        "delete from ledger_seals",
        "update ledger_checkpoints set seq = 1",
        "delete from ledger_checkpoints",
    ],
)
def test_the_database_itself_refuses_to_change_the_past(
    player: Player, place: Place, statement: str
) -> None:
    make_checkpoint(player.db, ACME, made_by="test")
    with pytest.raises(Exception, match="is refused"):
        place.execute(statement)
    assert verify_ledger(player.db, ACME).is_clean
