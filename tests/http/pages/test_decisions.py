"""The pages of decisions, pulls and turns: found, explained, drawn, and taken along."""

import re

import pytest

from tests.http.calls import settle
from tests.http.door import Door
from tests.http.pages.looks import Look, links, words
from watchkeeper.actions.export_bundle import replay_bundle

pytestmark = pytest.mark.req("U-31")

CHECKS = 10


def fire(door: Door, **event: object) -> dict:
    answer = door.client("acme").post("/v1/triggers", json={"events": [door.event(**event)]})
    return answer.json()["verdicts"][0]


def outcomes(page: str) -> list[str]:
    return re.findall(r'<li class="(passed|bound|unreached|apart)">', page)


def test_nothing_yet_says_what_to_do(door: Door) -> None:
    assert "watchkeeper signal acme acct-1" in Look(door, door.tenant()).get("/decisions")


def test_a_deferral_is_drawn_with_the_check_that_bound(door: Door) -> None:
    door.tenant()
    fire(door, account_id="ann")
    door.clock.advance(minutes=2)
    second = fire(door, account_id="ann")
    assert second["reason"] == "COOLDOWN"
    look = Look(door, "acme")
    page = look.get(f"/decisions/{second['decision_id']}")
    drawn = outcomes(page)
    assert len(drawn) == CHECKS
    bound = drawn.index("bound")
    assert set(drawn[:bound]) <= {"passed", "apart"}
    assert set(drawn[bound + 1 :]) == {"unreached"}
    said = words(page)
    told = door.client("acme").get(f"/v1/decisions/{second['decision_id']}/explain").json()
    assert f"binding {told['binding_check']}" in said
    assert told["earliest_pass_at"][:19] in page
    assert words(told["smallest_change"]) in said
    assert "(default)" in said, "who set each value"
    assert f"version {told['verdict']['policy_version']}" in said
    assert "No run was allowed" in said
    assert "the same from what was recorded" in said


def test_an_allow_has_its_run_and_a_repeat_leads_to_it(door: Door) -> None:
    door.tenant()
    first = fire(door, account_id="ann", idempotency_key="one")
    again = fire(door, account_id="ann", idempotency_key="one")
    look = Look(door, "acme")
    page = look.get(f"/decisions/{first['decision_id']}")
    assert "bound" not in outcomes(page)
    assert "REQUESTED" in words(page)
    door.server.workers.drain()
    assert "SUCCEEDED" in words(look.get(f"/decisions/{first['decision_id']}"))
    repeat = look.get(f"/decisions/{again['decision_id']}")
    assert f"/decisions/{first['decision_id']}" in links(repeat, "/decisions/")


def test_the_bundle_is_the_one_of_the_api_as_a_file(door: Door) -> None:
    door.tenant()
    decision = fire(door, account_id="ann")["decision_id"]
    look = Look(door, "acme")
    assert f"/decisions/{decision}/bundle" in look.get(f"/decisions/{decision}")
    answer = look.client.get(f"/decisions/{decision}/bundle")
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.content == door.client("acme").get(f"/v1/decisions/{decision}/bundle").content
    assert replay_bundle(answer.json()).is_same


def test_filters_are_those_of_the_api(door: Door) -> None:
    door.tenant()
    fire(door, account_id="ann")
    door.clock.advance(minutes=2)
    fire(door, account_id="ann")
    fire(door, account_id="bob")
    fire(door, account_id="bob", trigger_type="POSTURE_CHANGE")
    look = Look(door, "acme")
    client = door.client("acme")
    for query in (
        "result=DEFER",
        "result=ALLOW",
        "reason=COOLDOWN",
        "account_id=ann",
        "trigger_type=POSTURE_CHANGE",
        "result=ALLOW&account_id=bob",
        "since=2030-01-01T00:01:00Z",
        "until=2030-01-01T00:01:00Z",
    ):
        found = client.get(f"/v1/decisions?{query}").json()["items"]
        page = look.get(f"/decisions?{query.replace('account_id', 'account')}&cursor=")
        assert links(page, "/decisions/") == [f"/decisions/{one['decision_id']}" for one in found]
    assert links(look.get("/decisions?until=2030-01-01T00:01"), "/decisions/")
    assert "No decision matches" in words(look.get("/decisions?account=zed"))


