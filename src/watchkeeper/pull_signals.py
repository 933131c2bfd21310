"""What a connector brings, read as signals: through the same door as those from outside."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from watchkeeper import inputs
from watchkeeper.actions.ingest_signals import NewSignal
from watchkeeper.core.canonical import sha256_hex
from watchkeeper.errors import Invalid
from watchkeeper.handlers.plain import plain_json, refuse_coroutine
from watchkeeper.results import Pull, PullResult

SIGNALS_PER_PULL_MAX = 100_000


def signals_of(pull: Pull, found: Any) -> list[NewSignal]:
    """Signals ready to be taken in, or Invalid that names what is wrong with which of them."""
    refuse_coroutine(found)
    raw = found.signals if issubclass(type(found), PullResult) else found
    if raw is None:
        return []
    if not issubclass(type(raw), Iterable) or issubclass(type(raw), str | bytes):
        raise Invalid.at("signals", "a connector returns a PullResult, a list of signals or None")
    given = list(islice(iter(raw), SIGNALS_PER_PULL_MAX + 1))
    if len(given) > SIGNALS_PER_PULL_MAX:
        raise Invalid.at("signals", f"must be at most {SIGNALS_PER_PULL_MAX} signals")
    told = [_told(pull, n, one) for n, one in enumerate(given)]
    size = inputs.EVENTS_PER_CALL_MAX
    signals: list[NewSignal] = []
    for start in range(0, len(told), size):
        signals += inputs.parse_signals(told[start : start + size])
    return signals


def _name(pull: Pull) -> str:
    """The same for a repeat of the pull, and for no other; a caller may use an id again."""
    return sha256_hex([pull.pull_job_id, pull.scheduled_at])


def _told(pull: Pull, n: int, one: object) -> dict[str, object]:
    one = plain_json(one, f"signals[{n}]")
    if not isinstance(one, dict):
        raise Invalid.at(f"signals[{n}]", "must be an object")
    own = {"account_id": pull.account_id, "signal_id": f"{_name(pull)}:{n}"}
    if pull.correlation_id is not None:
        own["correlation_id"] = pull.correlation_id
    return {**own, **one}
