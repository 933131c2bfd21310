"""Secrets leave a text whole, and a hostile text costs no more than its length."""

import time

import pytest

from watchkeeper.core.redaction import HIDDEN, redacted

pytestmark = pytest.mark.req("O-23")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abcdefgh", f"Authorization: {HIDDEN}"),
        ("sent bearer abcdefgh to it", f"sent bearer {HIDDEN} to it"),
        ("postgresql://user:pass@host/db", f"postgresql://user:{HIDDEN}@host/db"),
        ("password=hush, then", f"password={HIDDEN}, then"),
        ('{"my_api_key_2": "hush"}', f'{{"my_api_key_2": {HIDDEN}}}'),
        ("X-Secret-Token : hush", f"X-Secret-Token : {HIDDEN}"),
        ("key wk_0123456789abcdef_0123456789", f"key {HIDDEN}"),
        ("-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----.", f"{HIDDEN}."),
        ("eyJhbGciOiJI.eyJzdWIi.c2ln", HIDDEN),
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("half \ud800", "half ?"),
        ("tokens are counted: 5 of secretariat", "tokens are counted: 5 of secretariat"),
        ("idempotency_key=k", "idempotency_key=k"),
    ],
)
def test_what_is_taken_and_what_is_left(text: str, left: str) -> None:
    assert redacted(text) == left


HOSTILE = [
    "x",
    "token",
    "a.",
    "a-",
    "a://b:",
    "eyJaaaaaaaa-",
    "bearer ",
    "sk-",
    "-----BEGIN ",
    "authorization:",
    "api_key=",
    'secret="',
    "token ",
    "password\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    text = piece * (16_000 // len(piece))
    started = time.perf_counter()
    redacted(text)
    redacted(piece + " " * 16_000)
    assert time.perf_counter() - started < 2
