"""The ledger from Python: sealed by workers unasked, verified, exported and pruned on request."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.databases import Clock, Place
from tests.tampering import Intruder
from tests.test_workers import until
from watchkeeper import App
from watchkeeper.errors import Conflict, Invalid
from watchkeeper.workers import WorkerSettings


@pytest.fixture
def app(place: Place, clock: Clock) -> Iterator[App]:
    made = App(place.url, migrate=False)
    yield made
    made.close()


def fire(app: App, count: int) -> None:
    for n in range(count):
        app.trigger("acme", f"acct-{n}", "SIGNAL_ARRIVED", idempotency_key=f"k{n}")


@pytest.mark.req("T-03")
def test_workers_seal_what_was_committed(app: App) -> None:
    fire(app, 3)
    assert app.verify_ledger("acme").unsealed == 4
    app.start_workers(WorkerSettings(seal_seconds=0.01))
    until(lambda: app.verify_ledger("acme").unsealed == 0)
    fire(app, 5)
    until(lambda: app.verify_ledger("acme").unsealed == 0)
    assert app.verify_ledger("acme").is_clean


@pytest.mark.req("T-03", "T-04", "U-01")
def test_the_same_from_python(app: App, place: Place, clock: Clock, tmp_path: Path) -> None:
    app.apply_policy("[retention]\nledger_days = 30\n", reason="shorter")
    fire(app, 4)
    assert app.seal_ledger() >= 5
    known = app.checkpoint_ledger("acme")
    assert known.seq == 5
    with pytest.raises(Conflict):
        app.prune_ledger("acme", known)
    clock.advance(days=31)
    fire(app, 6)
    exported = app.export_ledger("acme", tmp_path / "x.jsonl", before=clock.now - timedelta(days=1))
    assert (exported.entries, exported.checkpoint.seq) == (5, 5)
    pruned = app.prune_ledger("acme", exported.checkpoint)
    assert (pruned.pruned_to, pruned.removed) == (5, 5)
    app.seal_ledger()
    assert app.verify_ledger("acme", checkpoint=known).is_clean
    Intruder(place).edit(7, "reason")
    [broken] = app.verify_ledger("acme", since_checkpoint=True).breaks
    assert (broken.seq, broken.what) == (7, "changed")
    assert app.verify_ledger("_system").is_clean
    with pytest.raises(Invalid):
        app.verify_ledger("no such name")
