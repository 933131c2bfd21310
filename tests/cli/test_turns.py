"""`turns` and `quota`: metered work by hand, with the answers of every other door."""

import pytest

from tests.cli.conftest import FOUND, WRONG, CommandLine
from tests.databases import Clock

pytestmark = pytest.mark.req("U-20", "U-21")

RESERVED = 100 * 1 + 50 * 3
TOKENS = ("--input-tokens", "100", "--output-tokens", "50")
POLICY = "[quota.tenant.daily]\ntotal = 250\ntiers.premium = 0\n"


def reserve(request: str = "r-1", model: str = "standard", tenant: str = "acme") -> tuple[str, ...]:
    named = ("--tenant", tenant, "--request", request, "--model", model)
    return ("turns", "reserve", *named, *TOKENS)


def limit(wk: CommandLine) -> None:
    wk("policy", "apply", "-", "--reason", "a try", stdin=POLICY)


@pytest.mark.req("S-01")
def test_a_turn_is_reserved_shown_and_listed(wk: CommandLine) -> None:
    assert wk("turns", "list").stdout == "There are no turns.\n"
    made = wk.json(*reserve(), "--id", "t-1", "--user", "kim")
    assert (made["turn_id"], made["effective_model"]) == ("t-1", "standard")
    assert made["reserved_credits_micro"] == RESERVED
    assert made["existing"] is False
    assert wk.json(*reserve())["existing"] is True
    shown = wk.json("turns", "show", "t-1")
    assert (shown["state"], shown["tenant_id"], shown["user_id"]) == ("running", "acme", "kim")
    assert "2030-01-01T00:00:00Z" in wk("turns", "show", "t-1", "--tenant", "acme").stdout
    assert [row["turn_id"] for row in wk.json("turns", "list")["items"]] == ["t-1"]
    assert "standard" in wk("turns", "list", "--tenant", "acme").stdout
    assert wk.json("turns", "list", "--state", "failed")["items"] == []
    assert wk.json("turns", "list", "--tenant", "other")["items"] == []


def test_turns_of_all_tenants_are_listed_the_newest_first(wk: CommandLine, clock: Clock) -> None:
    for number, tenant in enumerate(("acme", "beta", "acme")):
        wk(*reserve(f"r-{number}", tenant=tenant), "--id", f"t-{number}")
        clock.advance(1)
    rows = wk.json("turns", "list", "--limit", "2")["items"]
    assert [(row["turn_id"], row["tenant_id"]) for row in rows] == [
        ("t-2", "acme"),
        ("t-1", "beta"),
    ]


@pytest.mark.req("S-04", "S-05")
def test_a_turn_is_settled_once(wk: CommandLine) -> None:
    wk(*reserve(), "--id", "t-1")
    used = ("--input-tokens", "90", "--output-tokens", "20")
    won = wk.json("turns", "finalize", "t-1", "--outcome", "completed", *used)
    assert (won["won"], won["settlement_method"], won["charged_credits_micro"]) == (
        True, "actual", 150,
    )  # fmt: skip
    lost = wk.json("turns", "finalize", "t-1", "--outcome", "failed", "--tenant", "acme")
    assert lost == {**won, "won": False}
    shown = wk.json("turns", "show", "t-1")
    assert (shown["event_id"], shown["event_status"]) == (won["event_id"], "pending")
    event = wk.json("outbox", "show", won["event_id"])
    assert (event["topic"], event["payload"]["turn_id"]) == ("usage_snapshot", "t-1")


@pytest.mark.req("S-05")
@pytest.mark.parametrize(
    ("words", "method"), [((), "estimated"), (("--never-started",), "released")]
)
def test_an_end_without_usage(wk: CommandLine, words: tuple[str, ...], method: str) -> None:
    wk(*reserve(), "--id", "t-1")
    told = wk("turns", "finalize", "t-1", "--outcome", "cancelled", *words).stdout
    assert "cancelled" in told
    assert method in told


