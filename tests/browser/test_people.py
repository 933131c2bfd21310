"""People before the dashboard: in and out, as a viewer, of which tenant, without a mouse."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.bridge import Bridge, built
from tests.browser.conftest import Open
from tests.browser.watcher import Watcher
from tests.databases import Databases

# What a browser does by itself does not depend on the database.
on_one = pytest.mark.parametrize("bridge", ["sqlite"], indirect=True)
pytestmark = [pytest.mark.req("U-30"), pytest.mark.timeout(240)]


@pytest.mark.req("O-24")
def test_one_logs_in_with_a_key_and_out_again(
    bridge: Bridge, context: BrowserContext, watcher: Watcher
) -> None:
    watcher.expect("401")
    page = context.new_page()
    page.goto("/plans")
    expect(page).to_have_url(f"{bridge.address}/login?next=%2Fplans")
    page.get_by_label("API key").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_have_text("This key is not accepted.")
    page.get_by_label("API key").fill(bridge.door.key("acme", "operator"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{bridge.address}/plans")
    expect(page.get_by_role("heading", level=1)).to_have_text("Plans")
    assert page.evaluate("() => document.cookie") == ""
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{bridge.address}/login")
    page.goto("/plans")
    expect(page).to_have_url(f"{bridge.address}/login?next=%2Fplans")


@pytest.mark.req("O-24")
def test_a_revoked_key_leaves_an_open_page_at_the_login(bridge: Bridge, enter: Open) -> None:
    page = enter("/plans", role="viewer")
    expect(page.locator("#live")).to_have_attribute("data-state", "on")
    name = page.locator(".who").inner_text().split(" ")[0].removeprefix("key:")
    assert bridge.door.admin.delete(f"/v1/api-keys/{name}").status_code == 204
    bridge.ask("something to tell")
    expect(page).to_have_url(f"{bridge.address}/login?next=%2Fplans")


@pytest.fixture(autouse=True)
def refusals_are_meant(request: pytest.FixtureRequest, watcher: Watcher) -> None:
    if "revoked" in request.node.name:
        watcher.expect("401")


def test_a_viewer_sees_no_buttons(bridge: Bridge, enter: Open) -> None:
    plan_id = bridge.ask("only to be looked at")
    page = enter(f"/plans/{plan_id}", role="viewer")
    expect(page.get_by_text("only to be looked at").first).to_be_visible()
    expect(page.locator("main").get_by_role("button")).to_have_count(0)
    expect(page.locator("main form[method=post]")).to_have_count(0)
    operator = enter(f"/plans/{plan_id}", role="operator")
    expect(operator.get_by_role("button", name="Approve", exact=True).first).to_be_visible()


def test_a_key_for_all_tenants_looks_at_one_after_the_other(bridge: Bridge, enter: Open) -> None:
    page = enter("/plans?tenant=acme", tenant=None)
    expect(page.get_by_text("canary-acme-account").first).to_be_visible()
    expect(page.get_by_text("canary-beta-account")).to_have_count(0)
    page.get_by_label("Tenant").select_option("beta")
    expect(page.get_by_text("canary-beta-account").first).to_be_visible()
    expect(page.get_by_text("canary-acme-account")).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Plans").click()
    expect(page.get_by_text("canary-beta-account").first).to_be_visible()
    expect(page.get_by_label("Tenant")).to_have_value("beta")


@on_one
def test_the_theme_that_was_chosen_stays(enter: Open) -> None:
    page = enter("/plans")
    page.emulate_media(color_scheme="light")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate(ground)
    assert dark != before
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(ground) == dark
    page.get_by_role("button", name="Switch between light and dark").click()
    page.reload()
    assert page.evaluate(ground) == before


# -- without a mouse -------------------------------------------------------------------------

FOCUSED = """() => {
  const one = document.activeElement;
  const style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  return {
    name: (one.getAttribute("aria-label") || one.innerText || one.name || one.tagName).trim(),
    tag: one.tagName,
    seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    placed: box.width > 0 && box.height > 0 && box.left >= 0,
    inside: !!one.closest("dialog"),
  };
}"""


@on_one
def test_the_first_stop_skips_to_the_content(enter: Open) -> None:
    page = enter("/plans")
    page.keyboard.press("Tab")
    first = page.evaluate(FOCUSED)
    assert first["name"] == "Skip to the content"
    assert first["placed"]
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("() => !!document.activeElement.closest('main')")


@on_one
def test_one_gets_everywhere_with_the_keyboard_and_sees_where_one_is(
    bridge: Bridge, enter: Open
) -> None:
    plan_id = bridge.ask("by keyboard")
    page = enter(f"/plans/{plan_id}")
    wanted = page.eval_on_selector_all(
        "a[href], button, input:not([type=hidden]), select, textarea, summary",
        "all => all.filter(one => one.checkVisibility()).length",
    )
    stops = []
    for _ in range(wanted):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUSED))
    assert [one["name"] for one in stops if not one["seen"]] == []
    assert [one["name"] for one in stops if not one["placed"]] == []
    names = [one["name"] for one in stops]
    for name in ("Watchkeeper", "Overview", "Kill switches", "Approve", "Abort", "Log out"):
        assert name in names
    assert names.index("Log out") < names.index("Overview") < names.index("Abort")


@on_one
def test_a_question_takes_the_keyboard_and_gives_it_back(bridge: Bridge, enter: Open) -> None:
    plan_id = bridge.ask("asked once")
    page = enter(f"/plans/{plan_id}")
    button = page.get_by_role("button", name="Abort", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(dialog).to_have_accessible_name("End this plan for good?")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    for _ in range(5):
        page.keyboard.press("Tab")
        where = page.evaluate(FOCUSED)
        assert where["inside"] or where["tag"] == "BODY"
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    assert _status(bridge, plan_id) == "ACTIVE"
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Abort").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Aborted.")).to_be_visible()
    assert _status(bridge, plan_id) == "ABORTED"


def _status(bridge: Bridge, plan_id: str) -> str:
    return str(bridge.door.admin.get(f"/v1/plans/{plan_id}?tenant_id=acme").json()["status"])


# -- without a script, and in development -----------------------------------------------------


@on_one
def test_pages_work_without_the_script(bridge: Bridge, chromium, watcher: Watcher) -> None:
    plan_id = bridge.ask("no script")
    context = chromium.new_context(base_url=bridge.address, java_script_enabled=False)
    watcher.follow(context)
    page: Page = context.new_page()
    page.goto(f"/plans/{plan_id}")
    page.get_by_label("API key").fill(bridge.door.key("acme", "operator"))
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Approve", exact=True).first.click()
    expect(page.get_by_text("Approved.")).to_be_visible()
    context.close()


@pytest.mark.req("O-24")
def test_in_development_it_opens_logged_in(
    databases: Databases, chromium, watcher: Watcher
) -> None:
    with built(databases, "sqlite", dev=True) as bridge:
        context = chromium.new_context(base_url=bridge.address)
        watcher.follow(context)
        page = context.new_page()
        page.goto("/plans")
        expect(page).to_have_url(f"{bridge.address}/plans")
        expect(page.locator(".who")).to_have_text("dev · admin")
        context.close()
