"""The append-only record. Entries are written in the transaction of what they record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from watchkeeper.core.ledger import Entry, Kind, Recorded, Stage
from watchkeeper.core.time import Instant
from watchkeeper.store import tenants
from watchkeeper.store.json import encode
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Row, Session, Tx

CHUNK = 250
"""Rows per statement: larger parameters cost the server more than the saved statements."""

_COLUMNS = (
    "tenant_id, seq, entry_id, at, stage, kind, subject, correlation_id, policy_version,"
    " trigger_type, result, reason, data"
)
_APPEND_SQLITE = """insert into ledger (tenant_id, seq, entry_id, at, stage, kind, subject, data,
        policy_version, correlation_id, trigger_type, result, reason)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_APPEND = Statement(
    # What every row has and shares with the first of its chunk is left out of the parameter, and
    # so is what is null: parsing it was the larger cost.
    """insert into ledger (tenant_id, seq, entry_id, at, stage, kind, subject, data,
        policy_version, correlation_id, trigger_type, result, reason)
    select p.a, v.n, v.i, coalesce(v.t, p.t), coalesce(v.s, p.s), coalesce(v.k, p.k), v.b,
        v.d::json, coalesce(v.p, p.p), v.c, v.g, v.r, v.w
    from (select %s::text, %s::bigint, %s::text, %s::text, %s::int) p (a, t, s, k, p), rows from (
        jsonb_to_recordset(%s::jsonb) as (n bigint, i uuid, t bigint, s text, k text, b text,
            p int, c text, g text, r text, w text),
        string_to_table(%s, E'\\n')
    ) v (n, i, t, s, k, b, p, c, g, r, w, d)""",
    _APPEND_SQLITE,
)
_APPEND_BEHIND = Statement(
    # The same, at places that count from where the ledger ends, by whoever holds the tenant's lock.
    _APPEND.postgresql.replace("select p.a, v.n,", "select p.a, o.ledger_seq + v.n,").replace(
        " p (a, t, s, k, p),", " p (a, t, s, k, p) join tenants o on o.tenant_id = p.a,"
    ),
    "",
)


def append(tx: Tx, tenant: LockedTenant, entries: Sequence[Entry]) -> None:
    """Write entries at the tenant's next places. The caller saves the tenant's row."""
    numbered = [(tenant.next_seq(), entry) for entry in entries]
    append_numbered(tx, numbered, _APPEND if tenant.is_read else _APPEND_BEHIND)


def append_numbered(
    tx: Tx, entries: Sequence[tuple[int, Entry]], statement: Statement = _APPEND
) -> None:
    tenant_id = tx.tenant_id
    if tx.engine == "sqlite":
        tx.run_many(_APPEND, [(tenant_id, seq, *e) for seq, e in entries])
        return
    for chunk in _chunks(entries):
        first = chunk[0][1]
        narrow = encode([_narrow(seq, e, first) for seq, e in chunk])
        bodies = "\n".join([e.data for _, e in chunk])
        common = (first.at, first.stage, first.kind, first.policy_version)
        tx.run(statement, (tenant_id, *common, narrow, bodies))


def _narrow(seq: int, e: Entry, first: Entry) -> dict[str, object]:
    row: dict[str, object] = {"n": seq, "i": e.entry_id, "b": e.subject}
    if e.at != first.at:
        row["t"] = e.at
    if e.stage != first.stage:
        row["s"] = e.stage
    if e.kind != first.kind:
        row["k"] = e.kind
    if e.policy_version != first.policy_version:
        row["p"] = e.policy_version
    if e.correlation_id is not None:
        row["c"] = e.correlation_id
    if e.trigger_type is not None:
        row["g"] = e.trigger_type
    if e.result is not None:
        row["r"] = e.result
    if e.reason is not None:
        row["w"] = e.reason
    return row


def append_and_save(tx: Tx, tenant: LockedTenant, entries: Sequence[Entry]) -> None:
    append(tx, tenant, entries)
    tenants.save_seq(tx, tenant)


def record(tx: Tx, entries: Sequence[Entry]) -> None:
    """Lock the tenant, append, save: for what happens seldom."""
    append_and_save(tx, tenants.lock(tx), entries)


_BY_IDS = Statement(
    f"""select {_COLUMNS} from ledger where tenant_id = %s
        and entry_id in (select jsonb_array_elements_text(%s::jsonb)::uuid)""",
    f"""select {_COLUMNS} from ledger where tenant_id = ?
        and entry_id in (select value from json_each(?))""",
)
_TENANT_OF = same(
    "select tenant_id from ledger"
    " where tenant_id in (select tenant_id from tenants) and entry_id = %s"
)


def by_ids(tx: Tx, entry_ids: Sequence[str]) -> dict[str, Recorded]:
    rows = tx.rows(_BY_IDS, (tx.tenant_id, encode(list(entry_ids))))
    return {found.entry.entry_id: found for found in map(_recorded, rows)}


