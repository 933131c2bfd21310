"""`ledger verify|checkpoint|export|prune|tail`: the chain from the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import FOUND, WRONG, CommandLine
from tests.databases import Clock, Place
from tests.tampering import Intruder

pytestmark = pytest.mark.req("U-20", "T-03")


@pytest.fixture
def acme(wk: CommandLine) -> CommandLine:
    for number in range(4):
        wk("signal", "acme", f"acct-{number}", "mail")
    return wk


def test_a_whole_chain_is_said_to_be_whole(acme: CommandLine) -> None:
    told = acme.json("ledger", "verify", "--tenant", "acme")
    [report] = told["tenants"]
    assert (told["clean"], report["sealed_seq"]) == (True, 0)
    assert report["unsealed"] >= 5
    acme("ledger", "checkpoint", "--tenant", "acme", "--out", "point.json")
    [report] = acme.json("ledger", "verify", "--tenant", "acme")["tenants"]
    assert (report["unsealed"], report["clean"]) == (0, True)
    assert "not sealed yet" in acme("ledger", "verify").stdout


def test_the_first_broken_entry_is_named_and_the_exit_code_is_one(
    acme: CommandLine, place: Place
) -> None:
    acme("ledger", "checkpoint", "--tenant", "acme", "--out", "point.json")
    Intruder(place).edit(3, "subject")
    told = acme("ledger", "verify", exits=FOUND).stdout
    assert "entry 3 (" in told
    assert "changed" in told
    report = acme.json("ledger", "verify", "--tenant", "acme", exits=FOUND)
    assert report["tenants"][0]["first_broken"]["seq"] == 3
    assert "ledger_is_chained" in acme("verify", exits=FOUND).stdout
    assert (
        "entry 3 "
        in acme("ledger", "export", "--tenant", "acme", "--out", "x.jsonl", exits=FOUND).stderr
    )


def test_a_rewritten_chain_is_found_by_the_file(acme: CommandLine, place: Place) -> None:
    [report] = acme.json("ledger", "verify", "--tenant", "acme")["tenants"]
    acme("ledger", "checkpoint", "--tenant", "acme", "--out", "point.json")
    Intruder(place).cut(4)
    Intruder(place).count(3)
    Intruder(place).run("delete from ledger_checkpoints")
    Intruder(place).forget_seals()
    acme("ledger", "verify")
    told = acme("ledger", "verify", "--checkpoint", "point.json", exits=FOUND).stdout
    assert "entry 1 cut" in told or "entry 4 cut" in told
    assert report["unsealed"] > 3


@pytest.mark.req("T-04")
def test_export_and_prune(acme: CommandLine, clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("[retention]\nledger_days = 30\n")
    acme("policy", "apply", "policy.toml", "--reason", "shorter")
    clock.advance(days=31)
    acme("signal", "acme", "acct-9", "mail")
    made = acme.json("ledger", "export", "--tenant", "acme", "--out", "acme.jsonl")
    lines = (tmp_path / "acme.jsonl").read_text().splitlines()
    assert len(lines) == made["entries"] + 2
    done = acme.json("ledger", "prune", "--tenant", "acme", "--checkpoint", "acme.jsonl")
    assert 0 < done["removed"] < made["entries"]
    acme("ledger", "verify", "--checkpoint", "acme.jsonl")
    acme("ledger", "verify", "--since-checkpoint")
    acme("verify")
    first = json.loads(acme("ledger", "tail", "--tenant", "acme", "--json").stdout.splitlines()[0])
    assert first["seq"] == done["pruned_to"] + 1


@pytest.mark.req("T-04")
def test_prune_refuses_without_an_export(acme: CommandLine, tmp_path: Path) -> None:
    acme("ledger", "checkpoint", "--tenant", "acme", "--out", "point.json")
    words = ("ledger", "prune", "--tenant", "acme", "--checkpoint", "point.json")
    assert "ledger_days" in acme(*words, exits=WRONG).stderr
    (tmp_path / "policy.toml").write_text("[retention]\nledger_days = 1\n")
    acme("policy", "apply", "policy.toml", "--reason", "shorter")
    assert "were not exported" in acme(*words, exits=WRONG).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("verify", "--checkpoint", "nowhere.json"), "nowhere.json: "),
        (("verify", "--checkpoint", "wrong.json"), "wrong.json: it is not a checkpoint"),
        (("verify", "--tenant", "nobody"), "there is no tenant nobody"),
        (("verify", "--newest", "0"), "--newest"),
        (("tail", "--tenant", "nobody"), "there is no tenant nobody"),
        (("tail", "--tenant", "nobody", "--follow"), "there is no tenant nobody"),
        (("tail", "--kind", "verdicts"), "there is no kind verdicts; kinds are FACTS_TOLD"),
        (("checkpoint", "--tenant", "nobody"), "there is no tenant nobody"),
        (("checkpoint", "--tenant", "acme", "--out", "no/x.json"), "no/x.json: "),
        (("export", "--tenant", "acme", "--out", "no/x.jsonl"), "no/x.jsonl: "),
        (("export", "--tenant", "acme", "--out", "x", "--before", "today"), "--before: "),
        (("prune", "--tenant", "acme", "--checkpoint", "wrong.json"), "wrong.json: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_named(
    acme: CommandLine, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "wrong.json").write_text("{}")
    assert said in acme("ledger", *words, exits=WRONG).stderr
    assert not (tmp_path / "x").exists()


def test_tail_prints_each_tenants_entries_in_the_order_of_their_numbers(
    acme: CommandLine, clock: Clock
) -> None:
    """Verdicts are dated up to a second later than what follows from them."""
    clock.advance(0.5)
    acme("signal", "acme", "acct-9", "mail")
    acme("kill", "on", "tenant", "acme", "--reason", "stop")
    lines = [json.loads(line) for line in acme("ledger", "tail", "--json").stdout.splitlines()]
    places = [line["seq"] for line in lines if line["tenant_id"] == "acme"]
    assert places == sorted(places)
    dates = [line["at"] for line in lines if line["tenant_id"] == "acme"]
    assert dates != sorted(dates), "the test needs an entry that is dated before the one before"
