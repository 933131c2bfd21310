"""A command that is refused changes no row: no tenant is made by a wrong option."""

import json

import pytest

from tests.cli.conftest import WRONG, CommandLine
from tests.databases import Place
from tests.stored import difference, stored_at

pytestmark = pytest.mark.req("U-10", "D-02")

TRIGGER = ("trigger", "acme", "a", "SIGNAL_ARRIVED", "--key")
REQUEST = ("--tenant", "acme", "--request", "r", "--output-tokens", "1")
TURN = ("turns", "reserve", *REQUEST, "--model")
PULL = ("pulls", "request", "--tenant", "acme", "--account", "a", "--connector", "crm")
DAILY = ("schedules", "set", "daily", "--tenant", "acme", "--trigger", "SIGNAL_ARRIVED")
HOOK = "https://example.com/hook"
BILLING = ("sinks", "set", "billing", "--tenant", "acme", "--topic")


def plan(**changes: object) -> str:
    steps = [{"action_type": "REQUEST_RENEWAL_MEETING"}]
    right = {"account_id": "a", "plan_type": "RENEWAL_DEFENSE", "steps": steps}
    return json.dumps({**right, **changes})


REFUSED: dict[str, tuple[str, ...]] = {
    "signal: no account": ("signal", "acme", "", "mail"),
    "signal: data that are no object": ("signal", "acme", "a", "mail", "--data", "[]"),
    "trigger: no key": (*TRIGGER, ""),
    "trigger: no moment": (*TRIGGER, "k", "--scheduled-at", "noon"),
    "turn: unknown model": (*TURN, "oracle", "--input-tokens", "1"),
    "turn: negative tokens": (*TURN, "standard", "--input-tokens", "-1"),
    "budget: negative": ("budgets", "set", "--tenant", "acme", "--units", "-1"),
    "budget: bad cap": ("budgets", "set", "--tenant", "acme", "--units", "1", "--cap", "crm=x"),
    "pull: no depth": (*PULL, "--depth", "ABYSS"),
    "pull: bad id": (*PULL, "--id", "a b"),
    "tenant: unknown tier": ("tenants", "create", "acme", "--tier", "golld"),
    "schedule: no hour": (*DAILY, "--cron", "0 25 * * *"),
    "sink: no kind": (*BILLING, "orders", "--url", "ftp://example.com/"),
    "sink: no topic": (*BILLING, "decision.defered", "--url", HOOK),
}
PLANS = {
    "unknown type": plan(plan_type="NO_SUCH_TYPE"),
    "unknown action": plan(steps=[{"action_type": "NO_SUCH"}]),
    "no steps": plan(steps=[]),
    "no object": "[]",
}


@pytest.mark.parametrize("words", REFUSED.values(), ids=REFUSED)
def test_a_refused_command_changes_nothing(
    wk: CommandLine, place: Place, words: tuple[str, ...]
) -> None:
    with stored_at(place) as stored:
        before = stored.rows()
        wk(*words, exits=WRONG)
        assert difference(before, stored.rows()) == {}


@pytest.mark.parametrize("document", PLANS.values(), ids=PLANS)
def test_a_refused_plan_changes_nothing(wk: CommandLine, place: Place, document: str) -> None:
    with stored_at(place) as stored:
        before = stored.rows()
        wk("plans", "create", "--tenant", "acme", "--file", "-", stdin=document, exits=WRONG)
        assert difference(before, stored.rows()) == {}
