"""Secrets of webhooks: made well, checked, and never repeated in an error."""

import base64

import pytest

from watchkeeper.errors import Invalid
from watchkeeper.handlers.secrets import BYTES_MADE, PREFIX, check_secret, key_of, make_secret


def of(count: int) -> str:
    return PREFIX + base64.b64encode(b"\xff" * count).decode()


@pytest.mark.req("S-18")
def test_a_made_secret_is_new_and_long_enough() -> None:
    one, other = make_secret(), make_secret()
    assert one != other
    assert len(key_of(check_secret(one))) == BYTES_MADE


@pytest.mark.req("S-18")
@pytest.mark.parametrize("text", [of(24), of(64), of(32).rstrip("="), of(32).removeprefix(PREFIX)])
def test_what_other_tools_make_is_taken(text: str) -> None:
    assert set(key_of(check_secret(text))) == {0xFF}


@pytest.mark.req("O-22", "O-23")
@pytest.mark.parametrize(
    "text",
    [
        "",
        PREFIX,
        of(23),
        of(65),
        "whsec_hunter2-hunter2-hunter2-hunter2!",
        "ключ" * 10,
        "a" * 41,
        of(32) + "!",
    ],
)
def test_a_weak_secret_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Invalid, match="secret: must be") as refused:
        check_secret(text)
    assert not text or text not in str(refused.value) or text == PREFIX
