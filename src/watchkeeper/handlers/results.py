"""What a handler may raise to say how its attempt ended. Returning means delivered."""

from __future__ import annotations


class Retry(Exception):
    """Not this time. `after` is the shortest wait in seconds, if the receiver named one."""

    def __init__(self, reason: str = "", *, after: float | None = None) -> None:
        super().__init__(reason or "the handler asked for another attempt")
        self.after = after


class Reject(Exception):
    """Never: trying again cannot help. The message is dead at once."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "the handler rejected the message")
