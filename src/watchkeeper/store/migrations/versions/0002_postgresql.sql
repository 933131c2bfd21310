CREATE TABLE quota_buckets (
    tenant_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    period TEXT NOT NULL,
    start_at BIGINT NOT NULL,
    bucket TEXT NOT NULL,
    reserved_micro BIGINT NOT NULL,
    spent_micro BIGINT NOT NULL,
    turns_reserved INTEGER NOT NULL,
    turns_settled INTEGER NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, user_id, period, start_at, bucket),
    CONSTRAINT period_is_known CHECK (period IN ('daily', 'monthly')),
    CONSTRAINT bucket_is_known CHECK (bucket = 'total' OR substr(bucket, 1, 5) = 'tier:'),
    CONSTRAINT quota_is_not_negative CHECK (reserved_micro >= 0 AND spent_micro >= 0 AND turns_settled >= 0 AND input_tokens >= 0 AND output_tokens >= 0 AND turns_reserved >= 0)
)
 WITH (fillfactor = 20);

CREATE TABLE sinks (
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    kind TEXT NOT NULL,
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_secret_until_at BIGINT,
    set_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, name),
    CONSTRAINT one_sink_for_a_topic UNIQUE (tenant_id, namespace, topic),
    CONSTRAINT kind_is_known CHECK (kind IN ('webhook', 'nats')),
    CONSTRAINT an_old_secret_ends CHECK ((old_secret IS NULL) = (old_secret_until_at IS NULL))
);

CREATE TABLE turns (
    tenant_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    user_id TEXT,
    decision_id UUID,
    policy_version INTEGER NOT NULL,
    selected_model TEXT NOT NULL,
    effective_model TEXT NOT NULL,
    tier TEXT NOT NULL,
    input_multiplier_micro BIGINT NOT NULL,
    output_multiplier_micro BIGINT NOT NULL,
    estimated_input_tokens BIGINT NOT NULL,
    max_output_tokens BIGINT NOT NULL,
    generation_floor_tokens BIGINT NOT NULL,
    tolerance_percent INTEGER NOT NULL,
    reserved_micro BIGINT NOT NULL,
    day_start_at BIGINT NOT NULL,
    month_start_at BIGINT NOT NULL,
    timeout_us BIGINT NOT NULL,
    reserved_at BIGINT NOT NULL,
    state TEXT DEFAULT 'running' NOT NULL,
    started_at BIGINT,
    progressed_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    ended_at BIGINT,
    ended_by TEXT,
    finalize_id UUID,
    settlement_method TEXT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    computed_micro BIGINT,
    charged_micro BIGINT,
    is_capped BOOLEAN,
    event_id UUID,
    event_fate TEXT,
    event_fate_at BIGINT,
    PRIMARY KEY (tenant_id, turn_id),
    CONSTRAINT turns_request UNIQUE (tenant_id, request_id),
    CONSTRAINT turn_state_is_known CHECK (state IN ('running', 'completed', 'failed', 'cancelled')),
    CONSTRAINT a_turn_that_ended_is_settled_with_its_event CHECK (CASE WHEN state = 'running' THEN ended_at IS NULL AND settlement_method IS NULL
            AND charged_micro IS NULL AND event_id IS NULL AND event_fate IS NULL
        ELSE coalesce(ended_at IS NOT NULL AND ended_by IS NOT NULL AND finalize_id IS NOT NULL
            AND settlement_method IN ('actual', 'estimated', 'released')
            AND input_tokens >= 0 AND output_tokens >= 0 AND computed_micro >= charged_micro
            AND charged_micro >= 0 AND charged_micro <= reserved_micro * tolerance_percent / 100
            AND is_capped = (computed_micro > charged_micro)
            AND (settlement_method <> 'released' OR charged_micro = 0)
            AND event_id IS NOT NULL, false) END),
    CONSTRAINT terms_make_sense CHECK (reserved_micro >= 0 AND tolerance_percent >= 100 AND timeout_us > 0),
    CONSTRAINT a_fate_has_its_time CHECK ((event_fate IS NULL) = (event_fate_at IS NULL)
        AND coalesce(event_fate, 'delivered') IN ('delivered', 'discarded'))
)
 WITH (fillfactor = 60);

CREATE INDEX turns_decision ON turns (tenant_id, decision_id) WHERE decision_id IS NOT NULL;

CREATE INDEX turns_reserved ON turns (tenant_id, reserved_at, turn_id);

CREATE INDEX turns_running ON turns (deadline_at) WHERE state = 'running';

-- What a turn was reserved with never changes, and neither does what it was settled with. It is
-- born running, it ends together with its usage event, and it is kept.

create trigger turns_are_kept before delete on turns
    for each row execute function watchkeeper_refuse();

create trigger turns_are_never_emptied before truncate on turns
    for each statement execute function watchkeeper_refuse();

create trigger turns_are_born_running before insert on turns
    for each row when (new.state <> 'running') execute function watchkeeper_refuse();

