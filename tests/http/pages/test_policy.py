"""The policy: what rules, what ruled, what another document would change; and shadows of it."""

from html import unescape

import pytest

from tests.http.door import ADMIN_KEY, Door
from tests.http.pages.browsing import Visitor, visitor
from tests.http.pages.conftest import Visit
from tests.http.pages.visitor import words
from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.follow_shadows import follow_shadows
from watchkeeper.http.pages import policy as pages
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("U-31")

SHORTER = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 100\n"
LONGER = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 7200\n"
SECRET_TENANT = """[tenants.rival]
run_budget_per_day = 7777777
[tenants.acme]
run_budget_per_day = 42
"""


def applied(db: Database, document: str, reason: str = "because") -> int:
    return apply_policy(db, document, author="ann", reason=reason).version


def played(door: Door) -> None:
    """An ALLOW and a hundred seconds later a DEFER."""
    door.tenant("acme")
    for key in ("k1", "k2"):
        event = {"account_id": "a", "trigger_type": "SIGNAL_ARRIVED", "idempotency_key": key}
        door.admin.post("/v1/triggers", json={"tenant_id": "acme", "events": [event]})
        door.clock.advance(100)


@pytest.fixture
def chief(door: Door) -> Visitor:
    door.tenant("acme")
    return visitor(door, ADMIN_KEY, cookies={"wk_tenant": "acme"})


# -- looking -------------------------------------------------------------------------------


def test_without_a_document_what_ships_is_shown(chief: Visitor) -> None:
    text = chief.see("/policy")
    assert "The shipped policy is in force" in text
    assert "idempotency_ttl_seconds = 86400" in unescape(text)
    assert "No document was applied yet" in text
    assert "Shipped policy" in chief.see("/policy/0")


def test_the_document_its_history_and_its_meaning(door: Door, chief: Visitor) -> None:
    applied(door.db, SHORTER, "first of all")
    applied(door.db, f"# a remark\n{LONGER}", "then longer")
    text = chief.see("/policy")
    assert "Version 2 is in force" in text
    assert "<li><code># a remark</code></li>" in text
    told = words(text)
    assert told.index("then longer") < told.index("first of all")
    assert "ann" in told
    meaning = chief.see("/policy?view=meaning")
    assert "cooldown_seconds = 7200" in meaning
    assert "idempotency_ttl_seconds = 86400" in meaning
    assert "# a remark" not in meaning.partition("<textarea")[0]
    assert "Policy of acme" in chief.see("/policy?view=tenant")


def test_versions_are_compared(door: Door, chief: Visitor) -> None:
    applied(door.db, SHORTER)
    applied(door.db, LONGER)
    applied(door.db, f"run_budget_per_day = 5\n{LONGER}")
    text = words(chief.see("/policy/2"))
    assert "triggers.SIGNAL_ARRIVED.cooldown_seconds 100 7200" in text
    assert "removed cooldown_seconds = 100" in text
    assert "+ added cooldown_seconds = 7200" in text
    text = words(chief.see("/policy/3?against=1"))
    assert "run_budget_per_day" in text
    assert "against version 1" in text
    assert "not compared line by line" in words(chief.see("/policy/1"))
    assert "No line changes" in words(chief.see("/policy/2?against=2"))


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/policy/9", 404, "no policy version 9"),
        ("/policy/-1", 404, "no policy version -1"),
        ("/policy/x", 422, "cannot be"),
        ("/policy/99999999999999", 404, "no policy version"),
        ("/policy/0?against=7", 404, "no policy version 7"),
        ("/policy/0?against=x", 422, "against"),
        ("/policy?view=all", 422, "view"),
        ("/policy?cursor=-1", 422, "cursor"),
    ],
)
def test_what_cannot_be_is_named(chief: Visitor, path: str, status: int, told: str) -> None:
    assert told in chief.see(path, status)


