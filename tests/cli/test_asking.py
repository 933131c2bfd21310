"""`trigger`, `signal`, `explain`, `ledger tail`: the same answers as through every other door."""

import json

import pytest

from tests.cli.conftest import UNREACHABLE, WRONG, CommandLine
from tests.databases import Clock, Place

pytestmark = pytest.mark.req("U-20", "U-21")


def test_a_trigger_is_answered_with_its_verdict(wk: CommandLine) -> None:
    verdict = wk.json("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k1")
    assert verdict["result"] == "ALLOW"
    assert verdict["reason"] is None
    assert verdict["evaluated_at"] == "2030-01-01T00:00:00Z"


def test_a_refusal_is_an_answer_and_not_a_failure(wk: CommandLine) -> None:
    wk("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k1")
    again = wk.json("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k1")
    assert (again["result"], again["reason"]) == ("SKIP", "DUPLICATE_IDEMPOTENCY_KEY")
    assert again["duplicate_of"]


def test_a_deferral_says_when_its_retry_comes(wk: CommandLine, clock: Clock) -> None:
    wk("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k1")
    clock.advance(100)
    told = wk("trigger", "acme", "acct-1", "POSTURE_CHANGE", "--key", "k2").stdout
    assert "DEFER" in told
    assert "COOLDOWN" in told
    assert "500 s" in told


