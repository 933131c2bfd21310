"""`reconcile`: what it says, and how it ends."""

import pytest

from tests.cli.conftest import FOUND, CommandLine
from tests.databases import Clock, Place
from tests.usage import Billing, unguarded
from watchkeeper.app import App

pytestmark = pytest.mark.req("S-20", "U-20")


@pytest.fixture
def billing(place: Place) -> Billing:
    db = place.open()
    try:
        billing = Billing(db)
        billing.settle("a")
        return billing
    finally:
        db.close()


def test_what_agrees_ends_with_zero(wk: CommandLine, billing: Billing) -> None:
    told = wk("reconcile").stdout
    assert "8 invariants hold." in told
    assert "✗" not in told
    for words in ((), ("--all",), ("--tenant", "acme"), ("--tenant", "nobody")):
        found = wk.json("reconcile", *words)
        assert found["clean"] is True
        assert all(one["clean"] for one in found["invariants"] + found["attention"])


def test_what_contradicts_ends_with_one(wk: CommandLine, billing: Billing, place: Place) -> None:
    unguarded(place, "delete from outbox")
    told = wk("reconcile", exits=FOUND).stdout
    assert "settlement_has_its_event: tenant_id acme, turn_id t-a" in told
    found = wk.json("reconcile", exits=FOUND)
    wrong = [one for one in found["invariants"] if not one["clean"]]
    assert [one["invariant"] for one in wrong] == ["settlement_has_its_event"]
    assert wrong[0]["rows"][0]["turn_id"] == "t-a"
    assert wk.json("reconcile", "--tenant", "bolt")["clean"] is True
    assert wk.json("verify", exits=FOUND)["clean"] is False


def test_what_waits_for_somebody_is_told_and_ends_with_zero(
    wk: CommandLine, billing: Billing, clock: Clock
) -> None:
    clock.advance(hours=2)
    assert "late_usage_events: tenant_id acme" in wk("reconcile").stdout
    found = wk.json("reconcile")
    assert found["clean"] is True
    assert [one["invariant"] for one in found["attention"] if one["rows"]] == ["late_usage_events"]


def test_the_same_from_python(place: Place, billing: Billing) -> None:
    app = App(place.url, migrate=False)
    try:
        assert app.reconcile().is_clean
        unguarded(place, "delete from outbox")
        assert not app.reconcile(tenant_id="acme").is_clean
        assert app.reconcile(tenant_id="bolt").is_clean
    finally:
        app.close()
