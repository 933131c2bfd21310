"""Every option of `App` and every setting, on both databases. A new one needs a line here."""

import base64
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.databases import START_AT, Place
from watchkeeper import App
from watchkeeper.cli.starting import app_for
from watchkeeper.core.time import to_datetime
from watchkeeper.http.server import app_of
from watchkeeper.settings import PREFIX, Settings, load_settings

ADMIN_KEY = "an-admin-key-for-tests-" + "x" * 20
SECRETS_KEY = "wksk_" + base64.b64encode(bytes(32)).decode()
OPTIONS: dict[str, Callable[[Place], Any]] = {
    "url": lambda place: place.owner_url,
    "virtual_clock": lambda _: True,
    "migrate": lambda _: True,
    "migrate_url": lambda place: place.owner_url,
    "pool_size": lambda _: 1,
    "journal": lambda _: "wal",
    "usage_namespace": lambda _: "bills",
    "webhooks_private": lambda _: True,
    "secrets_key": lambda _: SECRETS_KEY,
    "wall": lambda _: lambda: START_AT,
}
SETTINGS: dict[str, Callable[[Place], str]] = {
    "database_url": lambda place: place.url,
    "migrate_url": lambda place: place.owner_url,
    "admin_key": lambda _: ADMIN_KEY,
    "host": lambda _: "127.0.0.1",
    "port": lambda _: "0",
    "metrics_port": lambda _: "0",
    "pool_size": lambda _: "1",
    "sqlite_journal": lambda _: "rollback",
    "threads_max": lambda _: "1",
    "requests_max": lambda _: "1",
    "followers_max": lambda _: "1",
    "body_bytes_max": lambda _: "1024",
    "batch_bytes_max": lambda _: "1024",
    "events_per_call_max": lambda _: "1",
    "body_seconds_max": lambda _: "1",
    "head_seconds_max": lambda _: "1",
    "idle_seconds_max": lambda _: "1",
    "connections_max": lambda _: "10",
    "anonymous_max": lambda _: "1",
    "grace_seconds": lambda _: "0",
    "usage_namespace": lambda _: "bills",
    "webhooks_private": lambda _: "true",
    "secrets_key": lambda _: SECRETS_KEY,
    "log_level": lambda _: "error",
    "log_format": lambda _: "console",
}
SIGNALS = {"tenant_id": "acme", "signals": [{"account_id": "a", "type": "mail"}]}


def test_every_option_and_every_setting_has_a_line() -> None:
    assert OPTIONS.keys() == inspect.signature(App).parameters.keys()
    assert SETTINGS.keys() == Settings.model_fields.keys()


@pytest.mark.req("U-01")
@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_an_option_works(place: Place, name: str) -> None:
    given = {"url": place.owner_url, "migrate": True, name: OPTIONS[name](place)}
    with App(**given) as app:
        assert app.signal("acme", "a", "mail").verdict.allowed
        app.drain()
        assert app.clock.now() == to_datetime(START_AT)
        assert app.reconcile().is_clean


@pytest.mark.req("U-12")
def test_a_virtual_clock_is_started_once_and_moves(place: Place) -> None:
    place.execute("delete from clock")
    with App(place.url, migrate=False, virtual_clock=True) as app:
        begun = app.clock.now()
        assert begun.microsecond == 0
        app.clock.advance(hours=1)
    with App(place.url, migrate=False, virtual_clock=True) as app:
        assert (app.clock.now() - begun).total_seconds() == 3600, "one that runs is left alone"


@pytest.mark.req("U-03")
@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_a_setting_works(place: Place, name: str) -> None:
    environ = {PREFIX + "DATABASE_URL": place.url, PREFIX + "ADMIN_KEY": ADMIN_KEY}
    environ[PREFIX + name.upper()] = SETTINGS[name](place)
    settings = load_settings(environ=environ)
    with app_for(settings, None, migrate=False) as app, TestClient(app_of(app, settings)) as client:
        assert client.get("/readyz").status_code == 200
        headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
        answer = client.post("/v1/signals", json=SIGNALS, headers=headers)
        assert answer.status_code == 202, answer.text
