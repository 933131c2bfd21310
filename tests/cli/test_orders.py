"""`policy`, `schedules`, `kill`, `tenants`: standing orders given by hand."""

from pathlib import Path

import pytest

from tests.cli.conftest import FOUND, WRONG, CommandLine
from tests.databases import Place

pytestmark = pytest.mark.req("U-20", "U-21")

POLICY = """\
run_budget_per_day = 7

[triggers.SIGNAL_ARRIVED]
debounce_seconds = 0
"""
BROKEN = "run_budget_per_day = -1\n\n[triggers.SIGNAL_ARRIVED]\ncooldown = 3\n"


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return str(path)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    path = tmp_path / "broken.toml"
    path.write_text(BROKEN)
    return str(path)


def test_the_shipped_policy_is_in_force_first(wk: CommandLine) -> None:
    shown = wk.json("policy", "show")
    assert shown["version"] == 0
    assert "[triggers.SIGNAL_ARRIVED]" in shown["document"]


def test_a_policy_is_applied_and_shown(wk: CommandLine, document: str) -> None:
    applied = wk.json("policy", "apply", document, "--reason", "a try")
    assert applied["version"] == 1
    assert {change["path"] for change in applied["changes"]} == {
        "run_budget_per_day",
        "triggers.SIGNAL_ARRIVED.debounce_seconds",
    }
    assert wk("policy", "show").stdout.strip() == POLICY.strip()
    assert wk.json("policy", "show", "--version", "0")["version"] == 0


def test_a_tenant_sees_its_own_view(wk: CommandLine, document: str) -> None:
    wk("policy", "apply", document, "--reason", "a try")
    wk("tenants", "create", "acme")
    assert "run_budget_per_day = 7" in wk("policy", "show", "--tenant", "acme").stdout
    assert "no tenant" in wk("policy", "show", "--tenant", "nobody", exits=WRONG).stderr


def test_applying_the_same_again_changes_nothing(wk: CommandLine, document: str) -> None:
    wk("policy", "apply", document, "--reason", "a try")
    again = wk.json("policy", "apply", document, "--reason", "again")
    assert again["version"] == 1
    assert again["changes"] == []


def test_a_reason_is_needed(wk: CommandLine, document: str) -> None:
    assert "--reason" in wk("policy", "apply", document, exits=WRONG).stderr
    assert "reason" in wk("policy", "apply", document, "--reason", "", exits=WRONG).stderr


def test_a_check_finds_each_mistake_with_its_line(bare: CommandLine, broken: str) -> None:
    lines = bare("policy", "check", broken, exits=FOUND).stderr.splitlines()
    assert len(lines) == 2
    assert "line 1: run_budget_per_day" in lines[0]
    assert "line 4: triggers.SIGNAL_ARRIVED.cooldown" in lines[1]
    found = bare.json("policy", "check", broken, exits=FOUND)
    assert found["valid"] is False
    assert len(found["problems"]) == 2


def test_a_check_reads_from_a_pipe(bare: CommandLine, document: str) -> None:
    assert bare.json("policy", "check", document)["valid"] is True
    assert "valid" in bare("policy", "check", "-", stdin=POLICY).stdout


def test_a_broken_policy_is_not_applied(wk: CommandLine, broken: str) -> None:
    told = wk("policy", "apply", broken, "--reason", "a try", exits=WRONG).stderr
    assert told.count("\n") == 2
    assert wk.json("policy", "show")["version"] == 0


def test_a_file_that_is_not_there_is_named(bare: CommandLine) -> None:
    assert (
        "nowhere.toml: cannot be read"
        in bare("policy", "check", "nowhere.toml", exits=WRONG).stderr
    )


def test_a_schedule_is_set_listed_and_removed(wk: CommandLine) -> None:
    wk("tenants", "create", "acme")
    words = ("schedules", "set", "brief", "--tenant", "acme", "--cron", "0 8 * * *")
    made = wk.json(*words, "--trigger", "TIME_RITUAL_DAILY_BRIEF", "--timezone", "Europe/Berlin")
    assert made["next_fire_at"] == "2030-01-01T07:00:00Z"
    listed = wk.json("schedules", "list", "--tenant", "acme")["items"]
    assert [schedule["schedule_id"] for schedule in listed] == ["brief"]
    wk("schedules", "remove", "brief", "--tenant", "acme")
    assert wk("schedules", "list", "--tenant", "acme").stdout == "There are no schedules.\n"
    assert (
        "no schedule" in wk("schedules", "remove", "brief", "--tenant", "acme", exits=WRONG).stderr
    )


def test_a_wrong_cron_is_refused(wk: CommandLine) -> None:
    wk("tenants", "create", "acme")
    words = ("schedules", "set", "brief", "--tenant", "acme", "--cron", "at eight")
    told = wk(*words, "--trigger", "TIME_RITUAL_DAILY_BRIEF", exits=WRONG).stderr
    assert "cron" in told


def test_a_kill_switch_stops_and_is_released(wk: CommandLine) -> None:
    wk("kill", "on", "trigger", "SIGNAL_ARRIVED", "--reason", "too many")
    stopped = wk.json("trigger", "acme", "a", "SIGNAL_ARRIVED", "--key", "k1")
    assert stopped["reason"] == "KILL_SWITCH"
    listed = wk.json("kill", "list")["items"]
    assert [(switch["scope"], switch["id"]) for switch in listed] == [("trigger", "SIGNAL_ARRIVED")]
    wk("kill", "off", "trigger", "SIGNAL_ARRIVED", "--reason", "it is quiet")
    assert wk("kill", "list").stdout == "No kill switch is on.\n"
    assert wk.json("trigger", "acme", "a", "SIGNAL_ARRIVED", "--key", "k2")["result"] == "ALLOW"


