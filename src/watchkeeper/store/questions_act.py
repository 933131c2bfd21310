"""Questions about plans, steps and intents that must return nothing.

Each is one SQL text for both engines. The ways that a plan may go are those of the table in
core/plans.py; how it went is asked of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable

from watchkeeper.core.plans import ENDED, LIVE, OPEN, OVER, PLAN_MOVES, PlanStatus, Reason
from watchkeeper.core.time import DAY
from watchkeeper.store.question import ROWS_MAX, Question, Scope, given, told
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import ReadTx


def _words(some: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(some))


_OWN = "tenant_id = (select tenant_id from given)"
_OPEN, _OVER, _ENDED, _LIVE = (_words(some) for some in (OPEN, OVER, ENDED, LIVE))
_WAYS = "\n    union all ".join(
    f"select '{before}' as before, '{after}' as after"
    for before, ways in PLAN_MOVES.items()
    for after in sorted(ways)
)
_SAYS = {
    "PLAN_CREATED": PlanStatus.DRAFT,
    "PLAN_APPROVED": PlanStatus.APPROVED,
    "PLAN_ACTIVATED": PlanStatus.ACTIVE,
    "PLAN_PAUSED": PlanStatus.PAUSED,
    "PLAN_RESUMED": PlanStatus.ACTIVE,
    "PLAN_ABORTED": PlanStatus.ABORTED,
    "PLAN_COMPLETED": PlanStatus.COMPLETED,
    "PLAN_EXPIRED": PlanStatus.EXPIRED,
}
"""What each line of a plan's ledger that changes its status makes of it."""

_KINDS = "\n    union all ".join(
    f"select '{kind}' as kind, '{status}' as status" for kind, status in _SAYS.items()
)
_WITH = f"""with given as (
    select cast(%s as text) as tenant_id, cast(%s as bigint) as after_seq,
        cast(%s as bigint) as after_at, cast(%s as bigint) as kept_since,
        cast(%s as bigint) as stale_before, cast(%s as bigint) as now,
        cast(%s as bigint) as outcome_us),
ways as ({_WAYS}),
kinds as ({_KINDS}),
moved as (
    select l.seq, l.subject as plan_id, l.kind, l.result,
        lag(l.result) over (partition by l.subject order by l.seq) as before
    from ledger l join kinds k on k.kind = l.kind
    where l.{_OWN} and l.seq > (select after_seq from given)),
started as (
    select l.seq, l.subject as plan_id, cast(l.data ->> 'step_id' as text) as step_id,
        cast(l.data ->> 'attempt' as bigint) as attempt,
        cast(l.data ->> 'intent_id' as text) as intent_id
    from ledger l where l.{_OWN} and l.seq > (select after_seq from given)
    and l.kind = 'STEP_STARTED'),
approved as (
    select cast(l.data ->> 'intent_id' as text) as intent_id from ledger l
    where l.{_OWN} and l.seq > (select after_seq from given) and l.kind = 'INTENT_APPROVED')
"""

