"""`watchkeeper secrets`: keys are made, counted and changed."""

import pytest

from tests.cli.conftest import FOUND, WRONG, CommandLine

pytestmark = pytest.mark.req("O-22")
SET = ("sinks", "set", "orders", "--topic", "orders.placed", "--url", "https://example.com/hook")


def with_keys(wk: CommandLine, *keys: str) -> CommandLine:
    return CommandLine({**wk.environ, "WATCHKEEPER_SECRETS_KEY": ",".join(keys)})


def test_a_plain_secret_is_encrypted_and_its_key_changed(wk: CommandLine) -> None:
    old, new = (wk("secrets", "new-key").stdout.strip() for _ in range(2))
    wk(*SET)
    assert wk.json("secrets", "status")["plain_text"] == 1
    assert "WATCHKEEPER_SECRETS_KEY" in wk("secrets", "rotate", exits=WRONG).stderr
    first, both, last = with_keys(wk, old), with_keys(wk, new, old), with_keys(wk, new)
    assert first.json("secrets", "rotate") == {"changed": 1, "unreadable": []}
    assert first.json("secrets", "status")["plain_text"] == 0
    assert last.json("secrets", "status", exits=FOUND)["missing_keys"]
    assert len(last.json("secrets", "rotate", exits=FOUND)["unreadable"]) == 1
    assert "1 sinks are encrypted" in both("secrets", "rotate").stdout
    shown = last.json("secrets", "status")
    assert shown["encrypted"] == {shown["keys"][0]: 1}
    assert "missing keys" in last("secrets", "status").stdout


def test_a_wrong_key_is_named_and_not_shown(wk: CommandLine) -> None:
    said = with_keys(wk, "not-a-key" * 6)("secrets", "status", exits=WRONG)
    assert "secrets_key" in said.stderr
    assert "not-a-key" not in said.stderr


def test_a_missing_key_refuses_a_sink_without_a_secret_and_plain_text(wk: CommandLine) -> None:
    old, new = (wk("secrets", "new-key").stdout.strip() for _ in range(2))
    with_keys(wk, old)(*SET)
    for line in (wk, with_keys(wk, new)):
        said = line(*SET, exits=WRONG).stderr
        assert "needs key" in said
        assert "WATCHKEEPER_SECRETS_KEY" in said
    given = (*SET, "--secret", "whsec_" + "A" * 43 + "=")
    assert "WATCHKEEPER_SECRETS_KEY is not set" in wk(*given, exits=WRONG).stderr
    assert list(wk.json("secrets", "status", exits=FOUND)["missing_keys"])
    with_keys(wk, new)(*given)
    assert with_keys(wk, new).json("secrets", "status")["missing_keys"] == []


def test_a_new_key_is_printed_as_json(wk: CommandLine) -> None:
    first, second = (wk.json("secrets", "new-key")["key"] for _ in range(2))
    assert first != second
    assert len(first) == len(wk("secrets", "new-key").stdout.strip())
