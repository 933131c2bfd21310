"""Somebody at a browser without scripts: logged in with a key, reads pages, sends their forms."""

import re
from typing import Any

from starlette.testclient import TestClient

from tests.http.door import Door

CSRF = re.compile(r'name="csrf" value="([^"]+)"')


class Visitor:
    """A session of one role, at one tenant or (tenant None) at all of them."""

    def __init__(self, door: Door, tenant: str | None = "acme", role: str = "admin") -> None:
        self.client = TestClient(door.app, follow_redirects=False)
        answer = self.client.post("/login", data={"key": door.key(tenant, role), "next": "/"})
        assert answer.status_code == 303, answer.text

    def get(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def post(self, path: str, on: str, status: int = 303, **fields: str) -> Any:
        """Send a form of the page `on`."""
        token = CSRF.search(self.get(on))
        assert token is not None
        answer = self.client.post(path, data={"csrf": token[1], **fields})
        assert answer.status_code == status, answer.text
        return answer


def words(html: str) -> str:
    """What a page says: without its markup, and with single blanks."""
    text = re.sub(r"<(svg|head|script)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def part(html: str, region: str) -> str:
    """The words of one region."""
    found = re.search(rf'data-region="{region}".*?(?=data-region=|</main>)', html, re.DOTALL)
    assert found is not None, region
    return words("<" + found[0])
