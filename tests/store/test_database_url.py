"""Database URLs: no door repeats a part of a password, and a wrong argument gets its reason."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from typer.testing import CliRunner

from tests.cli.processes import ask, started
from tests.cli.test_processes import ADMIN_KEY, SIGNALS
from tests.databases import Place
from tests.postgres import Server
from tests.proxy import proxied
from watchkeeper import App
from watchkeeper.cli.main import app as commands
from watchkeeper.errors import Invalid, Unavailable, WatchkeeperError
from watchkeeper.settings import redacted_url
from watchkeeper.store.database_url import parsed_url

PIECE = "CrEtPw"
ODD = st.text(st.sampled_from("@:/?#&=%[] ;'\"+"), max_size=6)


@pytest.fixture(autouse=True, scope="module")
def own_logging() -> Iterator[None]:
    """Commands set up logging for a whole process; this one is still needed afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def url_of(before: str, after: str) -> str:
    """A password that was not escaped, for a port where nobody listens."""
    return f"postgresql://wk:{before}{PIECE}{after}@127.0.0.1:1/x"


@pytest.mark.req("O-20")
@given(ODD, ODD)
@example("Se@", "")
@example("Se@", "/")
@example("a/b@", "?c=")
@example("x?", "&y=1")
def test_no_part_of_a_password_is_told(before: str, after: str) -> None:
    url = url_of(before, after)
    assert PIECE not in redacted_url(url)
    with pytest.raises(WatchkeeperError) as failed:
        App(url)
    assert PIECE not in str(failed.value)


@pytest.mark.req("O-20")
@settings(max_examples=40)
@given(ODD, ODD, st.sampled_from(["verify", "migrate", "worker", "serve", "dev"]))
@example("Se@", "", "migrate")
@example("x?", "&y=1", "serve")
def test_no_command_tells_a_part_of_an_odd_password(before: str, after: str, command: str) -> None:
    done = CliRunner().invoke(commands, [command, "--db", url_of(before, after)])
    assert done.exit_code in (2, 3), done.output
    assert PIECE not in done.output


@pytest.mark.req("O-20")
@pytest.mark.parametrize("command", [["verify"], ["tenants", "list"], ["worker"], ["migrate"]])
@pytest.mark.parametrize(("before", "after"), [("Se@", ""), ("Se@", "/h"), ("x?", "&y=1")])
def test_no_command_tells_it(
    command: list[str], before: str, after: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        done = CliRunner().invoke(commands, [*command, "--db", url_of(before, after)])
    assert done.exit_code in (2, 3), done.output
    assert PIECE not in done.output
    assert PIECE not in caplog.text


def test_an_async_engine_is_refused_for_what_it_is() -> None:
    engine = create_async_engine("postgresql+psycopg://wk@127.0.0.1:1/x")
    with pytest.raises(Invalid, match="an async engine is not supported: pass its sync_engine"):
        App(engine)  # type: ignore[arg-type]
    assert parsed_url(engine.sync_engine).drivername == "postgresql+psycopg"


def test_an_engine_in_memory_cannot_be_shared() -> None:
    with pytest.raises(Invalid, match="in memory"):
        App(create_engine("sqlite://"))


@pytest.fixture
def without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)


@pytest.mark.usefixtures("without_driver")
@pytest.mark.parametrize("query", ["", "?sslmode=disable"])
def test_a_missing_driver_names_its_extra(query: str) -> None:
    with pytest.raises(Unavailable, match=r'pip install "watchkeeper\[postgres\]"'):
        App(f"postgresql://wk@127.0.0.1:1/x{query}")


@pytest.mark.usefixtures("without_driver")
@pytest.mark.parametrize("command", ["migrate", "verify", "dev", "serve", "worker"])
def test_a_command_without_the_driver_names_its_extra(command: str) -> None:
    done = CliRunner().invoke(commands, [command, "--db", "postgresql://wk@127.0.0.1:1/x"])
    assert isinstance(done.exception, SystemExit), "no traceback"
    assert done.exit_code == 3, done.output
    assert 'pip install "watchkeeper[postgres]"' in done.output


@pytest.mark.postgresql
@pytest.mark.req("O-20")
@pytest.mark.parametrize("engine", ["postgresql"])
def test_the_log_of_a_server_whose_database_is_away_tells_no_password(
    place: Place, server: Server, tmp_path: Path
) -> None:
    with proxied(server.tcp_port) as proxy:
        url = server.tcp_url(place.name, port=proxy.port).replace("@", f":Se%40{PIECE}@", 1)
        environ = {"WATCHKEEPER_DATABASE_URL": url, "WATCHKEEPER_ADMIN_KEY": ADMIN_KEY}
        environ["WATCHKEEPER_LOG_LEVEL"] = "debug"
        with started("serve", "--port", "0", folder=tmp_path, **environ) as serve:
            address = serve.wait_for(r"(http://127\.0\.0\.1:\d+)")[1]
            assert ask(address, "/v1/tenants", ADMIN_KEY, b'{"tenant_id": "acme"}') == 201
            proxy.refuses = True
            proxy.cut_all()
            assert ask(address, "/readyz") == 503
            assert ask(address, "/v1/signals", ADMIN_KEY, SIGNALS.encode()) == 503
            serve.tell()
            serve.end()
        told = "\n".join([*serve.lines, *serve.errors])
        assert "503" in told
        assert PIECE not in told
        assert "Se@" not in told
        assert "Se%40" not in told
