"""Turns are metered here, billed there, and the two sums agree: `python examples/billing/run.py`.

Everything runs in this process and on this machine. The consumer is made to stumble: some
deliveries it answers with an error after it has committed, some it fails to commit.
"""

from __future__ import annotations

import sqlite3
import sys
from email.message import Message
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from consumer import Billing, serving

from watchkeeper import App
from watchkeeper.errors import QuotaExceeded

TURNS = 12
ROUNDS_MAX = 10
ROUND_HOURS = 2  # longer than any pause between two attempts

Charged = dict[str, tuple[int, int]]


class Stumbling(Billing):
    """The same consumer on a bad day.

    It goes down once in the middle of every third event, and the first answer to each event
    is lost after the commit. So Watchkeeper delivers each of them again.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, secrets=[])
        self.taken: list[str] = []  # the key of each delivery that was taken, in order
        self.broken: set[str] = set()

    def receive(self, headers: Message[str, str], body: bytes) -> int:
        status = super().receive(headers, body)
        if status == 204:
            self.taken.append(headers["webhook-id"])
            if self.taken.count(headers["webhook-id"]) == 1:
                return 500
        return status

    def charge(self, db: sqlite3.Connection, usage: dict[str, Any]) -> None:
        super().charge(db, usage)
        request = usage["request_id"]
        if int(request.removeprefix("request-")) % 3 == 0 and request not in self.broken:
            self.broken.add(request)
            raise RuntimeError("it went down halfway through")


def meter(app: App) -> tuple[Charged, list[tuple[str, str]]]:
    """A day's work: what each tenant was charged for it, and the turns."""
    charged: Charged = {}
    turns = []
    for number in range(TURNS):
        tenant = ("acme", "globex")[number % 2]
        try:
            turn = app.reserve_turn(
                tenant,
                request_id=f"request-{number}",
                model="premium",
                estimated_input_tokens=1000,
                max_output_tokens=500,
            )
        except QuotaExceeded:
            continue
        ended = _finalize(app, tenant, turn.turn_id, number)
        count, micro = charged.get(tenant, (0, 0))
        charged[tenant] = (count + 1, micro + (ended.charged_credits_micro or 0))
        turns.append((tenant, turn.turn_id))
    return charged, turns


def _finalize(app: App, tenant: str, turn_id: str, number: int) -> Any:
    """The ways in which a turn ends. Who ends it a second time changes nothing."""
    match number % 4:
        case 0 | 1:
            used = {"input_tokens": 900 + number, "output_tokens": 120 + 7 * number}
            ended = app.finalize_turn(tenant, turn_id, outcome="completed", usage=used)
        case 2:  # it broke off, and nobody knows what it used: an estimate is charged
            app.progress_turn(tenant, turn_id)
            ended = app.finalize_turn(tenant, turn_id, outcome="failed")
        case _:  # it never began: nothing is charged, and billing is told of that too
            ended = app.finalize_turn(tenant, turn_id, outcome="cancelled", started=False)
    again = app.finalize_turn(tenant, turn_id, outcome="cancelled")
    assert ended.won
    assert not again.won
    return ended


def deliver(app: App, turns: list[tuple[str, str]]) -> None:
    """Deliver until billing has acknowledged the event of every turn."""
    app.drain()
    for _ in range(ROUNDS_MAX):
        if all(app.turn(*turn).event_status == "delivered" for turn in turns):
            return
        app.clock.advance(hours=ROUND_HOURS)
    raise SystemExit("billing has not acknowledged every event")


def forge(url: str) -> int:
    """What becomes of a delivery that somebody else makes up."""
    parts = urlsplit(url)
    made_up = {"webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
    client = HTTPConnection(parts.netloc, timeout=10)
    client.request("POST", parts.path, body=b'{"charged_credits_micro": -1}', headers=made_up)
    status = client.getresponse().status
    client.close()
    return status


def main(folder: Path) -> int:
    billing = Stumbling(str(folder / "billing.db"))
    app = App(
        f"sqlite:///{folder / 'watchkeeper.db'}",
        virtual_clock=True,  # the pauses between attempts cost no time
        webhooks_private=True,  # the receiver is on this machine
    )
    with serving(billing) as url:
        made = app.sink("billing", topic="usage_snapshot", url=url)
        assert made.secret is not None  # it was made just now, and is told this once
        billing.secrets.append(made.secret)
        charged, turns = meter(app)
        deliver(app, turns)
        forged = forge(url)
    app.close()

    deliveries = len(billing.taken) + len(billing.broken)
    print(f"{len(turns)} usage events took {deliveries} deliveries")
    print(f"{len(billing.broken)} commits and {len(set(billing.taken))} answers were lost")
    print(f"a forged delivery was answered with {forged}")
    print(f"{'tenant':<10}{'turns':>6}{'charged':>12}{'invoiced':>12}")
    invoiced = billing.totals()
    for tenant, (count, micro) in sorted(charged.items()):
        print(f"{tenant:<10}{count:>6}{micro:>12}{invoiced.get(tenant, (0, 0))[1]:>12}")
    print("the invoices agree" if invoiced == charged else "THE INVOICES DO NOT AGREE")
    return 0 if invoiced == charged and forged == 401 else 1


if __name__ == "__main__":
    with TemporaryDirectory(prefix="billing-") as folder:
        sys.exit(main(Path(folder)))
