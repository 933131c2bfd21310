-- The first schema, for PostgreSQL.

CREATE TABLE accounts (
    tenant_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    posture TEXT,
    lifecycle_state TEXT,
    attributes JSON DEFAULT '{}' NOT NULL,
    version INTEGER DEFAULT '0' NOT NULL,
    last_allowed_at BIGINT,
    last_allowed_seq BIGINT DEFAULT '0' NOT NULL,
    last_run_was_retry INTEGER DEFAULT '0' NOT NULL,
    triggers TEXT DEFAULT '{}' NOT NULL,
    pending TEXT DEFAULT '{}' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, account_id)
)
 WITH (fillfactor = 70);

CREATE TABLE api_keys (
    tenant_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    role TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    PRIMARY KEY (key_id),
    CONSTRAINT role_is_known CHECK (role IN ('ingest', 'viewer', 'operator', 'admin'))
);

CREATE INDEX api_keys_tenant ON api_keys (tenant_id, key_id);

CREATE TABLE clock (
    "only" BOOLEAN NOT NULL,
    now_at BIGINT NOT NULL,
    PRIMARY KEY ("only"),
    CONSTRAINT there_is_one_clock CHECK ("only")
);

CREATE TABLE dedupe_keys (
    tenant_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    message_id UUID NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, namespace, topic, dedupe_key)
);

CREATE TABLE http_replies (
    tenant_id TEXT NOT NULL,
    route TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER,
    headers TEXT,
    body TEXT,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, route, key)
);

CREATE TABLE kill_switches (
    tenant_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    reason TEXT NOT NULL,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, scope, id),
    CONSTRAINT scope_is_known CHECK (scope IN ('all', 'tenant', 'connector', 'trigger', 'tier', 'action')),
    CONSTRAINT named_unless_whole CHECK ((scope IN ('all', 'tenant')) = (id = '')),
    CONSTRAINT all_belongs_to_the_system CHECK (scope <> 'all' OR tenant_id = '_system')
);

CREATE TABLE ledger (
    tenant_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    entry_id UUID NOT NULL,
    at BIGINT NOT NULL,
    stage TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    correlation_id TEXT,
    policy_version INTEGER NOT NULL,
    trigger_type TEXT,
    result TEXT,
    reason TEXT,
    data JSON NOT NULL,
    PRIMARY KEY (tenant_id, seq),
    CONSTRAINT ledger_entry UNIQUE (tenant_id, entry_id)
);

CREATE INDEX ledger_correlation ON ledger (tenant_id, correlation_id, seq) WHERE correlation_id IS NOT NULL;

CREATE INDEX ledger_subject ON ledger (tenant_id, subject, seq);

CREATE TABLE outbox (
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id TEXT NOT NULL,
    id UUID NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    dedupe_key TEXT,
    ordering_key TEXT,
    payload JSON NOT NULL,
    status TEXT DEFAULT 'pending' NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    generation INTEGER DEFAULT '0' NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    is_due BOOLEAN DEFAULT false NOT NULL,
    holds_slot BOOLEAN DEFAULT false NOT NULL,
    locked_by UUID,
    locked_until BIGINT,
    last_error TEXT,
    dead_reason TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    done_at BIGINT,
    PRIMARY KEY (seq),
    CONSTRAINT a_status_has_what_belongs_to_it CHECK (CASE status
        WHEN 'pending' THEN locked_by IS NULL AND locked_until IS NULL
            AND done_at IS NULL AND NOT holds_slot
        WHEN 'processing' THEN locked_by IS NOT NULL AND locked_until IS NOT NULL
            AND done_at IS NULL AND is_due
        WHEN 'dead' THEN locked_by IS NULL AND locked_until IS NULL
            AND done_at IS NOT NULL AND NOT holds_slot
        ELSE false END),
    CONSTRAINT outbox_message UNIQUE (tenant_id, id)
)
 WITH (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX outbox_dead ON outbox (tenant_id, done_at) WHERE done_at IS NOT NULL;

CREATE INDEX outbox_live ON outbox (namespace, topic, tenant_id, next_attempt_at, seq) WHERE done_at IS NULL AND is_due;

CREATE INDEX outbox_ordering ON outbox (tenant_id, topic, ordering_key, seq) WHERE ordering_key IS NOT NULL;

CREATE INDEX outbox_slots ON outbox (namespace, topic) WHERE holds_slot;

CREATE INDEX outbox_timers ON outbox (next_attempt_at) WHERE done_at IS NULL AND NOT is_due;

CREATE TABLE outbox_delivered (
    tenant_id TEXT NOT NULL,
    id UUID NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    dedupe_key TEXT,
    ordering_key TEXT,
    payload JSON NOT NULL,
    attempts INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    last_error TEXT,
    created_at BIGINT NOT NULL,
    done_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE policies (
    version INTEGER NOT NULL,
    hash TEXT NOT NULL,
    text TEXT NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    applied_at BIGINT NOT NULL,
    PRIMARY KEY (version),
    CONSTRAINT versions_count_from_one CHECK (version >= 1)
);

CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    key TEXT NOT NULL,
    decision_id UUID NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, key)
);

