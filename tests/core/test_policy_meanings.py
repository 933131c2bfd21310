"""A version of the policy means for ever what it meant, whatever ships later."""

import tomllib

import pytest

from watchkeeper.core import policy_parse
from watchkeeper.core.canonical import sha256_hex
from watchkeeper.core.default_policy import DEFAULT_POLICY_TOML, FORMER_POLICIES
from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_change import changed_as
from watchkeeper.core.policy_parse import (
    completed,
    parse_policy,
    shipped_meaning,
    shipped_policies,
    shipped_policy,
    stored_policy,
)
from watchkeeper.core.policy_schema import DOCUMENT
from watchkeeper.errors import NotFound

pytestmark = pytest.mark.req("T-20")

SAID = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 7\n"


def test_a_stored_version_is_not_moved_by_what_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    applied = parse_policy(SAID, version=1)
    later = DEFAULT_POLICY_TOML.replace("debounce_seconds = 60\n", "debounce_seconds = 61\n", 1)
    assert later != DEFAULT_POLICY_TOML
    monkeypatch.setattr(policy_parse, "_shipped", lambda: tomllib.loads(later))
    kept = stored_policy(SAID, applied.effective, version=1, hash=applied.hash)
    assert kept.effective == applied.effective
    assert rules_for(kept, "t", None).triggers == rules_for(applied, "t", None).triggers
    assert parse_policy(SAID).hash != applied.hash, "applied today it means something else"


def test_an_old_row_lies_on_the_first_that_shipped() -> None:
    first = stored_policy(SAID, None, version=1, hash="h")
    assert first.effective == parse_policy(SAID).effective
    assert first.hash == "h"
    assert rules_for(first, "t", None).source_of("triggers.SIGNAL_ARRIVED.cooldown_seconds") == (
        "policy"
    )


def test_what_was_invented_since_is_filled_in_and_new_names_are_not() -> None:
    shipped = shipped_policy().effective
    then = {key: value for key, value in shipped.items() if key not in ("pulls", "triggers")}
    then["triggers"] = {"SIGNAL_ARRIVED": {"debounce_seconds": 1, "cooldown_seconds": 2}}
    found = completed(then, shipped, DOCUMENT)
    assert found["pulls"] == shipped["pulls"]
    assert list(found["triggers"]) == ["SIGNAL_ARRIVED"], "no type appears that nobody knew then"
    assert found["triggers"]["SIGNAL_ARRIVED"]["cooldown_seconds"] == 2


def test_what_ships_now_needs_nothing_filled_in() -> None:
    shipped = shipped_policy().effective
    assert completed(shipped, shipped, DOCUMENT) == shipped


def test_every_document_that_shipped_is_found_by_its_hash() -> None:
    found = shipped_policies()
    assert len(found) == len(FORMER_POLICIES) + 1
    assert found[shipped_policy().hash].effective == shipped_policy().effective
    for hash in found:
        assert sha256_hex(tomllib.loads(shipped_policies()[hash].text)) == hash
        assert shipped_meaning(hash)
    with pytest.raises(NotFound):
        shipped_meaning("0" * 64)


@pytest.mark.req("T-21")
def test_a_change_of_nothing_changes_nothing_of_any_version() -> None:
    old, current = parse_policy("run_budget_per_day = 5\n"), parse_policy(SAID)
    assert changed_as(old, current, current).effective == old.effective
    assert changed_as(current, current, old) is old


@pytest.mark.req("T-21")
def test_a_change_is_laid_on_what_ruled_then() -> None:
    old = parse_policy("run_budget_per_day = 5\n[tenants.acme]\nspread_seconds = 9\n")
    current = parse_policy(SAID + "[triggers.OWN]\ndebounce_seconds = 1\ncooldown_seconds = 1\n")
    new = parse_policy(
        SAID.replace("7", "8") + "[triggers.OWN]\ndebounce_seconds = 1\ncooldown_seconds = 2\n"
    )
    found = changed_as(old, current, new).effective
    assert found["run_budget_per_day"] == 5
    assert found["tenants"] == old.effective["tenants"]
    assert found["triggers"]["SIGNAL_ARRIVED"]["cooldown_seconds"] == 8
    assert "OWN" not in found["triggers"], "it did not exist then"
    gone = changed_as(current, new, old).effective
    assert "OWN" not in gone["triggers"]
