"""A billing program that is told of usage by webhook, and charges for each turn once.

It has a database of its own, with invoices and an inbox. A delivery is checked, its key is
taken and its charge is added in one transaction; only then is it answered. If the answer
is lost the delivery comes again, finds its key taken, and changes nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from watchkeeper.errors import Conflict, Invalid, Unauthorized
from watchkeeper.inbox import Inbox
from watchkeeper.receiver import verify

BODY_BYTES_MAX = 256 * 1024
REQUEST_SECONDS_MAX = 10
LOCK_SECONDS_MAX = 10

INVOICES = """create table if not exists invoices (
    tenant_id text, month text, turns integer, charged_micro integer,
    primary key (tenant_id, month))"""
CHARGE = """insert into invoices values (:tenant_id, :month, 1, :charged_credits_micro)
    on conflict do update set
        turns = turns + 1, charged_micro = charged_micro + excluded.charged_micro"""
TOTALS = "select tenant_id, sum(turns), sum(charged_micro) from invoices group by 1 order by 1"


class Billing:
    """The invoices, and the one way in which they change."""

    def __init__(self, path: str, secrets: list[str]) -> None:
        self.path = path
        self.secrets = secrets
        self.inbox = Inbox("usage_inbox")
        with self.open() as db, db:
            db.execute(INVOICES)
            self.inbox.create(db)

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=LOCK_SECONDS_MAX)) as db:
            yield db

    def receive(self, headers: Message[str, str], body: bytes) -> int:
        """Take one delivery; the status to answer with.

        Watchkeeper gives up on 422 at once and tries again after all others but 2xx, so
        that whatever may still be put right here loses nothing.
        """
        try:
            received = verify(self.secrets, headers, body)
        except Unauthorized:
            return 401
        except Invalid:
            return 422
        try:
            with self.open() as db, db:  # commits at the end, or rolls back
                self.inbox.apply_once(
                    db,
                    received.key,
                    lambda: self.charge(db, received.data),
                    scope=received.scope,
                    fingerprint=received.fingerprint,
                )
        except Conflict:
            return 409
        return 204

    def charge(self, db: sqlite3.Connection, usage: dict[str, Any]) -> None:
        """Add to an invoice: the kind of change that must not be made twice."""
        db.execute(CHARGE, usage)

    def totals(self) -> dict[str, tuple[int, int]]:
        """By tenant, how many turns were charged, and how much."""
        with self.open() as db:
            return {tenant: (turns, micro) for tenant, turns, micro in db.execute(TOTALS)}


@contextmanager
def serving(billing: Billing) -> Iterator[str]:
    """Answer on a free port of this machine; the address to deliver to."""

    class Door(BaseHTTPRequestHandler):
        timeout = REQUEST_SECONDS_MAX

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length", 0))
            if not 0 < size <= BODY_BYTES_MAX:
                self.send_error(413)
                return
            try:
                status = billing.receive(self.headers, self.rfile.read(size))
            except Exception:  # a fault of ours, which may pass: it is tried again
                status = 500
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/usage"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
