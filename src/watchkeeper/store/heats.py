"""Heat, the latest of each account: read and written under the tenant's lock, or fenced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from watchkeeper.core.heat import TIERS, HeatState, Score, Tier
from watchkeeper.core.ids import AccountId
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode, loads
from watchkeeper.store.slices import RANGE, Slice
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Tx

_STATE = "posture, recent, tier, entered_at, below_warm_at, below_hot_at, computed_at"
_SCORES = "heat_micro, posture_micro, recency_micro, volume_micro"
_COLUMNS = f"account_id, {_STATE}, changes_at, {_SCORES}, policy_version, version"
_NAMES = _COLUMNS.split(", ")
_TYPES = {"account_id": "text", "posture": "text", "recent": "text", "tier": "int"} | dict.fromkeys(
    [*_SCORES.split(", "), "policy_version", "version"], "int"
)


def _typed(name: str) -> str:
    return _TYPES.get(name, "bigint")


_TYPED = ", ".join(f"{name} {_typed(name)}" for name in _NAMES)
_SET = ", ".join(f"{name} = excluded.{name}" for name in _NAMES[1:])


def _read_of(columns: str) -> Statement:
    return Statement(
        f"""select h.* from jsonb_array_elements_text(%s::jsonb) v (a), lateral (
            select {columns} from heats where tenant_id = %s and account_id = v.a limit 1) h""",
        f"""select {columns} from heats where account_id in (select value from json_each(?))
            and tenant_id = ?""",
    )


_READ = _read_of(_COLUMNS)
_READ_DATED = _read_of(f"{_COLUMNS}, updated_at")
_SAVE = Statement(
    f"""insert into heats (tenant_id, updated_at, {_COLUMNS})
    select %s, %s, v.* from jsonb_to_recordset(%s::jsonb) as v ({_TYPED})
    on conflict (tenant_id, account_id) do update set {_SET}, updated_at = excluded.updated_at""",
    f"""insert into heats (tenant_id, updated_at, {_COLUMNS})
    values (?, ?, {", ".join("?" for _ in _NAMES)})
    on conflict (tenant_id, account_id) do update set {_SET}, updated_at = excluded.updated_at""",
)
_POSTURES = Statement(
    """select account_id, posture from accounts
        where account_id in (select jsonb_array_elements_text(%s::jsonb)) and tenant_id = %s""",
    """select account_id, posture from accounts
        where account_id in (select value from json_each(?)) and tenant_id = ?""",
)
_ADD = Statement(
    f"""insert into heats (tenant_id, updated_at, {_COLUMNS})
    select %s, %s, v.* from jsonb_to_recordset(%s::jsonb) as v ({_TYPED})
    on conflict (tenant_id, account_id) do nothing returning account_id""",
    f"""insert into heats (tenant_id, updated_at, {_COLUMNS})
    values (?, ?, {", ".join("?" for _ in _NAMES)})
    on conflict (tenant_id, account_id) do nothing returning account_id""",
)
_COOLED = "tier, entered_at, below_warm_at, below_hot_at, changes_at, " + _SCORES
"""What can change without news, and differs from account to account."""
_COOLED_NAMES = _COOLED.split(", ")
_SAVE_FENCED = Statement(
    # An array for each column: of what the server can be told a thousand rows by, the cheapest.
    # However the two are joined, no more than the slice is read.
    f"""update heats h set updated_at = %s, computed_at = greatest(h.computed_at, %s),
        policy_version = %s, version = h.version + 1,
        {", ".join(f"{name} = v.{name}" for name in _COOLED_NAMES)}
    from unnest(%s::text[], %s::tid[], %s::int[],
        {", ".join(f"%s::{_typed(name)}[]" for name in _COOLED_NAMES)})
        as v (account_id, place, version, {_COOLED})
    where h.ctid = v.place and h.account_id = v.account_id and h.version = v.version
        and h.tenant_id = %s and h.account_id > %s and h.account_id <= %s
    returning h.account_id""",
    f"""update heats set updated_at = ?, computed_at = max(computed_at, ?), policy_version = ?,
        version = version + 1, {", ".join(f"{name} = ?" for name in _COOLED_NAMES)}
    where account_id = ? and version = ? and tenant_id = ? and account_id > ? and account_id <= ?
    returning account_id""",
)
_STALE_WHERE = f"from heats where {RANGE} and (changes_at <= %s or policy_version <> %s)"
_STALE = Statement(
    f"select {_COLUMNS}, ctid::text {_STALE_WHERE}",
    same(f"select {_COLUMNS}, '' {_STALE_WHERE}").sqlite,
)
_MISSING = same(
    f"select account_id from accounts where {RANGE}"
    f" except select account_id from heats where {RANGE}"
)
# Without news an account only cools down; another policy may move it anywhere.
_IN_TIER = same(
    "select account_id from heats where tenant_id = %s and account_id > %s"
    " and (tier = %s or (tier > %s and changes_at <= %s) or policy_version <> %s)"
    " order by account_id limit %s"
)
_COLDEST = same(  # also those that have no heat yet
    "select a.account_id from accounts a left join heats h"
    " on h.tenant_id = a.tenant_id and h.account_id = a.account_id"
    " where a.tenant_id = %s and a.account_id > %s"
    " and (coalesce(h.tier, 0) = %s or (h.tier > %s and h.changes_at <= %s)"
    " or h.policy_version <> %s) order by a.account_id limit %s"
)


_WARMER = {
    tier: same(
        "select account_id from ("
        + " union all ".join(
            "select * from (select account_id from heats where tenant_id = %s and account_id > %s"
            f" and tier = {int(other)} order by account_id limit %s) t{int(other)}"
            for other in Tier
            if other >= tier
        )
        + ") t order by account_id limit %s"
    )
    for tier in Tier
}


class Heat(NamedTuple):
    """An account's heat: what it follows from, when it may change, and the score of then."""

    account_id: str
    state: HeatState
    changes_at: Instant
    score: Score
    policy_version: int
    version: int
    place: str = ""  # where the row lies, on PostgreSQL; a hint that is checked


