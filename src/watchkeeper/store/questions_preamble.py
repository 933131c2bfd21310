"""The rows that questions about decisions are asked of, named for both engines.

`/*subject*/`, `/*account_id*/` and `seq/**/` mark where a question about accounts is bounded
to a slice of them.
"""

from __future__ import annotations

from watchkeeper.core.envelope import RETRY
from watchkeeper.core.time import DAY, HOUR
from watchkeeper.store.outbox import NAMESPACE

SCOPE = "tenant_id = (select tenant_id from given)"
OF_SLICE = " and {column} > (select low from slice)"
TO_SLICE = " and {column} <= (select high from slice)"
_COMMON = f""",
verdicts as (
    select seq, entry_id, at, subject, trigger_type, result, coalesce(reason, '') as reason,
        policy_version, coalesce(data -> 'tenant' ->> 'tier', '') as tier, data
    from ledger where {SCOPE} and seq/**/ > (select after_seq from given) and kind = 'verdict'
    /*subject*/),
runs_given as (
    select seq, entry_id, at, subject, trigger_type, policy_version, tier
    from verdicts where result = 'ALLOW'),
allows as (
    select *, max(at / {HOUR}) over (partition by subject, trigger_type order by seq) as hour
    from runs_given),
latest as materialized (
    select g.subject, g.seq, l.at from (
        select subject, max(seq) as seq from runs_given group by 1) g
    join ledger l on l.{SCOPE} and l.seq = g.seq),
tenant_runs as materialized (
    select trigger_type, max(at / {HOUR}) over (order by seq) as tenant_hour,
        max(at / {DAY}) over (order by seq) as day
    from runs_given),
ruled as (
    select a.*, r.cooldown, r.account_cap, r.tenant_cap, r.budget
    from runs_given a left join rules r on r.version = a.policy_version and r.tier = a.tier
        and r.trigger_type = a.trigger_type),
messages as (
    select id, namespace, topic, dedupe_key, created_at, payload, done_at, 1 as is_live
    from outbox where {SCOPE}
    union all
    select id, namespace, topic, dedupe_key, created_at, payload, done_at, 0
    from outbox_delivered where {SCOPE}),
retries as materialized (
    select id, payload -> 'detail' ->> 'retry_of' as retry_of,
        payload -> 'detail' ->> 'moved' as moved, done_at, is_live
    from messages where namespace = '{NAMESPACE}' and topic = '{RETRY}'),
discarded as materialized (
    select seq, subject, at, data ->> 'topic' as topic from ledger
    where {SCOPE} and kind = 'message.discarded')
"""
POSTGRESQL = (
    """with given as (
    select %s::text as tenant_id, %s::bigint as after_seq, %s::bigint as after_at,
        %s::bigint as kept_since, %s::bigint as stale_before, %s::bigint as now),
slice as (select %s::text as low, %s::text as high),
rules as (
    select * from jsonb_to_recordset(%s::jsonb) as r (version int, tier text, trigger_type text,
        cooldown bigint, account_cap bigint, tenant_cap bigint, budget bigint, ttl bigint)),
account_triggers as (
    select account_id, t.key as trigger_type, (t.value ->> 2)::bigint as hour,
        (t.value ->> 3)::bigint as run_count
    from accounts, json_each(triggers::json) t where tenant_id = (select tenant_id from given)
    /*account_id*/),
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
SQLITE = (
    """with given as (
    select ? as tenant_id, ? as after_seq, ? as after_at, ? as kept_since,
        ? as stale_before, ? as now),
slice as (select ? as low, ? as high),
rules as materialized (
    select cast(value ->> 'version' as integer) as version, cast(value ->> 'tier' as text) as tier,
        cast(value ->> 'trigger_type' as text) as trigger_type, value ->> 'cooldown' as cooldown,
        value ->> 'account_cap' as account_cap, value ->> 'tenant_cap' as tenant_cap,
        value ->> 'budget' as budget, value ->> 'ttl' as ttl
    from json_each(?)),
account_triggers as (
    select account_id, t.key as trigger_type, t.value ->> 2 as hour, t.value ->> 3 as run_count
    from accounts, json_each(triggers) t where tenant_id = (select tenant_id from given)
    /*account_id*/),
awaited as (
    select account_id, p.key as trigger_type, p.value ->> 0 as due_at, p.value ->> 1 as decision_id
    from accounts, json_each(pending) p where tenant_id = (select tenant_id from given)),
hour_counts as (
    select r.key as trigger_type, r.value as run_count
    from tenants, json_each(hour_runs) r where tenant_id = (select tenant_id from given))"""
    + _COMMON
)
