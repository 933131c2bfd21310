"""Exports hold everything, pruning leaves only what may leave, and the chain goes on."""

import json
from pathlib import Path

import pytest

from tests.databases import Clock, Place
from tests.play import ACME, Player, event
from tests.tampering import Intruder
from tests.verify_clean import assert_verified
from watchkeeper.actions import keep_ledger
from watchkeeper.actions.explain_decision import explain_decision
from watchkeeper.actions.keep_ledger import (
    export_ledger,
    make_checkpoint,
    prune_ledger,
    read_checkpoint,
)
from watchkeeper.actions.seal_ledger import seal_ledger
from watchkeeper.actions.turns import Turns
from watchkeeper.actions.verify_ledger import verify_ledger
from watchkeeper.actions.views import list_ledger, view_decision
from watchkeeper.core.chain import Checkpoint, genesis, link, links
from watchkeeper.core.ids import DecisionId, TenantId
from watchkeeper.core.ledger import Entry, Recorded
from watchkeeper.core.quota import Asked
from watchkeeper.core.time import Instant
from watchkeeper.core.turns import TurnState, Usage
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.store import ledger, seals
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("T-04")

POLICY = "[retention]\nledger_days = 30\n[triggers.SIGNAL_ARRIVED]\nmax_per_account_per_hour = 2\n"


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    """Ten entries of forty days ago, four of today; thirty days are to be kept."""
    player = Player(db, clock)
    player.policy(POLICY)
    player.fire(event("ann", key="k"), event("ann", key="k"), *(event(f"a{n}") for n in range(6)))
    clock.advance(60)
    player.fire(event("ann"))
    clock.advance(days=40)
    player.settle()
    player.fire(*(event(f"b{n}") for n in range(3)))
    return player


def exported(player: Player, path: Path, **options: object) -> Checkpoint:
    return export_ledger(player.db, ACME, path, made_by="test", **options).checkpoint


def prune(player: Player, known: Checkpoint) -> keep_ledger.PruneReport:
    return prune_ledger(player.db, ACME, known, pruned_by="test")


def seqs(player: Player) -> list[int]:
    return [found.seq for found in player.entries()]


# -- exports ---------------------------------------------------------------------------------


@pytest.mark.req("T-03")
def test_an_export_can_be_verified_alone(player: Player, tmp_path: Path) -> None:
    """With nothing but the file: each hash follows from its line and the one before."""
    whole = player.entries()
    path = tmp_path / "acme.jsonl"
    known = exported(player, path)
    head, *lines, last = [json.loads(line) for line in path.read_text().splitlines()]
    assert head["after"] == {"seq": 0, "hash": genesis("acme").hash.hex()}
    assert last["checkpoint"]["hash"] == lines[-1]["hash"] == known.hash
    assert [line["seq"] for line in lines] == [found.seq for found in whole]
    previous = genesis("acme").hash
    for line, found in zip(lines, whole, strict=True):
        entry = Entry(**{name: line[name] for name in Entry._fields})
        assert entry == found.entry
        previous = link(previous, Recorded("acme", line["seq"], entry))
        assert previous.hex() == line["hash"]
    assert read_checkpoint(path.read_text()) == known


