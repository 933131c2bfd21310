"""What holds for every page: who reaches it, from where, with which headers, and what breaks."""

import re
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from tests.databases import Databases
from tests.http.calls import Estate, settle
from tests.http.door import ADMIN_KEY, Door, opened
from tests.http.pages.browsing import Visitor, visitor
from tests.http.pages.conftest import Visit
from tests.http.pages.walk import EVERY, LOOKS, OPEN, ROUTES, SENT, SHOWN, Walked
from watchkeeper.http import access, page
from watchkeeper.http.access import ROLES, Access, needs
from watchkeeper.http.form import FIELDS_MAX
from watchkeeper.http.page import PageRoute, pages
from watchkeeper.http.session import COOKIE

pytestmark = pytest.mark.req("O-24")

PEOPLE = ("viewer", "operator", "admin")
shown = pytest.mark.parametrize("one", SHOWN, ids=lambda one: one.name)
sent = pytest.mark.parametrize("one", SENT, ids=lambda one: one.name)
every = pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)


class House(NamedTuple):
    """A server with two tenants that have one of everything, and people of the first."""

    door: Door
    mine: Estate
    theirs: Estate
    people: dict[str, Visitor]
    before: dict[str, list[tuple]]

    def is_as_before(self) -> bool:
        now = self.door.stored()
        changed = [name for name in now if now[name] != self.before.get(name)]
        assert changed == []
        return True


@pytest.fixture(scope="module", params=["sqlite"])
def house(request: pytest.FixtureRequest, databases: Databases) -> Iterator[House]:
    with databases.opened(request.param) as (db, clock), opened(db, clock) as door:
        yield settled(door)


@pytest.fixture(scope="module")
def other_house(databases: Databases) -> Iterator[House]:
    """For forms that are taken."""
    with databases.opened("sqlite") as (db, clock), opened(db, clock) as door:
        yield settled(door)


def settled(door: Door) -> House:
    theirs, mine = settle(door, "theirs"), settle(door, "mine")
    people = {role: visitor(door, door.key("mine", role)) for role in PEOPLE}
    people["chief"] = visitor(door, ADMIN_KEY, cookies={"wk_tenant": "mine"})
    people["another viewer"] = visitor(door, door.key("mine", "viewer"))
    people["another operator"] = visitor(door, door.key("mine", "operator"))
    people["theirs"] = visitor(door, door.key("theirs", "admin"))
    return House(door, mine, theirs, people, door.stored())


