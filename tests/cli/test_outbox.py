"""`outbox`: what a person may do with a message."""

import pytest

from tests.cli.conftest import WRONG, CommandLine
from tests.databases import Place
from watchkeeper.app import App

pytestmark = pytest.mark.req("U-20")


@pytest.fixture
def dead(wk: CommandLine, place: Place) -> str:
    """A run whose handler failed: its message is dead."""
    app = App(place.url, migrate=False)

    @app.decision
    def decide(run: object) -> None:
        raise RuntimeError("the model is away")

    try:
        app.signal("acme", "acct-1", "mail")
        app.drain()
    finally:
        app.close()
    found = wk.json("outbox", "list", "--status", "dead")["items"]
    assert len(found) == 1
    return found[0]["id"]


def test_a_waiting_run_is_listed(wk: CommandLine) -> None:
    assert wk("outbox", "list").stdout == "There are no messages.\n"
    wk("signal", "acme", "acct-1", "mail")
    found = wk.json("outbox", "list", "--status", "pending")["items"]
    assert sorted(m["topic"] for m in found) == [
        "decision.evaluation_requested",
        "heat.sweep",
        "milestone.tick",
    ]
    assert wk.json("outbox", "list", "--tenant", "other")["items"] == []
    assert "decision.evaluation_requested" in wk("outbox", "list").stdout


def test_a_dead_message_is_shown_with_its_error(wk: CommandLine, dead: str) -> None:
    shown = wk.json("outbox", "show", dead)
    assert shown["status"] == "dead"
    assert "the model is away" in shown["last_error"]
    assert shown["payload"]["detail"]["account_id"] == "acct-1"
    assert "the model is away" in wk("outbox", "show", dead, "--tenant", "acme").stdout


def test_a_dead_message_is_redriven(wk: CommandLine, dead: str) -> None:
    assert wk.json("outbox", "redrive", dead) == {"redriven": 1}
    assert wk.json("outbox", "show", dead)["status"] == "pending"
    assert "pending" in wk("outbox", "redrive", dead, exits=WRONG).stderr


def test_all_dead_of_a_tenant_are_redriven(wk: CommandLine, dead: str) -> None:
    assert wk.json("outbox", "redrive", "--tenant", "acme", "--topic", "other")["redriven"] == 0
    assert wk.json("outbox", "redrive", "--tenant", "acme")["redriven"] == 1
    assert "ID" in wk("outbox", "redrive", exits=WRONG).stderr


def test_a_dead_message_is_discarded(wk: CommandLine, dead: str) -> None:
    wk("outbox", "discard", dead)
    assert "no message" in wk("outbox", "show", dead, exits=WRONG).stderr
    assert wk.json("verify")["clean"] is True


@pytest.mark.parametrize("message_id", ["nonsense", "01890000-0000-7000-8000-000000000000"])
def test_a_message_that_is_not_there_is_said_so(wk: CommandLine, message_id: str) -> None:
    for verb in ("show", "redrive", "discard"):
        assert "no message" in wk("outbox", verb, message_id, exits=WRONG).stderr


def test_a_status_that_is_not_known_is_named(wk: CommandLine) -> None:
    assert "--status" in wk("outbox", "list", "--status", "sleepy", exits=WRONG).stderr


def test_an_error_of_several_lines_stays_in_its_row(wk: CommandLine, place: Place) -> None:
    app = App(place.url, migrate=False)

    @app.decision
    def decide(run: object) -> None:
        raise RuntimeError("503 from the model\nFor more information check: https://…")

    app.signal("acme", "acct-1", "mail")
    app.drain()
    app.close()
    header, row = wk("outbox", "list", "--status", "dead").stdout.splitlines()
    assert header.startswith("id ")
    assert "503 from the model For more information check" in row
