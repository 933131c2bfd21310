"""What the commands that start something have in common: the app, its handlers, its logs."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import typer

from watchkeeper.cli.load_app import load_app
from watchkeeper.cli.place import check_schema, keyring_of, open_checked, settings_of, sqlite_file

if TYPE_CHECKING:
    from watchkeeper.app import App
    from watchkeeper.results import Decision, Run
    from watchkeeper.settings import Settings


TRACE_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
SERVICE_NAME = "OTEL_SERVICE_NAME"


def built_in_decision(run: Run) -> Decision:
    """Stands in until an app registers its own, so that everything can be tried."""
    from watchkeeper.results import Decision

    return Decision(note=f"the built-in handler saw {len(run.signals)} signals")


def app_for(settings: Settings, named: str | None, *, migrate: bool) -> App:
    """The app to work with: the one that is named, or one without handlers.

    A named app keeps its own database, unless flag, environment or file say another: then
    its handlers are used on that one.
    """
    from watchkeeper.app import App
    from watchkeeper.core.sinks import Reach

    given = None if named is None else load_app(named, migrate=migrate)
    if given is not None and settings.webhooks_private:
        given.registry.reach = Reach.PRIVATE
    if given is not None and settings.secrets_key is not None:
        given.db.keyring = keyring_of(settings)
    if given is not None and not _says(settings, "database_url"):
        given.db.check_open()
        if not migrate:
            check_schema(given.db)
        return given
    if not migrate:
        open_checked(settings).close()
    made = App(
        settings.database_url,
        migrate=migrate,
        migrate_url=settings.migrate_url,
        pool_size=settings.pool_size,
        journal=settings.sqlite_journal,
        usage_namespace=settings.usage_namespace if given is None else given.usage_namespace,
        webhooks_private=settings.webhooks_private,
    )
    made.db.keyring = keyring_of(settings) if given is None else given.db.keyring
    if given is not None:
        made.registry.reach = given.registry.reach
        adopt(made, given)
        given.close()
    return made


def adopt(app: App, other: App) -> None:
    """Register the handlers of one app with another; what an app does itself stays its own."""
    for bring in other.brought:
        bring(app)


def has_decision(app: App) -> bool:
    from watchkeeper.core.envelope import EVALUATION_REQUESTED
    from watchkeeper.store.outbox import NAMESPACE

    return (NAMESPACE, EVALUATION_REQUESTED) in app.registry


def settings_for(**flags: Any) -> Settings:
    return settings_of(flags.pop("db", None), **flags)


def start_logging(settings: Settings, *, quiet: bool = False) -> None:
    """`quiet`: a person watches, so only what is wrong, in words, unless told otherwise."""
    from watchkeeper.telemetry import configure_logging

    level = "warning" if quiet and not _says(settings, "log_level") else settings.log_level
    form = "console" if quiet and not _says(settings, "log_format") else settings.log_format
    known = (settings.admin_key, settings.secrets_key)
    secrets = [secret.get_secret_value() for secret in known if secret is not None]
    configure_logging(level, form, secrets=secrets)
    start_tracing()


def start_tracing() -> None:
    """Export traces where OpenTelemetry's own variables say where to."""
    if not any(os.environ.get(name) for name in TRACE_ENDPOINTS):
        return
    from opentelemetry import trace

    from watchkeeper.errors import Unavailable

    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        told = f'{TRACE_ENDPOINTS[0]} is set: install the exporter, pip install "watchkeeper[otel]"'
        raise Unavailable(told) from error
    resource = Resource.create({"service.name": os.environ.get(SERVICE_NAME, "watchkeeper")})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def hush_demo(settings: Settings) -> None:
    """Leave out the failures that the demo plays on purpose; its dashboard shows them."""
    if not _says(settings, "log_level"):
        logging.getLogger("watchkeeper.handlers").setLevel(logging.CRITICAL)


def warn_of_sqlite(settings: Settings) -> None:
    """Say so when this SQLite can damage a file that several processes write in WAL mode."""
    from watchkeeper.store.sqlite import has_wal_reset_bug, library_version

    version = library_version()
    if sqlite_file(settings.database_url) is None or not has_wal_reset_bug(version):
        return
    name = ".".join(map(str, version))
    told = f"note: SQLite {name} has the WAL-reset bug (fixed in 3.51.3, 3.50.7 and 3.44.6)"
    if settings.sqlite_journal == "wal":
        told += (
            "; with sqlite_journal = wal only one process may use the file, or it can be damaged"
        )
    else:
        told += "; the rollback journal is used, which is safe and slower"
    typer.echo(told, err=True)


def _says(settings: Settings, name: str) -> bool:
    """Whether anybody said it, or it is a default."""
    return any(s.name == name and s.source != "default" for s in settings.sources())
