"""Which delivery rules a process follows after a policy was applied, here or elsewhere."""

import pytest

from tests.databases import Place
from tests.messages import letter, one, put
from watchkeeper import App
from watchkeeper.store import policies
from watchkeeper.store.policies import FRESH_SECONDS, PolicyBook

pytestmark = pytest.mark.req("S-10")

ONCE = '[delivery.topics."mine"]\nmax_attempts = 1\n'


def fail(_message: object) -> None:
    raise RuntimeError("no")


def test_the_process_that_applies_a_rule_follows_it(db_url: str, place: Place) -> None:
    app = App(db_url, migrate=False)
    app.on("mine")(fail)
    app.drain()
    app.apply_policy(ONCE, reason="one attempt")
    assert app.registry.rule_for("mine").max_attempts == 1
    [id] = put(app.db, letter(topic="mine"))
    app.drain()
    assert one(place, id).status == "dead"
    app.close()


def test_another_process_follows_it_within_a_second(db_url: str, place: Place) -> None:
    now = 0.0
    app, other = App(db_url, migrate=False), App(db_url, migrate=False)
    app.db.policies = PolicyBook(lambda: now)
    app.registry.rule_for = app.db.policies.delivery
    app.on("mine")(fail)
    app.drain()
    other.apply_policy(ONCE, reason="one attempt")
    now = FRESH_SECONDS / 2
    app.drain()
    assert app.registry.rule_for("mine").max_attempts > 1, "the rules are not read with each claim"
    now = FRESH_SECONDS
    [id] = put(app.db, letter(topic="mine"))
    app.drain()
    assert one(place, id).status == "dead"
    app.close()
    other.close()


def test_an_older_version_that_is_read_does_not_rule(
    db_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the book forgets versions because it has read too many."""
    monkeypatch.setattr(policies, "VERSIONS_KEPT_MAX", 2)
    app = App(db_url, migrate=False)
    for attempts in (5, 4, 3):
        app.apply_policy(ONCE.replace("1", str(attempts)), reason="fewer")
    with app.db.read("acme") as tx:
        for version in (1, 2, 1):
            app.db.policies.policy(tx, version)
    assert app.registry.rule_for("mine").max_attempts == 3
    app.close()
