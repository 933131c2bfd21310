"""Questions about ends: state and ledger agree on what ended, within which limit and period.

Each is one SQL text for both engines; only how a JSON parameter becomes rows differs. An end and
its line are written in one transaction, so a statement sees both or neither. Lines are matched
by their place in the ledger, never by time alone: a clock that stepped back accuses nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watchkeeper.core.time import DAY
from watchkeeper.store.json import encode
from watchkeeper.store.question import ROWS_MAX, Question, Scope, given, told
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import ReadTx

_OWN = "tenant_id = (select tenant_id from given)"
_SEEN = f"l.{_OWN} and l.seq > (select after_seq from given)"
_WHOLE = "(select after_seq from given) = 0"
_PRUNED_AT = f"coalesce((select newest_at from ledger_prunes where {_OWN}), -1)"
_IS_COUNTED = f"""(select sum(entries) from tallies where {_OWN})
    = (select max(seq) from tally_places where {_OWN})"""
"""Whether every entry was counted, those that were pruned since among them."""
_MARCH = f"(reserved_at / {DAY} + 719468)"
"""Days since the first of March of the year 0."""
_LIMITS = {
    "postgresql": """limits as (
    select * from jsonb_to_recordset(%s::jsonb) as r (version bigint, hash text, tier text,
        plan_type text, attempts_max bigint))""",
    "sqlite": """limits as (
    select value ->> 'version' as version, value ->> 'hash' as hash, value ->> 'tier' as tier,
        value ->> 'plan_type' as plan_type, value ->> 'attempts_max' as attempts_max
    from json_each(?))""",
}
_WITH = f"""with given as (
    select cast(%s as text) as tenant_id, cast(%s as bigint) as after_seq,
        cast(%s as bigint) as after_at, cast(%s as bigint) as kept_since,
        cast(%s as bigint) as stale_before, cast(%s as bigint) as now),
{{limits}},
run_ends as (
    select cast(l.data ->> 'decision_id' as text) as decision_id, l.seq, l.at, l.result
    from ledger l where {_SEEN} and l.kind = 'run.ended'),
told_of_runs as (
    select cast(decision_id as text) as decision_id, state, started_at, ended_at,
        null as result, cast(null as bigint) as at, cast(null as bigint) as end_seq,
        cast(null as bigint) as redriven_seq
    from runs where {_OWN}
    union all
    select decision_id, null, null, null, result, at, seq, null from (
        select e.*, row_number() over (partition by decision_id order by seq desc) as n
        from run_ends e) x where n = 1
    union all
    select l.subject, null, null, null, null, null, null, l.seq from ledger l
    where {_SEEN} and l.kind = 'message.redriven'),
run_lines as (
    select decision_id, seq, 'run.ended' as kind, result from run_ends
    union all
    select l.subject, l.seq, l.kind, null from ledger l
    where {_SEEN} and l.kind = 'message.redriven'),
pull_lines as (
    select seq, kind, result, pull_job_id, message_id,
        lag(kind) over (partition by pull_job_id order by seq) as previous,
        row_number() over (partition by pull_job_id order by seq desc) as n
    from (
        select l.seq, l.kind, l.result, cast(l.data ->> 'pull_job_id' as text) as pull_job_id,
            cast(l.data ->> 'message_id' as text) as message_id
        from ledger l where {_SEEN} and (l.kind = 'pull.ended'
            or (l.kind = 'pull.decided' and l.result = 'SCHEDULED'))) x),
told_of_pulls as (
    select pull_job_id, state, ended_at, cast(message_id as text) as message_id,
        null as kind, null as result, null as scheduled_id
    from pulls where {_OWN}
    union all
    select pull_job_id, null, null, null, kind, result, message_id from pull_lines where n = 1),
told_of_intents as (
    select cast(plan_id as text) as plan_id, step_id, attempt, state, ended_at, null as kind
    from intents where {_OWN}
    union all
    select l.subject, cast(l.data ->> 'step_id' as text), cast(l.data ->> 'attempt' as bigint),
        null, null, l.kind
    from ledger l where {_SEEN}
    and l.kind in ('STEP_COMPLETED', 'STEP_FAILED', 'OUTCOME_LATE')),
