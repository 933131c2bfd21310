"""Questions about milestones, reports and what they were counted from: nothing may be returned.

Each is one SQL text for both engines. What a milestone's window was stands in the ledger, with
the report that was made in it.
"""

from __future__ import annotations

from watchkeeper.core.time import HOUR
from watchkeeper.store.question import ROWS_MAX, Question, Scope, given, told
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import ReadTx

_OWN = "tenant_id = (select tenant_id from given)"
_WITH = f"""with given as (
    select cast(%s as text) as tenant_id, cast(%s as bigint) as after_seq,
        cast(%s as bigint) as after_at, cast(%s as bigint) as kept_since,
        cast(%s as bigint) as stale_before, cast(%s as bigint) as now),
made as (
    select seq, cast(entry_id as text) as report_id, subject as trigger_name,
        cast(data ->> 'from_us' as bigint) as from_us, cast(data ->> 'to_us' as bigint) as to_us
    from ledger where {_OWN} and seq > (select after_seq from given)
    and kind = 'report.generated'),
ends as (
    select subject as milestone, 'GENERATED' as outcome from ledger
    where {_OWN} and kind = 'report.generated' and subject <> 'MANUAL'
    union all
    select subject, 'MISSED' from ledger where {_OWN} and kind = 'milestone.missed'),
counted as (
    select hour, kind, result, reason, cast(sum(entries) as bigint) as entries from tallies
    where {_OWN} and first_seq > (select after_seq from given) group by 1, 2, 3, 4),
straddling as (
    select distinct hour, kind, result, reason from tallies
    where {_OWN} and first_seq <= (select after_seq from given)),
entered as (
    select at / {HOUR} as hour, kind, coalesce(result, '') as result,
        coalesce(reason, '') as reason, count(*) as entries from ledger
    where {_OWN} and seq > (select after_seq from given)
    and seq <= (select coalesce(max(seq), 0) from tally_places where {_OWN})
    group by 1, 2, 3, 4)
"""
_ALIKE = "c.hour = e.hour and c.kind = e.kind and c.result = e.result and c.reason = e.reason"

REPORT_QUESTIONS = (
    Question(
        "milestone_ends_once",
        "a milestone of a tenant is generated or missed, once, and the ledger says which",
        ("milestone", "ends", "outcome"),
        f"""select e.milestone, count(*), min(m.outcome) from ends e
            left join milestones m on m.{_OWN} and m.milestone = e.milestone
            group by e.milestone having count(*) > 1 or min(m.milestone) is null
            or min(m.outcome) <> min(e.outcome)
        union all
        select trigger_name, count(*), 'reports' from reports
            where {_OWN} and trigger_name <> 'MANUAL' group by 1 having count(*) > 1""",
    ),
    Question(
        "marker_has_its_report",
        "a marker of a generated milestone names a report of it, and such a report has its marker",
        ("milestone", "report_id"),
        f"""select m.milestone, cast(m.report_id as text) from milestones m
        where m.{_OWN} and m.outcome = 'GENERATED' and not exists (
            select 1 from reports r where r.tenant_id = m.tenant_id
            and r.report_id = m.report_id and r.trigger_name = m.milestone)
        union all
        select r.trigger_name, cast(r.report_id as text) from reports r
        where r.{_OWN} and r.trigger_name <> 'MANUAL' and not exists (
            select 1 from milestones m where m.tenant_id = r.tenant_id
            and m.report_id = r.report_id and m.milestone = r.trigger_name)""",
    ),
    Question(
        "report_is_in_its_window",
        "a milestone's report was made within the milestone's window, and is in the ledger",
        ("report_id", "trigger_name", "age_us", "from_us", "to_us"),
        f"""select cast(r.report_id as text), r.trigger_name,
            r.generated_at - r.window_since_at, m.from_us, m.to_us
        from reports r left join made m on m.report_id = cast(r.report_id as text)
        where r.{_OWN} and (r.generated_at - r.window_since_at < m.from_us
            or r.generated_at - r.window_since_at >= m.to_us
            or r.trigger_name <> m.trigger_name
            or (m.seq is null and (select after_seq from given) = 0))""",
    ),
    Question(
        "tick_has_its_message",
        "a tick that is planned has a message that has not ended",
        ("due_at",),
        f"""select k.due_at from milestone_ticks k
        where k.{_OWN} and k.due_at is not null and not exists (
            select 1 from outbox o where o.tenant_id = k.tenant_id and o.done_at is null
            and o.topic = 'milestone.tick'
            and cast(o.payload ->> 'due_at' as bigint) = k.due_at)""",
    ),
    Question(
        "tallies_are_the_ledger",
        "what was counted of the ledger is what stands there",
        ("hour", "kind", "result", "reason", "counted", "in_ledger"),
        f"""select c.hour, c.kind, c.result, c.reason, c.entries, e.entries
        from counted c left join entered e on {_ALIKE}
        left join straddling s on s.hour = c.hour and s.kind = c.kind
            and s.result = c.result and s.reason = c.reason
        where s.hour is null and c.entries <> coalesce(e.entries, 0)
        union all
        select e.hour, e.kind, e.result, e.reason, null, e.entries
        from entered e left join counted c on {_ALIKE}
        left join straddling s on s.hour = e.hour and s.kind = e.kind
            and s.result = e.result and s.reason = e.reason
        where s.hour is null and c.hour is null""",
    ),
)
"""What is never so, whatever happened."""

_ASKED = {q.name: same(f"{_WITH.rstrip()}\n{q.sql}\nlimit {ROWS_MAX}") for q in REPORT_QUESTIONS}


def ask(tx: ReadTx, question: Question, scope: Scope) -> list[dict[str, object]]:
    """The rows that break the invariant, at most ROWS_MAX."""
    return told(question, tx.rows(_ASKED[question.name], given(tx, scope)))
