"""Secrets leave a text whole, and a hostile text costs no more than its length."""

import ast
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import watchkeeper
from watchkeeper.core.redaction import HIDDEN, redacted
from watchkeeper.inputs import _MESSAGES, PATTERNS

SOURCE = Path(watchkeeper.__file__).parent

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
        ("usage.cache_read_tokens: is not a known field",) * 2,
        ("secret: must be 24 to 64 bytes",) * 2,
        ("secret: is required", "secret: is required"),
        ("password: is", f"password: {HIDDEN}"),
        ("postgresql://wk:Se@CrEtPw@h/x", f"postgresql://wk:{HIDDEN}@h/x"),
        ("postgresql://wk:" + "p" * 900 + "@h/x", f"postgresql://wk:{HIDDEN}@h/x"),
        (r"{'password': 'ab\'cd'}", f"{{'password': {HIDDEN}}}"),
        ("the key is wksk_" + "A" * 43 + "=", f"the key is {HIDDEN}="),
        ("password=is hush", f"password={HIDDEN} hush"),
        ("secret: MUSTARD seed", f"secret: {HIDDEN} seed"),
        ("secret: there-is-one of them", f"secret: {HIDDEN} of them"),
    ],
)
def test_what_is_taken_and_what_is_left(text: str, left: str) -> None:
    assert redacted(text) == left


FIELDS = ("secret", "api_key", "usage.cache_read_tokens", "signature", "steps[3].password")


def messages() -> Iterator[str]:
    """Every refusal of a field in the source, a value in it as 9; commands and URLs aside."""
    for path in SOURCE.rglob("*.py"):
        if path.parent.name in ("cli", "store"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and len(node.args) > 1):
                continue
            words = node.args[1]
            if ast.unparse(node.func) not in ("Invalid.at", "Problem", "Mistake"):
                continue
            parts = words.values if isinstance(words, ast.JoinedStr) else [words]
            if isinstance(parts[0], ast.Constant):  # what begins with a value is not our word
                yield "".join(one.value if isinstance(one, ast.Constant) else "9" for one in parts)
    yield from (one for one in (*_MESSAGES.values(), *PATTERNS.values()))


@pytest.mark.parametrize("field", FIELDS)
def test_our_own_words_about_a_field_are_left(field: str) -> None:
    found = set(messages())
    assert len(found) > 100
    for message in found:
        text = f"{field}: {message}"
        assert redacted(text) == text


NAMES = st.sampled_from(["secret", "API_KEY", "my-token", "db_password", "Cookie", "signature"])
BETWEEN = st.sampled_from([": ", "=", ":", " = ", ":  "])
VALUES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-", min_size=12)


@given(NAMES, BETWEEN, VALUES, st.sampled_from(["", " and more", ", then", "\n"]))
def test_a_value_behind_a_name_does_not_stay(
    name: str, between: str, value: str, after: str
) -> None:
    text = redacted(f"it said {name}{between}{value}{after}")
    assert HIDDEN in text
    assert value not in text


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