intent_ends as (
    select plan_id, step_id, attempt, max(state) as state, max(ended_at) as ended_at,
        count(case kind when 'STEP_COMPLETED' then 1 end) as completed,
        count(case kind when 'STEP_FAILED' then 1 end) as failed,
        count(case kind when 'OUTCOME_LATE' then 1 end) as late
    from told_of_intents where attempt is not null group by 1, 2, 3),
starts as (
    select s.*, sum(is_resume) over (partition by plan_id order by seq) as allowance from (
        select l.seq, l.subject as plan_id, cast(l.data ->> 'step_id' as text) as step_id,
            cast(l.data ->> 'attempt' as bigint) as attempt,
            cast(l.data ->> 'plan_type' as text) as plan_type,
            cast(l.data -> 'policy' ->> 'version' as bigint) as version,
            cast(l.data -> 'policy' ->> 'hash' as text) as hash,
            coalesce(cast(l.data ->> 'tier' as text), '') as tier,
            case l.kind when 'PLAN_RESUMED' then 1 else 0 end as is_resume
        from ledger l where {_SEEN} and l.kind in ('STEP_STARTED', 'PLAN_RESUMED')) s),
counted as (
    select s.*, row_number() over (partition by plan_id, step_id, allowance order by seq) as place
    from starts s where is_resume = 0),
reserved as (
    select turn_id, reserved_at, day_start_at, month_start_at, reserved_at / {DAY} as day,
        {_MARCH} - {_MARCH} / 146097 * 146097 as in_era
    from turns where {_OWN} and reserved_at > (select after_at from given)),
