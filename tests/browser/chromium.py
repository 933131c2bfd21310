"""The browser of the tests: a Chromium that is there, without anything it does by itself."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

NAMED = "WATCHKEEPER_TEST_BROWSER"
PLACES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-extensions",
)
MISSING = (
    f"there is no Chromium: install one (apt-get install chromium, or playwright install chromium)"
    f" or name it in {NAMED}"
)


def found(playwright: Playwright) -> Path | None:
    """The one that is named, the system's, or Playwright's own."""
    named = os.environ.get(NAMED)
    if named:
        return Path(named)
    for name in PLACES:
        place = shutil.which(name)
        if place is not None:
            return Path(place)
    own = Path(playwright.chromium.executable_path)
    return own if own.exists() else None


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser for the block. Where there is none the test is skipped, but not in CI."""
    with sync_playwright() as playwright:
        place = found(playwright)
        if place is None:
            if "CI" in os.environ:
                pytest.fail(MISSING)
            pytest.skip(MISSING)
        args = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = playwright.chromium.launch(
            executable_path=str(place), headless=True, args=args, timeout=120_000
        )
        try:
            yield browser
        finally:
            browser.close()