def read(tx: Tx, account_ids: Sequence[str]) -> dict[str, Heat]:
    return {heat.account_id: heat for heat in read_sent(send_read(tx, account_ids))}


def read_dated(tx: Tx, account_ids: Sequence[str]) -> dict[str, tuple[Heat, Instant]]:
    """The same, each with when it was written."""
    rows = tx.rows(_READ_DATED, (encode(account_ids), tx.tenant_id))
    return {row[0]: (_heat(row[:-1]), Instant(row[-1])) for row in rows}


def maybe_in_tier(
    tx: Tx, tier: Tier, after: str, limit: int, policy_version: int
) -> list[AccountId]:
    """Accounts that may be in a tier now, by name: all that are, and some that have just left."""
    statement = _COLDEST if tier is Tier.COLD else _IN_TIER
    asked = (tx.tenant_id, after, int(tier), int(tier), tx.now, policy_version, limit)
    return [AccountId(row[0]) for row in tx.rows(statement, asked)]


def written_in_tier(tx: Tx, tier: Tier, after: str, limit: int) -> list[AccountId]:
    """Accounts that were in a tier or a hotter one when last written, by name.

    However few there are, no others are read.
    """
    streams = [(tx.tenant_id, after, limit) for other in Tier if other >= tier]
    asked = [value for stream in streams for value in stream]
    return [AccountId(row[0]) for row in tx.rows(_WARMER[tier], (*asked, limit))]


def send_read(tx: Tx, account_ids: Sequence[str]) -> Any:
    """Ask; in a batch the answer is read later, with `read_sent`."""
    return tx.send(_READ, (encode(account_ids), tx.tenant_id))


def read_sent(cursor: Any) -> list[Heat]:
    return [_heat(row) for row in cursor.fetchall()]


def save(tx: Tx, heats: Sequence[Heat]) -> None:
    """Write them, under the tenant's lock."""
    if not heats:
        return
    if tx.engine == "sqlite":
        tx.run_many(_SAVE, [(tx.tenant_id, tx.now, *_row(heat)) for heat in heats])
        return
    rows = [dict(zip(_NAMES, _row(heat), strict=True)) for heat in heats]
    tx.run(_SAVE, (tx.tenant_id, tx.now, encode(rows)))