CREATE TABLE runs (
    tenant_id TEXT NOT NULL,
    decision_id UUID NOT NULL,
    account_id TEXT NOT NULL,
    trigger_type TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    note TEXT,
    error TEXT,
    PRIMARY KEY (tenant_id, decision_id),
    CONSTRAINT state_is_known CHECK (state IN ('RUNNING', 'SUCCEEDED', 'FAILED', 'OUTCOME_UNKNOWN')),
    CONSTRAINT an_ended_run_has_an_end CHECK ((state = 'RUNNING') = (ended_at IS NULL))
);

CREATE TABLE schedules (
    tenant_id TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    account_id TEXT,
    trigger_type TEXT NOT NULL,
    cron TEXT NOT NULL,
    timezone TEXT NOT NULL,
    catch_up TEXT NOT NULL,
    spread_seconds INTEGER,
    next_fire_at BIGINT NOT NULL,
    generation INTEGER NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, schedule_id),
    CONSTRAINT catch_up_is_known CHECK (catch_up IN ('skip', 'fire_once', 'fire_all'))
);

CREATE TABLE signals (
    tenant_id TEXT NOT NULL,
    signal_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    type TEXT NOT NULL,
    occurred_at BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    correlation_id TEXT,
    data JSON NOT NULL,
    PRIMARY KEY (tenant_id, signal_id)
);

CREATE INDEX signals_account ON signals (tenant_id, account_id, seq);

CREATE TABLE tenants (
    tenant_id TEXT NOT NULL,
    name TEXT,
    tier TEXT,
    installed_at BIGINT,
    created_at BIGINT NOT NULL,
    hour INTEGER DEFAULT '0' NOT NULL,
    hour_runs TEXT DEFAULT '{}' NOT NULL,
    day INTEGER DEFAULT '0' NOT NULL,
    day_runs INTEGER DEFAULT '0' NOT NULL,
    ledger_seq BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (tenant_id),
    CONSTRAINT runs_not_negative CHECK (day_runs >= 0)
)
 WITH (fillfactor = 10);

-- Roles. Requests run as watchkeeper_app, which row-level security holds to one tenant; workers
-- claim as watchkeeper_worker, which sees the outbox and the list of tenants. Neither owns anything.

do $$ begin
    create role watchkeeper_app nologin nosuperuser nobypassrls;
exception when duplicate_object or unique_violation then null;
end $$;

do $$ begin
    create role watchkeeper_worker nologin nosuperuser nobypassrls;
exception when duplicate_object or unique_violation then null;
end $$;

create function watchkeeper_tenant() returns text language plpgsql stable as $$
declare
    tenant text := current_setting('app.tenant_id', true);
begin
    if tenant is null or tenant = '' then
        raise exception 'no tenant is set for this transaction' using errcode = '42501';
    end if;
    return tenant;
end $$;

create function watchkeeper_refuse() returns trigger language plpgsql as $$
begin
    raise exception '% of % is refused', lower(tg_op), tg_table_name using errcode = '23001';
end $$;

-- The ledger is append-only, and a run that succeeded stays so.

create trigger ledger_is_append_only before update or delete on ledger
    for each row execute function watchkeeper_refuse();