create trigger terms_of_a_turn_stay before update on turns for each row when (
    (old.tenant_id, old.turn_id, old.request_id, old.user_id, old.decision_id,
        old.policy_version, old.selected_model, old.effective_model, old.tier,
        old.input_multiplier_micro, old.output_multiplier_micro, old.estimated_input_tokens,
        old.max_output_tokens, old.generation_floor_tokens, old.tolerance_percent,
        old.reserved_micro, old.day_start_at, old.month_start_at, old.timeout_us,
        old.reserved_at)
    is distinct from
    (new.tenant_id, new.turn_id, new.request_id, new.user_id, new.decision_id,
        new.policy_version, new.selected_model, new.effective_model, new.tier,
        new.input_multiplier_micro, new.output_multiplier_micro, new.estimated_input_tokens,
        new.max_output_tokens, new.generation_floor_tokens, new.tolerance_percent,
        new.reserved_micro, new.day_start_at, new.month_start_at, new.timeout_us,
        new.reserved_at))
    execute function watchkeeper_refuse();

create trigger a_settlement_stays before update on turns for each row when (old.state <> 'running' and
    (old.state, old.started_at, old.ended_at, old.ended_by, old.finalize_id,
        old.settlement_method, old.input_tokens, old.output_tokens, old.computed_micro,
        old.charged_micro, old.event_id)
    is distinct from
    (new.state, new.started_at, new.ended_at, new.ended_by, new.finalize_id,
        new.settlement_method, new.input_tokens, new.output_tokens, new.computed_micro,
        new.charged_micro, new.event_id))
    execute function watchkeeper_refuse();

create function watchkeeper_usage_key(tenant_id text, turn_id text, request_id text) returns text
    language sql immutable as $$ select tenant_id || '/' || turn_id || '/' || request_id $$;

create function watchkeeper_settle_with_event() returns trigger language plpgsql as $$
begin
    if not exists (select from outbox o where o.tenant_id = new.tenant_id and o.id = new.event_id
        and o.topic = 'usage_snapshot' and o.dedupe_key
            = watchkeeper_usage_key(new.tenant_id, new.turn_id, new.request_id)) then
        raise exception 'turn % would be settled without its usage event', new.turn_id
            using errcode = '23001';
    end if;
    return new;
end $$;

create trigger a_turn_is_settled_with_its_event before update on turns
    for each row when (old.state = 'running' and new.state <> 'running')
    execute function watchkeeper_settle_with_event();

create function watchkeeper_event_of_turn() returns trigger language plpgsql as $$
begin
    -- Bounds and order leave the planner no index but the primary key, however small it finds the
    -- table: it plans this once.
    if (select true from turns t where t.tenant_id = new.tenant_id
        and t.turn_id >= split_part(new.dedupe_key, '/', 2)
        and t.turn_id <= split_part(new.dedupe_key, '/', 2)
        and watchkeeper_usage_key(t.tenant_id, t.turn_id, t.request_id) = new.dedupe_key
        and (t.state = 'running' or t.event_id = new.id and t.event_fate is null)
        order by t.turn_id limit 1) is null then
        raise exception 'a usage event needs the key of a turn of its tenant' using errcode = '23001';
    end if;
    return new;
end $$;

create trigger a_usage_event_belongs_to_a_turn before insert on outbox
    for each row when (new.topic = 'usage_snapshot') execute function watchkeeper_event_of_turn();

create function watchkeeper_event_of_settled_turn() returns trigger language plpgsql as $$
begin
    if (select true from turns t where t.tenant_id = new.tenant_id
        and t.turn_id >= split_part(new.dedupe_key, '/', 2)
        and t.turn_id <= split_part(new.dedupe_key, '/', 2) and t.event_id = new.id
        order by t.turn_id limit 1) is null then
        raise exception 'a usage event would tell of a turn that is not settled'
            using errcode = '23001';
    end if;
    return null;
end $$;

-- Judged at the commit: the event is written first, then the turn that names it.
create constraint trigger a_usage_event_tells_of_a_settlement after insert on outbox
    deferrable initially deferred for each row when (new.topic = 'usage_snapshot')
    execute function watchkeeper_event_of_settled_turn();

alter table quota_buckets enable row level security;
alter table quota_buckets force row level security;
create policy own_tenant on quota_buckets to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on quota_buckets to watchkeeper_app;

alter table sinks enable row level security;
alter table sinks force row level security;
create policy own_tenant on sinks to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on sinks to watchkeeper_app;

alter table turns enable row level security;
alter table turns force row level security;
create policy own_tenant on turns to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on turns to watchkeeper_app;

-- Workers look for turns whose time is over, note what became of their events, and deliver to sinks.
create policy all_tenants on turns to watchkeeper_worker using (true) with check (true);
grant select, update (event_fate, event_fate_at) on turns to watchkeeper_worker;
create policy all_tenants on sinks for select to watchkeeper_worker using (true);
grant select on sinks to watchkeeper_worker;
