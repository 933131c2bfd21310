"""Things done with a mouse: they happen, and the page shows it without being loaded again."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Bridge
from tests.browser.conftest import Open
from watchkeeper.core.ids import TenantId

pytestmark = [pytest.mark.req("U-32"), pytest.mark.timeout(240)]

STAMP = "() => { window.stamp = 'still here' }"


def live(page: Page) -> None:
    """The page follows what happens, and will know whether it was loaded again."""
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    page.evaluate(STAMP)


def never_reloaded(page: Page) -> bool:
    return page.evaluate("() => window.stamp") == "still here"


def agree(page: Page, name: str) -> None:
    """The question that is asked once."""
    page.get_by_role("dialog").get_by_role("button", name=name).click()


@pytest.mark.req("U-30")
def test_what_happens_is_seen_without_loading_again(bridge: Bridge, enter: Open) -> None:
    page = enter("/plans")
    live(page)
    bridge.ask("seen by itself")
    expect(page.get_by_text("seen by itself").first).to_be_visible()
    assert never_reloaded(page)


@pytest.mark.req("U-30")
def test_a_page_in_the_background_catches_up(bridge: Bridge, enter: Open) -> None:
    """Whoever types is not disturbed; afterwards the page is as it should be."""
    plan_id = bridge.ask("somebody types")
    page = enter(f"/plans/{plan_id}")
    live(page)
    box = page.get_by_role("textbox", name="Reason for: Abort")
    box.fill("not ye")
    carrier = bridge.door.server.carrier
    carrier.pause(TenantId("acme"), plan_id, "meanwhile", by="test")
    box.press_sequentially("t")
    assert box.input_value() == "not yet"
    page.locator("h1").click()
    expect(page.get_by_text("PAUSED").first).to_be_visible()
    assert never_reloaded(page)


def test_an_approval_is_clicked_through_to_a_completed_step(bridge: Bridge, enter: Open) -> None:
    plan_id = bridge.ask("clicked through")
    page = enter(f"/plans/{plan_id}")
    expect(page.get_by_text("PENDING_APPROVAL").first).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).first.click()
    expect(page.get_by_text("Approved.")).to_be_visible()
    live(page)
    expect(page.get_by_text("COMPLETED").first).to_be_visible()
    expect(page.get_by_text("DONE").first).to_be_visible()
    assert never_reloaded(page)
    shown = bridge.door.admin.get(f"/v1/plans/{plan_id}?tenant_id=acme").json()
    assert (shown["status"], shown["steps"][0]["status"]) == ("COMPLETED", "DONE")


def test_a_rejection_asks_once(bridge: Bridge, enter: Open) -> None:
    plan_id = bridge.ask("not this one")
    page = enter(f"/plans/{plan_id}")
    reject = page.get_by_role("button", name="Reject the action")
    reject.click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    path = f"/v1/intents?plan_id={plan_id}&tenant_id=acme"
    assert bridge.door.admin.get(path).json()["items"][0]["status"] == "PENDING_APPROVAL"
    reject.click()
    agree(page, "Reject the action")
    expect(page.get_by_text("Rejected; the plan waits for a person.")).to_be_visible()
    assert bridge.door.admin.get(path).json()["items"][0]["status"] == "REJECTED"


def test_a_dead_letter_is_redriven(bridge: Bridge, enter: Open) -> None:
    message_id = bridge.dead_letter()
    page = enter(f"/outbox/{message_id}")
    expect(page.get_by_text("the shop is closed").first).to_be_visible()
    page.get_by_role("button", name="Redrive", exact=True).click()
    agree(page, "Redrive")
    expect(page.get_by_text("is in the outbox again")).to_be_visible()
    live(page)
    expect(page.get_by_text("delivered", exact=True).first).to_be_visible()
    assert never_reloaded(page)
    assert bridge.status(message_id) == "delivered"


def test_a_kill_switch_is_turned_on_and_holds(bridge: Bridge, enter: Open) -> None:
    kind = "TIME_RITUAL_DAILY_BRIEF"
    assert bridge.trigger(trigger_type=kind)["result"] == "ALLOW"
    page = enter("/kill-switches")
    page.locator('input[type="radio"][value="trigger"]').check()
    page.get_by_label("Which trigger").fill(kind)
    page.get_by_label("Why").fill("it wakes people up")
    page.get_by_role("button", name="Turn on").click()
    agree(page, "Turn on")
    expect(page.get_by_text("The kill switch is on.")).to_be_visible()
    expect(page.get_by_text("it wakes people up").first).to_be_visible()
    refused = bridge.trigger(trigger_type=kind)
    assert (refused["result"], refused["reason"]) == ("SKIP", "KILL_SWITCH")
