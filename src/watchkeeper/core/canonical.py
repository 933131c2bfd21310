"""One text for one value, so that it can be hashed: JSON in the form of RFC 8785.

Keys are ordered by their UTF-16 code units, there are no spaces, text stays as it is but for
what must be escaped, and numbers look as ECMAScript writes them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring

INTEGER_MAX = 2**53 - 1
"""Beyond it neighbours share a double, and so would share a text."""

POINT_MAX = 21  # from here on ECMAScript writes an exponent
POINT_MIN = -6


def canonical_json(value: object) -> str:
    """Equal values give equal text. What RFC 8785 has no text for is a ValueError."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return encode_basestring(value)
        case int():
            if abs(value) > INTEGER_MAX:
                raise ValueError(f"{value} is not exact as a number of JSON")
            return str(int(value))
        case float():
            return _number(value)
        case Mapping():
            keys = sorted(value, key=_code_units)
            pairs = [f"{encode_basestring(key)}:{canonical_json(value[key])}" for key in keys]
            return "{" + ",".join(pairs) + "}"
        case list() | tuple():
            return "[" + ",".join(map(canonical_json, value)) + "]"
        case _:
            raise ValueError(f"a {type(value).__name__} is not JSON")


def sha256_hex(value: object) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _code_units(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _number(value: float) -> str:
    """The shortest digits that give the same double, placed as ECMAScript places them."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number of JSON")
    if value == 0:
        return "0"
    sign, shortest, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, shortest)).rstrip("0")
    point = len(shortest) + exponent  # where the decimal point is, counted from the first digit
    minus = "-" if sign else ""
    if len(digits) <= point <= POINT_MAX:
        return minus + digits.ljust(point, "0")
    if 0 < point <= POINT_MAX:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if POINT_MIN < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"
