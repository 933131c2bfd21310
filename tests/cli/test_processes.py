"""`dev`, `serve` and `worker` as processes: how they start, what they say, how they stop."""

import contextlib
import http.server
import json
import queue
import signal
import socket
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import UNREACHABLE, WRONG
from tests.cli.processes import ask, started
from tests.databases import Clock, Place
from watchkeeper.actions import views
from watchkeeper.core.ids import TenantId
from watchkeeper.store.migrations import migrate
from watchkeeper.store.sqlite import has_wal_reset_bug, library_version

STOPS_MAX = 5
ADMIN_KEY = "an-admin-key-for-tests-" + "x" * 20
SIGNALS = json.dumps({"tenant_id": "acme", "signals": [{"account_id": "a", "type": "mail"}]})

AGENTS = """\
import time
from watchkeeper import App, Decision

app = App("{url}", migrate=False)


@app.decision
def decide(run):
    print("begun", flush=True)
    time.sleep({seconds})
    return Decision(note="done by agents.py")
"""


@pytest.mark.req("U-20")
def test_dev_needs_nothing_and_answers(tmp_path: Path) -> None:
    with started("dev", "--port", "0", folder=tmp_path) as dev:
        address = dev.wait_for(r"address +(http://127\.0\.0\.1:\d+)")[1]
        key = dev.wait_for(r"admin key +(\S+)")[1]
        assert ask(address, "/readyz") == 200
        assert ask(address, "/v1/tenants") == 401
        assert ask(address, "/v1/signals", key, SIGNALS.encode()) == 202
        assert ask(address, "/v1/tenants", key) == 200
        dev.tell(signal.SIGINT)
        assert dev.end() == 0, dev.errors
        assert (tmp_path / "watchkeeper.db").exists()
        assert sum(key in line for line in dev.lines) == 1


@pytest.mark.req("U-20")
def test_a_key_of_an_earlier_start_is_still_good(tmp_path: Path) -> None:
    with started("dev", "--port", "0", folder=tmp_path) as dev:
        key = dev.wait_for(r"admin key +(\S+)")[1]
        dev.tell()
        assert dev.end() == 0
    with started("dev", "--port", "0", folder=tmp_path) as dev:
        address = dev.wait_for(r"address +(\S+)")[1]
        dev.wait_for("admin key")
        assert ask(address, "/v1/tenants", key) == 200


@pytest.mark.req("O-20")
def test_dev_listens_on_loopback_only(tmp_path: Path) -> None:
    with started("dev", "--host", "0.0.0.0", folder=tmp_path) as dev:
        assert dev.end() == WRONG
        assert "loopback" in dev.errors[0]


@pytest.mark.req("U-12", "U-20")
def test_dev_has_a_virtual_clock_and_runs_the_built_in_handler(tmp_path: Path) -> None:
    with started("dev", "--port", "0", "--virtual-clock", folder=tmp_path) as dev:
        address = dev.wait_for(r"address +(\S+)")[1]
        key = dev.wait_for(r"admin key +(\S+)")[1]
        dev.wait_for("clock +virtual")
        assert ask(address, "/v1/signals", key, SIGNALS.encode()) == 202
        assert ask(address, "/v1/clock/advance", key, b'{"seconds": 3600}') == 200
        dev.tell()
        assert dev.end() == 0, dev.errors
    with started("ledger", "tail", "--kind", "run.ended", "--json", folder=tmp_path) as tail:
        assert tail.end() == 0
        assert [json.loads(line)["result"] for line in tail.lines] == ["SUCCEEDED"]


@pytest.mark.req("U-21")
def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with started("dev", "--port", port, folder=tmp_path) as dev:
            assert dev.end() == UNREACHABLE
            assert any(f"cannot listen on 127.0.0.1:{port}" in line for line in dev.errors)
            assert not any("Traceback" in line for line in dev.errors)


