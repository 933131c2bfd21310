"""Secrets at rest: encrypted with keys that are not in the database.

A stored secret names the key that it was encrypted with, and can be read back only for the
owner that it was encrypted for. Without a key a secret is stored as it is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence

from watchkeeper.errors import Invalid, Unavailable

SETTING = "WATCHKEEPER_SECRETS_KEY"
KEY_PREFIX = "wksk_"
"""What a key begins with, so that whoever searches text for secrets finds it."""
KEY_BYTES = 32
KEYS_MAX = 10
NONCE_BYTES = 12
MARK = "enc1:"
"""What a stored secret begins with when it is encrypted."""


class Keyring:
    """The keys of this process, the newest first: it encrypts, all of them decrypt."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._keys = {_id_of(key): key for key in keys}

    @property
    def key_ids(self) -> list[str]:
        return list(self._keys)

    def seal(self, secret: str, owner: str) -> str:
        """The secret as it is stored for its owner."""
        if not self._keys or not secret:
            return secret
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        key_id, key = next(iter(self._keys.items()))
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = nonce + AESGCM(key).encrypt(nonce, secret.encode(), owner.encode())
        return f"{MARK}{key_id}:{base64.b64encode(sealed).decode('ascii')}"

    def open(self, stored: str, owner: str) -> str:
        """The secret again. Raises Unavailable where its key is missing or the text was changed."""
        key_id = key_id_of(stored)
        if key_id is None:
            return stored
        key = self._keys.get(key_id)
        if key is None:
            raise Unavailable(f"{locked(owner)}needs key {key_id}: it is not in {SETTING}")
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            sealed = base64.b64decode(stored.removeprefix(f"{MARK}{key_id}:"), validate=True)
            nonce, text = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
            return AESGCM(key).decrypt(nonce, text, owner.encode()).decode()
        except (InvalidTag, ValueError):
            raise Unavailable(f"{locked(owner)}was changed in the database") from None

    def is_current(self, stored: str) -> bool:
        """Whether it is stored as it would be stored now."""
        return not stored or key_id_of(stored) == next(iter(self._keys), None)


def locked(owner: str) -> str:
    """The beginning of each error about a secret of this owner that cannot be decrypted."""
    return f"the secret of {owner} "


def key_id_of(stored: str) -> str | None:
    """The key that a stored secret was encrypted with; None for one in plain text."""
    return stored.removeprefix(MARK).partition(":")[0] if stored.startswith(MARK) else None


def parse_keys(text: str | None) -> Keyring:
    """Read keys as the setting has them: base64, separated by commas, the newest first."""
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    if len(parts) > KEYS_MAX:
        raise Invalid.at("secrets_key", f"has more than {KEYS_MAX} keys")
    return Keyring([_key_of(part) for part in parts])


def new_key() -> str:
    """A key for the setting."""
    return KEY_PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")


def _key_of(text: str) -> bytes:
    try:
        key = base64.b64decode(text.removeprefix(KEY_PREFIX), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES or not text.startswith(KEY_PREFIX):
        told = (
            f"must be {KEY_PREFIX} and 32 bytes in base64: `watchkeeper secrets new-key` makes one"
        )
        raise Invalid.at("secrets_key", told)
    return key


def _id_of(key: bytes) -> str:
    return hashlib.sha256(b"watchkeeper secrets key" + key).hexdigest()[:8]