def tenant_of(session: Session, entry_id: str) -> str | None:
    """Whose entry this is. For the system only, which may not read the entry itself."""
    rows = session.rows(_TENANT_OF, (entry_id,))
    return rows[0][0] if rows else None


_BETWEEN = "seq > %s and seq <= %s"
FILTERS = ("stage", "kind", "subject", "correlation_id", "trigger_type", "result", "reason")


def after(
    tx: Tx,
    seq: int,
    limit: int,
    filters: Mapping[str, str] | None = None,
    until: int | None = None,
) -> list[Recorded]:
    """The entries that follow a place, oldest first. None is ever missed: places are commits."""
    clauses, parameters = _matching(tx, filters or {})
    bounds, places = ("seq > %s", [seq]) if until is None else (_BETWEEN, [seq, until])
    sql = f"select {_COLUMNS} from ledger where {clauses} and {bounds} order by seq limit %s"
    return [_recorded(row) for row in tx.rows(same(sql), (*parameters, *places, limit))]


_AS_STORED = same(
    "select tenant_id, seq, entry_id, at, stage, kind, subject, data, policy_version,"
    " correlation_id, trigger_type, result, reason from ledger"
    " where tenant_id = %s and seq > %s order by seq limit %s"
)


def as_stored(tx: Tx, seq: int, limit: int) -> list[Recorded]:
    """The entries that follow a place, taken as they are: whoever wrote them, of whatever kind."""
    rows = tx.rows(_AS_STORED, (tx.tenant_id, seq, limit))
    return [Recorded(row[0], row[1], Entry(*row[2:])) for row in rows]


def newest(
    tx: Tx,
    filters: Mapping[str, str],
    *,
    before: int | None = None,
    after: int | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    limit: int,
) -> list[Recorded]:
    """Entries that match every filter, newest first, between two places."""
    clauses, parameters = _matching(tx, filters)
    bounds = (("seq < %s", before), ("seq > %s", after), ("at >= %s", since), ("at < %s", until))
    for clause, bound in bounds:
        if bound is not None:
            clauses += f" and {clause}"
            parameters.append(bound)
    sql = f"select {_COLUMNS} from ledger where {clauses} order by seq desc limit %s"
    return [_recorded(row) for row in tx.rows(same(sql), (*parameters, limit))]


_BACK = same(
    "select seq from ledger where tenant_id = %s and subject = %s and seq < %s"
    " order by seq desc limit 1 offset %s"
)
_NEXT_AT = same("select at from ledger where tenant_id = %s and seq >= %s order by seq limit 1")
_FIRST = same("select min(seq) from ledger where tenant_id = %s")
_LAST = same("select ledger_seq from tenants where tenant_id = %s")


def last_place(tx: Tx) -> int:
    """Where the ledger ends."""
    rows = tx.rows(_LAST, (tx.tenant_id,))
    return int(rows[0][0]) if rows else 0


def first_place(tx: Tx) -> int:
    """Where what is kept of the ledger begins; 1 where it is empty."""
    [(seq,)] = tx.rows(_FIRST, (tx.tenant_id,))
    return 1 if seq is None else int(seq)


def place_back(tx: Tx, before: int, entries: int, subject: str | None = None) -> int:
    """The place so many entries before another, of one subject or of all; 0: there are fewer."""
    if subject is None:  # places are dense
        return max(0, min(before, last_place(tx) + 1) - entries)
    rows = tx.rows(_BACK, (tx.tenant_id, subject, before, entries - 1))
    return int(rows[0][0]) if rows else 0


def place_at(tx: Tx, at: Instant) -> int:
    """The first place whose entry is not older than a moment, found by halving.

    Moments grow with places, but for a second: whoever asks leaves a margin.
    """
    low, high = 1, last_place(tx) + 1
    while low < high:
        middle = (low + high) // 2
        found = tx.rows(_NEXT_AT, (tx.tenant_id, middle))
        if found and found[0][0] < at:
            low = middle + 1
        else:
            high = middle
    return low


def _matching(tx: Tx, filters: Mapping[str, str]) -> tuple[str, list[object]]:
    assert set(filters) <= set(FILTERS)
    clauses = ["tenant_id = %s", *(f"{name} = %s" for name in filters)]
    return " and ".join(clauses), [tx.tenant_id, *filters.values()]


def _recorded(row: Row) -> Recorded:
    tenant_id, seq, entry_id, at, stage, kind, subject, correlation_id, version, *rest = row
    trigger_type, result, reason, data = rest
    entry = Entry(
        entry_id=entry_id,
        at=Instant(at),
        stage=Stage(stage),
        kind=Kind(kind),
        subject=subject,
        data=data,
        policy_version=version,
        correlation_id=correlation_id,
        trigger_type=trigger_type,
        result=result,
        reason=reason,
    )
    return Recorded(tenant_id, seq, entry)


def _chunks(entries: Sequence[tuple[int, Entry]]) -> Iterator[Sequence[tuple[int, Entry]]]:
    for start in range(0, len(entries), CHUNK):
        yield entries[start : start + CHUNK]
