"""The demo goes through the real thing, and leaves a database on which every promise holds."""

import io
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

from tests.cli.processes import started
from tests.databases import Clock, Place
from watchkeeper.actions import views
from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.verify import verify
from watchkeeper.app import App
from watchkeeper.demo.cast import CAST, set_the_stage
from watchkeeper.demo.play import Play
from watchkeeper.demo.scene import Scene
from watchkeeper.demo.screen import sentence, sparkline
from watchkeeper.demo.show import show
from watchkeeper.demo.tally import Count, Tally
from watchkeeper.demo.traffic import Traffic, wave
from watchkeeper.demo.troupe import install
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("U-20")


def test_the_demo_keeps_every_promise(place: Place, clock: Clock) -> None:
    clock.make_real()
    app = App(place.url, migrate=False)
    stop = threading.Event()
    scene = Scene(stop)
    install(app, scene)
    screen = io.StringIO()
    try:
        set_the_stage(app.db)
        app.start_workers()
        tally = Tally(app.db)
        play = Play(app, scene, stop, speed=4)
        play.start()
        show(tally, stop, Console(file=screen, width=200), seconds_max=4)
        _wait_until(lambda: _is_enough(tally.total), tally)
        stop.set()
        play.join()
        _wait_until(lambda: not tally.total.waiting, tally)
    finally:
        app.close()
    db = place.open()
    try:
        tally.db = db
        tally.look()  # what ended while the app was closed
        assert [finding for finding in verify(db) if not finding.is_clean] == []
        total = tally.total
        assert _is_enough(total)
        assert 0 < total.runs < total.asked / 2
        assert total.ended["SUCCEEDED"] > 0
        assert _counted(db) == total.answers
    finally:
        db.close()
    assert "held back" in screen.getvalue()


def _is_enough(total: Count) -> bool:
    reasons = {"DEBOUNCED", "COOLDOWN", "DUPLICATE_IDEMPOTENCY_KEY"}
    return total.asked > 200 and reasons <= {reason for _, reason in total.answers}


def _wait_until(question: Callable[[], bool], tally: Tally) -> None:
    """A busy machine needs more than the four seconds in which all of it is seen elsewhere."""
    until = time.monotonic() + 40
    pause = threading.Event()
    while not question() and time.monotonic() < until:
        pause.wait(0.1)
        tally.look()
    tally.look()


def _counted(db: Database) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for member in CAST:
        page = views.list_ledger(
            db, member.tenant_id, {"kind": "verdict"}, after=0, limit=1_000_000
        )
        found.update((one.entry.result or "", one.entry.reason or "") for one in page)
    return found


def test_the_stage_is_set_once(db: Database) -> None:
    set_the_stage(db)
    version = views.view_policy(db, None).version
    seen = [views.list_schedules(db, member.tenant_id, "", 100) for member in CAST]
    set_the_stage(db)
    assert views.view_policy(db, None).version == version
    assert [views.list_schedules(db, member.tenant_id, "", 100) for member in CAST] == seen


def test_a_policy_of_yours_stays_in_force(db: Database) -> None:
    apply_policy(db, "run_budget_per_day = 3\n", author="me", reason="mine")
    set_the_stage(db)
    assert views.view_policy(db, None).effective["run_budget_per_day"] == 3


def test_the_same_seed_is_the_same_traffic() -> None:
    first, again = (Traffic(CAST[0], Random("one")) for _ in range(2))
    ticks = [n / 4 for n in range(100)]
    assert [first.tick(at, 0.25) for at in ticks] == [again.tick(at, 0.25) for at in ticks]


def test_there_are_storms_repeats_and_quiet_hours() -> None:
    traffic = Traffic(CAST[0], Random("one"))
    signals = [signal for n in range(400) for signal in traffic.tick(n / 4, 0.25)]
    per_account = Counter(signal.account_id for signal in signals)
    assert max(per_account.values()) > 10 * sum(per_account.values()) / len(per_account)
    ids = Counter(signal.signal_id for signal in signals)
    assert any(count > 1 for count in ids.values())
    heights = [wave(n) for n in range(48)]
    assert max(heights) > 5 * min(heights)


def test_the_sentence_is_the_whole_story() -> None:
    count = Count(asked=1284)
    count.answers["ALLOW", ""] = 61
    assert sentence(count) == "1,284 signals → 61 runs; 95 % held back"
    assert sentence(Count()) == "0 signals → 0 runs"


@pytest.mark.parametrize(
    ("values", "drawn"), [([], "    "), ([0, 0], "  ▁▁"), ([9, 0, 4, 9, 1], "▁▄█▁"), ([1], "   ▅")]
)
def test_a_sparkline_shows_the_newest_values(values: list[int], drawn: str) -> None:
    assert sparkline(values, 4) == drawn


def test_the_picture_is_drawn_on_a_terminal(db: Database) -> None:
    set_the_stage(db)
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=140, height=50)
    show(Tally(db), threading.Event(), terminal, address="http://127.0.0.1:8484", seconds_max=0.5)
    drawn = screen.getvalue()
    asked = "plans and actions wait for approval"
    for words in (
        "northwind",
        "held back",
        "dashboard: ",
        "http://127.0.0.1:8484",
        asked,
        "Ctrl-C",
    ):
        assert words in drawn


def test_what_waits_for_a_person_is_counted(place: Place) -> None:
    app = App(place.url, migrate=False)
    try:
        set_the_stage(app.db)
        tally = Tally(app.db)
        app.plans.create("acme", "acct-1", "RENEWAL_DEFENSE", ["PREP_RENEWAL_BRIEF"])
        approved = app.plans.create("initech", "acct-1", "RENEWAL_DEFENSE", ["PREP_RENEWAL_BRIEF"])
        app.plans.approve(approved.plan_id, by="ann")
        app.drain()
        tally.count_asked()
        assert tally.asked_of_people == 2
    finally:
        app.close()


def test_the_command_plays_verifies_and_leaves_nothing(tmp_path: Path) -> None:
    with started("demo", "--seconds", "3", "--json", folder=tmp_path, TMPDIR=str(tmp_path)) as demo:
        assert demo.end() == 0, demo.errors
        found = json.loads("\n".join(demo.lines))
        assert found["signals"] > found["runs"] > 0
        assert found["invariants_broken"] == []
    assert list(tmp_path.iterdir()) == []


def test_it_ends_cleanly_on_a_signal(tmp_path: Path) -> None:
    with started("dev", "--demo", "--port", "0", folder=tmp_path) as dev:
        dev.wait_for("you are logged in")
        dev.wait_for("held back")
        dev.tell()
        assert dev.end() == 0, dev.errors
        assert "held back" in dev.lines[-1]
        assert not any("Traceback" in line for line in dev.errors)
    with started("verify", folder=tmp_path) as check:
        assert check.end() == 0, check.lines