def test_the_switch_of_a_tenant_needs_the_tenant(wk: CommandLine) -> None:
    assert "--tenant" in wk("kill", "on", "tenant", "--reason", "x", exits=WRONG).stderr
    wk("tenants", "create", "acme")
    wk("kill", "on", "tenant", "--tenant", "acme", "--reason", "unpaid")
    assert wk.json("kill", "list")["items"][0]["tenant_id"] == "acme"


def test_tenants_are_made_once(wk: CommandLine) -> None:
    Path("policy.toml").write_text("[tiers.gold]\n")
    wk("policy", "apply", "policy.toml", "--reason", "tiers")
    wk("tenants", "create", "acme", "--tier", "gold")
    assert wk.json("tenants", "list")["items"][0]["tier"] == "gold"
    assert "already" in wk("tenants", "create", "acme", exits=WRONG).stderr


@pytest.mark.req("D-09")
def test_a_tenant_is_given_a_tier_of_the_policy(wk: CommandLine) -> None:
    Path("policy.toml").write_text("[tiers.free]\nrun_budget_per_day = 1\n[tiers.pro]\n")
    wk("policy", "apply", "policy.toml", "--reason", "tiers")
    wk("signal", "acme", "a", "email.received")
    assert "free" in wk("tenants", "set", "acme", "--tier", "free").stdout
    assert wk.json("tenants", "set", "acme", "--name", "Acme")["tier"] == "free"
    shown = wk.json("tenants", "show", "acme")
    assert (shown["tier"], shown["name"]) == ("free", "Acme")
    for words in (("set", "acme"), ("create", "bolt")):
        refused = wk("tenants", *words, "--tier", "porfessional", exits=WRONG).stderr
        assert "tier: the policy has no tier porfessional: its tiers are free, pro" in refused
    assert wk.json("tenants", "show", "acme")["tier"] == "free"
    assert wk.json("tenants", "set", "acme", "--no-tier")["tier"] is None


def test_setting_a_tenant_needs_one_that_is_there_and_something_to_set(wk: CommandLine) -> None:
    assert "there is no tenant" in wk("tenants", "set", "x", "--no-tier", exits=WRONG).stderr
    assert "there is no tenant" in wk("tenants", "show", "x", exits=WRONG).stderr
    wk("tenants", "create", "acme")
    assert "--no-tier" in wk("tenants", "set", "acme", exits=WRONG).stderr
    both = ("--tier", "free", "--no-tier")
    assert "--no-tier" in wk("tenants", "set", "acme", *both, exits=WRONG).stderr


def test_a_policy_for_a_tenant_that_is_not_there_is_warned_of(
    wk: CommandLine, place: Place
) -> None:
    Path("policy.toml").write_text("[tenants.acem]\nrun_budget_per_day = 1\n")
    warning = "tenants.acem: there is no tenant of this name"
    checked = wk("policy", "check", "policy.toml", "--db", place.url)
    assert f"warning: {warning}" in checked.stderr
    assert wk("policy", "check", "policy.toml").stderr == ""
    applied = wk("policy", "apply", "policy.toml", "--reason", "less")
    assert f"warning: {warning}" in applied.stderr
    assert wk.json("policy", "apply", "policy.toml", "--reason", "less")["warnings"] == [warning]
    wk("policy", "shadow", "set", "trial", "policy.toml", "--reason", "try")
    promoted = wk("policy", "shadow", "promote", "trial", "--reason", "go")
    assert f"warning: {warning}" in promoted.stderr


def test_a_policy_that_apply_refuses_is_found_by_check_and_told_by_plan(
    wk: CommandLine, place: Place
) -> None:
    policy = Path("policy.toml")
    policy.write_text("[tiers.gold]\n")
    wk("policy", "apply", "policy.toml", "--reason", "tiers")
    wk("tenants", "create", "acme", "--tier", "gold")
    check = ("policy", "check", "policy.toml", "--db", place.url)
    assert wk.json(*check)["refused_because"] is None
    policy.write_text("[tiers.silver]\n")
    wk("policy", "apply", "policy.toml", "--reason", "drop", exits=WRONG)
    why = "the new policy drops the tier gold, which 1 tenant has"
    assert f"policy apply would refuse this policy: {why}" in wk(*check, exits=FOUND).stderr
    assert wk.json(*check, exits=FOUND)["refused_because"].startswith(why)
    wk("policy", "check", "policy.toml")
    assert (
        f"policy apply would refuse this policy: {why}"
        in wk("policy", "plan", "policy.toml").stderr
    )
    assert wk.json("policy", "plan", "policy.toml")["refused_because"].startswith(why)


def test_the_switch_of_a_tenant_is_thrown_as_one_would_type_it(wk: CommandLine) -> None:
    wk("tenants", "create", "acme")
    wk("kill", "on", "tenant", "acme", "--reason", "unpaid")
    [switch] = wk.json("kill", "list")["items"]
    assert (switch["tenant_id"], switch["scope"], switch["id"]) == ("acme", "tenant", None)
    both = ("tenant", "acme", "--tenant", "bolt", "--reason", "x")
    assert "--tenant: is bolt" in wk("kill", "off", *both, exits=WRONG).stderr
    wk("kill", "off", "tenant", "acme", "--reason", "paid")
    assert wk("kill", "list").stdout == "No kill switch is on.\n"