create trigger ledger_is_never_emptied before truncate on ledger
    for each statement execute function watchkeeper_refuse();

create trigger policies_are_kept before update or delete on policies
    for each row execute function watchkeeper_refuse();

create trigger success_is_final before update on runs
    for each row when (old.state = 'SUCCEEDED') execute function watchkeeper_refuse();

alter table accounts enable row level security;
alter table accounts force row level security;
create policy own_tenant on accounts to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on accounts to watchkeeper_app;

alter table api_keys enable row level security;
alter table api_keys force row level security;
create policy own_tenant on api_keys to watchkeeper_app using (tenant_id = (select watchkeeper_tenant()) or (select watchkeeper_tenant()) = '_system') with check (tenant_id = (select watchkeeper_tenant()) or (select watchkeeper_tenant()) = '_system');
grant select, insert, update, delete on api_keys to watchkeeper_app;

alter table dedupe_keys enable row level security;
alter table dedupe_keys force row level security;
create policy own_tenant on dedupe_keys to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on dedupe_keys to watchkeeper_app;
create policy all_tenants on dedupe_keys to watchkeeper_worker using (true) with check (true);
grant select, insert, update, delete on dedupe_keys to watchkeeper_worker;

alter table http_replies enable row level security;
alter table http_replies force row level security;
create policy own_tenant on http_replies to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on http_replies to watchkeeper_app;

alter table kill_switches enable row level security;
alter table kill_switches force row level security;
create policy own_tenant on kill_switches to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
create policy seen_by_all on kill_switches for select to watchkeeper_app using (tenant_id = '_system');
grant select, insert, update, delete on kill_switches to watchkeeper_app;

alter table ledger enable row level security;
alter table ledger force row level security;
create policy own_tenant on ledger to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert on ledger to watchkeeper_app;
-- only to find the tenant of an entry whose id is known
create policy all_tenants on ledger for select to watchkeeper_worker using (true);
grant select (tenant_id, entry_id) on ledger to watchkeeper_worker;

alter table outbox enable row level security;
alter table outbox force row level security;
create policy own_tenant on outbox to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on outbox to watchkeeper_app;
create policy all_tenants on outbox to watchkeeper_worker using (true) with check (true);
grant select, insert, update, delete on outbox to watchkeeper_worker;

-- Workers vacuum the outbox themselves where the server knows that right (from version 17 on).
do $$ begin
    if current_setting('server_version_num')::int >= 170000 then
        execute 'grant maintain on outbox to watchkeeper_worker';
    end if;
end $$;

alter table outbox_delivered enable row level security;
alter table outbox_delivered force row level security;
create policy own_tenant on outbox_delivered to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, delete on outbox_delivered to watchkeeper_app;
create policy all_tenants on outbox_delivered to watchkeeper_worker using (true) with check (true);
grant select, insert, delete on outbox_delivered to watchkeeper_worker;

alter table reservations enable row level security;
alter table reservations force row level security;
create policy own_tenant on reservations to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on reservations to watchkeeper_app;

alter table runs enable row level security;
alter table runs force row level security;
create policy own_tenant on runs to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on runs to watchkeeper_app;

alter table schedules enable row level security;
alter table schedules force row level security;
create policy own_tenant on schedules to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on schedules to watchkeeper_app;

alter table signals enable row level security;
alter table signals force row level security;
create policy own_tenant on signals to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on signals to watchkeeper_app;

alter table tenants enable row level security;
alter table tenants force row level security;
create policy own_tenant on tenants to watchkeeper_app using (tenant_id = (select watchkeeper_tenant()) or (select watchkeeper_tenant()) = '_system') with check (tenant_id = (select watchkeeper_tenant()) or (select watchkeeper_tenant()) = '_system');
grant select, insert, update, delete on tenants to watchkeeper_app;
create policy all_tenants on tenants for select to watchkeeper_worker using (true);
grant select on tenants to watchkeeper_worker;

grant select, insert on policies to watchkeeper_app;
grant select on policies to watchkeeper_worker;
grant select, insert, update on clock to watchkeeper_app;
grant select on clock to watchkeeper_worker;