def test_many_are_shown_a_page_at_a_time(door: Door) -> None:
    door.tenant()
    events = [door.event(account_id=f"a{n}") for n in range(120)]
    for part in (events[:60], events[60:]):
        door.client("acme").post("/v1/triggers", json={"events": part})
    look, found, path = Look(door, "acme"), [], "/decisions?result=ALLOW"
    for _ in range(5):
        page = look.get(path)
        found += links(page, "/decisions/")
        older = [one for one in links(page, "/decisions?") if "cursor=" in one]
        if not older:
            break
        [path] = older
    assert len(set(found)) == len(found) == 120


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("result=MAYBE", "result"),
        ("reason=BAD", "reason"),
        ("since=yesterday", "since"),
        ("until=2030-13-01T00:00", "until"),
        ("account=%00", "account"),
        ("cursor=1.5", "cursor"),
    ],
)
def test_what_makes_no_sense_is_named(door: Door, query: str, named: str) -> None:
    assert f"{named}:" in words(Look(door, door.tenant()).get(f"/decisions?{query}", 422))


@pytest.mark.req("O-21")
def test_what_is_anothers_is_nobodys(door: Door) -> None:
    theirs = settle(door, "theirs")
    look = Look(door, door.tenant("acme"))
    for path in (
        f"/decisions/{theirs.decision}",
        f"/decisions/{theirs.decision}/bundle",
        f"/pulls/{theirs.pull}",
        f"/turns/{theirs.turn}",
    ):
        assert theirs.canary not in look.get(path, 404).replace(theirs.pull, "").replace(
            theirs.turn, ""
        )
    for path in ("/decisions/x", "/decisions/x/bundle", "/pulls/x", "/turns/x", "/turns/"):
        look.get(path, 404)
    assert theirs.canary not in look.get("/decisions")


def test_a_pull_and_a_turn_tell_how_they_went(door: Door) -> None:
    mine = settle(door, "acme")
    look = Look(door, "acme")
    pull = words(look.get(f"/pulls/{mine.pull}"))
    assert "How it went" in pull
    assert "REQUESTED" in pull
    turn = words(look.get(f"/turns/{mine.turn}"))
    assert "What it cost" in turn
    assert "Reserved" in turn


def test_what_was_refused_is_drawn_too(door: Door) -> None:
    mine = settle(door, "acme")
    client = door.client("acme")
    client.put("/v1/budgets/pull", json={"max_pull_units_per_day": 1})
    body = {"account_id": mine.account, "connector_id": "crm", "depth": "DEEP"}
    assert client.post("/v1/pulls", json=body).json()["reason"] == "BUDGET_EXCEEDED"
    door.admin.put("/v1/policy", json={"quota": {"tenant": {"daily": {"total": 1}}}})
    asked = {"turn_id": "dear", "request_id": "dear", "model": "standard"}
    asked |= {"estimated_input_tokens": 100, "max_output_tokens": 50}
    assert client.post("/v1/turns", json=asked).status_code == 429
    look = Look(door, "acme")
    ledger = look.get("/ledger")
    refused, *_ = [one for one in links(ledger, "/pulls/") if "was refused" in words(look.get(one))]
    page = look.get(refused)
    assert outcomes(page) == ["bound"]
    assert "more units a day" in words(page)
    page = look.get("/turns/dear")
    assert set(outcomes(page)) == {"bound"}
    assert "quota.tenant.daily.total" in words(page)
    assert "/turns/dear" in links(ledger, "/turns/")