def test_an_export_ends_before_a_moment(player: Player, tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    old = [found for found in player.entries() if found.entry.at < player.clock.at]
    assert exported(player, path, before=player.clock.at).seq == old[-1].seq
    with pytest.raises(Conflict, match="nothing to export"):
        exported(player, path, before=Instant(0))


def test_what_was_changed_is_not_exported(player: Player, place: Place, tmp_path: Path) -> None:
    seal_ledger(player.db)
    Intruder(place).edit(4, "result")
    with pytest.raises(Conflict, match="entry 4 "):
        exported(player, tmp_path / "x.jsonl")
    assert list(tmp_path.glob("*.jsonl*")) == []
    assert place.execute("select * from ledger_checkpoints") == []


def test_a_file_that_cannot_be_written_is_named(player: Player, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="nowhere"):
        exported(player, tmp_path / "nowhere" / "x.jsonl")


# -- pruning --------------------------------------------------------------------------------


@pytest.mark.req("T-03")
def test_what_is_old_and_exported_leaves_and_the_chain_goes_on(
    player: Player, place: Place, tmp_path: Path
) -> None:
    known = exported(player, tmp_path / "acme.jsonl")
    old = [found.seq for found in player.entries() if found.entry.at < player.clock.at]
    report = prune(player, known)
    assert (report.pruned_to, report.removed) == (old[-1], len(old))
    assert seqs(player) == list(range(old[-1] + 1, known.seq + 2))
    [(counted,)] = place.execute("select sum(entries) from tallies where tenant_id = 'acme'")
    assert counted == known.seq, "what left was counted before"
    [entry] = player.entries(kind="ledger.pruned")
    assert json.loads(entry.entry.data)["pruned_to"] == old[-1]
    seal_ledger(player.db)
    found = verify_ledger(player.db, ACME, checkpoint=known)
    assert (found.is_clean, found.pruned_to, found.unsealed) == (True, old[-1], 0)
    assert_verified(player.db)
    Intruder(place).edit(old[-1] + 1, "data")
    assert verify_ledger(player.db, ACME).breaks[0].seq == old[-1] + 1


def test_pruning_again_finds_nothing_and_the_next_export_goes_on(
    player: Player, tmp_path: Path
) -> None:
    first = prune(player, exported(player, tmp_path / "1.jsonl"))
    again = prune(player, exported(player, tmp_path / "2.jsonl"))
    assert (again.pruned_to, again.removed) == (first.pruned_to, 0)
    player.clock.advance(days=31)
    player.fire(event("today"))
    path = tmp_path / "3.jsonl"
    known = exported(player, path, before=player.clock.at)
    assert json.loads(path.read_text().splitlines()[0])["after"]["seq"] == first.pruned_to
    last = prune(player, known)
    assert last.pruned_to == known.seq
    assert verify_ledger(player.db, ACME).is_clean
    assert_verified(player.db)


def test_everything_may_be_pruned(player: Player, place: Place, tmp_path: Path) -> None:
    player.clock.advance(days=31)
    known = exported(player, tmp_path / "x.jsonl")
    assert prune(player, known).pruned_to == known.seq
    assert seqs(player) == [known.seq + 1]
    assert_verified(player.db)
    Intruder(place).cut(known.seq + 1)
    assert verify_ledger(player.db, ACME).breaks[0].what == "cut"
    Intruder(place).count(known.seq)
    assert_verified(player.db)


def test_without_an_export_nothing_leaves(player: Player) -> None:
    before = seqs(player)
    known = make_checkpoint(player.db, ACME, made_by="test")
    with pytest.raises(Conflict, match="were not exported"):
        prune(player, known)
    assert seqs(player) == before


def test_a_checkpoint_that_is_not_of_this_chain_prunes_nothing(
    player: Player, tmp_path: Path
) -> None:
    known = exported(player, tmp_path / "x.jsonl")
    before = seqs(player)
    forged = Checkpoint(ACME, known.seq, "0" * 64, known.at)
    beyond = Checkpoint(ACME, known.seq + 1, known.hash, known.at)
    for wrong in (forged, beyond):
        with pytest.raises(Conflict, match="another hash"):
            prune(player, wrong)
    with pytest.raises(Invalid, match="acme"):
        prune_ledger(player.db, TenantId("bolt"), known, pruned_by="test")
    assert seqs(player) == before


def test_a_policy_that_keeps_everything_keeps_it(player: Player, tmp_path: Path) -> None:
    known = exported(player, tmp_path / "x.jsonl")
    player.policy("")
    with pytest.raises(Conflict, match="ledger_days"):
        prune(player, known)


def test_what_is_young_stays(player: Player, tmp_path: Path) -> None:
    player.policy("[retention]\nledger_days = 41\n")
    known = exported(player, tmp_path / "x.jsonl")
    report = prune(player, known)
    assert (report.pruned_to, report.removed) == (0, 0)
    assert player.entries(kind="ledger.pruned") == []


def test_a_crash_in_the_middle_is_made_good_by_the_next_time(
    player: Player, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = exported(player, tmp_path / "x.jsonl")
    slices = []
    whole = keep_ledger._prune_slice

    def crash(*given: object) -> int:
        if slices:
            raise RuntimeError("pulled the plug")
        slices.append(1)
        return whole(*given)

    monkeypatch.setattr(keep_ledger, "SLICE", 3)
    with monkeypatch.context() as crashing:
        crashing.setattr(keep_ledger, "_prune_slice", crash)
        with pytest.raises(RuntimeError):
            prune(player, known)
    assert seqs(player)[0] == 4
    assert verify_ledger(player.db, ACME).is_clean
    assert_verified(player.db)
    left = prune(player, known)
    assert left.removed > 0
    assert seqs(player)[0] == left.pruned_to + 1
    assert_verified(player.db)


@pytest.mark.req("T-03")
def test_a_sealer_that_slept_through_a_prune_does_not_begin_anew(
    player: Player, place: Place, tmp_path: Path
) -> None:
    """It has read where the seals ended before all of them were written, and some left again."""
    with player.db.read(ACME) as tx:
        start, entries = seals.head(tx), ledger.as_stored(tx, 0, 3)
    hashes = links(start, entries)
    with player.db.begin(ACME) as tx:
        assert seals.add(tx, start, hashes)
    prune(player, exported(player, tmp_path / "x.jsonl"))
    [(first,)] = place.execute("select min(from_seq) from ledger_seals where tenant_id = 'acme'")
    assert first == 4
    with player.db.begin(ACME) as tx:
        assert not seals.add(tx, start, hashes)
    assert verify_ledger(player.db, ACME).is_clean


def test_turns_of_what_was_pruned_accuse_nobody(player: Player, tmp_path: Path) -> None:
    turns = Turns(player.db)
    for name in ("one", "two"):
        asked = Asked(
            turn_id=name,
            request_id=name,
            model="standard",
            estimated_input_tokens=10,
            max_output_tokens=10,
        )
        turns.reserve(ACME, asked)
        usage = Usage(5, 5)
        turns.finalize(ACME, name, TurnState.COMPLETED, started=True, usage=usage)
        player.clock.advance(days=31)
    assert_verified(player.db)
    assert prune(player, exported(player, tmp_path / "x.jsonl")).removed > 0
    assert_verified(player.db)


# -- what is asked of entries that are gone ----------------------------------------------------


def test_a_decision_that_was_pruned_is_told_from_one_that_never_was(
    player: Player, tmp_path: Path
) -> None:
    old = player.entries(kind="verdict")[0].entry.entry_id
    prune(player, exported(player, tmp_path / "x.jsonl"))
    for ask in (explain_decision, view_decision):
        with pytest.raises(NotFound, match=r"were pruned.*export"):
            ask(player.db, ACME, DecisionId(old))
        with pytest.raises(NotFound) as never:
            ask(player.db, ACME, DecisionId("ffffffff-ffff-7fff-bfff-ffffffffffff"))
        assert "pruned" not in str(never.value)


def test_readers_go_on_after_what_was_pruned(player: Player, tmp_path: Path) -> None:
    report = prune(player, exported(player, tmp_path / "x.jsonl"))
    page = list_ledger(player.db, ACME, {}, after=2, limit=5)
    assert page[0].seq == report.pruned_to + 1


# -- the database refuses the rest --------------------------------------------------------------


@pytest.mark.req("T-01")
def test_nothing_leaves_that_is_not_behind_the_recorded_place(
    player: Player, place: Place, tmp_path: Path
) -> None:
    report = prune(player, exported(player, tmp_path / "x.jsonl"))
    for statement in (
        "delete from ledger",
        f"delete from ledger where seq = {report.pruned_to + 1}",
        "delete from ledger_seals",
        "delete from ledger_prunes",
        "update ledger_prunes set seq = seq - 1",
    ):
        with pytest.raises(Exception, match=r"is refused|needs"):
            place.execute(statement)
    for statement in (
        "update ledger_prunes set seq = seq + 100",
        "update ledger_prunes set seq = seq + 1",
    ):
        with pytest.raises(Exception, match="needs"):
            place.execute(statement)
    with pytest.raises(Exception, match="seal of its place"):
        place.execute(
            "insert into ledger_checkpoints values"
            f" ('acme', '01920000-0000-7000-8000-000000000001', 3, '{'0' * 64}', 0, 0, 'x')"
        )


@pytest.mark.req("T-01", "O-21")
@pytest.mark.postgresql
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_the_products_roles_have_no_right_to_remove(player: Player, tmp_path: Path) -> None:
    """Not even what was pruned; and the owner's function takes no tenant but their own."""
    known = exported(player, tmp_path / "x.jsonl")
    prune(player, known)
    for statement in (
        "delete from ledger",
        "delete from ledger_seals",
        "update ledger_prunes set seq = 1",
        "insert into ledger_prunes values ('acme', 1, '', 0, null, 0, '')",
    ):
        with pytest.raises(Exception, match="permission denied"), player.db.begin(ACME) as tx:
            tx.conn.exec_driver_sql(statement)
    with pytest.raises(Exception, match="permission denied"), player.db.begin_system() as tx:
        tx.conn.exec_driver_sql("select watchkeeper_prune_slice(10)")
    bolt = Player(player.db, player.clock, TenantId("bolt"))
    bolt.fire(event())
    before = len(seqs(player))
    with bolt.db.begin(TenantId("bolt")) as tx:
        assert tx.conn.exec_driver_sql("select watchkeeper_prune_slice(10)").scalar() == 0
    with pytest.raises(Exception, match="needs an export"), bolt.db.begin(TenantId("bolt")) as tx:
        tx.conn.exec_driver_sql("select watchkeeper_prune_to(1, 'x', 0)")
    assert len(seqs(player)) == before


@pytest.mark.req("O-21")
@pytest.mark.postgresql
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_table_of_the_callers_own_does_not_stand_in(player: Player) -> None:
    seal_ledger(player.db)
    before = seqs(player)
    with player.db.begin(ACME) as tx:
        tx.conn.exec_driver_sql("create temp table ledger_prunes (tenant_id text, seq bigint)")
        tx.conn.exec_driver_sql("insert into pg_temp.ledger_prunes values ('acme', 1000)")
        assert tx.conn.exec_driver_sql("select watchkeeper_prune_slice(10)").scalar() == 0
        assert [one.seq for one in ledger.as_stored(tx, 0, 100)] == before
