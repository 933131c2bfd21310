"""Questions about money that must return nothing, and some about what waits for somebody.

Each is one SQL text for both engines. They look at the newest turns of a tenant, at all of
its messages, and at the ledger: a usage event whose time in the outbox is over is vouched for
by the note on its turn, so that they hold after retention as before.
"""

from __future__ import annotations

from watchkeeper.core.time import HOUR, Instant
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.store.question import ROWS_MAX, Question, Scope, told
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import ReadTx

LATE_US = HOUR
"""A usage event that waits longer than this is worth a look."""

_OWN = "tenant_id = (select tenant_id from given)"
_SEEN = f"t.{_OWN} and t.reserved_at >= (select since from given)"
_KEY = "t.tenant_id || '/' || t.turn_id || '/' || t.request_id"
_OF_TURN = f"""t.{_OWN} and t.turn_id = cast(u.payload ->> 'turn_id' as text)
    and {_KEY} = u.dedupe_key and t.event_id = u.id and t.state <> 'running'"""
_WITH = f"""with given as (
    select cast(%s as text) as tenant_id, cast(%s as bigint) as after_seq,
        cast(%s as bigint) as since, cast(%s as bigint) as stale_before, cast(%s as bigint) as now),
usage as (
    select id, dedupe_key, payload from outbox where {_OWN} and topic = '{USAGE_SNAPSHOT}'
    union all
    select id, dedupe_key, payload from outbox_delivered
    where {_OWN} and topic = '{USAGE_SNAPSHOT}')
"""

_TOLD_OF_TURN = {  # what an event says, and where that stands on its turn
    "tenant_id": "tenant_id",
    "request_id": "request_id",
    "user_id": "user_id",
    "decision_id": "decision_id",
    "policy_version_applied": "policy_version",
    "selected_model": "selected_model",
    "effective_model": "effective_model",
    "outcome": "state",
    "settlement_method": "settlement_method",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "reserved_credits_micro": "reserved_micro",
    "charged_credits_micro": "charged_micro",
    "computed_credits_micro": "computed_micro",
}
_DIFFERS = "\n".join(
    f"when coalesce(cast(u.payload ->> '{name}' as text), '')"
    f" <> coalesce(cast(t.{column} as text), '') then '{name}'"
    for name, column in _TOLD_OF_TURN.items()
)

# Turns are added up by what their buckets have in common before they are spread over these.
_SUMS = (
    *("reserved_micro", "spent_micro", "turns_reserved", "turns_settled"),
    *("input_tokens", "output_tokens"),
)
_SPREAD = f"""alike as (
    select user_id, tier, day_start_at, month_start_at,
        sum(case state when 'running' then reserved_micro else 0 end) as reserved_micro,
        sum(coalesce(charged_micro, 0)) as spent_micro, count(*) as turns_reserved,
        count(ended_at) as turns_settled, sum(coalesce(input_tokens, 0)) as input_tokens,
        sum(coalesce(output_tokens, 0)) as output_tokens
    from turns t where {_SEEN} group by 1, 2, 3, 4),
expected as (
    select user_id, period, start_at, bucket,
        {", ".join(f"cast(sum({name}) as bigint) as {name}" for name in _SUMS)}
    from (
        select case o.is_user when 1 then a.user_id else '' end as user_id, p.period,
            case p.period when 'daily' then a.day_start_at else a.month_start_at end as start_at,
            case b.is_tier when 1 then 'tier:' || a.tier else 'total' end as bucket,
            {", ".join(f"a.{name}" for name in _SUMS)}
        from alike a cross join (select 0 as is_user union all select 1) o
        cross join (select 'daily' as period union all select 'monthly') p
        cross join (select 0 as is_tier union all select 1) b
        where o.is_user = 0 or a.user_id is not null) s
    where start_at >= (select since from given) group by 1, 2, 3, 4),
counted as (
    select * from quota_buckets where {_OWN} and start_at >= (select since from given))
"""
_SAME_BUCKET = """e.user_id = c.user_id and e.period = c.period and e.start_at = c.start_at
    and e.bucket = c.bucket"""