ACT_QUESTIONS = (
    Question(
        "one_active_plan",
        "an account has at most one active plan of a type",
        ("account_id", "plan_type", "plans"),
        f"""select account_id, plan_type, count(*) from plans
        where {_OWN} and status = 'ACTIVE' group by 1, 2 having count(*) > 1""",
    ),
    Question(
        "plan_went_allowed_ways",
        "a plan went only from one status to another where the table has a way",
        ("plan_id", "seq", "kind", "before", "after"),
        """select m.plan_id, m.seq, m.kind, m.before, m.result from moved m
        join kinds k on k.kind = m.kind
        left join ways w on w.before = m.before and w.after = m.result
        where m.result <> k.status
        or (m.before is null and m.kind <> 'PLAN_CREATED'
            and (select after_seq from given) = 0)
        or (m.before is not null and w.before is null
            and not (m.kind = 'PLAN_APPROVED' and m.before = m.result))""",
    ),
    Question(
        "plan_is_where_the_ledger_says",
        "a plan's status is the last one that the ledger tells of",
        ("plan_id", "status", "in_ledger"),
        f"""select p.plan_id, p.status, m.result from plans p
        left join (select plan_id, result,
            row_number() over (partition by plan_id order by seq desc) as n from moved) m
        on m.plan_id = cast(p.plan_id as text) and m.n = 1
        where p.{_OWN} and (m.result <> p.status
            or (m.result is null and (select after_seq from given) = 0))""",
    ),
    Question(
        "attempts_are_numbered",
        "the attempts of a step are numbered from one without gaps, and its counter is the last",
        ("plan_id", "step_id", "counter", "attempts", "highest"),
        f"""select plan_id, step_id, counter, n, highest from (
            select s.plan_id, s.step_id, s.attempts as counter, count(i.attempt) as n,
                coalesce(max(i.attempt), 0) as highest
            from plan_steps s left join intents i on i.tenant_id = s.tenant_id
                and i.plan_id = s.plan_id and i.step_id = s.step_id
            where s.{_OWN} group by 1, 2, 3) x
        where counter <> n or n <> highest
        union all
        select i.plan_id, i.step_id, null, count(*), max(i.attempt) from intents i
        where i.{_OWN} and not exists (select 1 from plan_steps s
            where s.tenant_id = i.tenant_id and s.plan_id = i.plan_id
            and s.step_id = i.step_id) group by 1, 2""",
    ),
    Question(
        "one_attempt_at_a_time",
        "a plan has one attempt under way at most, and a step's next begins when one has ended",
        ("plan_id", "step_id", "attempt"),
        f"""select plan_id, min(step_id), max(attempt) from intents
        where {_OWN} and state in ({_OPEN}) and not is_late
        group by plan_id having count(*) > 1
        union all
        select plan_id, step_id, attempt from (
            select plan_id, step_id, attempt, created_at, lag(is_late) over w as was_late,
                lag(attempt) over w as earlier, lag(ended_at) over w as ended_at
            from intents where {_OWN} window w as (partition by plan_id, step_id
                order by attempt)) x
        where earlier is not null and not was_late
        and (ended_at is null or ended_at > created_at)""",
    ),
    Question(
        "an_ended_plan_asks_for_nothing",
        "what an ended plan asked for has ended, or is late",
        ("plan_id", "status", "intent_id", "state"),
        f"""select p.plan_id, p.status, i.intent_id, i.state from intents i
        join plans p on p.tenant_id = i.tenant_id and p.plan_id = i.plan_id
        where i.{_OWN} and i.state in ({_OPEN}) and not i.is_late
        and p.status in ({_ENDED})""",
    ),
    Question(
        "outcomes_are_not_waited_for_for_ever",
        "an action whose outcome is long overdue has ended as unknown",
        ("plan_id", "intent_id", "executing_at", "deadline_at"),
        f"""select plan_id, intent_id, executing_at, deadline_at from intents
        where {_OWN} and state = 'EXECUTING' and executing_at + {DAY} + case
            when deadline_at - decided_at > (select outcome_us from given)
            then deadline_at - decided_at else (select outcome_us from given) end
            < (select now from given)""",
    ),
    Question(
        "a_due_plan_has_its_cycle",
        "a plan that has to be looked at has a cycle planned for it, and its message waits",
        ("plan_id", "due_at", "cycle_at"),
        f"""select p.plan_id, p.due_at, c.due_at from (
            select plan_id, due_at, row_number() over (order by due_at) as n from plans
            where {_OWN} and due_at is not null) p
        left join plan_cycles c on c.{_OWN}
        where p.n = 1 and (c.due_at is null
            or (c.due_at > p.due_at and c.due_at > (select now from given))
            or not exists (select 1 from outbox o where o.{_OWN} and o.topic = 'plan.cycle'
                and o.done_at is null and cast(o.payload ->> 'due_at' as bigint) = c.due_at))""",
    ),
    Question(
        "a_start_has_its_intent",
        "every start in the ledger has its intent, and every intent its start",
        ("plan_id", "step_id", "attempt", "intent_id"),
        f"""select s.plan_id, s.step_id, s.attempt, s.intent_id from started s
        where not exists (select 1 from intents i where i.{_OWN}
            and cast(i.intent_id as text) = s.intent_id and i.attempt = s.attempt
            and i.step_id = s.step_id and cast(i.plan_id as text) = s.plan_id)
        union all
        select cast(i.plan_id as text), i.step_id, i.attempt, cast(i.intent_id as text)
        from intents i left join started s on s.intent_id = cast(i.intent_id as text)
        where i.{_OWN} and s.intent_id is null
        and i.created_at > (select after_at from given)""",
    ),
    Question(
        "a_completed_plan_did_its_steps",
        "a plan that did all its steps has none left",
        ("plan_id", "step_id", "status"),
        f"""select p.plan_id, s.step_id, s.status from plans p join plan_steps s
            on s.tenant_id = p.tenant_id and s.plan_id = p.plan_id
        where p.{_OWN} and p.completion_reason = 'all_steps_done'
        and s.status not in ({_OVER})""",
    ),
    Question(
        "the_limit_of_attempts_is_told",
        "a plan that paused because attempts were used up says which step that was",
        ("plan_id", "seq"),
        f"""select l.subject, l.seq from ledger l where l.{_OWN}
        and l.seq - 1 > (select after_seq from given) and l.kind = 'PLAN_PAUSED'
        and l.reason = '{Reason.RETRY_LIMIT}' and not exists (
            select 1 from ledger f where f.tenant_id = l.tenant_id and f.seq = l.seq - 1
            and f.subject = l.subject and f.kind = 'STEP_FAILED' and f.reason = l.reason)""",
    ),
    Question(
        "a_step_is_where_its_attempt_is",
        "a step of a live plan is under way if and only if an attempt of it is",
        ("plan_id", "step_id", "status", "intent_id"),
        f"""select s.plan_id, s.step_id, s.status, i.intent_id from plan_steps s
        join plans p on p.tenant_id = s.tenant_id and p.plan_id = s.plan_id
            and p.status in ({_LIVE})
        left join intents i on i.tenant_id = s.tenant_id and i.plan_id = s.plan_id
            and i.step_id = s.step_id and i.state in ({_OPEN}) and not i.is_late
        where s.{_OWN} and (i.intent_id is not null)
            <> (s.status in ('PENDING_APPROVAL', 'AUTO_EXECUTED'))
        union all
        select s.plan_id, s.step_id, s.status, null from plan_steps s
        where s.{_OWN} and s.status = 'DONE' and not exists (
            select 1 from intents i where i.tenant_id = s.tenant_id and i.plan_id = s.plan_id
            and i.step_id = s.step_id and i.attempt = s.attempts and i.state = 'SUCCEEDED')""",
    ),
    Question(
        "nothing_is_done_unasked",
        "what was carried out was allowed: by policy, or by whoever answered, in the ledger",
        ("intent_id", "state", "approval", "decided_by"),
        f"""select i.intent_id, i.state, i.approval, i.decided_by from intents i
        left join approved a on a.intent_id = cast(i.intent_id as text)
        where i.{_OWN} and i.executing_at is not null and (i.decided_by is null
            or i.approval = 'BLOCK' or (i.approval = 'REQUIRE_APPROVAL'
                and a.intent_id is null and i.created_at > (select after_at from given)))""",
    ),
    Question(
        "an_approved_action_is_on_its_way",
        "an approved attempt of an active plan that has not expired has a message under way",
        ("plan_id", "intent_id"),
        f"""select i.plan_id, i.intent_id from intents i join plans p
            on p.tenant_id = i.tenant_id and p.plan_id = i.plan_id and p.status = 'ACTIVE'
        where i.{_OWN} and i.state = 'APPROVED' and p.expires_at > (select now from given)
        and not exists (select 1 from outbox o where o.tenant_id = i.tenant_id
            and o.id = i.message_id and o.topic = 'action.requested' and o.done_at is null)""",
    ),
    Question(
        "autonomy_is_counted",
        "what went without an approval on a day is what its counter says",
        ("day", "counter", "intents"),
        f"""select d.day, d.used, coalesce(n, 0) from autonomy_days d left join (
            select created_at / {DAY} as day, count(*) as n from intents
            where {_OWN} and approval = 'AUTO_EXECUTE' group by 1) i on i.day = d.day
        where d.{_OWN} and d.used <> coalesce(n, 0)""",
    ),
)
"""What is never so, whatever happened."""

_ASKED = {q.name: same(f"{_WITH.rstrip()}\n{q.sql}\nlimit {ROWS_MAX}") for q in ACT_QUESTIONS}


def ask(tx: ReadTx, question: Question, scope: Scope, outcome_us: int) -> list[dict[str, object]]:
    """The rows that break the invariant, at most ROWS_MAX. An outcome may take `outcome_us`."""
    return told(question, tx.rows(_ASKED[question.name], (*given(tx, scope), outcome_us)))
