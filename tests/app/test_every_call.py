"""Every public method of the Python API: with a database that fails, and after `close`."""

import contextlib
import sqlite3
from collections.abc import Iterator

import psycopg
import pytest

from tests.app.every_call import APART, CALLS, WITHOUT_DATABASE, Call, public_methods
from tests.app.test_options import SECRETS_KEY
from tests.databases import Place
from tests.postgres import Server
from tests.proxy import Proxy, proxied
from tools.page_of_python import RAISES
from watchkeeper import App
from watchkeeper.errors import Closed, NotFound, Unavailable
from watchkeeper.store import sqlite


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with proxied(server.tcp_port) as found:
        yield found


def opened(place: Place, request: pytest.FixtureRequest) -> App:
    """On PostgreSQL behind a proxy that can be cut off; nobody waits between two tries."""
    url = place.url
    if place.engine == "postgresql":
        server: Server = request.getfixturevalue("server")
        url = server.tcp_url(place.name, port=request.getfixturevalue("proxy").port)
    app = App(url, migrate=False, journal="rollback", pool_size=2, secrets_key=SECRETS_KEY)
    app.db.pause = lambda _attempt: None
    app.proposer()(lambda _asked: None)
    return app


def is_unavailable(answer: object) -> bool:
    return isinstance(answer, Unavailable) and answer.__cause__ is not None


def answer_of(call: Call, app: App) -> object:
    try:
        return call(app)
    except Exception as error:
        return error


def test_every_public_method_has_a_call() -> None:
    assert {*CALLS, *APART} == set(public_methods())


@pytest.mark.req("O-12")
def test_a_database_that_fails_is_unavailable_at_every_method(
    place: Place, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others hold the SQLite file for good; PostgreSQL cuts all connections and takes none."""
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 1)
    with opened(place, request) as app, contextlib.ExitStack() as ending:
        app.signal("acme", "a", "mail")
        app.signal("acme", "b", "mail")  # both connections, where there are two, are warm
        if place.engine == "sqlite":
            holder = ending.enter_context(contextlib.closing(sqlite3.connect(place.name)))
            holder.execute("begin exclusive")
        else:
            proxy: Proxy = request.getfixturevalue("proxy")
            proxy.refuses = True
            proxy.cut_all()
        said = {name: answer_of(CALLS[name], app) for name in CALLS.keys() - WITHOUT_DATABASE}
        wrong = {name: answer for name, answer in said.items() if not is_unavailable(answer)}
        assert wrong == {}


def test_after_close_every_method_says_so(place: Place, request: pytest.FixtureRequest) -> None:
    with opened(place, request) as app:
        app.signal("acme", "a", "mail")
    said = {name: answer_of(call, app) for name, call in CALLS.items()}
    assert {name: answer for name, answer in said.items() if not isinstance(answer, Closed)} == {}
    with pytest.raises(Closed):
        app.enqueue(None, "letters", {})
    app.close()


def test_an_app_in_memory_says_so_too() -> None:
    with App("sqlite://") as app:
        app.signal("acme", "a", "mail")
    with pytest.raises(Closed):
        app.signal("acme", "a", "mail")


def test_an_error_leaves_the_block_and_closes_the_app(place: Place) -> None:
    with pytest.raises(ZeroDivisionError), App(place.url, migrate=False) as app:
        raise ZeroDivisionError
    with pytest.raises(Closed):
        app.clock.now()


@pytest.mark.req("O-12")
def test_a_connection_of_ones_own_that_fails_is_unavailable(place: Place) -> None:
    with App(place.url, migrate=False) as app, contextlib.ExitStack() as ending:
        if place.engine == "sqlite":
            holder = ending.enter_context(contextlib.closing(sqlite3.connect(place.name)))
            holder.execute("begin exclusive")
            own = ending.enter_context(contextlib.closing(sqlite3.connect(place.name, timeout=0)))
        else:
            own = ending.enter_context(contextlib.closing(psycopg.connect(place.url)))
            place.execute(f"select pg_terminate_backend({own.info.backend_pid})")
        with pytest.raises(Unavailable) as failed:
            app.enqueue(own, "letters", {}, tenant_id="acme")
        assert failed.value.__cause__ is not None


QUIET = CALLS.keys() - {"run", "start_workers", "simulate"}


@pytest.mark.req("U-40")
@pytest.mark.parametrize("is_known", [True, False], ids=["tenant is known", "tenant is unknown"])
def test_the_reference_names_what_a_call_raises(is_known: bool) -> None:
    """Of things that are not there: an id of nobody, a tenant of nobody."""
    raised: dict[str, set[str]] = {error: set() for error in RAISES}
    for name in QUIET:
        with App("sqlite://", virtual_clock=True) as app:
            if is_known:
                app.signal("acme", "zoe", "mail")
            error = type(answer_of(CALLS[name], app)).__name__
            raised.get(error, set()).add(name)
    for error, calls in raised.items():
        assert calls <= RAISES[error], error


@pytest.mark.req("U-40")
def test_the_reference_says_not_found_of_no_other_call() -> None:
    raised = set()
    for tenant in ("acme", "beta"):
        for name in RAISES["NotFound"]:
            with App("sqlite://", virtual_clock=True) as app:
                app.signal(tenant, "zoe", "mail")
                if isinstance(answer_of(CALLS[name], app), NotFound):
                    raised.add(name)
    assert raised == RAISES["NotFound"]
    assert set().union(*RAISES.values()) <= CALLS.keys()