SETTLE_QUESTIONS = (
    Question(
        "settlement_has_its_event",
        "a settled turn has its usage event, or a note of what became of it",
        ("turn_id", "event_id", "ended_at"),
        f"""select t.turn_id, t.event_id, t.ended_at from turns t
        where {_SEEN} and t.state <> 'running' and t.event_fate is null
        and not exists (select 1 from outbox o where o.tenant_id = t.tenant_id
            and o.id = t.event_id and o.topic = '{USAGE_SNAPSHOT}' and o.dedupe_key = {_KEY})
        and not exists (select 1 from outbox_delivered o where o.tenant_id = t.tenant_id
            and o.id = t.event_id and o.topic = '{USAGE_SNAPSHOT}' and o.dedupe_key = {_KEY})""",
    ),
    Question(
        "event_has_its_settlement",
        "a usage event belongs to a turn that was settled with it",
        ("event_id", "dedupe_key"),
        f"""select u.id, u.dedupe_key from usage u
        where not exists (select 1 from turns t where {_OF_TURN})""",
    ),
    Question(
        "usage_is_told_once",
        "a usage key has one message, a message settles one turn, and none that left is there",
        ("key_or_event_id", "times"),
        f"""select dedupe_key, count(*) from usage group by 1 having count(*) > 1
        union all
        select cast(t.event_id as text), count(*) from turns t
        where {_SEEN} and t.event_id is not null group by 1 having count(*) > 1
        union all
        select cast(u.id as text), 2 from usage u where exists (
            select 1 from turns t where {_OF_TURN} and t.event_fate is not null)""",
    ),
    Question(
        "event_says_what_was_settled",
        "a usage event has the reserved and settled amounts of its turn",
        ("event_id", "turn_id", "differs"),
        f"""select id, turn_id, differs from (
            select u.id, t.turn_id, case {_DIFFERS} end as differs
            from usage u join turns t on {_OF_TURN}) d
        where differs is not null""",
    ),
    Question(
        "quota_is_the_sum_of_turns",
        "a bucket holds the reserves of its running turns and the charges of the settled ones",
        (
            *("user_id", "period", "start_at", "bucket"),
            *("reserved", "expected_reserved", "spent", "expected_spent"),
        ),
        f"""select c.user_id, c.period, c.start_at, c.bucket, c.reserved_micro,
            e.reserved_micro, c.spent_micro, e.spent_micro
        from counted c left join expected e on {_SAME_BUCKET}
        where {" or ".join(f"c.{name} <> coalesce(e.{name}, 0)" for name in _SUMS)}
        union all
        select e.user_id, e.period, e.start_at, e.bucket, null, e.reserved_micro, null,
            e.spent_micro
        from expected e left join counted c on {_SAME_BUCKET} where c.bucket is null""",
    ),
    Question(
        "turn_has_its_entries",
        "the ledger has one line of a turn's reserve, and one of its end once it has ended",
        ("turn_id", "state", "reserves", "settlements"),
        f"""select turn_id, state, reserves, ends from (
            select t.turn_id, t.state,
                (select count(*) from ledger l where l.tenant_id = t.tenant_id
                    and l.subject = t.turn_id and l.kind = 'turn.reserved') as reserves,
                (select count(*) from ledger l where l.tenant_id = t.tenant_id
                    and l.subject = t.turn_id and l.kind = 'turn.settled') as ends
            from turns t where {_SEEN}) x
        where reserves <> 1 or ends <> case state when 'running' then 0 else 1 end""",
    ),
    Question(
        "entry_has_its_turn",
        "a reserve or settlement in the ledger agrees with a turn",
        ("seq", "kind", "turn_id"),
        f"""select l.seq, l.kind, l.subject from ledger l
        where l.{_OWN} and l.seq > (select after_seq from given)
        and l.kind in ('turn.reserved', 'turn.settled') and not exists (
            select 1 from turns t where t.{_OWN} and t.turn_id = l.subject
            and cast(t.reserved_micro as text) = cast(l.data ->> 'reserved_micro' as text)
            and (l.kind = 'turn.reserved' or t.state = l.result
                and cast(t.event_id as text) = cast(l.data ->> 'event_id' as text)
                and cast(t.charged_micro as text) = cast(l.data ->> 'charged_micro' as text)))""",
    ),
    Question(
        "run_is_metered_once",
        "a run has one turn that runs, and was charged once for each time it was asked for",
        ("decision_id", "running", "completed", "redrives"),
        f"""select decision_id, running, completed, redrives from (
            select m.*, (select count(*) from ledger l where l.{_OWN}
                and l.subject = cast(m.decision_id as text)
                and l.kind = 'message.redriven') as redrives
            from (
                select t.decision_id, count(case state when 'running' then 1 end) as running,
                    count(case state when 'completed' then 1 end) as completed
                from turns t where {_SEEN} and t.decision_id is not null group by 1
                having count(*) > 1) m) x
        where running > 1 or completed > 1 + redrives""",
    ),
)
"""What is never so, whatever happened."""

