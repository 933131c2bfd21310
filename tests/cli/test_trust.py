"""`policy plan`, `bundle`, `why-not`: try it, take it along, ask before asking."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import FOUND, WRONG, CommandLine
from tests.databases import Clock
from watchkeeper.cli import policy_plan

SHORTER = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 100\n"


@pytest.fixture
def played(wk: CommandLine, clock: Clock) -> CommandLine:
    """An ALLOW, and 100 seconds later a DEFER, of acct-1."""
    wk("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k1")
    clock.advance(100)
    wk("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k2")
    Path("new.toml").write_text(SHORTER)
    Path("same.toml").write_text("")
    return wk


@pytest.mark.req("T-21")
def test_a_plan_says_what_would_flip(played: CommandLine) -> None:
    told = played.json("policy", "plan", "new.toml")
    assert told["flips"] == 1
    assert told["by_change"] == [{"was": "DEFER COOLDOWN", "now": "ALLOW", "count": 1}]
    assert told["runs"] == {"before": 1, "after": 2, "saved": 0, "added": 1}
    [account] = told["accounts"]
    assert account["account_id"] == "acct-1"
    assert account["inferred_from"]["at"] == "2030-01-01T00:01:40Z"
    words = played("policy", "plan", "new.toml").stdout
    assert "DEFER COOLDOWN" in words
    assert "300 → 100" in words
    assert "acct-1" in words


@pytest.mark.req("T-21")
def test_a_plan_counts_what_it_does_not_list_and_says_which_tiers(
    played: CommandLine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for account in ("acct-2", "acct-3"):
        played("trigger", "acme", account, "SIGNAL_ARRIVED", "--key", f"{account}-1")
    clock.advance(100)
    for account in ("acct-2", "acct-3"):
        played("trigger", "acme", account, "SIGNAL_ARRIVED", "--key", f"{account}-2")
    whole = played("policy", "plan", "new.toml").stdout
    assert "more accounts" not in whole
    assert "as they were when each verdict was given" in whole
    monkeypatch.setattr(policy_plan, "SHOWN", 1)
    assert played("policy", "plan", "new.toml").stdout.endswith("and 2 more accounts\n")


@pytest.mark.req("T-21")
def test_credits_of_a_plan_name_their_unit() -> None:
    said = policy_plan._credits({"saved": 88_975, "added": 0})
    assert said == "88,975 micro-credits saved, about 0 added"


@pytest.mark.req("T-21")
def test_the_unchanged_policy_flips_nothing(played: CommandLine) -> None:
    assert played.json("policy", "plan", "same.toml")["flips"] == 0
    assert "No verdict would change." in played("policy", "plan", "same.toml").stdout
    played("policy", "plan", "same.toml", "--max-flips", "0", "--max-extra-runs", "0")


@pytest.mark.req("T-21")
def test_bounds_are_exit_codes(played: CommandLine) -> None:
    played("policy", "plan", "new.toml", "--max-flips", "1", "--max-extra-runs", "1")
    told = played("policy", "plan", "new.toml", "--max-flips", "0", exits=FOUND)
    assert "1 flips are more than 0" in told.stderr
    told = played.json("policy", "plan", "new.toml", "--max-extra-runs", "0", exits=FOUND)
    assert told["exceeded"] == ["1 extra runs are more than 0"]


@pytest.mark.req("T-21")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "30"), "--since"),
        (("--since", "99999w"), "--since"),
        (("--tenant", "nobody"), "there is no tenant nobody"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_question_is_refused(played: CommandLine, words, said: str) -> None:
    assert said in played("policy", "plan", "new.toml", *words, exits=WRONG).stderr


@pytest.mark.req("T-20", "T-21")
def test_a_mistake_in_the_document_is_named_by_its_line(played: CommandLine) -> None:
    Path("new.toml").write_text("\n\nrun_budget_per_day = -1\n")
    assert "line 3" in played("policy", "plan", "new.toml", exits=WRONG).stderr


@pytest.mark.req("T-12")
def test_a_bundle_decides_again_without_a_database(played: CommandLine, bare: CommandLine) -> None:
    decision = played.json("trigger", "acme", "acct-2", "SIGNAL_ARRIVED", "--key", "k9")
    bundle = played("bundle", "export", decision["decision_id"]).stdout
    Path("decision.json").write_text(bundle)
    told = bare.json("bundle", "replay", "decision.json")
    assert (told["same"], told["result"]) == (True, "ALLOW")
    assert "same" in bare("bundle", "replay", "decision.json").stdout
    changed = json.loads(bundle)
    changed["entry"] = changed["entry"].replace("acct-2", "acct-3")
    Path("changed.json").write_text(json.dumps(changed))
    told = bare.json("bundle", "replay", "changed.json", exits=FOUND)
    assert "it was changed" in told["problem"]
    Path("none.json").write_text("{}")
    assert "not a decision bundle" in bare("bundle", "replay", "none.json", exits=WRONG).stderr
    Path("none.json").write_text("{")
    assert "is not JSON" in bare("bundle", "replay", "none.json", exits=WRONG).stderr
    assert "cannot be read" in bare("bundle", "replay", "nowhere.json", exits=WRONG).stderr


@pytest.mark.req("T-11")
def test_why_not_says_what_each_type_would_get(played: CommandLine) -> None:
    told = played.json("why-not", "acct-1")
    found = {one["trigger_type"]: one for one in told["triggers"]}
    assert found["SIGNAL_ARRIVED"]["reason"] == "DEBOUNCED"
    assert found["POSTURE_CHANGE"]["result"] == "DEFER"
    words = played("why-not", "acct-1").stdout
    assert "TIME_RITUAL_DAILY_BRIEF" in words
    assert "there is no account" in played("why-not", "nobody", exits=WRONG).stderr


@pytest.mark.req("T-23")
def test_a_shadow_is_set_watched_and_promoted(wk: CommandLine, clock: Clock) -> None:
    Path("new.toml").write_text(SHORTER)
    wk("trigger", "acme", "acct-0", "SIGNAL_ARRIVED", "--key", "k0")
    assert "There are no shadows." in wk("policy", "shadow", "list").stdout
    clock.advance(1)
    wk("policy", "shadow", "set", "trial", "new.toml", "--reason", "try it")
    wk("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k1")
    clock.advance(100)
    wk("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k2")
    told = wk.json("policy", "shadow", "show", "trial")["divergence"]
    assert (told["events"], told["flips"]) == (2, 1)
    assert "DEFER COOLDOWN" in wk("policy", "shadow", "show", "trial").stdout
    [listed] = wk.json("policy", "shadow", "list")["items"]
    assert listed["name"] == "trial"
    promoted = wk.json("policy", "shadow", "promote", "trial", "--reason", "it was right")
    assert promoted["version"] == 1
    assert wk.json("policy", "shadow", "list")["items"] == []
    wk("policy", "shadow", "set", "x", "new.toml", "--reason", "again")
    wk("policy", "shadow", "remove", "x")
    assert "no shadow policy x" in wk("policy", "shadow", "show", "x", exits=WRONG).stderr
    told = wk("policy", "shadow", "set", "a b", "new.toml", "--reason", "r", exits=WRONG).stderr
    assert "NAME" in told