def add(tx: Tx, heats: Sequence[Heat]) -> set[str]:
    """Write those of accounts that have none; a signal may have been faster. Whose they were."""
    if not heats:
        return set()
    if tx.engine == "sqlite":
        values = [(tx.tenant_id, tx.now, *_row(heat)) for heat in heats]
        return {row[0] for one in values for row in tx.rows(_ADD, one)}
    rows = [dict(zip(_NAMES, _row(heat), strict=True)) for heat in heats]
    return {row[0] for row in tx.rows(_ADD, (tx.tenant_id, tx.now, encode(rows)))}


def save_fenced(tx: Tx, part: Slice, heats: Sequence[Heat]) -> set[str]:
    """Write those of a slice that nobody has written since they were read; whose they were.

    They are of one policy, and have heard nothing: what a signal or a posture says stays.
    """
    if not heats:
        return set()
    # Of a clock that stepped back some may know a later time: those keep it.
    computed_at = min(heat.state.computed_at for heat in heats)
    common = (tx.now, computed_at, heats[0].policy_version)
    if tx.engine == "sqlite":
        done = set()
        for heat in heats:
            values = (*common, *_cooled(heat), heat.account_id, heat.version - 1, *part.of(tx))
            done |= {row[0] for row in tx.rows(_SAVE_FENCED, values)}
        return done
    columns = zip(*map(_cooled, heats), strict=True)
    asked = (
        *common,
        [heat.account_id for heat in heats],
        _array([heat.place for heat in heats]),
        _array([heat.version - 1 for heat in heats]),
        *map(_array, columns),
        *part.of(tx),
    )
    return {row[0] for row in tx.rows(_SAVE_FENCED, asked)}


def _array(values: Sequence[object]) -> str:
    """PostgreSQL's text of an array, of what needs no other quotes than JSON's."""
    return f"{{{encode(values)[1:-1]}}}"


def stale(tx: Tx, part: Slice, now: Instant, policy_version: int) -> list[Row]:
    """Those that may have changed by themselves, or by another policy; for `of_stale`."""
    return tx.rows(_STALE, (*part.of(tx), now, policy_version))


def of_stale(row: Row) -> Heat:
    return _heat(row[:-1], row[-1])


def missing(tx: Tx, part: Slice) -> dict[str, str | None]:
    """Accounts of a slice that have no heat yet, with their posture."""
    return postures(tx, [row[0] for row in tx.rows(_MISSING, part.of(tx) * 2)])


def postures(tx: Tx, account_ids: Sequence[str]) -> dict[str, str | None]:
    """Of accounts; they may have been told theirs before there was heat."""
    return {row[0]: row[1] for row in tx.rows(_POSTURES, (encode(account_ids), tx.tenant_id))}


def _heat(row: Row, place: str = "") -> Heat:
    account_id, posture, recent, tier, entered, warm, hot, computed, changes, *rest = row
    heat, posture_micro, recency, volume, policy_version, version = rest
    state = HeatState(posture, tuple(loads(recent)), TIERS[tier], entered, warm, hot, computed)
    score = Score(posture_micro, recency, volume, heat)
    return Heat(account_id, state, changes, score, policy_version, version, place)


def _cooled(heat: Heat) -> Row:
    _, _, tier, entered, warm, hot, _ = heat.state
    posture, recency, volume, score = heat.score
    return tier, entered, warm, hot, heat.changes_at, score, posture, recency, volume


def _row(heat: Heat) -> Row:
    posture, recent, tier, entered, warm, hot, computed = heat.state
    score = heat.score
    return (
        heat.account_id,
        posture,
        encode(recent),
        int(tier),
        entered,
        warm,
        hot,
        computed,
        heat.changes_at,
        score.heat,
        score.posture,
        score.recency,
        score.volume,
        heat.policy_version,
        heat.version,
    )