def test_a_long_history_has_pages(door: Door, chief: Visitor) -> None:
    for number in range(pages.HISTORY_SHOWN + 2):
        applied(door.db, f"run_budget_per_day = {number + 1}\n", f"change {number + 1}.")
    first = chief.see("/policy")
    assert "change 3." in first
    assert "change 2." not in first
    assert "/policy?cursor=3" in first
    older = chief.see("/policy?cursor=3")
    assert "change 2." in older
    assert "change 3." not in older
    assert "None older" in chief.see("/policy?cursor=1")


@pytest.mark.req("O-21")
def test_a_tenant_sees_what_rules_it_and_no_more(door: Door, visit: Visit) -> None:
    own = visit("acme", "admin")
    applied(door.db, SECRET_TENANT, "the rival pays more")
    applied(door.db, f"spread_seconds = 9\n{SECRET_TENANT}", "the rival again")
    for path in (
        "/policy",
        "/policy?view=written",
        "/policy/2",
        "/policy/1",
        "/policy/2?against=0",
    ):
        text = own.see(path)
        assert "rival" not in text
        assert "7777777" not in text
        assert "ann" not in words(text).split()
    assert "run_budget_per_day = 42" in own.see("/policy")
    assert "spread_seconds = 9" in own.see("/policy/2")
    assert 'action="/policy/check"' not in own.see("/policy")


def test_a_viewer_of_all_tenants_reads_and_changes_nothing(door: Door) -> None:
    door.tenant()
    someone = visitor(door, door.key(None, "viewer"))
    applied(door.db, SECRET_TENANT)
    assert "rival" in someone.see("/policy")
    assert "<textarea" not in someone.see("/policy")
    for path in ("check", "plan", "apply", "shadows"):
        assert someone.send(f"/policy/{path}", document=SHORTER).status_code == 403
    assert someone.get("/policy/shadows/trial").status_code == 403


# -- a new document ------------------------------------------------------------------------


def test_mistakes_are_named_by_their_lines(door: Door, chief: Visitor) -> None:
    before = door.stored()
    wrong = "\n\nrun_budget_per_day = -1\n\nnobody = '</textarea><b>'\n"
    for path in ("check", "plan", "apply", "shadows"):
        answer = chief.send(
            f"/policy/{path}", document=wrong, since="1d", against="0", reason="r", name="n"
        )
        assert answer.status_code == 422, answer.text
        told = words(answer.text)
        assert "line 3 run_budget_per_day = -1" in told
        assert "line 5 nobody" in told
        assert "2 mistakes" in told
        assert "&lt;/textarea&gt;" in answer.text
        assert "Apply" not in told
    broken = chief.send("/policy/check", document="a = = 1\n")
    assert "line 1" in words(broken.text)
    assert door.stored() == before


def test_a_document_says_what_it_would_change(door: Door, chief: Visitor) -> None:
    before = door.stored()
    answer = chief.send("/policy/check", document=SHORTER)
    assert answer.status_code == 200
    told = words(answer.text)
    assert "changes 1 value against the shipped policy" in told
    assert "triggers.SIGNAL_ARRIVED.cooldown_seconds" in told
    assert "1 value changes" in unescape(answer.text)
    same = words(chief.send("/policy/check", document="\n").text)
    assert "equal to the policy in force" in same
    assert "nothing to apply" in same
    assert door.stored() == before
    assert chief.get("/policy/check").headers["location"] == "/policy"


def test_a_document_is_tried_on_the_record(door: Door, chief: Visitor) -> None:
    played(door)
    before = door.stored()
    answer = chief.send("/policy/plan", document=SHORTER, since="1d")
    assert answer.status_code == 200, answer.text
    told = words(answer.text)
    assert "2 events replayed" in told
    assert "1 verdicts that differ" in told
    assert "1 → 2 runs" in told
    assert "1 runs added" in told
    assert "DEFER COOLDOWN → ALLOW" in answer.text
    assert answer.text.count("<svg") >= 3
    assert 'href="/accounts/a?tenant=acme"' in answer.text
    assert door.stored() == before
    none = words(chief.send("/policy/plan", document="\n", since="1d").text)
    assert "No verdict would change" in none
    door.clock.advance(days=3)
    empty = words(chief.send("/policy/plan", document=SHORTER, since="1h", only="acme").text)
    assert "Nothing was recorded" in empty