def error_page(answer: Any, status: int) -> str:
    """A page for a person: what went wrong and under which id, and nothing of the inside."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert f"<code>{answer.headers['x-request-id']}</code>" in answer.text
    assert "Traceback" not in answer.text
    return answer.text


def well_dressed(answer: Any) -> None:
    """The headers without which no answer leaves."""
    headers = answer.headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    policy = dict(part.strip().partition(" ")[::2] for part in headers[CSP].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["base-uri"] == "'none'"
    assert policy.get("script-src", "'self'") == "'self'"
    assert policy.get("style-src", "'self'") == "'self'"
    assert "unsafe" not in headers[CSP]


CSP = "content-security-policy"


# -- who ---------------------------------------------------------------------------------


def test_every_page_says_what_it_needs() -> None:
    """But for the login and the files that pages are made of."""
    unguarded = {
        f"{method} {route.path}"
        for route in ROUTES
        if not isinstance(route, PageRoute)
        for method in route.methods
    }
    assert unguarded == OPEN
    assert SHOWN
    assert SENT

    def forgotten() -> None: ...

    with pytest.raises(RuntimeError, match="forgotten"):
        pages().get("/forgotten")(forgotten)


def test_a_page_that_changes_something_is_not_for_viewers() -> None:
    assert {one.name for one in SENT if one.need.access is Access.READ} <= LOOKS
    assert {one.method for one in EVERY} == {"GET", "POST"}


@every
def test_a_stranger_is_sent_to_the_login(house: House, one: Walked) -> None:
    stranger, address = visitor(house.door), one.address(house.mine)
    if one.method == "POST":
        answer = stranger.send_as(address, {"csrf": ""})
        assert (answer.status_code, answer.text) == (401, "")
    else:
        answer = stranger.get(address)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?next=%2F")
        answer = stranger.get(address, headers={"X-Live": "1"})
        assert (answer.status_code, answer.text) == (401, "")
    well_dressed(answer)
    assert "set-cookie" not in answer.headers


@shown
def test_each_role_sees_what_is_its_own(house: House, one: Walked) -> None:
    for role in (*PEOPLE, "chief"):
        answer = house.people[role].get(one.address(house.mine))
        may = one.need.access in ROLES["admin" if role == "chief" else role]
        if may and (role == "chief" or not one.need.all_tenants):
            assert answer.status_code in (200, 303, 404), answer.text
        else:
            error_page(answer, 403)
        well_dressed(answer)
        assert house.theirs.canary not in answer.text


@shown
def test_a_viewer_sees_no_buttons(house: House, one: Walked) -> None:
    """Whatever a page has forms for: logging out and choosing what to look at aside."""
    text = house.people["viewer"].get(one.address(house.mine)).text
    forms = [form for form in re.findall(r"<form[^>]*>", text) if 'method="post"' in form]
    own = {"/logout", *(name.removeprefix("POST ") for name in LOOKS)}
    assert [form for form in forms if not any(f'action="{path}"' in form for path in own)] == []


@sent
def test_each_role_does_what_is_its_own(house: House, other_house: House, one: Walked) -> None:
    for role in PEOPLE:
        if one.need.access not in ROLES[role] or one.need.all_tenants:
            error_page(house.people[role].send(one.address(house.mine)), 403)
    assert house.is_as_before()
    for role in ("admin", "chief"):
        if role == "chief" or not one.need.all_tenants:
            answer = other_house.people[role].send(one.address(other_house.mine))
            assert answer.status_code in (200, 303, 404, 409, 422), answer.text


@pytest.mark.req("O-21")
@pytest.mark.postgresql
@pytest.mark.parametrize("house", ["sqlite", "postgresql"], indirect=True)
def test_another_tenants_names_are_nobodys(house: House) -> None:
    """In addresses, in the choice of a tenant, and in forms with a token that is good."""
    own, theirs = house.people["admin"], house.theirs
    own.browser.cookies.set("wk_tenant", "theirs")
    for one in SHOWN:
        answer = own.get(f"{one.address(theirs)}?tenant=theirs")
        if one.owned and answer.status_code != 403:
            error_page(answer, 404)
        assert theirs.canary not in _without(answer.text, theirs), one.name
    for one in SENT:
        if one.owned:
            answer = own.browser.post(
                f"{one.address(theirs)}?tenant=theirs",
                data={"csrf": own.token, "tenant": "theirs", "tenant_id": "theirs"},
            )
            assert answer.status_code in (303, 403, 404, 422), one.name
            assert theirs.canary not in _without(answer.text, theirs), one.name
    assert house.is_as_before()


def _without(text: str, estate: Estate) -> str:
    for name in sorted(estate.names.values(), key=len, reverse=True):
        text = text.replace(name, "")
    return text


# -- from where --------------------------------------------------------------------------

FOREIGN: list[tuple[str, dict[str, str]]] = [
    ("another site", {"sec-fetch-site": "cross-site"}),
    ("a neighbour", {"sec-fetch-site": "same-site"}),
    ("another origin", {"origin": "https://evil.example"}),
    ("a hidden origin", {"origin": "null"}),
    ("no origin", {"origin": ""}),
    ("another port", {"origin": "http://testserver:81"}),
    ("nonsense", {"origin": "http://[::1"}),
]
foreign = pytest.mark.parametrize("headers", [h for _, h in FOREIGN], ids=[n for n, _ in FOREIGN])


@sent
def test_a_form_that_is_not_ours_changes_nothing(house: House, one: Walked) -> None:
    chief, address = house.people["chief"], one.address(house.mine)
    other = visitor(house.door, ADMIN_KEY)
    wrong: list[dict[str, str]] = [
        {"x": "1"},
        {"csrf": ""},
        {"csrf": "wrong"},
        {"csrf": "\xe9\u65e5"},
        {"csrf": chief.token[:-1]},
        {"csrf": other.token},
        {"csrf": house.people["admin"].token},
    ]
    for fields in wrong:
        assert "load the page again" in error_page(chief.send_as(address, fields), 403)
    for _, headers in FOREIGN:
        answer = chief.browser.post(address, data={"csrf": chief.token}, headers=headers)
        assert "another site" in error_page(answer, 403)
    answer = chief.browser.post(address, json={"csrf": chief.token})
    error_page(answer, 415)
    answer = chief.browser.post(f"{address}?csrf={chief.token}", data={"x": "1"})
    error_page(answer, 403)
    assert house.is_as_before()


@foreign
def test_nobody_is_logged_in_by_another_site(door_sqlite: Door, headers: dict[str, str]) -> None:
    someone = visitor(door_sqlite)
    answer = someone.browser.post("/login", data={"key": ADMIN_KEY}, headers=headers)
    error_page(answer, 403)
    assert "set-cookie" not in answer.headers


@foreign
def test_nobody_is_logged_out_by_another_site(door_sqlite: Door, headers: dict[str, str]) -> None:
    someone = visitor(door_sqlite, ADMIN_KEY)
    fields = {"csrf": someone.token}
    answer = someone.browser.post("/logout", data=fields, headers=headers)
    error_page(answer, 403)
    assert someone.cookie is not None


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {"origin": "http://testserver"},
        {"sec-fetch-site": "same-origin", "origin": "https://behind.a.proxy"},
    ],
)
def test_our_own_forms_are_taken(door_sqlite: Door, headers: dict[str, str]) -> None:
    someone = visitor(door_sqlite)
    answer = someone.browser.post("/login", data={"key": ADMIN_KEY}, headers=headers)
    assert answer.status_code == 303


def test_an_answer_in_place_leads_to_no_other_site(door_sqlite: Door) -> None:
    mine = settle(door_sqlite, "mine")
    someone = visitor(door_sqlite, door_sqlite.key("mine", "operator"))
    answer = someone.send(f"/intents/{mine.intent}/approve", next="/\\evil.example")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/plans/")


# -- headers -----------------------------------------------------------------------------


def test_whatever_leaves_has_its_headers(house: House) -> None:
    stranger, viewer = visitor(house.door), house.people["viewer"]
    answers = [
        stranger.get("/login"),
        stranger.get("/static/style.css"),
        stranger.get("/static/charts.css"),
        stranger.get("/static/app.js"),
        stranger.get("/static/icon.svg"),
        stranger.get("/static/nothing"),
        stranger.get("/static/..%2Fpage.py"),
        stranger.get("/no-such-page"),
        stranger.log_in("wrong"),
        viewer.get("/plans/nothing"),
        viewer.send("/plans/x/pause"),
        viewer.get("/no-such-page", headers={"Accept": "text/html"}),
    ]
    for answer in answers:
        well_dressed(answer)
        assert "server" not in answer.headers
    assert [answer.status_code for answer in answers[:7]] == [200] * 5 + [404] * 2
    for answer in answers[-4:]:
        assert answer.headers["cache-control"] == "no-store"


def test_who_goes_astray_with_a_browser_gets_a_page(house: House) -> None:
    html = {"Accept": "text/html,application/xhtml+xml"}
    text = error_page(visitor(house.door).get("/no-such-page", headers=html), 404)
    assert "nothing at this address" in text
    program = visitor(house.door).get("/no-such-page")
    assert program.headers["content-type"] == "application/problem+json"
    api = house.people["viewer"].get("/v1/no-such-thing", headers=html)
    assert api.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("query", [b"x=\xff", b"tenant=%ff", b"\x80", b"said=%00"])
def test_any_bytes_in_an_address_are_answered(house: House, query: bytes) -> None:
    for someone in (visitor(house.door), house.people["chief"]):
        answer = someone.get(f"/plans?{query.decode('latin-1')}")
        assert answer.status_code in (200, 303, 404, 422)


# -- forms -------------------------------------------------------------------------------


def test_a_form_is_bounded(house: House) -> None:
    chief = house.people["chief"]
    small = [one for one in SENT if one.need.form_bytes_max == access.FORM_BYTES_MAX]
    for one in small[:1]:
        address = one.address(house.mine)
        large = "x" * access.FORM_BYTES_MAX
        assert "larger than" in error_page(chief.send(address, reason=large), 413)
        many = {f"n{place}": "" for place in range(FIELDS_MAX + 1)}
        error_page(chief.send(address, **many), 422)
        error_page(chief.send(address, reason="a\0b"), 422)
        raw = f"csrf={chief.token}&reason=%ff"
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        error_page(chief.browser.post(address, content=raw, headers=kind), 422)
    assert all(one.need.form_bytes_max <= 2**20 for one in SENT)
    assert house.is_as_before()


# -- what breaks -------------------------------------------------------------------------


@pytest.fixture
def failing(door_sqlite: Door) -> Door:
    """With a page that fails."""
    routes = pages()

    @routes.get("/failing")
    @needs(Access.READ)
    def get_failing(page: page.Shown) -> None:
        raise RuntimeError("postgresql://keeper:hunter2@db/inside")

    door_sqlite.app.include_router(routes)
    return door_sqlite


def test_a_page_that_breaks_says_so_and_no_more(
    failing: Door, capsys: pytest.CaptureFixture[str]
) -> None:
    someone = visitor(failing, failing.key(failing.tenant(), "viewer"))
    for headers in ({}, {"X-Live": "1"}):
        answer = someone.get("/failing", headers=headers)
        text = error_page(answer, 500)
        well_dressed(answer)
        assert "hunter2" not in text
        assert "RuntimeError" not in text
        assert "inside" not in text
    logged = capsys.readouterr().out
    assert "internal_error" in logged
    assert "hunter2" not in logged


def test_without_the_database_there_is_a_page_that_says_so(
    door: Door, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone, stranger = visit("acme", "viewer"), visitor(door)
    door.server.db.close()

    def gone(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(type(door.server.db), "read", gone)
    for answer in (someone.get("/plans"), stranger.log_in(door_key())):
        assert "cannot be reached" in error_page(answer, 503)
        assert answer.headers["retry-after"] == "1"
        well_dressed(answer)


def door_key() -> str:
    return f"wk_{'0' * 16}_{'0' * 43}"


def test_a_tenant_that_is_gone_from_a_cookie_is_no_error(house: House) -> None:
    someone = visitor(house.door, ADMIN_KEY, cookies={"wk_tenant": "of-another-database"})
    assert someone.see("/plans")
    error_page(someone.get("/plans?tenant=nobody"), 404)
    someone = visitor(house.door, ADMIN_KEY, cookies={"wk_tenant": "%00;x"})
    assert someone.see("/plans")


# -- what is shared ----------------------------------------------------------------------

LIVE = {"X-Live": "1"}


def test_a_shared_rendering_is_never_somebody_elses(house: House) -> None:
    """All look at the same address in the same second."""
    people = house.people
    with TestClient(house.door.app) as client:
        address = f"/plans/{house.mine.plan}"
        texts = {}
        for name, someone in people.items():
            cookies = {COOKIE: str(someone.cookie), "wk_tenant": "mine"}
            answer = client.get(address, headers=LIVE | _cookies(cookies))
            texts[name] = answer.text
            assert "set-cookie" not in answer.headers
            well_dressed(answer)
            assert answer.status_code == (404 if name == "theirs" else 200)
        for name, text in texts.items():
            for other, someone in people.items():
                if other != name:
                    assert someone.token not in text, (name, other)
        for name in ("operator", "another operator", "chief"):
            assert people[name].token in texts[name]
        assert "/abort" not in texts["viewer"]
        assert texts["viewer"] == texts["another viewer"]
        assert house.mine.canary not in _without(texts["theirs"], house.mine)


def test_a_rendering_is_shared_by_tenant(house: House) -> None:
    chief = house.people["chief"]
    with TestClient(house.door.app) as client:
        for tenant, other in (("mine", "theirs"), ("theirs", "mine")):
            cookies = {COOKIE: str(chief.cookie), "wk_tenant": tenant}
            text = client.get("/plans", headers=LIVE | _cookies(cookies)).text
            assert f"canary-{tenant}" in text
            assert f"canary-{other}" not in text


def _cookies(given: dict[str, str]) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in given.items())}
