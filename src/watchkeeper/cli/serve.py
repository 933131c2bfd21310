"""`serve`, `worker`, `migrate`: a deployment, on as many machines as it needs."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from watchkeeper.cli.options import AppName, AsJson, Db, Host, MetricsPort, Port
from watchkeeper.cli.output import progress, say, say_json
from watchkeeper.cli.place import opened_by, settings_of, sqlite_file
from watchkeeper.cli.starting import (
    app_for,
    has_decision,
    settings_for,
    start_logging,
    warn_of_sqlite,
)
from watchkeeper.errors import Unavailable

if TYPE_CHECKING:
    from threading import Thread
    from wsgiref.simple_server import WSGIServer

    from watchkeeper.settings import Settings
    from watchkeeper.store.database import Database

WORKER_PORTS = range(9484, 9500)
"""Where workers of one machine serve their metrics, each on the first port that is free."""


def serve(host: Host = None, port: Port = None, db: Db = None) -> None:
    """Serve the HTTP API and the dashboard. `watchkeeper worker` carries out the runs.

    The database must be migrated. On SIGTERM or SIGINT, /readyz fails first, then open
    requests finish within the grace period; a second signal ends the process at once.
    """
    settings = settings_for(db=db, host=host, port=port)
    start_logging(settings)
    warn_of_sqlite(settings)
    with opened_by(settings) as database:
        from watchkeeper.http.app import create_app
        from watchkeeper.http.server import READY_LEAD_SECONDS
        from watchkeeper.http.server import serve as answer_requests
        from watchkeeper.stopping import Stop
        from watchkeeper.workers import Notifier

        stop = Stop()
        asgi = create_app(database, settings)
        notifier = Notifier(database)
        notifier.start()
        with stop.on_signals(), metrics_beside(settings, database):
            answer_requests(
                asgi,
                settings,
                stop,
                lead_seconds=READY_LEAD_SECONDS,
                on_started=lambda address: say(f"server started at {address}"),
            )
        notifier.stop()


def worker(app: AppName = None, metrics_port: MetricsPort = None, db: Db = None) -> None:
    """Run a worker: call the handlers of an app, evaluate retries, fire schedules.

    Without --app it calls no handler of yours; runs wait for a worker with an app. On
    SIGTERM or SIGINT it claims no more messages and finishes those it holds within the grace
    period; a second signal ends the process at once. It prints the address of its metrics.
    """
    settings = settings_for(db=db, metrics_port=metrics_port)
    start_logging(settings)
    warn_of_sqlite(settings)
    working = app_for(settings, app, migrate=False)
    from watchkeeper.stopping import Stop
    from watchkeeper.workers import WorkerSettings

    stop = Stop()
    with stop.on_signals(), metrics_beside(settings, working.db, WORKER_PORTS) as address:
        if address is not None:
            say(f"watchkeeper metrics {address}/metrics")
        working.start_workers(WorkerSettings(grace_seconds=settings.grace_seconds))
        say("worker started" if has_decision(working) else "worker started, without an app")
        stop.wait()
        working.close()


def migrate(
    grant_to: Annotated[
        str | None,
        typer.Option(
            "--grant-to",
            metavar="USER",
            help="PostgreSQL user of servers and workers. Default: the user of the URL.",
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Migrate the database to the newest schema. A migrated database is not changed.

    Uses WATCHKEEPER_MIGRATE_URL if it is set, so that servers and workers need not own the
    tables.
    """
    from watchkeeper.settings import redacted_url
    from watchkeeper.store.migrations import HEAD
    from watchkeeper.store.migrations import migrate as upgrade

    settings = settings_of(db)
    url = settings.migrate_url if db is None and settings.migrate_url else settings.database_url
    file = sqlite_file(url)
    if file is not None and not file.absolute().parent.is_dir():
        raise Unavailable(f"there is no folder {file.absolute().parent}")
    with progress("migrating"):
        advice = upgrade(url, grant_to=grant_to, journal=settings.sqlite_journal)
    if advice is not None:
        typer.echo(f"note: {advice}", err=True)
    if as_json:
        say_json({"database": redacted_url(url), "schema": HEAD})
    else:
        say(f"{redacted_url(url)} has schema {HEAD}.")


@contextlib.contextmanager
def metrics_beside(
    settings: Settings, db: Database, ports: Sequence[int] = ()
) -> Iterator[str | None]:
    """Serve /metrics on a port of its own and give its address.

    The port is the one that is set, else the first of `ports` that is free. A worker whose
    ports are all taken works without.
    """
    wanted = ports if settings.metrics_port is None else (settings.metrics_port,)
    listening = _first_free(settings.host, wanted, db)
    if listening is None:
        if settings.metrics_port is not None:
            raise Unavailable(f"cannot listen on {settings.host}:{settings.metrics_port}: in use")
        yield None
        return
    server, thread = listening
    try:
        yield f"http://{settings.host}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _first_free(host: str, ports: Sequence[int], db: Database) -> tuple[WSGIServer, Thread] | None:
    from prometheus_client import start_http_server

    from watchkeeper.actions.measure import Measured

    for port in ports:
        try:
            return start_http_server(port, host, Measured(db))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise Unavailable(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return None
