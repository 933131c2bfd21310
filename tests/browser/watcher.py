"""Watches a page for what must never happen there: errors, violations, lost requests, dialogs."""

from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext, Page

# Told by the browser itself to whoever listens, before any script of the page runs.
LISTEN = """
window.addEventListener("securitypolicyviolation", (event) =>
  console.error("violation: " + event.violatedDirective + " " + event.blockedURI));
window.addEventListener("unhandledrejection", (event) =>
  console.error("unhandled: " + event.reason));
"""


@dataclass
class Watcher:
    """What was seen in one context; `expected` are parts of what a test provokes."""

    seen: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def follow(self, context: BrowserContext) -> None:
        context.add_init_script(LISTEN)
        context.on("page", self._page)

    def _page(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.seen.append(f"error: {error}"))
        page.on("crash", lambda _: self.seen.append("crash"))
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)
        page.on("dialog", self._dialog)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning", "assert"):
            self.seen.append(f"console {message.type}: {message.text}")

    def _failed(self, request: Any) -> None:
        # What is under way when a page is left is cut, and nobody misses it.
        if request.failure not in ("net::ERR_ABORTED", None):
            self.seen.append(f"failed: {request.url} {request.failure}")

    def _answered(self, response: Any) -> None:
        if response.status >= 400:
            self.seen.append(f"answered {response.status}: {response.url}")

    def _dialog(self, dialog: Any) -> None:
        self.seen.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def expect(self, *parts: str) -> None:
        """This will be seen, and is meant to be."""
        self.expected += parts

    def complaints(self) -> list[str]:
        return [one for one in self.seen if not any(part in one for part in self.expected)]
