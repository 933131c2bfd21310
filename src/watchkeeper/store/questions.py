"""Questions to a live database that must return nothing.

Each is one SQL text for both engines. What differs (how a JSON parameter or a JSON
column becomes rows) stands in two preambles, side by side. A verdict is judged by the
rules it was decided under: these travel as a parameter, by policy version and tier.
Windows follow the gate: a clock that stepped back does not open an older hour again.

A question about accounts is asked of a slice of them at a time, each in a transaction of
its own: on SQLite with the rollback journal nobody can commit while somebody reads. All that
is compared for an account is read in the same transaction, so writers raise no false alarm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from watchkeeper.core.envelope import EVALUATION_REQUESTED, RETRY
from watchkeeper.core.run_state import OVERDUE_US
from watchkeeper.core.time import DAY, HOUR
from watchkeeper.store.json import encode
from watchkeeper.store.outbox import NAMESPACE
from watchkeeper.store.question import PRUNED_ID, ROWS_MAX, Question, Scope, given, told
from watchkeeper.store.questions_preamble import OF_SLICE, POSTGRESQL, SCOPE, SQLITE, TO_SLICE
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import ReadTx

_LAST_SEQ = f"""coalesce((select max(seq) from ledger where {SCOPE}),
    (select after_seq from given))"""
_STUCK = f"""(select id, namespace, topic, locked_until from outbox where {SCOPE}
    and status = 'processing' and locked_until < (select stale_before from given)) o
    left join (select namespace, topic, max(done_at) as last_at from messages
        where done_at < (select stale_before from given) group by 1, 2) w
    on w.namespace = o.namespace and w.topic = o.topic"""
_IS_RUN = f"namespace = '{NAMESPACE}' and topic = '{EVALUATION_REQUESTED}'"
_TAKES_A_KEY = "reason not in ('DUPLICATE_IDEMPOTENCY_KEY', 'UNKNOWN_TRIGGER_TYPE')"
_WHOLE = "((select after_seq from given) = 0 or (select after_at from given) < {start})"

QUESTIONS = (
    Question(
        "cooldown",
        "two ALLOWs of an account are never closer than the later one's cooldown",
        ("decision_id", "account_id", "at", "previous_at", "cooldown_us"),
        """select entry_id, subject, at, previous_at, cooldown from (
            select *, lag(at) over (partition by subject order by seq) as previous_at from ruled) r
        where at < previous_at + cooldown""",
        is_sliced=True,
    ),
    Question(
        "account_hourly_cap",
        "an account's ALLOWs of a type in a UTC hour stay within the cap",
        ("decision_id", "account_id", "at", "place", "cap"),
        """select entry_id, subject, at, in_hour, account_cap from (
            select a.*, r.account_cap, row_number() over (
                partition by subject, a.trigger_type, hour order by seq) as in_hour
            from allows a join rules r on r.version = a.policy_version and r.tier = a.tier
                and r.trigger_type = a.trigger_type) n
        where in_hour > account_cap""",
        is_sliced=True,
    ),
    Question(
        "tenant_hourly_cap",
        "a tenant's ALLOWs of a type in a UTC hour stay within the cap",
        ("decision_id", "account_id", "at", "place", "cap"),
        f"""select entry_id, subject, at, in_tenant_hour, tenant_cap from (
            select *, row_number() over (partition by trigger_type, tenant_hour order by seq)
                as in_tenant_hour
            from (select *, max(at / {HOUR}) over (order by seq) as tenant_hour from ruled) r) n
        where in_tenant_hour > tenant_cap""",
    ),
    Question(
        "run_budget",
        "a tenant's ALLOWs of a UTC day stay within its run budget",
        ("decision_id", "account_id", "at", "place", "budget"),
        f"""select entry_id, subject, at, in_day, budget from (
            select *, row_number() over (partition by day order by seq) as in_day
            from (select *, max(at / {DAY}) over (order by seq) as day from ruled) r) n
        where in_day > budget""",
    ),
    Question(
        "known_rules",
        "every ALLOW was given under a policy version that has its trigger type",
        ("decision_id", "trigger_type", "policy_version", "tier"),
        """select entry_id, trigger_type, policy_version, tier from ruled
        where cooldown is null""",
        is_sliced=True,
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
            select 1 from ledger l where l.{SCOPE} and l.result = 'DEFER'
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
        where at < previous_at + (select max(ttl) from rules) and at < previous_at + ttl""",
    ),
    Question(
        "repeat_names_its_decision",
        "a repeat names a decision that is in the ledger",
        ("decision_id", "duplicate_of"),
        f"""select v.entry_id, v.data -> 'verdict' ->> 'duplicate_of' from verdicts v
        where v.reason = 'DUPLICATE_IDEMPOTENCY_KEY'
        and v.data -> 'verdict' ->> 'duplicate_of' > {PRUNED_ID} and not exists (
            select 1 from ledger l where l.{SCOPE} and l.kind = 'verdict'
            and cast(l.entry_id as text) = v.data -> 'verdict' ->> 'duplicate_of')""",
        is_sliced=True,
    ),
    Question(
        "allow_has_its_message",
        "an ALLOW has its run's message: waiting, delivered, or discarded by somebody",
        ("decision_id", "account_id", "at"),
        """select a.entry_id, a.subject, a.at from runs_given a
        where a.at > (select kept_since from given)
        and not exists (select 1 from messages m where m.id = a.entry_id)
        and not exists (select 1 from discarded d where d.subject = cast(a.entry_id as text))""",
        is_sliced=True,
    ),
    Question(
        "message_has_its_allow",
        "a run's message, and the run, belong to an ALLOW of the ledger",
        ("message_or_run",),
        f"""select id from messages
        where {_IS_RUN} and cast(id as text) > {PRUNED_ID} and not exists (
            select 1 from ledger l where l.{SCOPE} and l.entry_id = messages.id
            and l.result = 'ALLOW')
        union all
        select decision_id from runs
        where {SCOPE} and cast(decision_id as text) > {PRUNED_ID} and not exists (
            select 1 from ledger l where l.{SCOPE} and l.entry_id = runs.decision_id
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
        "no message is held long past the end of its lease while workers deliver others like it",
        ("message_id", "topic", "locked_until", "worked_at"),
        f"""select o.id, o.topic, o.locked_until, w.last_at from {_STUCK}
        where w.last_at > o.locked_until""",
    ),
    Question(
        "message_shape",
        "a dead message has a reason, a leased one an attempt, and none is in two places",
        ("message_id", "topic", "status"),
        f"""select id, topic, status from outbox where {SCOPE} and (
            (status = 'dead' and (dead_reason is null or done_at is null))
            or (status = 'processing'
                and (locked_by is null or locked_until is null or attempts < 1))
            or (status <> 'processing' and locked_by is not null))
        union all
        select o.id, o.topic, 'delivered' from outbox o join outbox_delivered d
        on d.tenant_id = o.tenant_id and d.id = o.id where o.{SCOPE}""",
    ),
    Question(
        "one_entry_per_death",
        "each death of a message has one line in the ledger",
        ("message_id", "seq", "what"),
        f"""select d.subject, d.seq, 'recorded twice' from (
            select subject, seq, kind, lag(kind) over (partition by subject order by seq) as last
            from ledger where {SCOPE} and seq > (select after_seq from given)
            and kind in ('message.dead', 'message.redriven')) d
        where d.kind = 'message.dead' and d.last = 'message.dead'
        union all
        select cast(o.id as text), null, 'not recorded' from outbox o
        where o.{SCOPE} and o.status = 'dead' and {_WHOLE.format(start="o.done_at")}
        and not exists (select 1 from ledger l where l.{SCOPE} and l.kind = 'message.dead'
            and l.subject = cast(o.id as text) and l.at = o.done_at)""",
    ),
    Question(
        "one_entry_per_discard",
        "each discarded message has one line in the ledger, and is gone",
        ("message_id", "seq", "what"),
        f"""select subject, max(seq), 'recorded twice' from discarded
        where seq > (select after_seq from given) group by 1 having count(*) > 1
        union all
        select d.subject, d.seq, 'still there' from discarded d
        join messages m on cast(m.id as text) = d.subject
        union all
        select cast(t.event_id as text), null, 'not recorded' from turns t
        where t.{SCOPE} and t.event_fate = 'discarded'
        and {_WHOLE.format(start="t.event_fate_at")}
        and not exists (select 1 from discarded d where d.subject = cast(t.event_id as text))""",
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
            from ledger where {SCOPE} and seq > (select after_seq from given)) l
        where seq <> expected
        union all
        select t.ledger_seq, {_LAST_SEQ} from tenants t
        where t.{SCOPE} and t.ledger_seq <> {_LAST_SEQ}""",
    ),
    Question(
        "tenant_counters",
        "a tenant's counters of this hour and day agree with the ledger",
        ("what", "window", "counted", "in_ledger"),
        f"""select 'day', t.day, t.day_runs, l.runs
        from tenants t, (select coalesce(max(day), 0) as day, coalesce(sum(case when day = last_day
                then 1 else 0 end), 0) as runs
            from (select day, max(day) over () as last_day from tenant_runs) d) l
        where t.{SCOPE} and (t.day <> l.day or t.day_runs <> l.runs)
        and {_WHOLE.format(start=f"t.day * {DAY}")}
        union all
        select coalesce(c.trigger_type, l.trigger_type), t.hour, c.run_count, l.runs
        from tenants t cross join (
            select trigger_type from hour_counts union
            select trigger_type from tenant_runs
            where tenant_hour = (select max(tenant_hour) from tenant_runs)) n
        left join hour_counts c on c.trigger_type = n.trigger_type
        left join (select trigger_type, tenant_hour, count(*) as runs from tenant_runs
            group by 1, 2) l on l.trigger_type = n.trigger_type and l.tenant_hour = t.hour
        where t.{SCOPE} and coalesce(c.run_count, 0) <> coalesce(l.runs, 0)
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
            where {SCOPE} and last_allowed_seq > (select after_seq from given) /*account_id*/
            union select subject from runs_given) n
        left join accounts a on a.account_id = n.account_id and a.{SCOPE}
        left join latest l on l.subject = n.account_id
        where coalesce(a.last_allowed_seq, 0) <> coalesce(l.seq, 0)
        or coalesce(a.last_allowed_at, -1) <> coalesce(l.at, -1)""",
        is_sliced=True,
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
        is_sliced=True,
    ),
)
"""All of them, in the order in which they are told."""