ATTENTION = (
    Question(
        "dead_usage_events",
        "no usage event is dead",
        ("event_id", "turn_id", "reason", "last_error", "at"),
        f"""select id, payload ->> 'turn_id', dead_reason, last_error, done_at from outbox
        where {_OWN} and done_at is not null and topic = '{USAGE_SNAPSHOT}' order by done_at""",
    ),
    Question(
        "late_usage_events",
        "no usage event has waited for an hour",
        ("event_id", "turn_id", "attempts", "last_error", "since"),
        f"""select id, payload ->> 'turn_id', attempts, last_error, created_at from outbox
        where {_OWN} and done_at is null and topic = '{USAGE_SNAPSHOT}'
        and created_at < (select now from given) - {LATE_US} order by created_at""",
    ),
    Question(
        "stuck_leases",
        "no message is held long past the end of its lease",
        ("message_id", "topic", "locked_until"),
        f"""select id, topic, locked_until from outbox where {_OWN}
        and status = 'processing' and locked_until < (select stale_before from given)
        order by locked_until""",
    ),
    Question(
        "silent_turns",
        "no turn runs long past its timeout",
        ("turn_id", "reserved_micro", "deadline_at"),
        f"""select t.turn_id, t.reserved_micro, t.deadline_at from turns t
        where t.{_OWN} and t.state = 'running'
        and t.deadline_at < (select stale_before from given) and not exists (
            select 1 from outbox o where o.tenant_id = t.tenant_id and o.id = t.decision_id
            and o.status = 'processing' and o.locked_until > (select now from given))
        order by t.deadline_at""",
    ),
)
"""What happens, and waits for somebody: a receiver that is away, workers that do not run."""

_ASKED = {
    q.name: same(
        f"{_WITH.rstrip()}{', ' + _SPREAD if 'expected' in q.sql else ' '}{q.sql}\nlimit {ROWS_MAX}"
    )
    for q in (*SETTLE_QUESTIONS, *ATTENTION)
}
_FIRST_NOT_SEEN = same(
    "select reserved_at from (select reserved_at from turns where tenant_id = %s"
    " order by reserved_at desc, turn_id desc limit 1 offset %s) t"
    " union all select newest_at from ledger_prunes where tenant_id = %s order by 1 desc limit 1"
)


def ask(tx: ReadTx, question: Question, scope: Scope, since: Instant) -> list[dict[str, object]]:
    """The rows that break the invariant, at most ROWS_MAX, among turns reserved since then."""
    asked = (scope.tenant_id, scope.after_seq, since, scope.stale_before, tx.now)
    return told(question, tx.rows(_ASKED[question.name], asked))


def since_newest(tx: ReadTx, turns: int) -> Instant:
    """A moment since which no more than so many turns were reserved, and no entry was pruned."""
    rows = tx.rows(_FIRST_NOT_SEEN, (tx.tenant_id, turns, tx.tenant_id))
    return Instant(rows[0][0] + 1) if rows else Instant(0)
