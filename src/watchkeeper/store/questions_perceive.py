"""Questions about pulls and heat that must return nothing.

Each is one SQL text for both engines. What a day consumed is asked of the ledger, for days
that lie whole within the entries that are looked at; the caps of then are there as well.
"""

from __future__ import annotations

from watchkeeper.core.time import DAY
from watchkeeper.store.question import ROWS_MAX, Question, Scope, given, told
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import ReadTx

_OWN = "tenant_id = (select tenant_id from given)"
_IS_WHOLE = "((select after_seq from given) = 0 or day * {day} > (select after_at from given))"
_WHOLE = _IS_WHOLE.format(day=DAY)
_WITH = f"""with given as (
    select cast(%s as text) as tenant_id, cast(%s as bigint) as after_seq,
        cast(%s as bigint) as after_at, cast(%s as bigint) as kept_since,
        cast(%s as bigint) as stale_before, cast(%s as bigint) as now),
scheduled as (
    select l.seq, l.at, l.at / {DAY} as day, l.subject as account_id,
        cast(l.data ->> 'connector_id' as text) as connector_id,
        cast(l.data ->> 'pull_job_id' as text) as pull_job_id,
        cast(l.data ->> 'message_id' as text) as message_id,
        cast(l.data ->> 'expires_at' as bigint) as expires_at,
        cast(l.data ->> 'units' as bigint) as units
    from ledger l where l.{_OWN} and l.seq > (select after_seq from given)
    and l.kind = 'pull.decided' and l.result = 'SCHEDULED'),
counted as (
    select day, connector_id, units, pulls from pull_days where {_OWN} and {_WHOLE}),
expected as (
    select day, connector_id, cast(sum(units) as bigint) as units, count(*) as pulls
    from scheduled where {_WHOLE} group by 1, 2
    union all
    select day, '', cast(sum(units) as bigint), count(*) from scheduled where {_WHOLE} group by 1),
budgets as (
    select seq, data from ledger where {_OWN} and kind = 'pull_budget.set'),
sums as (
    select s.*, sum(units) over (partition by day order by seq) as total_after,
        sum(units) over (partition by day, connector_id order by seq) as connector_after
    from scheduled s where {_WHOLE}),
ruled as (
    select seq, max(case when units is null then seq end) over (order by seq) as budget_seq
    from (select seq, units from scheduled union all select seq, null from budgets) x)
"""

