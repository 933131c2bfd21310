"""What a connector brings, read as signals: through the same door as those from outside."""

from __future__ import annotations

from collections.abc import Iterable

from watchkeeper import inputs
from watchkeeper.actions.ingest_signals import NewSignal
from watchkeeper.core.canonical import sha256_hex
from watchkeeper.errors import Invalid
from watchkeeper.results import Pull, PullResult


def signals_of(pull: Pull, found: object) -> list[NewSignal]:
    """Signals ready to be taken in, or Invalid that names what is wrong with which of them."""
    raw = found.signals if isinstance(found, PullResult) else found
    if raw is None:
        return []
    if not isinstance(raw, Iterable) or isinstance(raw, str | bytes):
        raise Invalid.at("signals", "a connector returns a PullResult, a list of signals or None")
    told = [_told(pull, n, one) for n, one in enumerate(raw)]
    size = inputs.EVENTS_PER_CALL_MAX
    signals: list[NewSignal] = []
    for start in range(0, len(told), size):
        signals += inputs.parse_signals(told[start : start + size])
    return signals


def _name(pull: Pull) -> str:
    """The same for a repeat of the pull, and for no other; a caller may use an id again."""
    return sha256_hex([pull.pull_job_id, pull.scheduled_at])


def _told(pull: Pull, n: int, one: object) -> dict[str, object]:
    if not isinstance(one, dict):
        raise Invalid.at(f"signals[{n}]", "must be an object")
    own = {"account_id": pull.account_id, "signal_id": f"{_name(pull)}:{n}"}
    if pull.correlation_id is not None:
        own["correlation_id"] = pull.correlation_id
    return {**own, **one}
