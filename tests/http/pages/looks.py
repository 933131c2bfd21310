"""Somebody at a browser: logged in with a key, reading pages as text."""

import html
import re
from html.parser import HTMLParser
from typing import Any

from starlette.testclient import TestClient

from tests.http.door import Door


class Tags(HTMLParser):
    """Which attributes the tags of a page have, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.attributes: set[str] = set()
        self.bare_headers = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        self.attributes |= names
        self.bare_headers += tag == "th" and "scope" not in names


class Look:
    """A session of one role. `tenant` None: a key for all tenants."""

    def __init__(self, door: Door, tenant: str | None, role: str = "viewer") -> None:
        self.client = TestClient(door.app, follow_redirects=False)
        answer = self.client.post("/login", data={"key": door.key(tenant, role), "next": "/plans"})
        assert answer.status_code == 303, answer.text

    def get(self, path: str, status: int = 200) -> str:
        """The page, checked for what every page has."""
        answer = self.client.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:2000]}"
        text = answer.text
        assert text.count("<h1") == 1, path
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        tags = Tags(text)
        assert not [name for name in tags.attributes if name == "style" or name.startswith("on")]
        assert not tags.bare_headers, path
        return text

    def post(self, path: str, from_page: str, **fields: Any) -> Any:
        """Send a form of a page, with its token."""
        token = re.search(r'name="csrf" value="([^"]+)"', self.get(from_page))
        assert token is not None
        return self.client.post(path, data={"csrf": token[1], **fields})


def words(page: str) -> str:
    """What a reader sees of it, blanks aside."""
    shown = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(shown).split())


def links(page: str, start: str) -> list[str]:
    """Where links lead that begin so, each once, in order."""
    found = [html.unescape(one) for one in re.findall(r'href="([^"]+)"', page)]
    return list(dict.fromkeys(one for one in found if one.startswith(start)))
