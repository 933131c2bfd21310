"""Sessions: who gets one, what the cookie is worth, and when it is over."""

import base64
import time

import pytest

from tests.http.door import ADMIN_KEY, Door
from tests.http.pages.browsing import LOOPBACK, Visitor, visitor
from tests.http.pages.conftest import Visit
from watchkeeper.core.time import DAY, Instant
from watchkeeper.http import failed_logins, keys, session
from watchkeeper.http.failed_logins import ADDRESSES_MAX, ALL, EACH, FailedLogins
from watchkeeper.http.session import COOKIE, SECONDS_MAX

pytestmark = pytest.mark.req("O-24")

PAGE = "/plans"


def wall() -> Instant:
    return Instant(time.time_ns() // 1000)


def is_in(someone: Visitor) -> bool:
    """Whether the page is shown; else one is sent to the login."""
    answer = someone.get(PAGE)
    assert answer.status_code in (200, 303), answer.text
    if answer.status_code == 303:
        assert answer.headers["location"] == "/login?next=%2Fplans"
    return answer.status_code == 200


def with_cookie(door: Door, cookie: str) -> Visitor:
    return visitor(door, cookies={COOKIE: cookie})


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_a_key_of_each_role_that_reads_logs_in(door: Door, role: str) -> None:
    someone = visitor(door)
    assert not is_in(someone)
    answer = someone.log_in(door.key(door.tenant(), role), next="/plans?x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/plans?x=1")
    assert is_in(someone)
    assert f"· {role}" in someone.see(PAGE)


def test_the_admin_key_of_the_settings_logs_in(door: Door) -> None:
    door.tenant()
    assert is_in(visitor(door, ADMIN_KEY))


def test_a_key_that_only_ingests_has_no_pages(door: Door) -> None:
    someone = visitor(door)
    answer = someone.log_in(door.key(door.tenant(), "ingest"))
    assert answer.status_code == 403
    assert "role ingest" in answer.text
    assert "set-cookie" not in answer.headers
    assert not is_in(someone)


def test_a_wrong_key_is_refused_and_never_shown(door: Door) -> None:
    door.tenant()
    someone = visitor(door)
    for wrong in ("wk_nonsense", "", ADMIN_KEY + "x", "ключ", "x" * 5000, "a\nb"):
        answer = someone.log_in(wrong)
        assert answer.status_code == 401
        assert "not accepted" in answer.text
        assert not wrong.strip() or wrong not in answer.text
        assert "set-cookie" not in answer.headers
    assert not is_in(someone)


def test_the_cookie_is_for_our_pages_only(door: Door) -> None:
    answer = visitor(door).log_in(ADMIN_KEY)
    flags = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert flags == {"httponly", "samesite=strict", "path=/", f"max-age={SECONDS_MAX}"}
    assert ADMIN_KEY not in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    ("base", "headers"),
    [
        ("https://watch.example", {}),
        ("http://watch.example", {"x-forwarded-proto": "https"}),
        ("http://watch.example", {"origin": "https://watch.example"}),
    ],
    ids=["https", "a proxy says so", "the browser says so"],
)
def test_over_https_the_cookie_stays_there(door: Door, base: str, headers: dict[str, str]) -> None:
    door.tenant()
    someone = visitor(door, base_url=base)
    answer = someone.browser.post("/login", data={"key": ADMIN_KEY}, headers=headers)
    assert "secure" in answer.headers["set-cookie"].lower()
    cookie = with_cookie(door, answer.cookies[COOKIE])
    chosen = cookie.get("/plans?tenant=acme", headers=headers | {"x-forwarded-proto": "https"})
    assert "secure" in chosen.headers["set-cookie"].lower()


