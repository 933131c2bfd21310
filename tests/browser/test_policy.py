"""A new policy by mouse: its mistakes, what it would change, tried on the record, put in force."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Bridge
from tests.browser.test_every_page import audited, slides
from tests.browser.watcher import Watcher

pytestmark = [pytest.mark.req("U-31", "U-32"), pytest.mark.timeout(240)]

DOCUMENT = """spread_seconds = 9

[triggers.SIGNAL_ARRIVED]
cooldown_seconds = 1
debounce_seconds = 0
"""


def test_a_document_is_checked_tried_and_put_in_force(
    bridge: Bridge, chief: Page, watcher: Watcher
) -> None:
    watcher.expect("422")
    page = chief
    found: list[str] = []
    page.goto("/policy")
    text = page.get_by_label("Only the lines that differ")
    text.fill("\n\nnobody = 1\n")
    page.get_by_role("button", name="Check it").click()
    expect(page.get_by_role("alert")).to_contain_text("line 3")
    found += audited(page, "mistakes")
    assert text.input_value().strip() == "nobody = 1"
    text.fill(DOCUMENT)
    page.get_by_role("button", name="Check it again").click()
    expect(page.get_by_text("It is not in force.")).to_be_visible()
    page.get_by_label("How far back").select_option("1d")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text("verdicts that differ").first).to_be_visible()
    expect(page.get_by_role("img", name="Flips by reason")).to_be_visible()
    found += audited(page, "tried")
    page.set_viewport_size({"width": 390, "height": 800})
    assert slides(page) is None
    assert found == []
    page.locator("#why").fill("to see it rule")
    page.get_by_role("button", name="Apply").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 values change")
    dialog.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("The policy is in force.")).to_be_visible()
    expect(page.get_by_text("to see it rule")).to_be_visible()
    assert "spread_seconds = 9" in bridge.door.admin.get("/v1/policy").json()["document"]
