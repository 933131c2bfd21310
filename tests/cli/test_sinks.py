"""`watchkeeper sinks`: set, listed, shown, removed."""

import pytest

from tests.cli.conftest import WRONG, CommandLine
from watchkeeper.handlers.secrets import make_secret

pytestmark = pytest.mark.req("S-18")

SET = ("sinks", "set", "orders", "--topic", "orders.placed", "--url", "https://example.com/hook")


def test_a_secret_is_shown_once(wk: CommandLine) -> None:
    made = wk.json(*SET)
    assert made["secret"].startswith("whsec_")
    assert (made["tenant_id"], made["kind"]) == (None, "webhook")
    assert wk.json(*SET)["secret"] is None
    assert wk.json(*SET, "--secret", make_secret())["secret"] is None
    shown = wk.json("sinks", "show", "orders")
    assert shown["old_secret_until"] is not None
    for text in (wk("sinks", "show", "orders").stdout, wk("sinks", "list").stdout):
        assert "orders.placed" in text
        assert made["secret"] not in text


def test_in_words_the_secret_stands_on_a_line_of_its_own(wk: CommandLine) -> None:
    said = wk(*SET).stdout
    assert "whsec_" in said.splitlines()[-1]
    assert "whsec_" not in wk(*SET).stdout


def test_a_tenants_own_and_the_one_for_all(wk: CommandLine) -> None:
    assert "no tenant" in wk(*SET, "--tenant", "acme", exits=WRONG).stderr
    wk("tenants", "create", "acme")
    wk(*SET)
    wk(*SET, "--tenant", "acme")
    assert [s["tenant_id"] for s in wk.json("sinks", "list")["items"]] == [None, "acme"]
    assert [s["tenant_id"] for s in wk.json("sinks", "list", "--tenant", "acme")["items"]] == [
        "acme"
    ]
    assert wk.json("sinks", "remove", "orders") == {"name": "orders", "removed": True}
    assert "no sink" in wk("sinks", "show", "orders", exits=WRONG).stderr
    assert wk.json("sinks", "show", "orders", "--tenant", "acme")["tenant_id"] == "acme"
    wk("sinks", "remove", "orders", "--tenant", "acme")
    assert "no sinks" in wk("sinks", "list").stdout


@pytest.mark.req("O-22")
def test_a_private_address_needs_the_setting(wk: CommandLine) -> None:
    near = (*SET[:-1], "http://10.0.0.1:9/hook")
    assert "url" in wk(*near, exits=WRONG).stderr
    open_minded = CommandLine({**wk.environ, "WATCHKEEPER_WEBHOOKS_PRIVATE": "true"})
    assert open_minded.json(*near)["url"] == "http://10.0.0.1:9/hook"


def test_the_namespace_of_usage_is_the_configured_one(wk: CommandLine) -> None:
    words = ("sinks", "set", "billing", "--topic", "usage_snapshot", "--url", SET[-1])
    assert wk.json(*words)["namespace"] == "mini-chat"
    other = CommandLine({**wk.environ, "WATCHKEEPER_USAGE_NAMESPACE": "metering"})
    assert other.json(*words)["namespace"] == "metering"


@pytest.mark.parametrize("words", [("--topic", "decision.retry"), ("--kind", "pigeon")])
def test_what_cannot_be_is_refused(wk: CommandLine, words: tuple[str, str]) -> None:
    assert words[0].strip("-") in wk(*SET, *words, exits=WRONG).stderr


def test_a_mistyped_topic_is_a_warning_that_names_the_nearest(wk: CommandLine) -> None:
    url = ("--url", "https://example.com/hook")
    said = wk("sinks", "set", "billing", "--topic", "usage_snapsot", *url)
    assert "warning: " in said.stderr
    assert "did you mean usage_snapshot?" in said.stderr
    assert "warning: " not in wk(*SET).stderr
    wrong = wk("sinks", "set", "x", "--topic", "plan.change", *url, exits=WRONG)
    assert "did you mean plan.changed?" in wrong.stderr


def test_the_refusal_of_a_near_receiver_names_the_setting(wk: CommandLine) -> None:
    near = wk("sinks", "set", "x", "--topic", "t", "--url", "http://127.0.0.1:9/", exits=WRONG)
    assert "WATCHKEEPER_WEBHOOKS_PRIVATE" in near.stderr