NOTICES = (
    Question(
        "lease_waits_for_a_worker",
        "a message whose lease is over is taken over: a worker of its topic has run since",
        ("message_id", "topic", "locked_until", "no_worker_since"),
        f"""select o.id, o.topic, o.locked_until, w.last_at from {_STUCK}
        where w.last_at is null or w.last_at <= o.locked_until""",
    ),
)
"""What waits for somebody and is no contradiction: the next worker mends it."""


def _statement(question: Question, bounds: str) -> Statement:
    """With what a slice is bounded by, where the question is asked of slices."""
    asked = f"{question.sql}\nlimit {ROWS_MAX}"
    texts = [f"{POSTGRESQL}{asked}", f"{SQLITE}{asked}"]
    if question.is_sliced:
        by = {f"/*{name}*/": bounds.format(column=name) for name in ("subject", "account_id")}
        by["seq/**/"] = "seq + 0"  # entries are found by their account, not by their place
        texts = [reduce(lambda text, mark: text.replace(mark, by[mark]), by, t) for t in texts]
    # SQLite's ids are text, and are found by their index only without a cast.
    return Statement(texts[0], texts[1].replace("cast(l.entry_id as text)", "l.entry_id"))


_ASKED = {q.name: _statement(q, OF_SLICE + TO_SLICE) for q in (*QUESTIONS, *NOTICES)}
_ASKED_OF_REST = {q.name: _statement(q, OF_SLICE) for q in (*QUESTIONS, *NOTICES)}
_RULED_BY = same(
    "select distinct policy_version, data -> 'tenant' ->> 'tier' from ledger"
    " where tenant_id = %s and seq > %s and seq <= %s and kind = 'verdict'"
)
_LAST_OF_SLICE = same(
    "select account_id from accounts where tenant_id = %s and account_id > %s"
    " order by account_id limit 1 offset %s"
)


def ask(
    tx: ReadTx,
    question: Question,
    scope: Scope,
    rules: Sequence[Mapping[str, object]],
    low: str = "",
    high: str | None = None,
) -> list[dict[str, object]]:
    """The rows that break the invariant, at most ROWS_MAX.

    Of accounts after `low` and up to `high`, or to the last; other questions know no slices.
    """
    asked = (_ASKED_OF_REST if high is None else _ASKED)[question.name]
    return told(question, tx.rows(asked, (*given(tx, scope), low, high, encode(list(rules)))))


def slice_end(tx: ReadTx, low: str, accounts: int) -> str | None:
    """The last of the next so many accounts; None where there are fewer."""
    return next((row[0] for row in tx.rows(_LAST_OF_SLICE, (tx.tenant_id, low, accounts))), None)


def ruled_by(tx: ReadTx, after_seq: int, until_seq: int) -> list[tuple[int, str | None]]:
    """The policy versions and tiers under which the verdicts between two places were given."""
    return [(row[0], row[1]) for row in tx.rows(_RULED_BY, (tx.tenant_id, after_seq, until_seq))]