@pytest.mark.req("U-20", "O-14")
def test_serve_is_not_ready_before_it_stops(place: Place, tmp_path: Path) -> None:
    """It says so for a second; who was not awake in it looks at another stop."""
    environ = {"WATCHKEEPER_DATABASE_URL": place.url, "WATCHKEEPER_ADMIN_KEY": ADMIN_KEY}
    seen: set[int] = set()
    for _ in range(STOPS_MAX):
        with started("serve", "--port", "0", folder=tmp_path, **environ) as serve:
            address = serve.wait_for(r"server started at (\S+)")[1]
            assert ask(address, "/readyz") == 200
            assert ask(address, "/v1/signals", ADMIN_KEY, SIGNALS.encode()) == 404
            serve.tell()
            while serve.popen.poll() is None:
                seen.add(ask(address, "/readyz"))
            assert serve.end() == 0, serve.errors
        if 503 in seen:
            return
    raise AssertionError(f"never not ready: {seen}")


@pytest.mark.req("O-01")
def test_serve_says_when_this_sqlite_has_the_wal_reset_bug(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path / 'watchkeeper.db'}")
    with started("serve", "--port", "0", folder=tmp_path) as serve:
        serve.wait_for("server started")
        serve.tell()
        assert serve.end() == 0
        told = any("WAL-reset bug" in line for line in serve.errors)
    assert told == has_wal_reset_bug(library_version())


@pytest.mark.req("O-30")
def test_metrics_can_have_a_port_of_their_own(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path / 'watchkeeper.db'}")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environ = {"WATCHKEEPER_METRICS_PORT": port}
    with started("serve", "--port", "0", folder=tmp_path, **environ) as serve:
        serve.wait_for("server started")
        assert ask(f"http://127.0.0.1:{port}", "/metrics") == 200


@pytest.mark.req("O-30")
def test_a_worker_says_where_its_metrics_are(place: Place, clock: Clock, tmp_path: Path) -> None:
    clock.make_real()
    _ask_for_a_run(place)
    (tmp_path / "agents.py").write_text(AGENTS.format(url=place.url, seconds=0))
    with started("worker", "--app", "agents:app", folder=tmp_path) as worker:
        address = worker.wait_for(r"metrics (http://\S+)")[1]
        worker.wait_for("begun")
        worker.tell()
        assert worker.end() == 0, worker.errors
    assert 9484 <= int(address.removesuffix("/metrics").rpartition(":")[2]) < 9500
    with started("worker", "--metrics-port", "0", "--db", place.url, folder=tmp_path) as worker:
        address = worker.wait_for(r"metrics (http://\S+)")[1]
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert b"watchkeeper_deliveries_total" in answer.read()


