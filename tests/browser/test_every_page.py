"""Every page in a real browser: it loads without a complaint, and is there for everybody."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.bridge import Bridge
from tests.browser.walk import details, menu, stops
from tests.browser.watcher import Watcher

pytestmark = [pytest.mark.req("U-30", "U-32"), pytest.mark.timeout(300)]

AUDIT = (Path(__file__).parent / "audit.js").read_text()
HREFS = "all => all.map(one => one.getAttribute('href'))"
SLIDES = """() => {
  const { scrollWidth, clientWidth } = document.scrollingElement;
  if (scrollWidth <= clientWidth) return null;
  const isHeld = (one) => {
    for (let at = one.parentElement; at && at !== document.body; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== "visible") return true;
    return false;
  };
  const wide = [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > clientWidth + 1 && !isHeld(one));
  return `${scrollWidth} > ${clientWidth}: ` + (wide.at(-1)?.outerHTML || "").slice(0, 150);
}"""
PHONE, WIDE = {"width": 390, "height": 800}, {"width": 1600, "height": 1000}


# What a page looks like does not depend on the database.
on_one = pytest.mark.parametrize("bridge", ["sqlite"], indirect=True)


def audited(page: Page, path: str) -> list[str]:
    return [f"{path}: {found}" for found in page.evaluate(AUDIT)]


def slides(page: Page) -> str | None:
    """What makes the whole page move sideways, if it does."""
    return page.evaluate(SLIDES)


def test_the_walk_knows_the_menu() -> None:
    assert "/plans" in menu()
    assert len(menu()) == len(set(menu())) >= 11


def test_every_page_loads_and_says_who_it_is(bridge: Bridge, chief: Page) -> None:
    page = chief
    for path in stops(bridge):
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        expect(page.locator("h1")).to_have_count(1)
        expect(page.locator("#live")).to_have_attribute("data-state", "on")
        section = "/" + path.split("/")[1]
        expect(page.locator(f'nav a[href="{section}"]')).to_have_attribute("aria-current", "page")


@on_one
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_there_for_everybody(bridge: Bridge, chief: Page, theme: str) -> None:
    """Labels, names, headings, tables, contrast; nothing to be moved sideways."""
    page = chief
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    found: list[str] = []
    for path in ["/login", *stops(bridge), "/plans/nothing-of-this-name"]:
        page.goto(path)
        found += audited(page, path)
        for size in (PHONE, WIDE):
            page.set_viewport_size(size)
            if (what := slides(page)) is not None:
                found.append(f"{path}: moves sideways at {size['width']}: {what}")
    assert not found, "\n".join(found)


@pytest.fixture(autouse=True)
def errors_are_meant(request: pytest.FixtureRequest, watcher: Watcher) -> None:
    if "everybody" in request.node.name:
        watcher.expect("404")


@on_one
def test_who_follows_the_links_of_a_page_finds_pages(bridge: Bridge, chief: Page) -> None:
    """Each link of ours on each page, once."""
    page = chief
    seen: set[str] = set()
    links: set[str] = set()
    for path in stops(bridge):
        page.goto(path)
        hrefs = page.eval_on_selector_all("main a[href]", HREFS)
        links |= {href for href in hrefs if href.startswith("/") and "#" not in href}
    for href in sorted(links)[:60]:
        answer = page.request.get(href)
        assert answer.status == 200, href
        seen.add(href)
    assert seen


def test_there_is_a_page_of_each_thing(bridge: Bridge) -> None:
    assert set(details(bridge)) <= set(menu())
