"""The watchdog: turns that nothing was heard of for too long are ended, like any other."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence

from watchkeeper.actions.turns import Turns
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.core.turns import Ending, TurnState
from watchkeeper.ids import new_id
from watchkeeper.store import turns as turn_rows

WATCHDOG = "watchdog"
SLICE = 500
ROUNDS_MAX = 1_000

_log = logging.getLogger("watchkeeper.turns")


def watch_turns(turns: Turns) -> int:
    """End every turn that fell silent; how many this call ended.

    Any number of machines may watch: whether a turn may be ended is judged under its lock.
    """
    count = 0
    for _ in range(ROUNDS_MAX):
        with turns.db.read_system() as tx:
            silent = turn_rows.silent(tx, SLICE)
        by_tenant: dict[TenantId, list[Ending]] = defaultdict(list)
        for tenant_id, turn_id in silent:
            by_tenant[tenant_id].append(_timeout(turn_id))
        won = 0
        for tenant_id, endings in by_tenant.items():
            won += _end(turns, tenant_id, endings)
        count += won
        if len(silent) < SLICE or won == 0:
            break
    return count


def _end(turns: Turns, tenant_id: TenantId, endings: Sequence[Ending]) -> int:
    """How many were ended. One that cannot be ended does not keep the others waiting."""
    try:
        answers = turns.finalize_many(tenant_id, endings)
    except Exception as error:
        if turns.db.is_in_trouble(error):
            raise
        if len(endings) > 1:
            return sum(_end(turns, tenant_id, [one]) for one in endings)
        _log.exception("turn %s of %s could not be ended", endings[0].turn_id, tenant_id)
        return 0
    return sum(1 for answer in answers if answer is not None and answer.won)


def next_timeout(turns: Turns) -> Instant | None:
    """When the next turn may be ended, if nothing is heard of it until then."""
    with turns.db.read_system() as tx:
        at = turn_rows.next_deadline(tx)
    return None if at is None else Instant(at + 1)


def _timeout(turn_id: str) -> Ending:
    return Ending(turn_id, TurnState.FAILED, False, None, WATCHDOG, new_id(), is_timeout=True)
