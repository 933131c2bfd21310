"""Heads of requests that two readers could understand differently are refused.

A proxy before this server and the server itself must agree on where a request ends: else a
request can be hidden in the body of another. h11 is lenient where RFC 9112 lets it be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from h11 import RemoteProtocolError
from h11._receivebuffer import ReceiveBuffer

_VERSIONS = (b" HTTP/1.1", b" HTTP/1.0")
_SINGLE = (b"authorization", b"idempotency-key", b"content-type", b"traceparent")
"""Headers that decide who asks and for what, and have one value."""


class StrictBuffer(ReceiveBuffer):
    """The bytes of a connection, in lines that end with CR LF and nothing else."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        before = len(self)
        lines = super().maybe_extract_lines()
        if lines is None:
            return None
        if before - len(self) != sum(len(line) + 2 for line in lines) + 2:
            raise RemoteProtocolError("a line does not end with CR LF")
        refuse_ambiguous(lines)
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        line = super().maybe_extract_next_line()
        if line is not None and (b"\r" in line[:-2] or b"\n" in line[:-2]):
            raise RemoteProtocolError("a line does not end with CR LF")
        return line


def refuse_ambiguous(lines: Sequence[bytes | bytearray]) -> None:
    """Raise for the lines of a head that leave open where its body ends, or who asks."""
    if lines and b" HTTP/" in lines[0] and not lines[0].endswith(_VERSIONS):
        raise RemoteProtocolError("only HTTP/1.1 and HTTP/1.0 are spoken here")
    if any(line[:1] in (b" ", b"\t") for line in lines):
        raise RemoteProtocolError("a header goes on in another line")
    names = [name for name, _ in _headers(lines[1:])]
    for name in _SINGLE:
        if names.count(name) > 1:
            raise RemoteProtocolError(f"{name.decode()} is given twice")
    lengths = [value for name, value in _headers(lines) if name == b"content-length"]
    if len(lengths) > 1 or any(b"," in value for value in lengths):
        raise RemoteProtocolError("Content-Length is given twice")
    if any(name == b"transfer-encoding" for name, _ in _headers(lines)):
        if lengths:
            raise RemoteProtocolError("Content-Length is given beside Transfer-Encoding")
        if lines[0].endswith(b" HTTP/1.0"):
            raise RemoteProtocolError("Transfer-Encoding is not of HTTP/1.0")


def _headers(lines: Sequence[bytes | bytearray]) -> Iterator[tuple[bytes, bytes]]:
    for line in lines:
        name, _, value = bytes(line).partition(b":")
        yield name.lower(), value
