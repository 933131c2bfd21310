"""The pages of accounts: found, read, and paged; whatever characters a name has."""

import re
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.http.calls import settle
from tests.http.door import Door
from tests.http.pages.looks import Look, links, words

pytestmark = pytest.mark.req("U-31")

NASTY = [
    "a/b",
    "/a//b/",
    "a/../b",
    ".",
    "..",
    "a b",
    " padded ",
    "a?b=c&d#e",
    "100%",
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "{{ 7*7 }}",
    "\u00e4\u4e2d\U0001f600",
    "why-not",
    "x" * 200,
]


def signal(door: Door, *accounts: str, tenant: str = "acme", **more: object) -> list[str]:
    """Told to the API; the ids of the decisions."""
    body = [{"account_id": name, "type": "mail", **more} for name in accounts]
    answer = door.client(tenant).post("/v1/signals", json={"signals": body})
    assert answer.status_code == 202, answer.text
    return [one["verdict"]["decision_id"] for one in answer.json()["signals"]]


def test_nothing_yet_says_what_to_do(door: Door) -> None:
    look = Look(door, door.tenant())
    assert "watchkeeper signal acme acct-1" in look.get("/accounts")


def test_names_are_found_by_their_beginning(door: Door) -> None:
    signal(door, "anna", "annex", "bob", tenant=door.tenant())
    look = Look(door, "acme")
    assert links(look.get("/accounts?q=ann"), "/accounts/") == ["/accounts/anna", "/accounts/annex"]
    assert "No account begins with" in words(look.get("/accounts?q=zed"))
    page = words(look.get("/accounts?q=bob&tier="))
    assert "ALLOW" in page


def test_a_tier_is_a_filter(door: Door) -> None:
    signal(door, "ann", tenant=door.tenant())
    look = Look(door, "acme")
    page = look.get("/accounts")
    [tier] = re.findall(r'<span class="tag \w*">(HOT|WARM|COLD)</span>', page)
    assert links(look.get(f"/accounts?tier={tier}"), "/accounts/") == ["/accounts/ann"]
    other = {"HOT": "COLD", "WARM": "HOT", "COLD": "HOT"}[tier]
    assert links(look.get(f"/accounts?tier={other}"), "/accounts/") == []


def test_many_are_shown_a_page_at_a_time(door: Door) -> None:
    names = [f"a{n:03}" for n in range(120)]
    signal(door, *names[:60], tenant=door.tenant())
    signal(door, *names[60:])
    look, found, path = Look(door, "acme"), [], "/accounts?q=a"
    for _ in range(5):
        page = look.get(path)
        found += links(page, "/accounts/")
        more = [one for one in links(page, "/accounts?") if "cursor=" in one]
        if not more:
            break
        [path] = more
    assert found == [f"/accounts/{name}" for name in names]


@pytest.mark.req("U-30", "O-24")
@pytest.mark.parametrize("name", NASTY)
def test_whatever_a_name_holds_its_page_is_reached_and_it_is_text(door: Door, name: str) -> None:
    signal(door, name, type=name.strip()[:60] or "mail", tenant=door.tenant())
    look = Look(door, "acme")
    listed = look.get("/accounts")
    [path] = [
        one
        for one in links(listed, "/accounts")
        if one.startswith(("/accounts/", "/accounts?account="))
    ]
    assert "/../" not in f"{path}/"
    page = look.get(path)
    assert " ".join(name.split()) in words(page)
    assert "A run was allowed" in words(page)
    for text in (listed, page, look.get("/ledger"), look.get("/decisions")):
        assert "<script>alert" not in text
        assert "<img" not in text
    assert "A run was allowed" in words(look.get(path + ("&" if "?" in path else "?") + "stage="))
    [decision] = [one for one in links(page, "/decisions/") if "bundle" not in one]
    assert path in links(look.get(decision), "/accounts")


def test_one_account_tells_all_that_is_known(door: Door) -> None:
    mine = settle(door, "acme")
    page = Look(door, "acme").get(f"/accounts/{mine.account}")
    said = words(page)
    for part in ("What a trigger would get now", "Tier and score over time", "Next pulls"):
        assert part in said
    for kind in (
        "A run was allowed",
        "A pull was scheduled",
        "A plan was drafted",
        "A step started",
    ):
        assert kind in said
    assert f"Signal {mine.canary}." in said
    assert page.count("<svg") >= 3, "two charts beside the mark of the house"
    assert f"/plans/{mine.plan}" in page
    assert f"/pulls/{mine.pull}" in page
    assert f"/decisions/{mine.decision}" in page
    assert "&#34;seq&#34;" in page, "the entry as it is"


def test_stages_are_parts_and_pages_follow_each_other(door: Door) -> None:
    mine = settle(door, "acme")
    client = door.client("acme")
    for n in range(70):
        client.post(
            "/v1/triggers",
            json={"events": [door.event(account_id=mine.account, idempotency_key=f"k{n}")]},
        )
    look = Look(door, "acme")
    base = f"/accounts/{mine.account}"
    newest = look.get(base)
    assert "more like it" in words(newest), "a storm is one line"
    [older] = [one for one in links(newest, f"{base}?") if "cursor=" in one]
    assert "A pull was scheduled" in words(look.get(older))
    acted = words(look.get(f"{base}?stage=act"))
    assert "A plan was drafted" in acted
    assert "A pull was scheduled" not in acted


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("?stage=love", "stage"),
        ("?cursor=x", "cursor"),
        ("?cursor=99999999999999999999", "cursor"),
        ("?cursor=-1", "cursor"),
    ],
)
def test_what_makes_no_sense_is_named(door: Door, query: str, named: str) -> None:
    signal(door, "ann", tenant=door.tenant())
    assert f"{named}:" in words(Look(door, "acme").get(f"/accounts/ann{query}", 422))


@pytest.mark.parametrize("query", ["?tier=BLUE", f"?q={'x' * 300}", "?q=%00", "?cursor=%07"])
def test_a_list_that_makes_no_sense_is_refused(door: Door, query: str) -> None:
    Look(door, door.tenant()).get(f"/accounts{query}", 422)


@pytest.mark.req("O-21")
def test_another_tenants_account_is_nobodys(door: Door) -> None:
    theirs = settle(door, "theirs")
    signal(door, "mine", tenant=door.tenant("acme"))
    look = Look(door, "acme")
    unknown = words(look.get("/accounts/nobody", 404))
    assert "there is no account nobody" in unknown
    assert theirs.canary not in look.get(f"/accounts/{theirs.account}", 404).replace(
        theirs.account, ""
    )
    assert theirs.canary not in look.get("/accounts")
    Look(door, None).get(f"/accounts/{theirs.account}?tenant=theirs")


def test_looking_changes_nothing(door: Door) -> None:
    mine = settle(door, "acme")
    look = Look(door, "acme")
    before = door.stored()
    for path in ("/accounts", f"/accounts/{mine.account}", "/decisions", "/ledger"):
        look.get(path)
    assert door.stored() == before


@pytest.mark.req("U-30")
def test_whoever_has_to_log_in_first_comes_back_to_the_same_name(dev_door: Door) -> None:
    """A slash within a name is written otherwise than one between names, and stays so."""
    asked = "/accounts/a%2F..%2Fb?stage=act"
    stranger = TestClient(
        dev_door.app, "http://localhost", follow_redirects=False, client=("127.0.0.1", 50000)
    )
    assert stranger.get(asked).headers["location"] == asked
    elsewhere = TestClient(dev_door.app, base_url="http://example.com", follow_redirects=False)
    assert elsewhere.get(asked).headers["location"] == f"/login?next={quote(asked, safe='')}"
