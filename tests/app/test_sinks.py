"""Sinks from Python, with a real receiver at the other end."""

import json

import pytest
from standardwebhooks import Webhook

from tests.databases import Clock
from tests.messages import letter, put
from tests.misbehaving import receiving
from watchkeeper import App
from watchkeeper.errors import Conflict, Invalid, NotFound

pytestmark = pytest.mark.req("S-18")


@pytest.fixture
def app(db_url):
    app = App(db_url, migrate=False, webhooks_private=True, usage_namespace="metering")
    yield app
    app.close()


def order(app: App, tenant: str = "acme") -> str:
    message = letter(tenant, topic="orders.placed")._replace(payload='{"n": 1}')
    return put(app.db, message)[0]


@pytest.mark.req("O-22")
def test_a_message_arrives_signed_under_its_id(app, clock: Clock):
    clock.make_real()
    with receiving() as receiver:
        done = app.sink("orders", topic="orders.placed", url=receiver.url)
        message_id = order(app)
        assert app.drain() == {"claimed": 1, "delivered": 1}
        [request] = receiver.requests
    assert request.headers["webhook-id"] == message_id
    Webhook(done.secret).verify(request.body, dict(request.headers))
    assert json.loads(request.body)["data"] == {"n": 1}


def test_a_tenants_own_comes_first(app, clock: Clock):
    with receiving() as own, receiving() as every:
        app.sink("orders", topic="orders.placed", url=every.url)
        app.sink("orders", topic="orders.placed", url=own.url, tenant_id="acme")
        for tenant in ("acme", "beta"):
            order(app, tenant)
        app.drain()
        assert (len(own.requests), len(every.requests)) == (1, 1)
        app.remove_sink("orders", tenant_id="acme")
        order(app)
        app.drain()
        assert (len(own.requests), len(every.requests)) == (1, 2)
    with pytest.raises(NotFound):
        app.remove_sink("orders", tenant_id="acme")


def test_what_is_wrong_is_said(app):
    with pytest.raises(Invalid, match="topic"):
        app.sink("x", topic="decision.retry", url="https://example.com/")
    with pytest.raises(Invalid, match="kind"):
        app.sink("x", topic="orders", url="https://example.com/", kind="pigeon")
    with pytest.raises(Invalid, match="name"):
        app.sink("no name", topic="orders", url="https://example.com/")
    app.sink("x", topic="orders", url="https://example.com/")
    with pytest.raises(Conflict, match="x"):
        app.sink("y", topic="orders", url="https://example.com/")


def test_usage_goes_where_this_app_keeps_it(app):
    done = app.sink("billing", topic="usage_snapshot", url="https://example.com/")
    assert done.sink.namespace == "metering"


@pytest.mark.req("O-22")
def test_private_addresses_are_closed_unless_opened(db_url):
    closed = App(db_url, migrate=False)
    with pytest.raises(Invalid, match="url"):
        closed.sink("x", topic="orders", url="http://127.0.0.1:9/")
    closed.close()


@pytest.mark.req("O-22")
def test_what_was_set_where_it_was_open_is_not_sent_where_it_is_closed(app, db_url):
    with receiving() as receiver:
        app.sink("orders", topic="orders.placed", url=receiver.url)
        closed = App(db_url, migrate=False)
        order(closed)
        assert closed.drain() == {"claimed": 1, "failed": 1}
        assert receiver.connections == 0
        closed.close()


@pytest.mark.req("S-18")
@pytest.mark.parametrize("topic", ["usage_snapsot", "usage-snapshot", "Usage_Snapshot"])
def test_a_mistyped_topic_is_a_warning_that_names_the_nearest(app, caplog, topic):
    done = app.sink("billing", topic=topic, url="https://example.com/")
    assert "did you mean usage_snapshot?" in done.warning
    assert [record.getMessage() for record in caplog.records if topic in record.getMessage()] == [
        f"sink billing: {done.warning}"
    ]


@pytest.mark.req("S-18")
@pytest.mark.parametrize("topic", ["usage_snapshot", "orders.placed", "usage.recorded", "letters"])
def test_a_topic_of_ours_and_of_your_own_has_no_warning(app, topic):
    assert app.sink("s", topic=topic, url="https://example.com/").warning is None
