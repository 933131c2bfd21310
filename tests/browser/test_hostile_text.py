"""Text that was written to break out of a page, in every place that is stored: shown, and inert."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from tests.browser.bridge import TOPIC, Bridge
from tests.browser.conftest import Open
from tests.browser.walk import stops
from watchkeeper.core.ids import TenantId

pytestmark = [pytest.mark.req("O-24", "U-32"), pytest.mark.timeout(300)]

PROBE = "<xss-probe>"
HOSTILE = [
    f"<script>window.pwned=1</script>{PROBE}",
    f'"><img src=x onerror=window.pwned=1>{PROBE}',
    f"'><svg onload=window.pwned=1>{PROBE}",
    f"javascript:window.pwned=1//{PROBE}",
    f"</textarea></title></style>{PROBE}",
    f"{{{{7*7}}}}probe ${{7*7}}probe <%=7*7%>{PROBE}",
    f"<a href=javascript:alert(1)>x</a>{PROBE}",
    f'</script><script src="data:,window.pwned=1">{PROBE}',
    f"<iframe srcdoc='<script>parent.pwned=1</script>'>{PROBE}",
    f"<style>*{{display:none}}</style>{PROBE}",
    f"--><!--{PROBE}",
    f"&lt;script&gt;&#60;{PROBE}",
    f'" autofocus onfocus=window.pwned=1 x="{PROBE}',
    f"<math><mtext></p><img src onerror=alert(1)>{PROBE}",
    f"\u202e\u2066{PROBE}",
]


def plant(bridge: Bridge) -> list[str]:
    """In whatever takes text; accounts that were made so."""
    admin = bridge.door.admin
    accounts = []
    for place, text in enumerate(HOSTILE):
        made = admin.put(
            f"/v1/accounts/{quote(text, safe='')}",
            json={"tenant_id": "acme", "posture": "calm", "attributes": {text: text}},
        )
        if made.status_code < 300:
            accounts.append(text)
        account = text if made.status_code < 300 else f"account-{place}"
        signal = {"account_id": account, "type": text, "data": {text: text}}
        admin.post("/v1/signals", json={"tenant_id": "acme", "signals": [signal]})
        event = bridge.door.event(account_id=account, idempotency_key=f"{place}{text}"[:100])
        admin.post("/v1/triggers", json={"tenant_id": "acme", "events": [event]})
        _plan(bridge, account, text)
        admin.post(
            "/v1/kill-switches",
            json={
                "tenant_id": "acme",
                "scope": "trigger",
                "id": f"HOSTILE_{place}",
                "on": True,
                "reason": text,
            },
        )
        with bridge.app.db.begin(TenantId("acme")) as tx:
            key = f"{place}{text if text.isprintable() else ''}"
            bridge.app.enqueue(tx.conn, TOPIC, {text: text}, tenant_id="acme", dedupe_key=key)
    told = "\n".join(f"# {text}" for text in HOSTILE)
    applied = admin.put(
        "/v1/policy",
        content=f"run_budget_per_day = 500\n{told}\n".encode(),
        headers={"Content-Type": "application/toml"},
        params={"reason": HOSTILE[0]},
    )
    assert applied.status_code == 200, applied.text
    admin.patch("/v1/tenants/acme", json={"name": HOSTILE[0]})
    admin.post("/v1/reports", json={"tenant_id": "acme"})
    return accounts


def _plan(bridge: Bridge, account: str, text: str) -> None:
    plan = {
        "tenant_id": "acme",
        "account_id": account,
        "plan_type": "RENEWAL_DEFENSE",
        "objective": text,
        "steps": [
            {"step_id": "meet", "action_type": "REQUEST_RENEWAL_MEETING", "data": {text: text}}
        ],
    }
    made = bridge.door.admin.post("/v1/plans", json=plan)
    if made.status_code == 422:  # what turns the direction of writing is refused at the door
        assert "control characters" in made.text
        return
    plan_id = made.json()["plan_id"]
    for deed in ("approve", "pause"):
        body = {"tenant_id": "acme", "reason": text}
        bridge.door.admin.post(f"/v1/plans/{plan_id}/{deed}", json=body)


def inert(page: Page) -> None:
    """Nothing ran, and nothing became an element that should have been text."""
    assert page.evaluate("() => window.pwned") is None
    for selector in ("xss-probe", "iframe", "math", "main img", "main style", "main script"):
        assert page.locator(selector).count() == 0, selector
    assert page.locator('a[href^="javascript:" i]').count() == 0
    assert "49probe" not in page.content()
    assert page.locator("h1").first.is_visible()


def test_it_is_shown_and_nothing_else(bridge: Bridge, chief: Page) -> None:
    accounts, page, seen = plant(bridge), chief, set()
    paths = [*stops(bridge), *_plans_of(bridge)[:3], "/policy/1"]
    paths += [f"/accounts/{quote(text, safe='')}" for text in accounts[::3]]
    paths += [f"/outbox/{one}" for one in _ids(bridge, "outbox", "id", f"topic={TOPIC}")[:2]]
    paths += [f"/decisions/{one}" for one in _ids(bridge, "decisions", "decision_id")[:2]]
    for path in paths:
        page.goto(path)
        inert(page)
        if PROBE in page.locator("main").inner_text():
            seen.add(path.split("/")[1])
    shown = {"plans", "accounts", "decisions", "outbox", "policy", "ledger", "kill-switches"}
    assert shown <= seen


@pytest.mark.parametrize("bridge", ["sqlite"], indirect=True)
def test_what_an_address_says_is_inert_too(bridge: Bridge, enter: Open, watcher) -> None:
    watcher.expect("404", "405", "422", "401", "400")
    page = enter("/plans")
    for text in HOSTILE[:6]:
        told = quote(text, safe="")
        for path in (f"/plans/{told}", f"/plans?said={told}", f"/login?next=/{told}", f"/{told}"):
            page.goto(path)
            inert(page)


def _plans_of(bridge: Bridge) -> list[str]:
    found = bridge.door.admin.get("/v1/plans?tenant_id=acme&limit=100").json()["items"]
    return [f"/plans/{one['plan_id']}" for one in found if PROBE in one["objective"]]


def _ids(bridge: Bridge, what: str, name: str, query: str = "limit=9") -> list[str]:
    found = bridge.door.admin.get(f"/v1/{what}?tenant_id=acme&{query}").json()["items"]
    return [one[name] for one in found]