PERCEIVE_QUESTIONS = (
    Question(
        "units_are_the_sum_of_pulls",
        "what a day has consumed is what the ledger says was scheduled on it",
        ("day", "connector_id", "units", "expected_units", "pulls", "expected_pulls"),
        """select c.day, c.connector_id, c.units, e.units, c.pulls, e.pulls
        from counted c left join expected e on e.day = c.day and e.connector_id = c.connector_id
        where c.units <> coalesce(e.units, 0) or c.pulls <> coalesce(e.pulls, 0)
        union all
        select e.day, e.connector_id, null, e.units, null, e.pulls
        from expected e left join counted c on c.day = e.day and c.connector_id = e.connector_id
        where c.day is null""",
    ),
    Question(
        "total_is_the_sum_of_connectors",
        "a day's total is the sum over its connectors",
        ("day", "total_units", "connector_units", "total_pulls", "connector_pulls"),
        f"""select day, total_units, connector_units, total_pulls, connector_pulls from (
            select day,
                cast(sum(case connector_id when '' then units else 0 end) as bigint)
                    as total_units,
                cast(sum(case connector_id when '' then 0 else units end) as bigint)
                    as connector_units,
                sum(case connector_id when '' then pulls else 0 end) as total_pulls,
                sum(case connector_id when '' then 0 else pulls end) as connector_pulls
            from pull_days where {_OWN} group by 1) d
        where total_units <> connector_units or total_pulls <> connector_pulls""",
    ),
    Question(
        "budget_was_kept",
        "no pull went beyond the caps that held when it was scheduled",
        ("seq", "connector_id", "total_after", "cap", "connector_after", "connector_cap"),
        """select seq, connector_id, total_after, cap, connector_after, connector_cap from (
            select s.seq, s.connector_id, s.total_after, s.connector_after, r.budget_seq,
                cast(b.data -> 'budget' ->> 'total' as bigint) as cap,
                cast(coalesce(b.data -> 'budget' -> 'connectors' ->> s.connector_id,
                    b.data -> 'budget' -> 'connectors' ->> '*') as bigint) as connector_cap
            from sums s join ruled r on r.seq = s.seq left join budgets b on b.seq = r.budget_seq
        ) x
        where (budget_seq is not null or (select after_seq from given) = 0)
        and (cap is null or total_after > cap or connector_after > connector_cap)""",
    ),
    Question(
        "pull_is_scheduled_once",
        "a pull's id is not scheduled again while it is taken",
        ("pull_job_id", "seq", "taken_until"),
        """select pull_job_id, seq, taken_until from (
            select pull_job_id, seq, at,
                lag(expires_at) over (partition by pull_job_id order by seq) as taken_until
            from scheduled) s
        where at < taken_until""",
    ),
    Question(
        "pull_has_its_entry",
        "a pull is in the ledger once, with its message, its connector and its units",
        ("pull_job_id", "message_id", "entries"),
        f"""select pull_job_id, message_id, entries from (
            select p.pull_job_id, p.message_id, count(s.seq) as entries
            from pulls p left join scheduled s on s.message_id = cast(p.message_id as text)
                and s.pull_job_id = p.pull_job_id and s.connector_id = p.connector_id
                and s.units = p.units and s.account_id = p.account_id
            where p.{_OWN} and p.scheduled_at > (select after_at from given)
            group by 1, 2) x
        where entries <> 1""",
    ),
    Question(
        "entry_has_its_pull",
        "a pull that the ledger says was scheduled is there until its id is free",
        ("seq", "pull_job_id"),
        f"""select s.seq, s.pull_job_id from scheduled s
        where s.expires_at > (select now from given) and not exists (
            select 1 from pulls p where p.{_OWN} and p.pull_job_id = s.pull_job_id
            and cast(p.message_id as text) = s.message_id)""",
    ),
    Question(
        "pull_has_its_message",
        "a pull that has not ended has a message that has not, and no two share one",
        ("pull_job_id", "state", "message_id"),
        f"""select p.pull_job_id, p.state, p.message_id from pulls p
        where p.{_OWN} and p.ended_at is null and not exists (
            select 1 from outbox o where o.tenant_id = p.tenant_id and o.id = p.message_id
            and o.topic = 'pull.requested' and o.done_at is null)
        union all
        select min(p.pull_job_id), min(p.state), p.message_id from pulls p
        where p.{_OWN} group by p.message_id having count(*) > 1""",
    ),
    Question(
        "tier_is_the_last_in_the_ledger",
        "an account's tier is the one that the ledger said last, and so is that of its pulls",
        ("account_id", "tier", "in_ledger"),
        f"""select h.account_id, h.tier, l.result from heats h join ledger l
            on l.tenant_id = h.tenant_id and l.seq = (
                select max(m.seq) from ledger m where m.tenant_id = h.tenant_id
                and m.subject = h.account_id and m.kind = 'heat.tier_changed')
        where h.{_OWN} and h.tier <> case l.result when 'HOT' then 2 when 'WARM' then 1 else 0 end
        union all
        select n.account_id, n.tier, n.connector_id from next_pulls n join heats h
            on h.tenant_id = n.tenant_id and h.account_id = n.account_id
        where n.{_OWN} and n.tier <> h.tier""",
    ),
)
"""What is never so, whatever happened."""

_ASKED = {q.name: same(f"{_WITH.rstrip()}\n{q.sql}\nlimit {ROWS_MAX}") for q in PERCEIVE_QUESTIONS}


def ask(tx: ReadTx, question: Question, scope: Scope) -> list[dict[str, object]]:
    """The rows that break the invariant, at most ROWS_MAX."""
    return told(question, tx.rows(_ASKED[question.name], given(tx, scope)))
