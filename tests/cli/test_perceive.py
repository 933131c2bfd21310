"""`accounts`, `pulls`, `budgets`, `connectors`: looking, with the answers of every other door."""

import pytest

from tests.cli.conftest import WRONG, CommandLine
from tests.databases import Clock
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.store.connectors import Connector
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("U-20", "U-21")

ACME = ("--tenant", "acme")


def request(*more: str, account: str = "a", connector: str = "crm") -> tuple[str, ...]:
    return ("pulls", "request", *ACME, "--account", account, "--connector", connector, *more)


def budget(wk: CommandLine, units: int = 100, *more: str) -> None:
    wk("budgets", "set", *ACME, "--units", str(units), *more)


# -- accounts ------------------------------------------------------------------------------


@pytest.mark.req("P-01", "P-04")
def test_accounts_are_listed_with_their_heat(wk: CommandLine, clock: Clock) -> None:
    for n in range(5):
        wk("signal", "acme", "busy", f"mail.{n}")
    wk("signal", "acme", "heard-of", "mail.opened")
    rows = wk.json("accounts", "list", *ACME)["items"]
    assert [(row["account_id"], row["heat"]["heat_tier"]) for row in rows] == [
        ("busy", "WARM"),
        ("heard-of", "WARM"),
    ]
    assert rows[0]["heat"]["heat_score"] == 0.6
    table = wk("accounts", "list", *ACME, "--tier", "WARM").stdout
    assert "busy" in table
    assert "0.6" in table
    clock.advance(days=3)
    assert wk.json("accounts", "list", *ACME, "--tier", "WARM")["items"] == []
    assert len(wk.json("accounts", "list", *ACME, "--tier", "COLD")["items"]) == 2
    assert wk("accounts", "list", *ACME, "--tier", "HOT").stdout == "There are no accounts.\n"


@pytest.mark.req("P-05")
def test_an_account_is_shown_with_its_next_pulls(wk: CommandLine, db: Database) -> None:
    register_connector(db, Connector("crm", has_cadence=True))
    wk("signal", "acme", "a", "mail.opened")
    shown = wk.json("accounts", "show", "a")
    assert (shown["tenant_id"], shown["heat"]["heat_tier"]) == ("acme", "WARM")
    assert [(pull["connector_id"], pull["depth"]) for pull in shown["next_pulls"]] == [
        ("crm", "SHALLOW")
    ]
    assert [change["tier"] for change in shown["tier_history"]] == ["WARM"]
    told = wk("accounts", "show", "a", *ACME).stdout
    for word in ("signal_recency", "WARM", "crm", "next_pull_at"):
        assert word in told


def test_an_account_that_is_not_there_is_said_so(wk: CommandLine) -> None:
    assert "no account" in wk("accounts", "show", "a", exits=WRONG).stderr
    assert "no tenant" in wk("accounts", "list", *ACME, exits=WRONG).stderr
    wk("tenants", "create", "acme")
    assert "no account" in wk("accounts", "show", "a", *ACME, exits=WRONG).stderr
    assert "--tier" in wk("accounts", "list", *ACME, "--tier", "hot", exits=WRONG).stderr


# -- pulls ---------------------------------------------------------------------------------


@pytest.mark.req("P-15")
def test_a_pull_is_requested_shown_and_listed(wk: CommandLine, clock: Clock) -> None:
    assert wk("pulls", "list").stdout == "There are no pulls.\n"
    budget(wk)
    made = wk.json(*request("--depth", "DEEP", "--id", "p-1", "--correlation-id", "c-1"))
    assert (made["scheduled"], made["reason"]) == (True, None)
    assert (made["job"]["pull_job_id"], made["job"]["depth_units"]) == ("p-1", 3)
    assert (made["job"]["budget_remaining"], made["job"]["correlation_id"]) == (97, "c-1")
    shown = wk.json("pulls", "show", "p-1")
    assert (shown["state"], shown["origin"], shown["tenant_id"]) == (
        "REQUESTED", "manual", "acme",
    )  # fmt: skip
    assert "REQUESTED" in wk("pulls", "show", "p-1", *ACME).stdout
    clock.advance(1)
    wk(*request("--id", "p-2", account="b"))
    rows = wk.json("pulls", "list")["items"]
    assert [row["pull_job_id"] for row in rows] == ["p-2", "p-1"]
    assert "p-1" in wk("pulls", "list", *ACME).stdout
    filters = ("--account", "b", "--connector", "crm", "--state", "REQUESTED")
    assert [row["pull_job_id"] for row in wk.json("pulls", "list", *filters)["items"]] == ["p-2"]
    assert len(wk.json("pulls", "list", "--limit", "1")["items"]) == 1
    assert wk.json("pulls", "list", "--tenant", "other")["items"] == []


@pytest.mark.req("P-08")
def test_a_refusal_is_an_answer(wk: CommandLine) -> None:
    refused = wk.json(*request())
    assert (refused["scheduled"], refused["reason"]) == (False, "NO_BUDGET")
    assert "NO_BUDGET" in wk(*request()).stdout
    budget(wk, 0)
    assert wk.json(*request())["reason"] == "BUDGET_EXCEEDED"
    budget(wk, 1)
    wk("kill", "on", "connector", "crm", "--reason", "down")
    assert wk.json(*request())["reason"] == "KILL_SWITCH"
    wk("kill", "off", "connector", "crm", "--reason", "up")
    assert "on its way" in wk(*request()).stdout
    assert wk.json(*request())["reason"] == "DUPLICATE_PULL_JOB_ID"


