"""`outbox`: the desk where messages are looked at, sent again, or given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db, OwnerTenant
from watchkeeper.cli.output import progress, say, say_facts, say_json, say_table
from watchkeeper.cli.place import AUTHOR, as_id, opened, settings_of

if TYPE_CHECKING:
    from watchkeeper.core.ids import MessageId, TenantId
    from watchkeeper.store.database import Database
    from watchkeeper.store.outbox_desk import Filter, StoredMessage

TENANTS_MAX = 1000

app = typer.Typer(help="List, show, redrive and discard messages.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a message.")]
Topic = Annotated[str | None, typer.Option("--topic", help="Only messages of this topic.")]


@app.command("list")
def list_messages(
    tenant: AnyTenant = None,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Only this status: pending, processing, delivered or dead."),
    ] = None,
    topic: Topic = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=200, help="Maximum number of rows.")
    ] = 50,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List messages, newest first."""
    from watchkeeper.actions import views
    from watchkeeper.core.ids import TenantId

    wanted = _filter(status, topic)
    with opened(db) as database:
        known = views.list_tenants(database, "", TENANTS_MAX)
        names = [TenantId(tenant)] if tenant else [facts.tenant_id for facts in known]
        found = [m for name in names for m in _page(database, name, wanted, limit)]
    found.sort(key=lambda message: (message.created_at, message.id), reverse=True)
    rows = [as_data(message) for message in found[:limit]]
    if as_json:
        say_json({"items": rows})
        return
    columns = ("id", "tenant_id", "topic", "status", "attempts", "next_attempt_at", "last_error")
    say_table(columns, [[row[c] for c in columns] for row in rows], empty="There are no messages.")


@app.command()
def show(
    message_id: Id, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Print one message, its payload included."""
    from watchkeeper.actions.keep_desk import show_message

    with opened(db) as database:
        found = show_message(database, *_named(database, message_id, tenant))
    data = as_data(found)
    if as_json:
        say_json(data)
    else:
        say_facts({**data, "payload": found.payload})


@app.command()
def redrive(
    message_id: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="A message. Default: all dead ones that match."),
    ] = None,
    tenant: OwnerTenant = None,
    topic: Topic = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also a delivered message: its effect happens twice.")
    ] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Redrive a dead message with all its attempts, or all dead messages of a tenant."""
    from watchkeeper.actions.keep_desk import redrive_message, redrive_messages
    from watchkeeper.cli.starting import app_for
    from watchkeeper.core.ids import TenantId
    from watchkeeper.errors import Invalid

    if message_id is None and tenant is None:
        raise Invalid.at("ID", "is required, or --tenant for all dead messages that match")
    working = app_for(settings_of(db), None, migrate=False)
    try:
        desk = (working.db, working.registry)
        if message_id is not None:
            owner, known = _named(working.db, message_id, tenant)
            redrive_message(*desk, owner, known, force=force, by=AUTHOR)
            count = 1
        else:
            with progress("redriving"):
                wanted = _filter("dead", topic)
                count = redrive_messages(*desk, TenantId(tenant or ""), wanted, by=AUTHOR)
    finally:
        working.close()
    if as_json:
        say_json({"redriven": count})
    else:
        say(f"{count} {'message is' if count == 1 else 'messages are'} on the way again.")


@app.command()
def discard(
    message_id: Id, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False
) -> None:
    """Discard a dead or pending message for good. Its run, pull or intent ends."""
    from watchkeeper.actions.keep_desk import discard_message
    from watchkeeper.cli.starting import app_for

    working = app_for(settings_of(db), None, migrate=False)
    try:
        owner, known = _named(working.db, message_id, tenant)
        discard_message(working.db, working.registry, owner, known, by=AUTHOR)
    finally:
        working.close()
    if as_json:
        say_json({"id": message_id, "discarded": True})
    else:
        say(f"Message {message_id} is discarded.")


def as_data(message: StoredMessage) -> dict[str, Any]:
    import orjson

    from watchkeeper.core.time import Instant, to_iso

    def iso(at: Instant | None) -> str | None:
        return None if at is None else to_iso(at)

    return {
        "id": message.id,
        "tenant_id": message.tenant_id,
        "namespace": message.namespace,
        "topic": message.topic,
        "status": str(message.status),
        "attempts": message.attempts,
        "generation": message.generation,
        "next_attempt_at": iso(message.next_attempt_at),
        "created_at": iso(message.created_at),
        "dedupe_key": message.dedupe_key,
        "ordering_key": message.ordering_key,
        "last_error": message.last_error,
        "dead_reason": message.dead_reason,
        "payload": orjson.loads(message.payload),
    }


def _page(
    database: Database, tenant_id: TenantId, wanted: Filter, limit: int
) -> list[StoredMessage]:
    from watchkeeper.store import outbox_desk

    with database.read(tenant_id) as tx:
        return outbox_desk.page(tx, wanted, limit=limit)


def _filter(status: str | None, topic: str | None) -> Filter:
    from watchkeeper.errors import Invalid
    from watchkeeper.store.outbox_desk import Filter, Status

    try:
        return Filter(status=None if status is None else Status(status), topic=topic)
    except ValueError:
        raise Invalid.at("--status", f"must be one of {', '.join(Status)}") from None


def _named(database: Database, message_id: str, tenant: str | None) -> tuple[TenantId, MessageId]:
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant
    from watchkeeper.core.ids import MessageId

    known = as_id(message_id, "message")
    owner = locate_tenant(database, Thing.MESSAGE, known, tenant)
    return owner, MessageId(known)