def test_whatever_was_changed_in_a_cookie_it_is_refused(door: Door) -> None:
    door.tenant()
    own = visitor(door, ADMIN_KEY)
    assert own.cookie is not None
    payload, _, signature = own.cookie.rpartition(".")
    text = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode()
    name, expires, nonce = text.split("|")

    def packed(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    forged = [
        f"{packed(f'{name}|{int(expires) + 1}|{nonce}')}.{signature}",
        f"{packed(f'dev|{expires}|{nonce}')}.{signature}",
        f"{packed(f'key:{chr(0)}|{expires}|{nonce}')}.{signature}",
        f"{packed(f'key:0123456789abcdef|{expires}|{nonce}')}.{signature}",
        f"{packed(f'{name}|{expires}')}.{signature}",
        f"{packed(f'{name}|x|{nonce}')}.{signature}",
        f"{payload}.{signature[:-1]}",
        f"{payload}.{signature}0",
        f"{payload}.",
        f"{payload}.\xe9",
        payload,
        signature,
        ".",
        "",
        "x" * 5000,
    ]
    for cookie in forged:
        assert door.server.sessions.read(cookie) is None, cookie
        if cookie.isascii() and len(cookie) < 1025:
            assert not is_in(with_cookie(door, cookie)), cookie
    someone = visitor(door)
    answer = someone.get(PAGE, headers={"Cookie": f"{COOKIE}={payload}.\xe9".encode("latin-1")})
    assert answer.status_code == 303
    assert is_in(own)


def test_a_cookie_of_another_installation_is_refused(door: Door, door_sqlite: Door) -> None:
    """Also where the same name stands in it."""
    door.tenant()
    door_sqlite.tenant()
    foreign = visitor(door_sqlite, door_sqlite.key("acme", "viewer")).cookie
    assert foreign is not None
    assert not is_in(with_cookie(door, foreign))
    keys_apart = door_sqlite.server.keyring.signing
    with pytest.raises(Exception, match="key"):
        keys_apart("key:0123456789abcdef")


def test_a_session_ends_by_wall_time_whatever_the_virtual_clock_shows(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = visitor(door, door.key(door.tenant(), "viewer"))
    began, read = time.time(), door.server.sessions.read
    door.clock.advance(days=365)
    assert is_in(someone)
    cookie = someone.cookie
    monkeypatch.setattr(session.time, "time", lambda: began + SECONDS_MAX - 60)
    assert read(cookie) is not None
    monkeypatch.setattr(session.time, "time", lambda: began + SECONDS_MAX + 1)
    assert read(cookie) is None


def test_a_revoked_key_ends_its_sessions_at_once(door: Door, visit: Visit) -> None:
    key = door.key(door.tenant(), "operator")
    someone, other = visitor(door, key), visitor(door, key)
    spared = visit("acme", "operator")
    assert is_in(someone)
    before = someone.token
    assert door.admin.delete(f"/v1/api-keys/{key.split('_')[1]}").status_code == 204
    assert not is_in(someone)
    assert not is_in(other)
    assert is_in(spared)
    refused = someone.send_as("/plans/x/approve", {"csrf": before})
    assert (refused.status_code, refused.text) == (401, "")
    live = someone.get(PAGE, headers={"X-Live": "1"})
    assert (live.status_code, live.text) == (401, "")


def test_an_expired_key_ends_its_sessions_at_once(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    expires_at = Instant(wall() + DAY)
    someone = visitor(door, door.key(door.tenant(), "viewer", expires_at=expires_at))
    door.clock.advance(days=365)
    monkeypatch.setattr(keys, "_wall_now", lambda: Instant(expires_at - 1))
    assert is_in(someone)
    monkeypatch.setattr(keys, "_wall_now", lambda: expires_at)
    assert not is_in(someone)


def test_a_copy_of_the_database_opens_no_session(door: Door) -> None:
    """What is signed with is not what is stored, where there is an admin key."""
    key = door.key(door.tenant(), "admin")
    name = f"key:{key.split('_')[1]}"
    [(stored,)] = door.place.execute(
        f"select secret_hash from api_keys where key_id = '{key.split('_')[1]}'"
    )
    forged = session._signed(name, bytes.fromhex(stored))
    assert not is_in(with_cookie(door, forged))


def test_no_key_is_good_for_a_page_and_no_cookie_for_the_api(door: Door, admin: Visitor) -> None:
    for answer in (door.admin.get(PAGE, follow_redirects=False), door.admin.post("/plans/x/pause")):
        assert answer.status_code in (303, 401)
        assert "set-cookie" not in answer.headers
    assert admin.get("/v1/plans").status_code == 401
    assert admin.get("/v1/policy", headers={"Authorization": "Bearer x"}).status_code == 401


def test_logging_out_takes_the_cookie_away(door: Door, viewer: Visitor) -> None:
    refused = viewer.send_as("/logout", {"csrf": "wrong"})
    assert refused.status_code == 403
    assert is_in(viewer)
    answer = viewer.send("/logout")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert viewer.cookie is None
    assert not is_in(viewer)
    assert viewer.send_as("/logout", {"csrf": ""}).status_code == 303  # again is no mistake


# -- development mode ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["localhost", "localhost:8484", "127.0.0.1:1", "[::1]:8484"])
def test_in_development_whoever_is_on_this_machine_is_in(dev_door: Door, name: str) -> None:
    dev_door.tenant()
    for peer in ("127.0.0.1", "127.8.8.8", "::1"):
        someone = visitor(dev_door, client=(peer, 50000))
        answer = someone.get("/plans?x=%0d%0aSet-Cookie:%20a=b", headers={"Host": name})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/plans?x=%0d%0aSet-Cookie:%20a=b"
        assert COOKIE in answer.cookies
        assert someone.get(PAGE, headers={"Host": name}).status_code == 200


@pytest.mark.parametrize(
    ("name", "peer", "headers"),
    [
        ("watch.example", "127.0.0.1", {}),
        ("localhost.watch.example", "127.0.0.1", {}),
        ("watch.example@localhost", "127.0.0.1", {}),
        ("localhost:80@watch.example", "127.0.0.1", {}),
        ("", "127.0.0.1", {}),
        ("[::1", "127.0.0.1", {}),
        ("localhost", "192.0.2.7", {}),
        ("localhost", "10.0.0.7", {}),
        ("localhost", "not an address", {}),
        ("localhost", "127.0.0.1", {"X-Forwarded-For": "192.0.2.7"}),
        ("localhost", "127.0.0.1", {"Forwarded": "for=192.0.2.7"}),
    ],
)
def test_in_development_nobody_else_is(
    dev_door: Door, name: str, peer: str, headers: dict[str, str]
) -> None:
    dev_door.tenant()
    someone = visitor(dev_door, client=(peer, 50000))
    answer = someone.get(PAGE, headers={"Host": name, **headers})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Fplans"
    assert "set-cookie" not in answer.headers


def test_elsewhere_nobody_is_in_without_a_key(door: Door) -> None:
    door.tenant()
    someone = visitor(door, base_url="http://localhost:8484", client=LOOPBACK)
    assert not is_in(someone)
    assert door.server.sessions.open_dev() is None
    forged = session._signed("dev", b"")
    assert not is_in(with_cookie(door, forged))


def test_a_development_session_ends_with_its_process(dev_door: Door, local: Visitor) -> None:
    dev_door.tenant()
    assert local.get(PAGE).status_code == 303
    assert local.get(PAGE).status_code == 200
    assert local.cookie is not None
    again = session.Sessions(dev_door.server.keyring, dev=True)
    assert again.read(local.cookie) is None


# -- where to go afterwards ----------------------------------------------------------------


@pytest.mark.parametrize(
    "after",
    [
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "/\r\nSet-Cookie: a=b",
        "evil.example",
        "",
        " //evil.example",
    ],
)
def test_after_the_login_one_stays_here(door_sqlite: Door, after: str) -> None:
    someone = visitor(door_sqlite)
    shown = someone.get("/login", params={"next": after})
    assert '<input type="hidden" name="next" value="/">' in shown.text
    answer = someone.log_in(ADMIN_KEY, next=after)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize("after", ["/plans?tenant=acme&x=1#here", "/accounts/日本", '/a"<b>'])
def test_after_the_login_one_is_where_one_wanted_to_be(door_sqlite: Door, after: str) -> None:
    answer = visitor(door_sqlite).log_in(ADMIN_KEY, next=after)
    assert answer.status_code == 303
    location = answer.headers["location"]
    assert location.isascii()
    assert location.startswith(("/plans?tenant=acme&x=1#here", "/accounts/%E6", "/a%22%3C"))
    assert not set(location) & set("<>\"' \r\n")


# -- too many wrong keys -------------------------------------------------------------------


def test_wrong_keys_are_slowed_down_by_address(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(door.server, "failed_logins", FailedLogins(lambda: now[0]))
    door.tenant()
    someone = visitor(door, client=("192.0.2.7", 1))
    for _ in range(EACH.burst):
        assert someone.log_in("wrong").status_code == 401
    for key in ("wrong", ADMIN_KEY):
        refused = someone.log_in(key)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == str(round(EACH.refill_seconds))
        assert "Try again in 6 seconds" in refused.text
        assert "set-cookie" not in refused.headers
    other = visitor(door, client=("192.0.2.8", 1))
    assert other.log_in(ADMIN_KEY).status_code == 303
    now[0] += EACH.refill_seconds
    assert someone.log_in(ADMIN_KEY).status_code == 303
    assert is_in(someone)


def test_right_keys_do_not_count(door_sqlite: Door) -> None:
    for _ in range(2 * EACH.burst):
        assert visitor(door_sqlite).log_in(ADMIN_KEY).status_code == 303


def test_all_together_have_an_allowance_and_what_is_kept_is_bounded() -> None:
    now = [0.0]
    tried = FailedLogins(lambda: now[0])
    answers = [tried.begin(f"192.0.2.{place}") for place in range(ALL.burst + 50)]
    assert answers.count(0) == ALL.burst
    assert set(answers) == {0, 1}
    now[0] += ALL.refill_seconds
    assert tried.begin("198.51.100.1") == 0
    assert tried.begin("198.51.100.2") == 1
    now[0] += 3600
    assert tried.begin("198.51.100.3") == 0
    assert len(tried) == 2


def test_however_many_addresses_there_are_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_logins, "ALL", failed_logins.Allowance(10**9, 0.001))
    tried = FailedLogins(lambda: 0.0)
    for place in range(ADDRESSES_MAX + 100):
        assert tried.begin(str(place)) == 0
    assert len(tried) <= ADDRESSES_MAX + 1
    for _ in range(EACH.burst - 1):
        assert tried.begin("0") == 0  # the oldest was forgotten, and has begun again
    assert tried.begin(str(ADDRESSES_MAX + 99)) == 0


@pytest.mark.parametrize(
    ("peer", "told", "one"),
    [
        ("9.9.9.9", "", "9.9.9.9"),
        ("9.9.9.9", "203.0.113.9", "9.9.9.9"),
        ("127.0.0.1", "198.51.100.9, 203.0.113.9", "203.0.113.9"),
        ("10.1.2.3", "nonsense", "10.1.2.3"),
        ("2001:db9::1:2:3:4", "", "2001:db9::/64"),
        ("::ffff:9.9.9.9", "", "9.9.9.9"),
        ("testclient", "", "testclient"),
    ],
)
def test_whose_try_it_is(door_sqlite: Door, peer: str, told: str, one: str) -> None:
    headers = {"X-Forwarded-For": told} if told else {}
    someone = visitor(door_sqlite, client=(peer, 1), headers=headers)
    someone.log_in("wrong")
    kept = door_sqlite.server.failed_logins._whole_at
    assert set(kept) == {one, failed_logins.EVERYBODY}