def test_the_event_goes_where_the_settings_say(wk: CommandLine) -> None:
    there = CommandLine({**wk.environ, "WATCHKEEPER_USAGE_NAMESPACE": "metering"})
    there(*reserve(), "--id", "t-1")
    event_id = there.json("turns", "finalize", "t-1", "--outcome", "failed")["event_id"]
    assert wk.json("outbox", "show", event_id)["namespace"] == "metering"


@pytest.mark.req("S-01")
def test_without_room_the_exit_code_is_one(wk: CommandLine) -> None:
    limit(wk)
    assert wk.json(*reserve(model="premium"))["effective_model"] == "standard"
    told = wk(*reserve("r-2"), exits=FOUND).stderr
    assert told.startswith("watchkeeper: no quota is left: standard needs 250 of the daily total")
    assert told.count("\n") == 1


@pytest.mark.req("S-01")
def test_quota_is_shown_for_all_tenants_one_or_a_user(wk: CommandLine) -> None:
    assert wk("quota").stdout == "There are no tenants.\n"
    wk(*reserve(), "--user", "kim")
    wk("tenants", "create", "beta")
    rows = wk.json("quota")["items"]
    assert {row["tenant_id"] for row in rows} == {"acme", "beta"}
    own = wk.json("quota", "--tenant", "acme")["items"]
    daily = next(row for row in own if (row["period"], row["bucket"]) == ("daily", "total"))
    assert (daily["reserved"], daily["spent"]) == (RESERVED, 0)
    assert daily["remaining"] == daily["limit"] - RESERVED
    assert daily["next_reset_at"] == "2030-01-02T00:00:00Z"
    user = wk.json("quota", "--tenant", "acme", "--user", "kim")["items"]
    assert {row["user_id"] for row in user} == {"kim"}
    assert "tier:premium" in wk("quota", "--tenant", "acme").stdout
    assert "no tenant" in wk("quota", "--tenant", "nobody", exits=WRONG).stderr
    assert "--tenant" in wk("quota", "--user", "kim", exits=WRONG).stderr
    assert "--user" in wk("quota", "--tenant", "acme", "--user", "a/b", exits=WRONG).stderr


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("turns", "list", "--state", "sleepy"), "--state"),
        (reserve("a/b"), "request_id"),
        (reserve(tenant="_system"), "tenant_id"),
        (reserve(model="huge"), "model"),
        (
            (*reserve()[:-4], "--input-tokens", "-1", "--output-tokens", "1"),
            "estimated_input_tokens",
        ),
        ((*reserve(), "--id", "a.b"), "turn_id"),
        ((*reserve(), "--user", ""), "user_id"),
        (("turns", "finalize", "t", "--outcome", "done"), "outcome"),
        (
            ("turns", "finalize", "t", "--outcome", "failed", "--input-tokens", "1"),
            "usage.output_tokens",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_mistake_is_named_by_its_place(
    wk: CommandLine, words: tuple[str, ...], where: str
) -> None:
    assert wk(*words, exits=WRONG).stderr.startswith(f"watchkeeper: {where}: ")


def test_a_number_is_needed(wk: CommandLine) -> None:
    words = (*reserve()[:-1], "many")
    assert "--output-tokens" in wk(*words, exits=WRONG).stderr


def test_a_turn_that_is_not_there_is_said_so(wk: CommandLine) -> None:
    assert "no turn" in wk("turns", "show", "t-1", exits=WRONG).stderr
    assert "no turn" in wk("turns", "finalize", "t-1", "--outcome", "failed", exits=WRONG).stderr
    for tenant in ("acme", "beta"):
        wk(*reserve(tenant=tenant), "--id", "t-1")
    assert "tenant_id" in wk("turns", "show", "t-1", exits=WRONG).stderr
    assert wk.json("turns", "show", "t-1", "--tenant", "beta")["tenant_id"] == "beta"