dated as (
    select r.*, in_era - (365 * year + year / 4 - year / 100) as in_year from (
        select r.*, (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365 as year
        from reserved r) r)
"""
# Days are counted in eras of 400 years that begin on the first of March, as a calendar of whole
# numbers does it: (153 * month + 2) / 5 days of a year lie before its month.
_MONTH_START = f"(day - (in_year - (153 * ((5 * in_year + 2) / 153) + 2) / 5)) * {DAY}"

ENDS_QUESTIONS = (
    Question(
        "run_end_is_in_the_ledger",
        "a run that ended has one entry that says how, and an entry of an end has its run",
        ("decision_id", "state", "in_ledger"),
        """select decision_id, max(state), max(result) from told_of_runs group by 1
        having case when max(state) is null then max(end_seq) is not null
            when max(ended_at) is null then max(at) >= max(started_at)
                and coalesce(max(redriven_seq), 0) < max(end_seq)
            when max(result) is null then max(ended_at) > (select after_at from given)
            else max(result) <> max(state) end
        union all
        select decision_id, null, result from (
            select r.*, lag(kind) over (partition by decision_id order by seq) as previous
            from run_lines r) x where kind = 'run.ended' and previous = 'run.ended'""",
    ),
    Question(
        "pull_end_is_in_the_ledger",
        "a pull that ended has the entry that says how, and an entry of an end has its pull",
        ("pull_job_id", "state", "in_ledger"),
        f"""select pull_job_id, max(state), max(result) from told_of_pulls group by 1
        having case when max(state) is null then false
            when max(ended_at) is null then max(kind) = 'pull.ended'
            when max(kind) is null then max(ended_at) > (select after_at from given)
            when max(kind) = 'pull.ended' then max(result) <> max(state)
            else max(scheduled_id) = max(message_id) end
        union all
        select l.pull_job_id, null, l.result from pull_lines l
        where l.kind = 'pull.ended' and (l.previous = 'pull.ended'
            or (l.previous is null and {_WHOLE}))""",
    ),
    Question(
        "intent_end_is_in_the_ledger",
        "an attempt that ended has one entry that says how, and such an entry has its attempt",
        ("plan_id", "step_id", "attempt", "state", "completed", "failed", "late"),
        """select plan_id, step_id, attempt, state, completed, failed, late from intent_ends
        where case when state = 'SUCCEEDED' then failed > 0 or (completed + late = 0
                and ended_at > (select after_at from given))
            when state in ('FAILED', 'REJECTED') then completed > 0 or (failed + late = 0
                and ended_at > (select after_at from given))
            else completed + failed > 0 end or completed > 1 or failed > 1""",
    ),
    Question(
        "attempts_stay_within_their_limit",
        "a step is tried no more often since its plan was resumed than the policy of then allows",
        ("plan_id", "step_id", "attempt", "seq", "place", "attempts_max"),
        """select c.plan_id, c.step_id, c.attempt, c.seq, c.place, coalesce(r.attempts_max, 1)
        from counted c left join limits r on r.version = c.version and r.hash = c.hash
            and r.tier = c.tier and r.plan_type = c.plan_type
        where c.place > coalesce(r.attempts_max, 1)""",
    ),
    Question(
        "turn_is_in_its_periods",
        "a turn is counted in the UTC day and the UTC month in which it was reserved",
        ("turn_id", "reserved_at", "day_start_at", "month_start_at", "month_start_expected"),
        f"""select turn_id, reserved_at, day_start_at, month_start_at, {_MONTH_START} from dated
        where day_start_at <> day * {DAY} or month_start_at <> {_MONTH_START}""",
    ),
    Question(
        "marker_has_its_entry",
        "a milestone's marker has its entry in the ledger, and none was lost that had one",
        ("milestone", "outcome", "markers", "entries"),
        f"""select m.milestone, m.outcome, null, null from milestones m
        where m.{_OWN} and m.marked_at > {_PRUNED_AT} and not exists (
            select 1 from ledger l where l.{_OWN} and l.subject = m.milestone
            and ((m.outcome = 'MISSED' and l.kind = 'milestone.missed')
                or (m.outcome = 'GENERATED' and l.kind = 'report.generated'
                    and l.entry_id = m.report_id)))
        union all
        select null, 'MISSED', markers, entries from (
            select (select count(*) from milestones where {_OWN} and outcome = 'MISSED') as markers,
                (select coalesce(cast(sum(entries) as bigint), 0) from tallies
                    where {_OWN} and kind = 'milestone.missed')
                + (select count(*) from ledger where {_OWN} and kind = 'milestone.missed'
                    and seq > (select coalesce(max(seq), 0) from tally_places where {_OWN}))
                as entries) x
        where markers <> entries and {_PRUNED_AT} >= 0 and {_IS_COUNTED}""",
    ),
)
"""What is never so, whatever happened."""

_ASKED = {
    q.name: Statement(
        *(
            getattr(same(_WITH.replace("{limits}", "LIMITS")), engine).replace("LIMITS", limits)
            + f"{q.sql}\nlimit {ROWS_MAX}"
            for engine, limits in _LIMITS.items()
        )
    )
    for q in ENDS_QUESTIONS
}
_RULED_BY = same(
    "select distinct cast(data -> 'policy' ->> 'version' as bigint),"
    " cast(data -> 'policy' ->> 'hash' as text), cast(data ->> 'tier' as text) from ledger"
    " where tenant_id = %s and seq > %s and kind = 'STEP_STARTED'"
)


def ask(
    tx: ReadTx, question: Question, scope: Scope, limits: Sequence[Mapping[str, object]]
) -> list[dict[str, object]]:
    """The rows that break the invariant, at most ROWS_MAX. `limits` are those of `ruled_by`."""
    rows = tx.rows(_ASKED[question.name], (*given(tx, scope), encode(list(limits))))
    return told(question, rows)


def ruled_by(tx: ReadTx, after_seq: int) -> list[tuple[int, str, str | None]]:
    """The policy version, its hash and the tenant tier under which steps were started."""
    return [(row[0], row[1], row[2]) for row in tx.rows(_RULED_BY, (tx.tenant_id, after_seq))]
