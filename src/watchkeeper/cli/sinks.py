"""`sinks`: topics that are delivered outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db, Limit
from watchkeeper.cli.output import say, say_facts, say_json, say_table, say_warnings
from watchkeeper.cli.place import AUTHOR, opened_by, settings_of

if TYPE_CHECKING:
    from watchkeeper.actions.set_sink import Terms
    from watchkeeper.core.ids import TenantId
    from watchkeeper.settings import Settings
    from watchkeeper.store.sinks import Sink

app = typer.Typer(help="Set, list, show and remove sinks.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="SINK", help="Your name for the sink.")]


@app.command("set")
def set_one(
    name: Name,
    topic: Annotated[str, typer.Option("--topic", help="Topic to deliver.")],
    url: Annotated[
        str, typer.Option("--url", help="URL to deliver to: https://… or, for NATS, tls://…")
    ],
    kind: Annotated[str, typer.Option("--kind", help="Kind of sink: webhook or nats.")] = "webhook",
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", help="Namespace of the topic. Default: its usual one."),
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            "--secret",
            envvar="WATCHKEEPER_SINK_SECRET",
            help="Secret for signatures. Default: generated and shown once.",
            show_envvar=True,
            show_default=False,
        ),
    ] = None,
    tenant: AnyTenant = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Deliver a topic to a URL. A sink of the same name is replaced and keeps its secret."""
    from watchkeeper import inputs
    from watchkeeper.actions.set_sink import NewSink, set_sink
    from watchkeeper.core.sinks import SinkKind

    given = {"topic": topic, "url": url, "kind": kind, "namespace": namespace, "secret": secret}
    new = inputs.parse(inputs.SinkIn, given)
    asked = NewSink(new.topic, new.url, SinkKind(new.kind), new.namespace, new.secret)
    settings = settings_of(db)
    with opened_by(settings) as database:
        called = inputs.parse_sink_name(name)
        done = set_sink(database, _owner(tenant), called, asked, _terms(settings))
    found = {**as_data(done.sink), "secret": done.secret, "warning": done.warning}
    if as_json:
        say_json(found)
        return
    say_warnings([done.warning] if done.warning else [])
    say(f"Sink {name} takes {topic} to {found['url']}.")
    if done.secret is not None:
        say(f"Its secret, shown only now: {done.secret}")


@app.command("list")
def list_all(
    tenant: AnyTenant = None, limit: Limit = 100, db: Db = None, as_json: AsJson = False
) -> None:
    """List the sinks of one tenant or of all."""
    from watchkeeper.actions.set_sink import list_sinks

    settings = settings_of(db)
    with opened_by(settings) as database:
        whose = None if tenant is None else _owner(tenant)
        rows = [as_data(sink) for sink in list_sinks(database, whose, ("", ""), limit)]
    if as_json:
        say_json({"items": rows})
        return
    columns = ("name", "tenant_id", "topic", "kind", "url")
    say_table(columns, [[row[c] for c in columns] for row in rows], empty="There are no sinks.")


@app.command()
def show(name: Name, tenant: AnyTenant = None, db: Db = None, as_json: AsJson = False) -> None:
    """Show a sink of a tenant, or the one for all tenants. Its secret is never shown."""
    from watchkeeper.actions.set_sink import show_sink

    with opened_by(settings_of(db)) as database:
        found = as_data(show_sink(database, _owner(tenant), name))
    if as_json:
        say_json(found)
    else:
        say_facts(found)


@app.command()
def remove(name: Name, tenant: AnyTenant = None, db: Db = None, as_json: AsJson = False) -> None:
    """Remove a sink. Its messages go to a handler of their topic, or wait."""
    from watchkeeper.actions.set_sink import remove_sink

    settings = settings_of(db)
    with opened_by(settings) as database:
        remove_sink(database, _owner(tenant), name, _terms(settings))
    if as_json:
        say_json({"name": name, "removed": True})
    else:
        say(f"Sink {name} is removed.")


def as_data(sink: Sink) -> dict[str, Any]:
    from watchkeeper.core.ids import SYSTEM
    from watchkeeper.core.sinks import shown_url
    from watchkeeper.core.time import to_iso

    until = sink.old_secret_until_at
    return {
        "name": sink.name,
        "tenant_id": None if sink.tenant_id == SYSTEM else sink.tenant_id,
        "namespace": sink.namespace,
        "topic": sink.topic,
        "kind": str(sink.kind),
        "url": shown_url(sink.url),
        "old_secret_until": None if until is None else to_iso(until),
        "set_by": sink.set_by,
        "updated_at": to_iso(sink.updated_at),
    }


def _owner(tenant: str | None) -> TenantId:
    from watchkeeper import inputs
    from watchkeeper.core.ids import SYSTEM, TenantId

    return SYSTEM if tenant is None else TenantId(inputs.parse_tenant_id(tenant))


def _terms(settings: Settings) -> Terms:
    from watchkeeper.actions.set_sink import Terms
    from watchkeeper.core.sinks import Reach

    reach = Reach.PUBLIC.widened(private=settings.webhooks_private, dev=False)
    return Terms(AUTHOR, reach, settings.usage_namespace)
