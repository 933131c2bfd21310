"""Questions to a live database that must return nothing.

Each is one SQL text for both engines. What differs (how a JSON parameter or a JSON
column becomes rows) stands in two preambles, side by side. A verdict is judged by the
rules it was decided under: these travel as a parameter, by policy version and tier.
Windows follow the gate: a clock that stepped back does not open an older hour again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watchkeeper.core.envelope import EVALUATION_REQUESTED, RETRY
from watchkeeper.core.run_state import OVERDUE_US
from watchkeeper.core.time import DAY, HOUR
from watchkeeper.store.json import encode
from watchkeeper.store.outbox import NAMESPACE
from watchkeeper.store.question import PRUNED_ID, ROWS_MAX, Question, Scope, given, told
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import ReadTx

_SCOPE = "tenant_id = (select tenant_id from given)"
_COMMON = f""",
verdicts as (
    select seq, entry_id, at, subject, trigger_type, result, coalesce(reason, '') as reason,
        policy_version, coalesce(data -> 'tenant' ->> 'tier', '') as tier, data
    from ledger where {_SCOPE} and seq > (select after_seq from given) and kind = 'verdict'),
allows as (
    select seq, entry_id, at, subject, trigger_type, policy_version, tier,
        max(at / {HOUR}) over (partition by subject, trigger_type order by seq) as hour,
        max(at / {HOUR}) over (order by seq) as tenant_hour,
        max(at / {DAY}) over (order by seq) as day
    from verdicts where result = 'ALLOW'),
numbered as (
    select a.*, r.cooldown, r.account_cap, r.tenant_cap, r.budget,
        lag(at) over (partition by subject order by seq) as previous_at,
        row_number() over (partition by subject, a.trigger_type, hour order by seq) as in_hour,
        row_number() over (partition by a.trigger_type, tenant_hour order by seq)
            as in_tenant_hour,
        row_number() over (partition by day order by seq) as in_day
    from allows a left join rules r on r.version = a.policy_version and r.tier = a.tier
        and r.trigger_type = a.trigger_type),
messages as (
    select id, namespace, topic, dedupe_key, created_at, payload, done_at, 1 as is_live
    from outbox where {_SCOPE}
    union all
    select id, namespace, topic, dedupe_key, created_at, payload, done_at, 0
    from outbox_delivered where {_SCOPE}),
retries as (
    select id, payload -> 'detail' ->> 'retry_of' as retry_of,
        payload -> 'detail' ->> 'moved' as moved, done_at, is_live
    from messages where namespace = '{NAMESPACE}' and topic = '{RETRY}'),
discarded as (
    select subject, at, data ->> 'topic' as topic from ledger
    where {_SCOPE} and kind = 'message.discarded')
"""
_POSTGRESQL = (
    """with given as (
    select %s::text as tenant_id, %s::bigint as after_seq, %s::bigint as after_at,
        %s::bigint as kept_since, %s::bigint as stale_before, %s::bigint as now),
rules as (
    select * from jsonb_to_recordset(%s::jsonb) as r (version int, tier text, trigger_type text,
        cooldown bigint, account_cap bigint, tenant_cap bigint, budget bigint, ttl bigint)),
account_triggers as (
    select account_id, t.key as trigger_type, (t.value ->> 2)::bigint as hour,
        (t.value ->> 3)::bigint as run_count
    from accounts, json_each(triggers::json) t where tenant_id = (select tenant_id from given)),
awaited as (
    select account_id, p.key as trigger_type, (p.value ->> 0)::bigint as due_at,
        p.value ->> 1 as decision_id
    from accounts, json_each(pending::json) p where tenant_id = (select tenant_id from given)),
hour_counts as (
    select r.key as trigger_type, r.value::bigint as run_count
    from tenants, json_each_text(hour_runs::json) r
    where tenant_id = (select tenant_id from given))"""
    + _COMMON
)
_SQLITE = (
    """with given as (
    select ? as tenant_id, ? as after_seq, ? as after_at, ? as kept_since,
        ? as stale_before, ? as now),
rules as (
    select value ->> 'version' as version, value ->> 'tier' as tier,
        value ->> 'trigger_type' as trigger_type, value ->> 'cooldown' as cooldown,
        value ->> 'account_cap' as account_cap, value ->> 'tenant_cap' as tenant_cap,
        value ->> 'budget' as budget, value ->> 'ttl' as ttl
    from json_each(?)),
