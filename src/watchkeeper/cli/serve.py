"""`serve`, `worker`, `migrate`: a deployment, on as many machines as it needs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from watchkeeper.cli.options import AppName, AsJson, Db, Host, Port
from watchkeeper.cli.output import progress, say, say_json
from watchkeeper.cli.place import opened_by, settings_of, sqlite_file
from watchkeeper.cli.starting import (
    app_for,
    has_decision,
    settings_for,
    start_logging,
    warn_of_sqlite,
)

if TYPE_CHECKING:
    from watchkeeper.settings import Settings


def serve(host: Host = None, port: Port = None, db: Db = None) -> None:
    """Serve the HTTP API. Runs are worked on by `watchkeeper worker`.

    The database must be migrated. On SIGTERM or SIGINT, /readyz fails first, then what is
    under way is finished within the grace; a second signal ends the process at once.
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
        with stop.on_signals(), metrics_beside(settings):
            answer_requests(
                asgi,
                settings,
                stop,
                lead_seconds=READY_LEAD_SECONDS,
                on_started=lambda address: say(f"watchkeeper serves {address}"),
            )
        notifier.stop()


def worker(app: AppName = None, db: Db = None) -> None:
    """Work: call the handlers of an app, evaluate retries, fire schedules.

    Without --app it does only what needs no handler of yours; runs wait for a worker that
    has one. On SIGTERM or SIGINT it claims nothing more and finishes what it holds within
    the grace; a second signal ends the process at once.
    """
    settings = settings_of(db)
    start_logging(settings)
    warn_of_sqlite(settings)
    working = app_for(settings, app, migrate=False)
    from watchkeeper.stopping import Stop
    from watchkeeper.workers import WorkerSettings

    stop = Stop()
    with stop.on_signals(), metrics_beside(settings):
        working.start_workers(WorkerSettings(grace_seconds=settings.grace_seconds))
        say("watchkeeper works" if has_decision(working) else "watchkeeper works, without an app")
        stop.wait()
        working.close()


def migrate(
    grant_to: Annotated[
        str | None,
        typer.Option(
            "--grant-to",
            metavar="USER",
            help="PostgreSQL: the user that servers and workers log in as; else that of the URL.",
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Bring the database to the newest schema. One that has it already is left alone.

    Uses WATCHKEEPER_MIGRATE_URL where it is set, so that servers and workers need not own
    what they use.
    """
    from watchkeeper.errors import Unavailable
    from watchkeeper.settings import redacted_url
    from watchkeeper.store.migrations import HEAD
    from watchkeeper.store.migrations import migrate as upgrade

    settings = settings_of(db)
    url = settings.migrate_url if db is None and settings.migrate_url else settings.database_url
    file = sqlite_file(url)
    if file is not None and not file.absolute().parent.is_dir():
        raise Unavailable(f"there is no folder {file.absolute().parent}")
    with progress("migrating"):
        upgrade(url, grant_to=grant_to)
    if as_json:
        say_json({"database": redacted_url(url), "schema": HEAD})
    else:
        say(f"{redacted_url(url)} has schema {HEAD}.")


@contextlib.contextmanager
def metrics_beside(settings: Settings) -> Iterator[None]:
    """Serve /metrics on a port of its own, where one is set."""
    if settings.metrics_port is None:
        yield
        return
    from prometheus_client import start_http_server

    from watchkeeper.errors import Unavailable
    from watchkeeper.telemetry import REGISTRY

    try:
        server, thread = start_http_server(settings.metrics_port, settings.host, REGISTRY)
    except OSError as error:
        where = f"{settings.host}:{settings.metrics_port}"
        raise Unavailable(f"cannot listen on {where}: {error.strerror}") from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
