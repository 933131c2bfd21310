"""Messages of the demo's own: notes for the CRM, some of which it will never take.

What it refuses is decided by the note itself, so that a note that is sent again is refused again.
"""

from __future__ import annotations

from random import Random
from typing import Any

from watchkeeper.app import App
from watchkeeper.demo.cast import CAST, Member, account_name
from watchkeeper.demo.rules import NOTES
from watchkeeper.demo.scene import Scene
from watchkeeper.handlers.results import Reject
from watchkeeper.store import outbox
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.leases import Message
from watchkeeper.store.outbox import NewMessage

NOTES_PER_SECOND = 0.15
TROUBLED = 0.07
TROUBLES = ("owner", "length", "silence")
SECONDS = (0.02, 0.2)


class Crm:
    """Takes notes, or says why it does not."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self._scene = scene
        self._random = Random(f"{seed} crm")

    def __call__(self, message: Message) -> None:
        self._scene.pause(self._random.uniform(*SECONDS))
        note: dict[str, Any] = loads(message.payload)
        match note.get("trouble"):
            case "owner":
                raise Reject(f"crm.example answered 422: {note['owner']} has left the company")
            case "length":
                raise Reject("crm.example answered 413: a note may have 32,000 characters")
            case "silence":
                raise TimeoutError("crm.example did not answer within 10 s")
            case _:
                return


class Notes:
    """Writes a note about some account now and then, each in a transaction of its own."""

    def __init__(self, app: App, scene: Scene, seed: int) -> None:
        self._app = app
        self._scene = scene
        self._random = Random(f"{seed} notes")

    def tick(self, seconds: float) -> None:
        for member in CAST:
            if self._random.random() < NOTES_PER_SECOND * self._scene.pace * seconds:
                self._write(member)

    def _write(self, member: Member) -> None:
        is_troubled = self._random.random() < TROUBLED
        note = {
            "account_id": account_name(self._random.randrange(member.accounts)),
            "owner": self._random.choice(member.users),
            "text": "the agent looked at this account",
            "trouble": self._random.choice(TROUBLES) if is_troubled else None,
        }
        with self._app.db.begin(member.tenant_id) as tx:
            outbox.enqueue(tx, [NewMessage(NOTES, dumps(note))])
        self._app.db.tell()