def test_a_plan_is_bounded(door: Door, chief: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    played(door)
    monkeypatch.setattr(pages, "ENTRIES_MAX", 1)
    long = words(chief.send("/policy/plan", document=SHORTER, since="30d").text)
    assert "too long for a page" in long
    assert "watchkeeper policy plan policy.toml --since 30d" in long
    assert chief.send("/policy/plan", document=SHORTER, since="2y").status_code == 422
    assert chief.send("/policy/plan", document=SHORTER, since="1d", only="x").status_code == 404
    with pages._trying:
        busy = chief.send("/policy/plan", document=SHORTER, since="1d")
    assert busy.status_code == 409
    assert "wait for it" in busy.text
    assert not pages._trying.locked()


def test_a_document_is_applied_once_somebody_said_why(door: Door, chief: Visitor) -> None:
    for reason in ("", "a\tb\x07"):
        refused = chief.send("/policy/apply", document=SHORTER, against="0", reason=reason)
        assert refused.status_code == 422
    assert chief.send("/policy/apply", document=SHORTER, reason="r").status_code == 422
    answer = chief.send("/policy/apply", document=SHORTER, against="0", reason="storms")
    assert answer.headers["location"] == "/policy?said=applied"
    text = words(chief.see("/policy?said=applied"))
    assert "The policy is in force." in text
    assert "Version 1 is in force" in text
    assert "storms" in text
    [(author,)] = door.place.execute("select author from policies")
    assert author == "admin"


def test_a_comparison_that_is_old_puts_nothing_in_force(door: Door, chief: Visitor) -> None:
    applied(door.db, LONGER)
    refused = chief.send("/policy/apply", document=SHORTER, against="0", reason="storms")
    assert refused.status_code == 409
    assert "version 1 is in force by now" in refused.text
    assert len(door.place.execute("select version from policies")) == 1


def test_the_lines_of_a_document_stay_where_they_are(door: Door, chief: Visitor) -> None:
    document = f"\n\n# far down\n{SHORTER}"
    sent = document.replace("\n", "\r\n")
    assert chief.send("/policy/apply", document=sent, against="0", reason="r").status_code == 303
    assert door.place.execute("select text from policies") == [(document,)]


# -- shadows -------------------------------------------------------------------------------


def test_a_shadow_is_set_followed_and_promoted(door: Door, chief: Visitor) -> None:
    answer = chief.send("/policy/shadows", document=SHORTER, name="calmer", reason="to see")
    assert answer.headers["location"] == "/policy/shadows/calmer?said=set"
    assert "calmer" in chief.see("/policy")
    assert "No difference yet" in chief.see("/policy/shadows/calmer")
    played(door)
    follow_shadows(door.db)
    text = chief.see("/policy/shadows/calmer")
    told = words(text)
    assert "2 events evaluated" in told
    assert "1 verdicts that differ" in told
    assert "DEFER COOLDOWN → ALLOW" in text
    assert "acme 2 1" in told
    assert chief.send("/policy/shadows/calmer/promote").status_code == 422  # nobody said why
    answer = chief.send("/policy/shadows/calmer/promote", reason="it is")
    assert answer.headers["location"] == "/policy?said=applied"
    assert "Version 1 is in force" in chief.see("/policy")
    assert "no shadow policy" in chief.see("/policy/shadows/calmer", 404)


def test_a_shadow_is_taken_away(door: Door, chief: Visitor) -> None:
    chief.send("/policy/shadows", document=SHORTER, name="calmer", reason="to see")
    answer = chief.send("/policy/shadows/calmer/remove")
    assert answer.headers["location"] == "/policy?said=removed"
    assert "calmer" not in chief.see("/policy")
    assert chief.send("/policy/shadows/calmer/remove").status_code == 404
    wrong = chief.send("/policy/shadows", document=SHORTER, name="a b/c", reason="to see")
    assert wrong.status_code == 422
