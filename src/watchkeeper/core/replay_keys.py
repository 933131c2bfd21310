"""Which idempotency keys are taken in a replay, where another policy holds them otherwise."""

from __future__ import annotations

PRUNED_AT = 100_000


class HeldKeys:
    """Keys by the moment until which they are held. Those that are over are forgotten."""

    def __init__(self, since: int) -> None:
        self._since = since
        self._until: dict[str, int] = {}
        self._prune_at = PRUNED_AT

    def repeats(self, key: str, was_repeated: bool, now: int, ttl_us: int) -> bool:
        """Whether the key is taken; if not, it is from now on. Without a time it is left free."""
        until = self._until.get(key)
        if until is not None and now < until:
            return True
        if until is None and was_repeated and now < self._since + ttl_us:
            return True  # by an event before the first that was seen: as it was recorded
        self._until[key] = now + ttl_us
        if len(self._until) > self._prune_at:
            self._until = {key: until for key, until in self._until.items() if until > now}
            self._prune_at = max(PRUNED_AT, 2 * len(self._until))
        return False