@pytest.mark.req("O-30")
def test_traces_are_exported_where_opentelemetry_is_told_to(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path / 'watchkeeper.db'}")
    received: queue.Queue[tuple[str, bytes]] = queue.Queue()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.put((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environ = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "OTEL_SERVICE_NAME": "magpie-service",
            "WATCHKEEPER_ADMIN_KEY": ADMIN_KEY,
        }
        with started("serve", "--port", "0", folder=tmp_path, **environ) as serve:
            address = serve.wait_for(r"server started at (\S+)")[1]
            assert ask(address, "/v1/tenants", ADMIN_KEY) == 200
            serve.tell()
            assert serve.end() == 0, serve.errors
        path, body = received.get(timeout=30)
        server.shutdown()
    assert path == "/v1/traces"
    assert b"magpie-service" in body
    assert ADMIN_KEY.encode() not in body


@pytest.mark.req("U-20")
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_an_unmigrated_database_is_refused_with_what_to_do(tmp_path: Path, command: str) -> None:
    (tmp_path / "watchkeeper.db").touch()
    with started(command, folder=tmp_path) as process:
        assert process.end() == UNREACHABLE
        assert "watchkeeper migrate --db sqlite:///watchkeeper.db" in process.errors[-1]


@pytest.mark.req("O-14")
def test_a_worker_finishes_what_it_holds(place: Place, clock: Clock, tmp_path: Path) -> None:
    clock.make_real()
    decision_id = _ask_for_a_run(place)
    (tmp_path / "agents.py").write_text(AGENTS.format(url=place.url, seconds=1))
    with started("worker", "--app", "agents:app", folder=tmp_path) as worker:
        worker.wait_for("begun")
        worker.tell()
        assert worker.end() == 0, worker.errors
    run = _run_of(place, decision_id)
    assert (run.state, run.note) == ("SUCCEEDED", "done by agents.py")


@pytest.mark.req("O-14")
def test_a_second_signal_ends_it_at_once(place: Place, clock: Clock, tmp_path: Path) -> None:
    clock.make_real()
    _ask_for_a_run(place)
    (tmp_path / "agents.py").write_text(AGENTS.format(url=place.url, seconds=60))
    with started("worker", "--app", "agents:app", folder=tmp_path) as worker:
        worker.wait_for("begun")
        while worker.popen.poll() is None:
            worker.tell()
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.popen.wait(0.05)
        assert worker.end() == 128 + signal.SIGTERM, "not by itself, after the grace"


@pytest.mark.req("U-20")
def test_a_worker_uses_the_handlers_on_the_database_that_is_named(
    place: Place, clock: Clock, tmp_path: Path
) -> None:
    clock.make_real()
    decision_id = _ask_for_a_run(place)
    own = f"sqlite:///{tmp_path / 'own.db'}"
    text = AGENTS.format(url=own, seconds=0).replace("migrate=False", "migrate=True")
    (tmp_path / "agents.py").write_text(text)
    with started("worker", "--app", "agents:app", "--db", place.url, folder=tmp_path) as worker:
        worker.wait_for("begun")
        worker.tell()
        assert worker.end() == 0, worker.errors
    assert _run_of(place, decision_id).state == "SUCCEEDED"


@pytest.mark.req("U-21")
@pytest.mark.parametrize(
    ("named", "told"),
    [("agents", "MODULE:NAME"), ("nowhere:app", "no module"), ("json:loads", "not a watchkeeper")],
)
def test_an_app_that_is_not_one_is_named(tmp_path: Path, named: str, told: str) -> None:
    with started("dev", "--app", named, folder=tmp_path) as dev:
        assert dev.end() == WRONG
        assert told in dev.errors[-1]


def _ask_for_a_run(place: Place) -> str:
    from watchkeeper.app import App

    app = App(place.url, migrate=False)
    try:
        return app.signal("acme", "acct-1", "mail").verdict.decision_id
    finally:
        app.close()


def _run_of(place: Place, decision_id: str) -> object:
    db = place.open()
    try:
        return views.view_decision(db, TenantId("acme"), decision_id).run
    finally:
        db.close()


@pytest.mark.req("O-12")
def test_silent_connections_do_not_use_up_the_files_of_a_process(tmp_path: Path) -> None:
    """Three hundred of them, where the process may open 256 files."""
    head_seconds = {"WATCHKEEPER_HEAD_SECONDS_MAX": "2"}
    with (
        started("dev", "--port", "0", folder=tmp_path, files_max=256, **head_seconds) as dev,
        contextlib.ExitStack() as opened,
    ):
        address = dev.wait_for(r"address +(\S+)")[1]
        key = dev.wait_for(r"admin key +(\S+)")[1]
        port = int(address.rpartition(":")[2])
        silent = [
            opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            for _ in range(300)
        ]
        assert ask(address, "/healthz") == 200
        assert ask(address, "/v1/signals", key, SIGNALS.encode()) == 202
        for line in silent:
            with contextlib.suppress(ConnectionResetError):
                assert line.recv(1) == b""
        assert ask(address, "/readyz") == 200
        dev.tell()
        assert dev.end() == 0, dev.errors
    assert any("connections_closed" in line and "silent" in line for line in dev.errors)
    assert not any("Too many open files" in line for line in dev.errors)