def test_a_signal_keeps_its_id(wk: CommandLine) -> None:
    data = json.dumps({"subject": "hello"})
    answer = wk.json("signal", "acme", "acct-1", "mail", "--id", "m-1", "--data", data)
    assert answer["signal_id"] == "m-1"
    assert answer["verdict"]["result"] == "ALLOW"


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("trigger", "acme", "", "SIGNAL_ARRIVED", "--key", "k"), "events[0].account_id"),
        (("trigger", "_system", "a", "SIGNAL_ARRIVED", "--key", "k"), "tenant_id"),
        (("signal", "acme", "a", "mail", "--data", "{"), "--data"),
        (("signal", "acme", "a", "mail", "--data", "[]"), "signals[0].data"),
        (("signal", "acme", "a", "mail", "--occurred-at", "today"), "signals[0].occurred_at"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_mistake_is_named_by_its_place(
    wk: CommandLine, words: tuple[str, ...], where: str
) -> None:
    told = wk(*words, exits=WRONG).stderr
    assert told.startswith(f"watchkeeper: {where}: ")
    assert told.count("\n") == 1


def test_every_mistake_has_a_line(wk: CommandLine) -> None:
    told = wk("trigger", "acme", "", "SIGNAL_ARRIVED", "--key", "", exits=WRONG).stderr
    assert told.count("\n") == 2


def test_a_key_is_needed(wk: CommandLine) -> None:
    assert "--key" in wk("trigger", "acme", "a", "SIGNAL_ARRIVED", exits=WRONG).stderr


def test_a_decision_is_explained(wk: CommandLine) -> None:
    wk("signal", "acme", "acct-1", "mail", "--id", "m-1")
    second = wk.json("signal", "acme", "acct-1", "mail", "--id", "m-2")
    decision_id = second["verdict"]["decision_id"]
    why = wk.json("explain", decision_id)
    assert why["verdict"]["reason"] == "DEBOUNCED"
    assert why["binding_check"] == "debounce"
    assert {check["name"] for check in why["checks"]} >= {"debounce", "cooldown"}
    assert "debounce" in wk("explain", decision_id, "--tenant", "acme").stdout


def test_an_allow_is_explained_with_its_run(wk: CommandLine) -> None:
    first = wk.json("signal", "acme", "acct-1", "mail", "--id", "m-1")
    decision_id = first["verdict"]["decision_id"]
    run = wk.json("explain", decision_id)["run"]
    assert (run["state"], run["started_at"], run["ended_at"]) == ("REQUESTED", None, None)
    assert "REQUESTED" in wk("explain", decision_id).stdout
    second = wk.json("signal", "acme", "acct-1", "mail", "--id", "m-2")
    assert wk.json("explain", second["verdict"]["decision_id"])["run"] is None


def test_an_unknown_trigger_type_is_named_where_no_change_helps(wk: CommandLine) -> None:
    wk("signal", "acme", "acct-1", "mail")
    wk("kill", "on", "tenant", "acme", "--reason", "unpaid")
    verdict = wk.json("trigger", "acme", "acct-1", "NEVER_HEARD_OF", "--key", "k")
    told = wk("explain", verdict["decision_id"]).stdout
    assert "none: the policy has no trigger type NEVER_HEARD_OF; if it had, the kill" in told


@pytest.mark.parametrize("decision_id", ["nonsense", "01890000-0000-7000-8000-000000000000"])
def test_a_decision_that_is_not_there_is_said_so(wk: CommandLine, decision_id: str) -> None:
    told = wk("explain", decision_id, exits=WRONG).stderr
    assert "there is no decision" in told


def test_the_ledger_is_printed_oldest_first(wk: CommandLine) -> None:
    for number in range(3):
        wk("signal", "acme", "acct-1", "mail", "--id", f"m-{number}")
    lines = wk("ledger", "tail", "--tenant", "acme", "--kind", "verdict", "--json").stdout
    entries = [json.loads(line) for line in lines.splitlines()]
    assert [entry["result"] for entry in entries] == ["ALLOW", "SKIP", "SKIP"]
    assert [entry["seq"] for entry in entries] == sorted(entry["seq"] for entry in entries)
    assert entries[0]["data"]["verdict"]["result"] == "ALLOW"
    assert len(wk("ledger", "tail", "--limit", "2").stdout.splitlines()) == 2


@pytest.mark.req("O-01")
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_reading_does_not_open_sqlite_for_writing(wk: CommandLine, place: Place) -> None:
    wk("signal", "acme", "acct-1", "mail")
    import os

    os.chmod(place.name, 0o444)
    wk("ledger", "tail")
    wk("verify")
    wk("policy", "show")


def test_without_a_database_it_says_how_to_make_one(bare: CommandLine) -> None:
    told = bare("trigger", "acme", "a", "SIGNAL_ARRIVED", "--key", "k", exits=UNREACHABLE).stderr
    assert "watchkeeper migrate --db sqlite:///watchkeeper.db" in told
    assert told.count("\n") == 1


def test_an_empty_file_is_not_migrated(bare: CommandLine, tmp_path: object) -> None:
    from pathlib import Path

    Path("watchkeeper.db").touch()
    assert "is not migrated" in bare("verify", exits=UNREACHABLE).stderr


@pytest.mark.postgresql
def test_a_server_that_does_not_answer_is_named(bare: CommandLine) -> None:
    url = "postgresql://nobody:secret-word@127.0.0.1:1/nothing"
    told = bare("verify", "--db", url, exits=UNREACHABLE).stderr
    assert "cannot be reached" in told
    assert "secret-word" not in told
    assert "Traceback" not in told


def test_an_engine_that_is_not_known_is_a_mistake(bare: CommandLine) -> None:
    assert "use sqlite or postgresql" in bare("verify", "--db", "mysql://x/y", exits=WRONG).stderr


def test_a_line_of_the_tail_has_columns_and_the_id_that_explain_takes(wk: CommandLine) -> None:
    wk("signal", "acme", "acct-1", "mail")
    lines = [
        line.split("  ") for line in wk("ledger", "tail", "--tenant", "acme").stdout.splitlines()
    ]
    kinds = [" ".join(line).split()[3] for line in lines]
    assert {"verdict", "heat.tier_changed"} <= set(kinds), "the longest kind and the next column"
    [entry] = map(
        json.loads, wk("ledger", "tail", "--kind", "verdict", "--json").stdout.splitlines()
    )
    assert entry["decision_id"] == entry["entry_id"]
    [told] = wk("ledger", "tail", "--kind", "verdict").stdout.splitlines()
    assert told.split()[-1] == entry["decision_id"]
    assert "ALLOW" in wk("explain", told.split()[-1]).stdout


def test_where_no_policy_would_have_helped_that_is_said(wk: CommandLine) -> None:
    wk("signal", "acme", "acct-1", "mail")
    wk("trigger", "acme", "acct-1", "LIFECYCLE_STATE_CHANGE", "--key", "k")
    again = wk.json("signal", "acme", "acct-1", "mail")["verdict"]
    assert again["reason"] == "DEBOUNCED"
    assert "none: the cooldown would bind next" in wk("explain", again["decision_id"]).stdout


@pytest.mark.req("T-10", "T-11")
def test_what_the_moment_and_the_change_mean_is_said_in_words(wk: CommandLine) -> None:
    wk("signal", "acme", "acct-1", "mail")
    second = wk.json("signal", "acme", "acct-1", "mail")["verdict"]["decision_id"]
    told = wk("explain", second).stdout
    assert "2030-01-01T00:05:00Z" in told, "the end of the cooldown, not of the debounce"
    assert "a fresh event of this account and type is allowed" in told
    wk("kill", "on", "tenant", "--tenant", "acme", "--reason", "test")
    words = wk("why-not", "acct-1", "--tenant", "acme").stdout
    assert "never: the kill switch tenant is on" in words
    assert "none: the kill switch tenant is not part of the policy" in words