# -- budgets -------------------------------------------------------------------------------


@pytest.mark.req("P-08", "P-09")
def test_a_budget_is_set_shown_and_removed(wk: CommandLine, clock: Clock) -> None:
    made = wk.json("budgets", "set", *ACME, "--units", "10", "--cap", "crm=4", "--cap", "mail=2")
    assert made["max_per_connector_per_day"] == {"crm": 4, "mail": 2}
    wk(*request("--depth", "DEEP"))
    shown = wk.json("budgets", "show", *ACME)
    assert (shown["units_consumed"], shown["remaining"]) == (3, 7)
    assert shown["connectors"]["crm"] == {"units_consumed": 3, "pull_count": 1, "remaining": 1}
    table = wk("budgets", "show", *ACME).stdout
    assert "2030-01-01" in table
    assert "crm" in table
    clock.advance(days=1)
    assert wk.json("budgets", "show", *ACME)["units_consumed"] == 0
    assert wk.json("budgets", "show", *ACME, "--date", "2030-01-01")["units_consumed"] == 3
    assert "removed" in wk("budgets", "remove", *ACME).stdout
    assert wk.json("budgets", "remove", *ACME) == {"tenant_id": "acme", "removed": True}
    assert "no budget" in wk("budgets", "show", *ACME).stdout
    assert wk.json(*request("--id", "late"))["reason"] == "NO_BUDGET"


@pytest.mark.req("P-08")
def test_a_cap_of_one_number_is_for_each(wk: CommandLine) -> None:
    made = wk.json("budgets", "set", *ACME, "--units", "10", "--cap", "1")
    assert made["max_per_connector_per_day"] == 1
    assert wk.json(*request("--id", "p-1"))["scheduled"]
    assert wk.json(*request("--id", "p-2"))["reason"] == "BUDGET_EXCEEDED"
    assert wk.json(*request("--id", "p-2", connector="mail"))["scheduled"]


# -- connectors ----------------------------------------------------------------------------


@pytest.mark.req("P-10")
def test_a_connector_is_limited_for_all_and_for_one(wk: CommandLine) -> None:
    assert wk("connectors", "list").stdout == "There are no connectors.\n"
    budget(wk)
    limits = ("--rate", "0.5", "--burst", "2", "--concurrency", "3", "--deep-units", "5")
    made = wk.json("connectors", "set", "crm", *limits)
    assert (made["rate_per_second"], made["burst"], made["max_concurrency"]) == (0.5, 2, 3)
    assert made["depth_units"] == {"SHALLOW": 1, "DEEP": 5}
    wk("connectors", "set", "crm", "--concurrency", "0")
    shown = wk.json("connectors", "show", "crm")
    assert (shown["rate_per_second"], shown["max_concurrency"]) == (0.5, None)
    own = wk.json("connectors", "set", "crm", *ACME, "--rate", "0.1")
    assert own["tenant"]["rate_per_second"] == 0.1
    wk(*request("--id", "p-1"))
    late = wk.json(*request("--id", "p-2"))
    assert (late["reason"], late["retry_at"]) == ("RATE_LIMIT", "2030-01-01T00:00:10Z")
    wk("connectors", "set", "crm", *ACME, "--rate", "0")
    assert wk.json(*request("--id", "p-2"))["scheduled"]
    told = wk("connectors", "show", "crm", *ACME).stdout
    assert "closed" in told
    assert "deep_units" in told
    assert "crm" in wk("connectors", "list", *ACME).stdout
    assert wk.json("connectors", "list", *ACME)["items"][0]["tenant"]["breaker"] == "closed"


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (request("--depth", "deep"), "depth"),
        (request("--id", "a/b"), "pull_job_id"),
        (request(connector="a b"), "connector_id"),
        (("pulls", "list", "--state", "LOST"), "--state"),
        (("budgets", "set", *ACME, "--units", "-1"), "max_pull_units_per_day"),
        (("budgets", "set", *ACME, "--units", "1", "--cap", "crm=x"), "--cap"),
        (
            ("budgets", "set", *ACME, "--units", "1", "--cap", "a b=1"),
            "max_per_connector_per_day",
        ),
        (("budgets", "show", *ACME, "--date", "2030-02-30"), "--date"),
        (("connectors", "set", "crm", "--rate", "-1"), "rate_per_second"),
        (("connectors", "set", "crm", "--burst", "0"), "burst"),
        (("connectors", "set", "a b", "--burst", "1"), "connector_id"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_mistake_is_named_by_its_place(
    wk: CommandLine, words: tuple[str, ...], where: str
) -> None:
    assert wk(*words, exits=WRONG).stderr.startswith(f"watchkeeper: {where}: ")


def test_what_is_not_there_is_said_so(wk: CommandLine) -> None:
    assert "no pull" in wk("pulls", "show", "p-1", exits=WRONG).stderr
    assert "no connector" in wk("connectors", "show", "crm", exits=WRONG).stderr
    assert "no tenant" in wk("budgets", "show", *ACME, exits=WRONG).stderr
    assert "no tenant" in wk("budgets", "remove", *ACME, exits=WRONG).stderr
    assert "no tenant" in wk("connectors", "list", *ACME, exits=WRONG).stderr
