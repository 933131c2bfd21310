"""The demo's settle stage: people chat with the agent, each chat is a turn, billing is told.

One tenant has little room: its premium is soon full, so that its chats fall back to the
standard model, and its busiest user is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from watchkeeper.app import App
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.demo.cast import CAST, Member
from watchkeeper.demo.scene import Scene
from watchkeeper.errors import Conflict, NotFound, QuotaExceeded

SMALLEST_PACE = 0.1
"""Chats calm down as everything does, but to a tenth at most."""

OPEN_MAX = 40
INPUT_TOKENS = (200, 1_200)
OUTPUT_TOKENS_MAX = 500
SECONDS = (1.5, 7.0)
HOW = ("completed",) * 17 + ("overshot", "failed", "cancelled", "forgotten")
"""How chats end. One that is forgotten is ended by the watchdog, a minute later."""


@dataclass(frozen=True, slots=True)
class Chat:
    """One turn under way, and how it is going to end."""

    member: Member
    turn_id: str
    usage: dict[str, int]
    ends: float
    how: str


class Chats:
    """Reserves turns, and finalizes those whose time has come."""

    def __init__(self, app: App, scene: Scene, seed: int) -> None:
        self._app = app
        self._scene = scene
        self._random = Random(f"{seed} chats")
        self._open: list[Chat] = []

    def tick(self, seconds: float) -> None:
        at = self._scene.at
        ending = [chat for chat in self._open if chat.ends <= at]
        self._open = [chat for chat in self._open if chat.ends > at]
        for chat in ending:
            self._end(chat)
        pace = max(self._scene.pace, SMALLEST_PACE)
        for member in CAST:
            chance = member.chats_per_second * pace * seconds
            if self._random.random() < chance and len(self._open) < OPEN_MAX:
                self._begin(member)

    def _begin(self, member: Member) -> None:
        tokens = self._random.randint(*INPUT_TOKENS)
        first = self._random.random() < 0.5  # each tenant has one user who asks the most
        user = member.users[0] if first else self._random.choice(member.users)
        model = "premium" if self._random.random() < 0.6 else "standard"
        request = f"chat-{self._random.getrandbits(64):016x}"
        ends = self._scene.at + self._random.uniform(*SECONDS)
        how = self._random.choice(HOW)
        usage = {"input_tokens": tokens, "output_tokens": self._output(how)}
        try:
            turn = self._app.reserve_turn(
                member.tenant_id,
                request_id=request,
                user_id=user,
                model=model,
                estimated_input_tokens=tokens,
                max_output_tokens=OUTPUT_TOKENS_MAX,
            )
        except QuotaExceeded:
            return  # it is in the ledger, with what each model was refused by
        if how != "cancelled":
            self._app.progress_turn(member.tenant_id, turn.turn_id)
        self._open.append(Chat(member, turn.turn_id, usage, ends, how))

    def _end(self, chat: Chat) -> None:
        if chat.how == "forgotten":
            return
        told: dict[str, Any] = {"outcome": chat.how}
        if chat.how == "cancelled":
            told["started"] = False
        elif chat.how != "failed":
            told = {"outcome": "completed", "usage": chat.usage}
        try:
            self._app.finalize_turn(chat.member.tenant_id, chat.turn_id, **told)
        except (Conflict, NotFound):
            return  # somebody else has ended it, or taken it away

    def _output(self, how: str) -> int:
        used = self._random.randint(30, OUTPUT_TOKENS_MAX)
        return 3 * OUTPUT_TOKENS_MAX if how == "overshot" else used


class Billing:
    """The built-in receiver of usage events: it only counts."""

    def __init__(self) -> None:
        self.credits_micro = 0

    def __call__(self, event: dict[str, Any]) -> None:
        self.credits_micro += int(event["charged_credits_micro"])


def register_billing(app: App, billing: Billing) -> None:
    if (app.usage_namespace, USAGE_SNAPSHOT) not in app.registry:
        app.usage_sink(billing)
