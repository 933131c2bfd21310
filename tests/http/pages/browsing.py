"""Somebody with a browser: a session in a cookie, and forms with its token."""

from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient

from tests.http.door import Door
from watchkeeper.http.session import COOKIE

LOOPBACK = ("127.0.0.1", 50000)


@dataclass
class Visitor:
    door: Door
    browser: TestClient

    @property
    def cookie(self) -> str | None:
        return self.browser.cookies.get(COOKIE)

    @property
    def token(self) -> str:
        """What each form of this session carries."""
        session = self.door.server.sessions.read(self.cookie)
        return "" if session is None else session.csrf

    def get(self, path: str, **options: Any) -> Any:
        return self.browser.get(path, **options)

    def see(self, path: str, status: int = 200) -> str:
        """A page that has to be there."""
        answer = self.get(path)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        return answer.text

    def send(self, path: str, **fields: str) -> Any:
        """A form of ours, sent by somebody who has the page open."""
        return self.send_as(path, {"csrf": self.token, **fields})

    def send_as(self, path: str, fields: dict[str, str], **headers: str) -> Any:
        """The same with whatever one likes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.browser.post(path, data=fields, headers=named)

    def log_in(self, key: str, **fields: str) -> Any:
        return self.browser.post("/login", data={"key": key, **fields})


def visitor(door: Door, key: str | None = None, **options: Any) -> Visitor:
    """A browser of its own, logged in where there is a key."""
    browser = TestClient(door.app, follow_redirects=False, **options)
    made = Visitor(door, browser)
    if key is not None:
        answer = made.log_in(key)
        assert answer.status_code == 303, answer.text
    return made
