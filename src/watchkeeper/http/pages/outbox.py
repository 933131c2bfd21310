"""The outbox: what is on its way, what has died, and what an operator may do about it."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions import show_outbox
from watchkeeper.actions.keep_desk import (
    discard_message,
    redrive_message,
    redrive_messages,
    show_message,
)
from watchkeeper.actions.show_outbox import COUNTED_MAX, SCANNED_MAX, Place, Wanted
from watchkeeper.actions.unhandled import is_unhandled
from watchkeeper.core.ids import MessageId
from watchkeeper.core.time import Instant
from watchkeeper.errors import Invalid
from watchkeeper.handlers.registry import Registry
from watchkeeper.http import asked, views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import cursor_of, position
from watchkeeper.http.context import identifier, is_identifier
from watchkeeper.http.page import Page, Shown, pages
from watchkeeper.inputs import RedriveManyIn, parse
from watchkeeper.store.outbox_desk import Filter, Status

LISTED_MAX = 50
STATES = ("due", "later", "processing", "unhandled", "dead", "delivered")

routes = pages()


@routes.get("/outbox")
@needs(Access.READ)
def get_outbox(page: Shown) -> Response:
    """Counts by topic, and the messages that are asked for; an id leads to its message."""
    status = asked.one_of(page, "status", Status)
    topic, key = asked.text(page, "topic"), asked.text(page, "key")
    if key is not None and is_identifier(key.lower()):
        return page.back(f"/outbox/{key.lower()}")
    db, wanted = page.server.db, Wanted(status, topic, key)
    found = show_outbox.look_through(
        db, page.tenant, wanted, behind=_behind(page), limit=LISTED_MAX
    )
    topics, counts = show_outbox.count_outbox(db, _handlers(page), page.tenant)
    given = {"status": status, "topic": topic, "key": key}
    return page.show(
        "outbox.html",
        messages=[(one, is_unhandled(db, _handlers(page), one)) for one in found.messages],
        more=None if found.next is None else cursor_of("outbox_page", _place(found.next)),
        is_cut=found.is_cut,
        is_first="cursor" not in page.request.query_params,
        topics=topics,
        counts=counts,
        states=STATES,
        wanted=wanted,
        statuses=[one.value for one in Status],
        here=asked.address("/outbox", **given),
        counted_max=COUNTED_MAX,
        scanned_max=SCANNED_MAX,
    )


@routes.get("/outbox/{message_id}")
@needs(Access.READ)
def get_message(message_id: str, page: Shown) -> Response:
    """One message: what it carries, how it went, what came of it."""
    db, known = page.server.db, MessageId(identifier(message_id, "message"))
    found = show_message(db, page.tenant, known)
    entries = show_outbox.message_history(db, page.tenant, known)
    rule = page.server.registry.rule_for(found.topic)
    return page.show(
        "message.html",
        message=found,
        is_unhandled=is_unhandled(db, _handlers(page), found),
        attempts_max=rule.max_attempts,
        entries=[views.entry(one) for one in entries],
    )


@routes.post("/outbox/redrive")
@needs(Access.OPERATE)
def post_redrive_all(page: Shown) -> Response:
    """Give all the dead of a topic their attempts again, a few each second."""
    names = ("namespace", "topic")
    asked_for = parse(RedriveManyIn, {name: page.form.get(name) for name in names})
    if asked_for.topic is None:
        raise Invalid.at("topic", "is required")
    wanted = Filter(namespace=asked_for.namespace, topic=asked_for.topic)
    server = page.server
    redrive_messages(server.db, server.registry, page.tenant, wanted, by=page.caller.name)
    return page.back("/outbox", "all_redriven", topic=asked_for.topic)


@routes.post("/outbox/{message_id}/redrive")
@needs(Access.OPERATE)
def post_redrive(message_id: str, page: Shown) -> Response:
    """A dead message is tried again; one that was delivered only where the form says so."""
    known, server = MessageId(identifier(message_id, "message")), page.server
    force = page.form.get("force") == "yes"
    redrive_message(
        server.db, server.registry, page.tenant, known, force=force, by=page.caller.name
    )
    return page.back(f"/outbox/{known}", "redriven")


@routes.post("/outbox/{message_id}/discard")
@needs(Access.OPERATE)
def post_discard(message_id: str, page: Shown) -> Response:
    """Let a dead or pending message go for good."""
    known, server = MessageId(identifier(message_id, "message")), page.server
    discard_message(server.db, server.registry, page.tenant, known, by=page.caller.name)
    return page.back("/outbox", "discarded")


def _handlers(page: Page) -> Registry | None:
    return None if page.server.workers is None else page.server.registry


def _place(place: Place) -> str:
    return f"{place.done_at}/{place.id}"


def _behind(page: Page) -> Place | None:
    found = position(page.request.query_params.get("cursor") or None, "outbox_page", "")
    if not found:
        return None
    done_at, _, message_id = found.partition("/")
    if not (done_at.isdecimal() and len(done_at) < 19 and is_identifier(message_id)):
        raise Invalid.at("cursor", "is not a cursor of this list")
    return Place(MessageId(message_id), Instant(int(done_at)))
