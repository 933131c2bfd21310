"""Decision runs as turns: reserved before the handler is called, settled with what it reports.

A run that nobody said would cost anything may report usage all the same: it is then
reserved and settled at once, whatever the limits say, because the work is done.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from watchkeeper.actions.count_turns import TurnAnswer, count_turns
from watchkeeper.actions.turns import exceeded
from watchkeeper.core.ids import MessageId
from watchkeeper.core.quota import TOKENS_MAX, Asked
from watchkeeper.core.turns import NAMESPACE, Ending, Turn, TurnState, Usage
from watchkeeper.ids import new_id
from watchkeeper.moves import settlement
from watchkeeper.moves.settlement import NotReserved, ReserveAnswer, Reserved
from watchkeeper.store import turns as turn_rows
from watchkeeper.store.leases import Message
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

RUN = "run"

_log = logging.getLogger("watchkeeper.turns")


@dataclass(frozen=True, slots=True)
class Metering:
    """What a run reserves. Without a model nothing is reserved; usage is settled if reported."""

    model: str | None = None
    estimated_input_tokens: int = 0
    max_output_tokens: int = 0
    namespace: str = NAMESPACE


class RunMessage(Protocol):
    """The message of a run, under a lease or not."""

    @property
    def id(self) -> MessageId: ...

    @property
    def generation(self) -> int: ...


@dataclass(frozen=True, slots=True)
class OverQuota:
    """No model had room: the handler is not called."""

    error: str


def reserve_runs(
    tx: Tx,
    tenant: LockedTenant,
    book: PolicyBook,
    metering: Metering,
    messages: Sequence[Message],
) -> dict[MessageId, Turn | OverQuota]:
    """Reserve a turn for each run. One that was reserved before its worker stopped is taken up."""
    asked = [_asked(metering, m, turn_id_of(m)) for m in messages]
    answers = settlement.reserve(tx, tenant, book, asked)
    for n, answer in enumerate(answers):
        if isinstance(answer, Reserved) and not answer.turn.is_running:
            answers[n] = _once_more(tx, tenant, book, metering, messages[n])
    _count(tx, answers)
    found: dict[MessageId, Turn | OverQuota] = {}
    for message, answer in zip(messages, answers, strict=True):
        match answer:
            case Reserved(turn=turn):
                found[message.id] = turn
            case NotReserved():
                found[message.id] = OverQuota(f"quota_exceeded: {exceeded(answer)}")
            case error:
                found[message.id] = OverQuota(str(error))
    return found


def _once_more(
    tx: Tx, tenant: LockedTenant, book: PolicyBook, metering: Metering, message: Message
) -> ReserveAnswer:
    """Another turn for a run whose first has ended; the one that runs already, if there is one.

    A run has one turn at a time: what it used would be charged to each of them.
    """
    for turn in turn_rows.of_decision(tx, message.id):
        if turn.is_running:
            return Reserved(turn, is_new=False)
    [answer] = settlement.reserve(tx, tenant, book, [_asked(metering, message, new_id())])
    return answer


def turn_id_of(message: RunMessage) -> str:
    """A run that is redriven is another piece of work."""
    return message.id if message.generation == 0 else f"{message.id}:{message.generation}"


def settle_runs(
    tx: Tx,
    tenant: LockedTenant,
    book: PolicyBook,
    namespace: str,
    reported: Sequence[tuple[RunMessage, Mapping[str, object] | None]],
    outcome: TurnState = TurnState.COMPLETED,
) -> None:
    """Settle the turns of runs that ended in this way, by what their handlers reported."""
    endings: list[Ending] = []
    done: list[Asked] = []
    for message, told in reported:
        usage = read_usage(told)
        running = [turn for turn in turn_rows.of_decision(tx, message.id) if turn.is_running]
        if not running and usage is not None:
            done.append(_done(tx, tenant, book, message, read_model(told), usage))
            running_ids = [done[-1].turn_id]
        else:
            running_ids = [turn.turn_id for turn in running]
        endings += [Ending(turn_id, outcome, True, usage, RUN, new_id()) for turn_id in running_ids]
    if done:
        _count(tx, settlement.reserve(tx, tenant, book, done))
    if endings:
        _count(tx, settlement.finalize(tx, tenant, endings, namespace))


def fail_runs(tx: Tx, tenant: LockedTenant, namespace: str, decision_ids: Iterable[str]) -> None:
    """End the turns of runs that failed or were lost: what they used is not known."""
    endings = [
        Ending(turn.turn_id, TurnState.FAILED, False, None, RUN, new_id())
        for decision_id in decision_ids
        for turn in turn_rows.of_decision(tx, decision_id)
        if turn.is_running
    ]
    if endings:
        _count(tx, settlement.finalize(tx, tenant, endings, namespace))


def _count(tx: Tx, answers: Sequence[TurnAnswer]) -> None:
    tx.after_commit.append(partial(count_turns, answers))


def read_usage(told: Mapping[str, object] | None) -> Usage | None:
    """The two counters, if they are there and make sense. Nothing else is looked at."""
    if told is None:
        return None
    try:
        counted = [told.get(name) for name in Usage._fields]
    except Exception:
        counted = []
    whole = [n for n in counted if type(n) is int and 0 <= n <= TOKENS_MAX]
    if len(whole) != len(Usage._fields):
        _log.warning("a handler reported usage that cannot be read; it is charged by estimate")
        return None
    return Usage(*whole)


def read_model(told: Mapping[str, object] | None) -> str:
    """The model that a handler names, or nothing. What stands there cannot fail its run."""
    try:
        model = None if told is None else told.get("model")
    except Exception:
        return ""
    return model if type(model) is str else ""


def _asked(metering: Metering, message: Message, turn_id: str) -> Asked:
    assert metering.model is not None
    return Asked(
        turn_id=turn_id,
        request_id=turn_id,
        model=metering.model,
        estimated_input_tokens=metering.estimated_input_tokens,
        max_output_tokens=metering.max_output_tokens,
        decision_id=message.id,
        is_started=True,
    )


def _done(
    tx: Tx, tenant: LockedTenant, book: PolicyBook, message: RunMessage, model: str, usage: Usage
) -> Asked:
    rules = book.under(tx, book.current(tx).version, tenant.tier).rules.quota
    return Asked(
        turn_id=turn_id_of(message),
        request_id=turn_id_of(message),
        model=model if model in rules.models else rules.default_model,
        estimated_input_tokens=usage.input_tokens,
        max_output_tokens=usage.output_tokens,
        decision_id=message.id,
        is_started=True,
        is_done=True,
    )
