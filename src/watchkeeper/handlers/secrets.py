"""The secrets that webhooks are signed with: 24 to 64 random bytes, written as `whsec_…`."""

from __future__ import annotations

import base64
import binascii
import secrets

from watchkeeper.errors import Invalid

PREFIX = "whsec_"
BYTES_MIN, BYTES_MAX, BYTES_MADE = 24, 64, 32


def make_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(BYTES_MADE)).decode("ascii")


def check_secret(text: str) -> str:
    """The secret as it was given, if it can sign; the error never repeats it."""
    key_of(text)
    return text


def key_of(text: str) -> bytes:
    """The bytes to sign with. Padding may be missing, as it is in other tools."""
    encoded = text.removeprefix(PREFIX).rstrip("=")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid.at("secret", f"must be {PREFIX!r} followed by base64") from None
    if not BYTES_MIN <= len(key) <= BYTES_MAX:
        raise Invalid.at("secret", f"must be {BYTES_MIN} to {BYTES_MAX} bytes, in base64")
    return key
