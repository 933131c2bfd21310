"""Long readers beside traffic, on SQLite with the rollback journal.

There nobody commits while somebody reads. How long a transaction lasts is counted in steps of
SQLite's machine and in calls of Python functions, not in seconds, so that a busy computer changes
nothing.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool
from typer.testing import CliRunner

from tests.databases import Databases, Place
from watchkeeper import App
from watchkeeper.actions.arrivals import recorded
from watchkeeper.actions.explain_refusal import explain_refusal
from watchkeeper.actions.follow_ledger import Feed
from watchkeeper.actions.follow_shadows import follow_shadows
from watchkeeper.actions.keep_ledger import export_ledger
from watchkeeper.actions.reconcile import reconcile
from watchkeeper.actions.scan_ledger import newest_entries
from watchkeeper.actions.seal_ledger import seal_tenant
from watchkeeper.actions.search_ledger import Search, search_decisions, search_ledger
from watchkeeper.actions.set_shadow import set_shadow, show_shadow
from watchkeeper.actions.verify import SLICE_ACCOUNTS, verify
from watchkeeper.actions.verify_ledger import verify_ledger
from watchkeeper.actions.views import OLDEST, list_decisions, list_ledger
from watchkeeper.cli.main import app as commands
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY
from watchkeeper.errors import NotFound
from watchkeeper.store.database import Database

ACCOUNTS = 12_000
CALL = 100
ACME = TenantId("acme")
LOWER = "run_budget_per_day = 1000\n"
STEPS_A_TICK = 1_000
STEPS_MAX = 8_000_000
"""About a quarter of a second of a quiet machine."""

VERIFY_CALLS_MAX = 80_000
"""Python functions called in one transaction, most of them to read policies for the first time."""


@pytest.fixture
def grown(databases: Databases) -> Iterator[Place]:
    """A tenant with thousands of accounts, each with a run that was allowed, of many policies."""
    with databases.fresh("sqlite") as place:
        with App(place.url, migrate=False, journal="rollback") as app:
            set_shadow(app.db, "lower", LOWER, author="test", reason="test")
            for first in range(0, ACCOUNTS, CALL):
                app.apply_policy(f"run_budget_per_day = {1_000_000 + first}\n", reason="more")
                app.trigger_many("acme", [asked(n) for n in range(first, first + CALL)])
            seal_tenant(app.db, ACME)
        yield place


def asked(number: int) -> dict[str, object]:
    return {
        "account_id": f"a{number:05}",
        "trigger_type": "SIGNAL_ARRIVED",
        "idempotency_key": f"k{number}",
    }


class Steps:
    """Counts what each transaction makes SQLite and Python do; the most of each is kept.

    Every connection of the process counts, whichever door opened it.
    """

    def __init__(self) -> None:
        self.most = self.calls = self.transactions = 0
        self._ticks = self._called = 0

    def __enter__(self) -> "Steps":
        event.listen(Pool, "checkout", self._begin)
        event.listen(Pool, "checkin", self._end)
        return self

    def __exit__(self, *_: object) -> None:
        event.remove(Pool, "checkout", self._begin)
        event.remove(Pool, "checkin", self._end)

    def _begin(self, driver: Any, _record: object, _lent: object) -> None:
        self._ticks = self._called = 0
        driver.set_progress_handler(self._tick, STEPS_A_TICK)
        sys.setprofile(self._call)

    def _tick(self) -> int:
        self._ticks += 1
        return 0

    def _call(self, _frame: FrameType, what: str, _: object) -> None:
        self._called += what == "call"

    def _end(self, driver: Any, _record: object) -> None:
        sys.setprofile(None)
        driver.set_progress_handler(None, 0)
        self.transactions += 1
        self.most = max(self.most, self._ticks * STEPS_A_TICK)
        self.calls = max(self.calls, self._called)


@pytest.mark.req("T-30", "O-06")
@pytest.mark.parametrize("look", [verify, reconcile], ids=["verify", "reconcile"])
def test_no_read_transaction_is_long(grown: Place, look: Callable[[Database], object]) -> None:
    with App(grown.url, migrate=False, journal="rollback") as app:
        with Steps() as steps:
            look(app.db)
        assert 0 < steps.most < STEPS_MAX, steps.most
        assert 0 < steps.calls < VERIFY_CALLS_MAX, steps.calls
        if look is verify:
            assert steps.transactions > ACCOUNTS / SLICE_ACCOUNTS


def _follow(app: App, _folder: Path) -> None:
    feed = Feed(app.db, lambda found: found.entry.data.encode(), threading.Event())
    assert feed.read(ACME, 0)
    feed.look()


def _search(app: App, _folder: Path) -> None:
    rare = Search({"kind": "sink.removed"})
    assert not search_ledger(app.db, ACME, rare, before=OLDEST, limit=50).entries
    skipped = Search({"result": "SKIP"})
    assert not search_decisions(app.db, ACME, skipped, before=OLDEST, limit=50).decisions


def _refusal(app: App, _folder: Path) -> None:
    with pytest.raises(NotFound):
        explain_refusal(app.db, ACME, "nobody")


def _shadow(app: App, _folder: Path) -> None:
    while follow_shadows(app.db):
        pass
    assert show_shadow(app.db, "lower").counts["flips"]


def _tail(app: App, _folder: Path) -> None:
    words = ["ledger", "tail", "--kind", "sink.removed", "--db", str(app.db.writer.url)]
    assert CliRunner().invoke(commands, words).exit_code == 0


class Reader(NamedTuple):
    """What one transaction may cost, less than a pass through all the ledger by this reader."""

    read: Callable[[App, Path], object]
    steps_max: int = 40_000
    calls_max: int = 4_000


READERS = {
    "ledger verify": Reader(lambda app, _: verify_ledger(app.db, ACME)),
    "ledger export": Reader(
        lambda app, folder: export_ledger(app.db, ACME, folder / "out.jsonl", made_by="test")
    ),
    "ledger tail": Reader(_tail),
    "ledger search": Reader(_search, steps_max=80_000),
    "ledger list": Reader(
        lambda app, _: list_ledger(app.db, ACME, {"kind": "no"}, after=0, limit=50)
    ),
    "decisions list": Reader(
        lambda app, _: list_decisions(
            app.db, ACME, {"result": "SKIP"}, before=OLDEST, since=None, until=None, limit=50
        )
    ),
    "why a pull was refused": Reader(_refusal),
    "bundle export": Reader(
        lambda app, _: app.bundle(
            newest_entries(app.db, ACME, {"kind": "verdict"}, limit=1)[0].entry.entry_id
        )
    ),
    "policy plan": Reader(lambda app, _: app.plan_policy(LOWER), steps_max=120_000),
    "shadow": Reader(_shadow, steps_max=120_000, calls_max=40_000),
    "simulate": Reader(lambda app, _: recorded(app.db, [ACME], DAY), steps_max=120_000),
    "report": Reader(lambda app, _: app.generate_report("acme"), 400_000, 12_000),
    "stream": Reader(_follow),
}


@pytest.mark.req("T-30", "O-06")
@pytest.mark.parametrize("name", READERS)
def test_no_other_reader_is_long(grown: Place, tmp_path: Path, name: str) -> None:
    reader = READERS[name]
    with App(grown.url, migrate=False, journal="rollback") as app:
        with Steps() as steps:
            reader.read(app, tmp_path)
        assert 0 < steps.most < reader.steps_max, steps.most
        assert 0 < steps.calls < reader.calls_max, steps.calls


@pytest.mark.req("T-30", "D-04")
def test_who_triggers_beside_it_raises_no_false_alarm(grown: Place) -> None:
    """Every trigger is decided while it looks, under a policy that changes meanwhile too."""
    with App(grown.url, migrate=False, journal="rollback") as app:
        decided: list[int] = []
        stopped = threading.Event()
        failed: list[BaseException] = []

        def go_on() -> None:
            try:
                while not stopped.is_set():
                    number = ACCOUNTS + len(decided)
                    app.trigger_many("acme", [asked(number), asked(number // 2)])
                    decided.append(number)
                    if len(decided) % 50 == 1:
                        rule = f"run_budget_per_day = {1_000_000 + len(decided)}\n"
                        app.apply_policy(rule, reason="meanwhile")
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            found = [verify(app.db, [TenantId("acme")]) for _ in range(2)]
        finally:
            stopped.set()
            thread.join()
        assert failed == []
        assert decided
        assert [(f.invariant, f.rows[:2]) for one in found for f in one if not f.is_clean] == []
