"""Browser sessions: a signed cookie that names a key, and nothing that has to be stored.

The cookie is signed with the stored hash of the key it was opened with and, where there is
one, with the admin key of the settings: so a revoked or expired key ends its sessions at once,
on every machine, and a copy of the database alone opens none. Servers of one installation have
the same admin key. Whether a session is over is judged by wall time, whatever the virtual
clock shows.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass

from watchkeeper.errors import Unauthorized
from watchkeeper.http.access import Caller
from watchkeeper.http.keys import Keyring

COOKIE = "wk_session"
SECONDS_MAX = 12 * 3600
LENGTH_MAX = 1024
DEV = "dev"


@dataclass(frozen=True, slots=True)
class Session:
    """Who is at the browser, and the token that every form of theirs carries."""

    caller: Caller
    csrf: str


class Sessions:
    """Opens sessions with keys, and reads them back from cookies."""

    def __init__(self, keyring: Keyring, *, dev: bool) -> None:
        self._keyring = keyring
        self._dev = secrets.token_bytes(32) if dev else None

    def open(self, key: str) -> str:
        """The cookie of a new session. Raises Unauthorized for a key that is not accepted."""
        caller = self._keyring.caller(f"Bearer {key}")
        secret = self._secret(caller.name)
        assert secret is not None, "a key that was just accepted"
        return _signed(caller.name, secret[1])

    def open_dev(self) -> str | None:
        """In development mode whoever is on this machine is logged in."""
        return None if self._dev is None else _signed(DEV, self._dev)

    def read(self, cookie: str | None) -> Session | None:
        """None: there is no session, or it is over, or its key is."""
        if cookie is None or len(cookie) > LENGTH_MAX:
            return None
        payload, _, signature = cookie.rpartition(".")
        name, expires = _unpacked(payload)
        found = self._secret(name)
        if found is None:
            return None
        caller, secret = found
        expected = _mac(secret, "session", payload)
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode()):
            return None
        if expires <= time.time():
            return None
        return Session(caller, _mac(secret, "csrf", payload))

    def _secret(self, name: str) -> tuple[Caller, bytes] | None:
        if name == DEV and self._dev is not None:
            return Caller(DEV, "admin"), self._dev
        try:
            return self._keyring.signing(name)
        except Unauthorized:
            return None


def _signed(name: str, secret: bytes) -> str:
    text = f"{name}|{int(time.time()) + SECONDS_MAX}|{secrets.token_urlsafe(8)}"
    payload = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return f"{payload}.{_mac(secret, 'session', payload)}"


def _unpacked(payload: str) -> tuple[str, int]:
    try:
        text = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode()
        name, expires, _ = text.split("|")
        return name, int(expires)
    except (binascii.Error, ValueError, UnicodeDecodeError):
        return "", 0


def _mac(secret: bytes, use: str, payload: str) -> str:
    return hmac.new(secret, f"{use}:{payload}".encode(), hashlib.sha256).hexdigest()
