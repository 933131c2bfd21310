"""The door for Python programs, where it is about tenants."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from watchkeeper.app import App
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.store.keyring import Keyring, new_key, parse_keys

pytestmark = pytest.mark.req("U-01", "D-09")

TIERS = "[tiers.free]\nrun_budget_per_day = 1\n[tiers.pro]\n"


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False)
    app.apply_policy(TIERS, reason="tiers")
    yield app
    app.close()


def runs_allowed(app: App, tenant: str) -> int:
    return sum(
        app.trigger(tenant, f"a{n}", "SIGNAL_ARRIVED", idempotency_key=f"k{n}").allowed
        for n in range(3)
    )


def test_a_tier_is_set_and_its_limits_hold(app: App) -> None:
    made = app.tenants.set("acme", tier="free", name="Acme")
    assert (made.tenant_id, made.tier, made.name) == ("acme", "free", "Acme")
    assert runs_allowed(app, "acme") == 1
    assert runs_allowed(app, "bolt") == 3
    assert app.tenants.get("acme") == made
    assert [tenant.tenant_id for tenant in app.tenants.list()] == ["acme", "bolt"]
    assert [tenant.tenant_id for tenant in app.tenants.list(after="acme")] == ["bolt"]


def test_what_is_left_out_stays_and_none_clears_it(app: App) -> None:
    since = datetime(2029, 12, 1, tzinfo=UTC)
    app.tenants.set("acme", tier="free", name="Acme", installed_at=since)
    changed = app.tenants.set("acme", tier="pro")
    assert (changed.tier, changed.name, changed.installed_at) == ("pro", "Acme", since)
    cleared = app.tenants.set("acme", tier=None, name=None, installed_at=None)
    assert (cleared.tier, cleared.name, cleared.installed_at) == (None, None, None)


def test_an_unknown_tier_is_refused_by_name(app: App) -> None:
    app.tenants.set("acme", tier="free")
    with pytest.raises(Invalid, match="the policy has no tier fre: its tiers are free, pro"):
        app.tenants.set("acme", tier="fre")
    assert app.tenants.get("acme").tier == "free"


HOOK = "https://example.com/"
REFUSED: dict[str, Callable[[App], object]] = {
    "tier": lambda app: app.tenants.set("typo", tier="golld"),
    "installed_at": lambda app: app.tenants.set("typo", installed_at="yesterday"),
    "cron": lambda app: app.schedule("typo", "s", trigger_type="SIGNAL_ARRIVED", cron="61 * * * *"),
    "timezone": lambda app: app.schedule(
        "typo", "s", trigger_type="SIGNAL_ARRIVED", cron="1 * * * *", timezone="Moon"
    ),
    "schedule_id": lambda app: app.schedule(
        "typo", "", trigger_type="SIGNAL_ARRIVED", cron="1 * * * *"
    ),
    "sink": lambda app: app.sink("a.b", topic="t", url=HOOK, tenant_id="typo"),
    "url": lambda app: app.sink("a", topic="t", url="ftp://example.com/", tenant_id="typo"),
    "topic": lambda app: app.sink("a", topic="decision.defered", url=HOOK, tenant_id="typo"),
    "secret": lambda app: app.sink("a", topic="t", url=HOOK, secret="x", tenant_id="typo"),
    "account": lambda app: app.account("typo", "", posture="ACTIVE"),
    "trigger": lambda app: app.trigger("typo", "", "SIGNAL_ARRIVED", idempotency_key="k"),
    "budget": lambda app: app.set_pull_budget("typo", -1),
    "pull": lambda app: app.pull("typo", "a", "crm", depth="ABYSS"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_a_refused_call_makes_no_tenant(app: App, call: Callable[[App], object]) -> None:
    with pytest.raises(Invalid):
        call(app)
    assert app.tenants.list() == []


def test_a_sink_that_would_be_in_plain_text_makes_no_tenant(app: App) -> None:
    app.db.keyring = parse_keys(new_key())
    app.sink("all", topic="t", url=HOOK)
    app.db.keyring = Keyring()
    with pytest.raises(Conflict):
        app.sink("own", topic="t", url=HOOK, tenant_id="typo")
    assert app.tenants.list() == []


def test_a_first_use_that_is_taken_makes_the_tenant(app: App) -> None:
    app.schedule("one", "s", trigger_type="SIGNAL_ARRIVED", cron="1 * * * *")
    app.sink("a", topic="t", url=HOOK, tenant_id="two")
    assert [tenant.tenant_id for tenant in app.tenants.list()] == ["one", "two"]


def test_a_tenant_that_is_not_there_is_not_found(app: App) -> None:
    with pytest.raises(NotFound):
        app.tenants.get("nobody")
    with pytest.raises(Invalid, match="tenant_id"):
        app.tenants.set("no/slash")
