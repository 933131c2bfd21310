"""`python -m tools.docs`: write the reference, the conformance page and diagrams from the code.

A test compares the pages with what this would write, so they cannot fall behind.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools.conformance import conformance_page
from tools.glossary import glossary_page
from tools.machines import draw
from tools.page_of_python import python_page
from tools.pages_of_code import errors_page, policy_page, settings_page, topics_page
from tools.pages_of_doors import cli_page, http_page

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "errors.md": errors_page,
    "glossary.md": glossary_page,
    "http.md": http_page,
    "policy.md": policy_page,
    "python.md": python_page,
    "settings.md": settings_page,
    "topics.md": topics_page,
}


def main() -> None:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page())
    (REFERENCE.parent / "conformance.md").write_text(conformance_page())
    draw()


if __name__ == "__main__":
    main()
