"""Where the walk through the pages goes: what the menu names, and one page of each detail."""

import re

from tests.browser.bridge import Bridge
from watchkeeper.http.render import HERE

_MENU = re.compile(r"\('(/[a-z-]*)', '")


def menu() -> list[str]:
    """The pages of the menu, as the layout has them."""
    return _MENU.findall((HERE / "templates" / "base.html").read_text())


def details(bridge: Bridge) -> dict[str, str]:
    """Section and address of a page about one thing."""
    mine = bridge.mine
    return {
        "/accounts": f"/accounts/{mine.account}",
        "/decisions": f"/decisions/{mine.decision}",
        "/plans": f"/plans/{mine.plan}",
        "/outbox": f"/outbox/{mine.message}",
        "/reports": f"/reports/{mine.report}",
    }


def stops(bridge: Bridge) -> list[str]:
    """Every address that has to be a page."""
    return [*menu(), *details(bridge).values(), "/policy/0", "/policy/shadows/trial"]