account_triggers as (
    select account_id, t.key as trigger_type, t.value ->> 2 as hour, t.value ->> 3 as run_count
    from accounts, json_each(triggers) t where tenant_id = (select tenant_id from given)),
awaited as (
    select account_id, p.key as trigger_type, p.value ->> 0 as due_at, p.value ->> 1 as decision_id
    from accounts, json_each(pending) p where tenant_id = (select tenant_id from given)),
hour_counts as (
    select r.key as trigger_type, r.value as run_count
    from tenants, json_each(hour_runs) r where tenant_id = (select tenant_id from given))"""
    + _COMMON
)

_LAST_SEQ = f"""coalesce((select max(seq) from ledger where {_SCOPE}),
    (select after_seq from given))"""
_IS_RUN = f"namespace = '{NAMESPACE}' and topic = '{EVALUATION_REQUESTED}'"
_TAKES_A_KEY = "reason not in ('DUPLICATE_IDEMPOTENCY_KEY', 'UNKNOWN_TRIGGER_TYPE')"
_WHOLE = "((select after_seq from given) = 0 or (select after_at from given) < {start})"

QUESTIONS = (
    Question(
        "cooldown",
        "two ALLOWs of an account are never closer than the later one's cooldown",
        ("decision_id", "account_id", "at", "previous_at", "cooldown_us"),
        """select entry_id, subject, at, previous_at, cooldown from numbered
        where at < previous_at + cooldown""",
    ),
    Question(
        "account_hourly_cap",
        "an account's ALLOWs of a type in a UTC hour stay within the cap",
        ("decision_id", "account_id", "at", "place", "cap"),
        """select entry_id, subject, at, in_hour, account_cap from numbered
        where in_hour > account_cap""",
    ),
    Question(
        "tenant_hourly_cap",
        "a tenant's ALLOWs of a type in a UTC hour stay within the cap",
        ("decision_id", "account_id", "at", "place", "cap"),
        """select entry_id, subject, at, in_tenant_hour, tenant_cap from numbered
        where in_tenant_hour > tenant_cap""",
    ),
    Question(
        "run_budget",
        "a tenant's ALLOWs of a UTC day stay within its run budget",
        ("decision_id", "account_id", "at", "place", "budget"),
        "select entry_id, subject, at, in_day, budget from numbered where in_day > budget",
    ),
    Question(
        "known_rules",
        "every ALLOW was given under a policy version that has its trigger type",
        ("decision_id", "trigger_type", "policy_version", "tier"),
        """select entry_id, trigger_type, policy_version, tier from numbered
        where cooldown is null""",
    ),
    Question(
        "one_retry_per_deferral",
        "a deferral has one retry, which is evaluated once and moved at most once",
        ("deferral", "moved", "evaluations_or_messages"),
        f"""select * from (
            select data -> 'event' ->> 'retry_of' as retry_of,
                coalesce(data -> 'event' ->> 'moved', 'false') as moved, count(*) as times
            from verdicts where {_TAKES_A_KEY} group by 1, 2) evaluated
        where retry_of is not null and times > 1
        union all
        select retry_of, moved, count(*) from retries group by 1, 2 having count(*) > 1""",
    ),
    Question(
        "retry_has_its_deferral",
        "a retry belongs to a DEFER of the ledger",
        ("retry", "deferral"),
        f"""select id, retry_of from retries where retry_of > {PRUNED_ID} and not exists (
            select 1 from ledger l where l.{_SCOPE} and l.result = 'DEFER'
            and cast(l.entry_id as text) = retry_of)""",
    ),
    Question(
        "one_verdict_per_key",
        "within its time to live an idempotency key gets one verdict that is not a repeat",
        ("decision_id", "key", "at", "previous_at"),
        f"""select entry_id, key, at, previous_at from (
            select entry_id, at, data -> 'event' ->> 'idempotency_key' as key,
                lag(at) over w as previous_at, lag(policy_version) over w as version,
                lag(tier) over w as tier
            from verdicts where {_TAKES_A_KEY}
            window w as (partition by data -> 'event' ->> 'idempotency_key' order by seq)) v
        join (select distinct version, tier, ttl from rules) r
            on r.version = v.version and r.tier = v.tier
        where at < previous_at + ttl""",
    ),
    Question(
        "repeat_names_its_decision",
        "a repeat names a decision that is in the ledger",
        ("decision_id", "duplicate_of"),
        f"""select v.entry_id, v.data -> 'verdict' ->> 'duplicate_of' from verdicts v
        where v.reason = 'DUPLICATE_IDEMPOTENCY_KEY'
        and v.data -> 'verdict' ->> 'duplicate_of' > {PRUNED_ID} and not exists (
            select 1 from ledger l where l.{_SCOPE} and l.kind = 'verdict'
            and cast(l.entry_id as text) = v.data -> 'verdict' ->> 'duplicate_of')""",
    ),
    Question(
        "allow_has_its_message",
        "an ALLOW has its run's message: waiting, delivered, or discarded by somebody",
        ("decision_id", "account_id", "at"),
        """select a.entry_id, a.subject, a.at from allows a
        where a.at > (select kept_since from given)
        and not exists (select 1 from messages m where m.id = a.entry_id)
        and not exists (select 1 from discarded d where d.subject = cast(a.entry_id as text))""",
    ),
    Question(
        "message_has_its_allow",
        "a run's message, and the run, belong to an ALLOW of the ledger",
        ("message_or_run",),
        f"""select id from messages
        where {_IS_RUN} and cast(id as text) > {PRUNED_ID} and not exists (
            select 1 from ledger l where l.{_SCOPE} and l.entry_id = messages.id
            and l.result = 'ALLOW')
        union all
        select decision_id from runs
        where {_SCOPE} and cast(decision_id as text) > {PRUNED_ID} and not exists (
            select 1 from ledger l where l.{_SCOPE} and l.entry_id = runs.decision_id
            and l.result = 'ALLOW')""",
    ),
    Question(
        "deferral_has_its_retry",
        "a DEFER has the message of its retry: waiting, delivered, or discarded by somebody",
        ("decision_id", "account_id", "at"),
        # A discarded retry is gone, and with it for which deferral it stood.
        f"""select v.entry_id, v.subject, v.at from verdicts v
        left join retries r on r.retry_of = coalesce(
            v.data -> 'event' ->> 'retry_of', cast(v.entry_id as text))
        where v.result = 'DEFER' and v.at > (select kept_since from given) and r.id is null
        and not exists (select 1 from discarded d where d.topic = '{RETRY}' and d.at >= v.at)""",
    ),
    Question(
        "awaited_retry_exists",
        "a retry that an account waits for is on its way",
        ("account_id", "trigger_type", "due_at", "deferral"),
        f"""select account_id, trigger_type, due_at, decision_id from awaited
        where due_at + {OVERDUE_US} > (select now from given) and not exists (
            select 1 from retries r where r.retry_of = decision_id and r.is_live = 1
            and (r.done_at is null or r.done_at > (select stale_before from given)))""",
    ),
    Question(
        "leases_end",
        "no message is held long past the end of its lease",
        ("message_id", "topic", "locked_until"),
        f"""select id, topic, locked_until from outbox where {_SCOPE}
        and status = 'processing' and locked_until < (select stale_before from given)""",
    ),
    Question(
        "message_shape",
        "a dead message has a reason, a leased one an attempt, and none is in two places",
        ("message_id", "topic", "status"),
        f"""select id, topic, status from outbox where {_SCOPE} and (
            (status = 'dead' and (dead_reason is null or done_at is null))
            or (status = 'processing'
                and (locked_by is null or locked_until is null or attempts < 1))
            or (status <> 'processing' and locked_by is not null))
        union all
        select o.id, o.topic, 'delivered' from outbox o join outbox_delivered d
        on d.tenant_id = o.tenant_id and d.id = o.id where o.{_SCOPE}""",
    ),
    Question(
        "dedupe_keys",
        "a dedupe key stands for one message",
        ("namespace", "topic", "dedupe_key", "messages"),
        """select namespace, topic, dedupe_key, count(*) from messages
        where dedupe_key is not null group by 1, 2, 3 having count(*) > 1""",
    ),
    Question(
        "ledger_is_dense",
        "the ledger has no gap, and ends where its tenant's counter says",
        ("seq", "expected"),
        f"""select seq, expected from (
            select seq, coalesce(lag(seq) over (order by seq), (select after_seq from given)) + 1
                as expected
            from ledger where {_SCOPE} and seq > (select after_seq from given)) l
        where seq <> expected
        union all
        select t.ledger_seq, {_LAST_SEQ} from tenants t
        where t.{_SCOPE} and t.ledger_seq <> {_LAST_SEQ}""",
    ),
    Question(
        "tenant_counters",
        "a tenant's counters of this hour and day agree with the ledger",
        ("what", "window", "counted", "in_ledger"),
        f"""select 'day', t.day, t.day_runs, l.runs
        from tenants t, (select coalesce(max(day), 0) as day,
            (select count(*) from allows where day = (select max(day) from allows)) as runs
            from allows) l
        where t.{_SCOPE} and (t.day <> l.day or t.day_runs <> l.runs)
        and {_WHOLE.format(start=f"t.day * {DAY}")}
        union all
        select coalesce(c.trigger_type, l.trigger_type), t.hour, c.run_count, l.runs
        from tenants t cross join (
            select trigger_type from hour_counts union
            select trigger_type from allows
            where tenant_hour = (select max(tenant_hour) from allows)) n
        left join hour_counts c on c.trigger_type = n.trigger_type
        left join (select trigger_type, tenant_hour, count(*) as runs from allows
            group by 1, 2) l on l.trigger_type = n.trigger_type and l.tenant_hour = t.hour
        where t.{_SCOPE} and coalesce(c.run_count, 0) <> coalesce(l.runs, 0)
        and {_WHOLE.format(start=f"t.hour * {HOUR}")}""",
    ),
    Question(
        "account_state",
        "what an account remembers of its last ALLOW agrees with the ledger",
        ("account_id", "remembered_seq", "remembered_at", "seq", "at"),
        f"""select coalesce(a.account_id, l.subject), a.last_allowed_seq, a.last_allowed_at,
            l.seq, l.at
        from (
            select account_id from accounts
            where {_SCOPE} and last_allowed_seq > (select after_seq from given)
            union select subject from allows) n
        left join accounts a on a.account_id = n.account_id and a.{_SCOPE}
        left join (select x.subject, x.seq, x.at from allows x join (
            select subject, max(seq) as seq from allows group by 1) y on y.seq = x.seq) l
            on l.subject = n.account_id
        where coalesce(a.last_allowed_seq, 0) <> coalesce(l.seq, 0)
        or coalesce(a.last_allowed_at, -1) <> coalesce(l.at, -1)""",
    ),
    Question(
        "account_counters",
        "an account's counter of a type's last hour agrees with the ledger",
        ("account_id", "trigger_type", "hour", "counted", "in_ledger"),
        f"""select t.account_id, t.trigger_type, t.hour, t.run_count, l.runs
        from account_triggers t left join (
            select subject, trigger_type, hour, count(*) as runs from allows group by 1, 2, 3) l
        on l.subject = t.account_id and l.trigger_type = t.trigger_type and l.hour = t.hour
        where t.run_count <> coalesce(l.runs, 0)
        and {_WHOLE.format(start=f"t.hour * {HOUR}")}""",
    ),
)
"""All of them, in the order in which they are told."""

_ASKED = {
    q.name: Statement(
        f"{_POSTGRESQL}{q.sql}\nlimit {ROWS_MAX}", f"{_SQLITE}{q.sql}\nlimit {ROWS_MAX}"
    )
    for q in QUESTIONS
}
_RULED_BY = same(
    "select distinct policy_version, data -> 'tenant' ->> 'tier' from ledger"
    " where tenant_id = %s and seq > %s and kind = 'verdict'"
)


def ask(
    tx: ReadTx, question: Question, scope: Scope, rules: Sequence[Mapping[str, object]]
) -> list[dict[str, object]]:
    """The rows that break the invariant, at most ROWS_MAX."""
    rows = tx.rows(_ASKED[question.name], (*given(tx, scope), encode(list(rules))))
    return told(question, rows)


def ruled_by(tx: ReadTx, after_seq: int) -> list[tuple[int, str | None]]:
    """The policy versions and tiers under which the verdicts after a place were given."""
    return [(row[0], row[1]) for row in tx.rows(_RULED_BY, (tx.tenant_id, after_seq))]
