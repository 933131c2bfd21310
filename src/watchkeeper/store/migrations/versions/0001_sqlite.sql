-- The first schema, for SQLite.

CREATE TABLE accounts (
    tenant_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    posture TEXT,
    lifecycle_state TEXT,
    attributes TEXT DEFAULT '{}' NOT NULL,
    version INTEGER DEFAULT '0' NOT NULL,
    last_allowed_at BIGINT,
    last_allowed_seq BIGINT DEFAULT '0' NOT NULL,
    last_run_was_retry INTEGER DEFAULT '0' NOT NULL,
    triggers TEXT DEFAULT '{}' NOT NULL,
    pending TEXT DEFAULT '{}' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, account_id)
) WITHOUT ROWID;

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
    only BOOLEAN NOT NULL,
    now_at BIGINT NOT NULL,
    PRIMARY KEY (only),
    CONSTRAINT there_is_one_clock CHECK ("only")
);

CREATE TABLE dedupe_keys (
    tenant_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    message_id VARCHAR(36) NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, namespace, topic, dedupe_key)
);

CREATE TABLE http_replies (
    tenant_id TEXT NOT NULL,
    route TEXT NOT NULL,
    "key" TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER,
    headers TEXT,
    body TEXT,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, route, "key")
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
    entry_id VARCHAR(36) NOT NULL,
    at BIGINT NOT NULL,
    stage TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    correlation_id TEXT,
    policy_version INTEGER NOT NULL,
    trigger_type TEXT,
    result TEXT,
    reason TEXT,
    data TEXT NOT NULL,
    PRIMARY KEY (tenant_id, seq),
    CONSTRAINT ledger_entry UNIQUE (tenant_id, entry_id)
);

CREATE INDEX ledger_correlation ON ledger (tenant_id, correlation_id, seq) WHERE correlation_id IS NOT NULL;

CREATE INDEX ledger_subject ON ledger (tenant_id, subject, seq);

CREATE TABLE outbox (
    seq INTEGER NOT NULL,
    tenant_id TEXT NOT NULL,
    id VARCHAR(36) NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    dedupe_key TEXT,
    ordering_key TEXT,
    payload TEXT NOT NULL,
    status TEXT DEFAULT 'pending' NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    generation INTEGER DEFAULT '0' NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    is_due BOOLEAN DEFAULT false NOT NULL,
    holds_slot BOOLEAN DEFAULT false NOT NULL,
    locked_by VARCHAR(36),
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
);

CREATE INDEX outbox_dead ON outbox (tenant_id, done_at) WHERE done_at IS NOT NULL;

CREATE INDEX outbox_live ON outbox (namespace, topic, tenant_id, next_attempt_at, seq) WHERE done_at IS NULL AND is_due;

CREATE INDEX outbox_ordering ON outbox (tenant_id, topic, ordering_key, seq) WHERE ordering_key IS NOT NULL;

CREATE INDEX outbox_slots ON outbox (namespace, topic) WHERE holds_slot;

CREATE INDEX outbox_timers ON outbox (next_attempt_at) WHERE done_at IS NULL AND NOT is_due;

CREATE TABLE outbox_delivered (
    tenant_id TEXT NOT NULL,
    id VARCHAR(36) NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    dedupe_key TEXT,
    ordering_key TEXT,
    payload TEXT NOT NULL,
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
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;

CREATE TABLE runs (
    tenant_id TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
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
    data TEXT NOT NULL,
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
) WITHOUT ROWID;

-- The ledger is append-only, and a run that succeeded stays so.

create trigger ledger_is_append_only before update on ledger
begin select raise(abort, 'update of ledger is refused'); end;

create trigger ledger_is_never_cut before delete on ledger
begin select raise(abort, 'delete of ledger is refused'); end;

create trigger policies_are_kept before update on policies
begin select raise(abort, 'update of policies is refused'); end;

create trigger policies_are_never_cut before delete on policies
begin select raise(abort, 'delete of policies is refused'); end;

create trigger success_is_final before update on runs when old.state = 'SUCCEEDED'
begin select raise(abort, 'update of runs is refused'); end;
