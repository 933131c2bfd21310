BEGIN TRANSACTION;
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
INSERT INTO "accounts" VALUES('acme','ann','at risk',NULL,'{}',1,1893456000000000,7,0,'{"SIGNAL_ARRIVED":[1893456000000000,null,525960,1]}','{}',1893456000000000,1893456000000000);
INSERT INTO "accounts" VALUES('acme','bob','at risk',NULL,'{}',1,1893456000000000,11,0,'{"SIGNAL_ARRIVED":[1893456000000000,null,525960,1]}','{}',1893456000000000,1893456000000000);
INSERT INTO "accounts" VALUES('acme','cyd',NULL,NULL,'{}',0,1893456000000000,2,0,'{"SIGNAL_ARRIVED":[1893456000000000,null,525960,1]}','{}',1893456000000000,1893456000000000);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO "alembic_version" VALUES('0001');
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
CREATE TABLE clock (
    only BOOLEAN NOT NULL,
    now_at BIGINT NOT NULL,
    PRIMARY KEY (only),
    CONSTRAINT there_is_one_clock CHECK ("only")
);
INSERT INTO "clock" VALUES(1,1893459600000000);
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
INSERT INTO "kill_switches" VALUES('acme','trigger','POSTURE_CHANGE','too many','python',1893456000000000);
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
INSERT INTO "ledger" VALUES('acme',1,'01a1ecca-351d-7be3-a6ad-8029fddc133c',1893456000000000,'system','tenant.created','acme',NULL,0,NULL,NULL,NULL,'{"installed_at":1893456000000000,"name":null,"tier":null}');
INSERT INTO "ledger" VALUES('acme',2,'01a1ecca-3517-719a-8a45-dd2b7585fb57',1893456000000000,'decide','verdict','cyd',NULL,0,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"cyd","idempotency_key":"01a1ecca-3517-7955-a9bb-96e540015309","signal_id":"01a1ecca-3517-7955-a9bb-96e540015309","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f","version":0},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":0,"day_runs":0,"hour":0,"hour_runs":0,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',3,'01a1ecca-3520-77a1-83e1-0264f11b0d93',1893456000000000,'perceive','heat.tier_changed','cyd',NULL,0,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',4,'01a1ecca-3527-7c21-9ca5-5a7c16fceb1f',1893456000000000,'decide','run.ended','cyd',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-3517-719a-8a45-dd2b7585fb57","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('_system',1,'01a1ecca-3529-7432-b8b1-6af5935a96f1',1893456000000000,'system','policy.applied','1',NULL,1,NULL,NULL,NULL,'{"author":"python","changes":[{"after":1200,"before":300,"path":"triggers.SIGNAL_ARRIVED.cooldown_seconds"}],"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","reason":"quieter","version":1}');
INSERT INTO "ledger" VALUES('acme',5,'01a1ecca-352c-7906-be7a-a7ad84eab456',1893456000000000,'decide','schedule.set','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"catch_up":"fire_once","cron":"0 * * * *","generation":1,"next_fire_at":1893459600000000,"spread_seconds":null,"timezone":"UTC"}');
INSERT INTO "ledger" VALUES('acme',6,'01a1ecca-352e-7596-bec0-59abb9d04ad4',1893456000000000,'system','kill_switch.set','trigger:POSTURE_CHANGE',NULL,0,NULL,NULL,NULL,'{"id":"POSTURE_CHANGE","on":true,"reason":"too many","scope":"trigger","set_by":"python"}');
INSERT INTO "ledger" VALUES('acme',7,'01a1ecca-352f-7b97-a604-81e2e330ac84',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"01a1ecca-352f-736b-8f03-2e9d4cccf433","signal_id":"01a1ecca-352f-736b-8f03-2e9d4cccf433","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":1,"hour":525960,"hour_runs":1,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',8,'01a1ecca-3530-790e-9dea-635efc5dc872',1893456000000000,'perceive','heat.tier_changed','ann',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',9,'01a1ecca-3532-7e70-a6b3-718652e9d200',1893456000000000,'decide','account.changed','ann',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',10,'01a1ecca-3532-7d63-9335-75e134b23ceb',1893456000000000,'decide','verdict','ann',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"ann","idempotency_key":"account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',11,'01a1ecca-3535-7853-8baa-0f72627e6242',1893456000000000,'decide','verdict','bob',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"bob","idempotency_key":"01a1ecca-3535-7f4d-9c12-e253053a59d9","signal_id":"01a1ecca-3535-7f4d-9c12-e253053a59d9","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":2,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',12,'01a1ecca-3535-74f8-94d6-649993d1eabc',1893456000000000,'perceive','heat.tier_changed','bob',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',13,'01a1ecca-3537-78d8-928c-f039fe5259d4',1893456000000000,'decide','account.changed','bob',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',14,'01a1ecca-3537-7c19-9b66-47c8f814f8aa',1893456000000000,'decide','verdict','bob',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"bob","idempotency_key":"account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',15,'01a1ecca-3539-7035-94dd-3a61852932f0',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','SKIP','DEBOUNCED','{"engine":1,"event":{"account_id":"ann","idempotency_key":"soon","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"reason":"DEBOUNCED","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',16,'01a1ecca-353e-7744-a453-0d048b1268a5',1893456000000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-352f-7b97-a604-81e2e330ac84","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',17,'01a1ecca-353e-774b-a19d-6eae7af457ee',1893456000000000,'decide','run.ended','bob',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-3535-7853-8baa-0f72627e6242","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',18,'01a1ecca-3580-71e0-ac9e-cc470459d6d1',1893459600000000,'decide','schedule.fired','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"scheduled_at":1893459600000000,"when":"2030-01-01T01:00:00Z"}');
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
INSERT INTO "outbox" VALUES(6,'acme','01a1ecca-3580-7dce-8cb7-3b4be67d5848','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893463200000000,"generation":1,"schedule_id":"brief"}','pending',0,0,1893463200000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(9,'acme','01a1ecca-3591-76c4-ae2c-472b1061a5d6','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"ann","idempotency_key":"87ab13628cbafa4578e1e7f45a1db6178390380e3a38c1658b9ee04c18426006","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459747000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(10,'acme','01a1ecca-3591-706a-9063-ec47395f41c7','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"bob","idempotency_key":"ec45c35fdfef73e6e1fad69d9240b944456d5696ef70ee6658d9ade150973c1a","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459704000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(11,'acme','01a1ecca-3591-7de2-92b1-2f7b1c9efe46','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"cyd","idempotency_key":"9cb83f09950d1128a057f39b68b722c432642618af13951a1625b9d43b1bc25b","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459745000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
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
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3517-719a-8a45-dd2b7585fb57','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"cyd","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-3517-719a-8a45-dd2b7585fb57","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-3517-7955-a9bb-96e540015309","signals_after":0,"signals_until":2},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-352f-7b97-a604-81e2e330ac84','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-352f-7b97-a604-81e2e330ac84","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-352f-736b-8f03-2e9d4cccf433","signals_after":0,"signals_until":7},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3535-7853-8baa-0f72627e6242','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"bob","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-3535-7853-8baa-0f72627e6242","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-3535-7f4d-9c12-e253053a59d9","signals_after":0,"signals_until":11},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-352c-7434-9ede-74b981621b36','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893456000000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3580-7406-8436-43607cd60bda','watchkeeper','schedule.slice',NULL,NULL,'{"after":"","fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
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
INSERT INTO "policies" VALUES(1,'2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed','[triggers.SIGNAL_ARRIVED]
cooldown_seconds = 1200
','python','quieter',1893456000000000);
CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;
INSERT INTO "reservations" VALUES('acme','01a1ecca-3517-7955-a9bb-96e540015309','01a1ecca-3517-719a-8a45-dd2b7585fb57','8bfb31fb',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-352f-736b-8f03-2e9d4cccf433','01a1ecca-352f-7b97-a604-81e2e330ac84','dc183bd6',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-3535-7f4d-9c12-e253053a59d9','01a1ecca-3535-7853-8baa-0f72627e6242','c45beb46',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1','01a1ecca-3532-7d63-9335-75e134b23ceb','b94b280d',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237','01a1ecca-3537-7c19-9b66-47c8f814f8aa','aaa48f09',1893542400000000);
INSERT INTO "reservations" VALUES('acme','soon','01a1ecca-3539-7035-94dd-3a61852932f0','ab96c2ed',1893542400000000);
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
INSERT INTO "runs" VALUES('acme','01a1ecca-3517-719a-8a45-dd2b7585fb57','cyd','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,'seen',NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-352f-7b97-a604-81e2e330ac84','ann','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,'seen',NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-3535-7853-8baa-0f72627e6242','bob','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,'seen',NULL);
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
INSERT INTO "schedules" VALUES('acme','brief',NULL,'TIME_RITUAL_DAILY_BRIEF','0 * * * *','UTC','fire_once',NULL,1893463200000000,1,1893456000000000);
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
INSERT INTO "signals" VALUES('acme','01a1ecca-3517-7955-a9bb-96e540015309','cyd','mail.received',1893456000000000,1893456000000000,2,NULL,'{}');
INSERT INTO "signals" VALUES('acme','01a1ecca-352f-736b-8f03-2e9d4cccf433','ann','mail.received',1893456000000000,1893456000000000,7,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','01a1ecca-3535-7f4d-9c12-e253053a59d9','bob','mail.received',1893456000000000,1893456000000000,11,NULL,'{"n":1}');
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
INSERT INTO "tenants" VALUES('_system',NULL,NULL,NULL,1893456000000000,0,'{}',0,0,1);
INSERT INTO "tenants" VALUES('acme',NULL,NULL,1893456000000000,1893456000000000,525960,'{"SIGNAL_ARRIVED":3}',21915,3,18);
CREATE INDEX api_keys_tenant ON api_keys (tenant_id, key_id);
CREATE INDEX ledger_correlation ON ledger (tenant_id, correlation_id, seq) WHERE correlation_id IS NOT NULL;
CREATE INDEX ledger_subject ON ledger (tenant_id, subject, seq);
CREATE INDEX outbox_dead ON outbox (tenant_id, done_at) WHERE done_at IS NOT NULL;
CREATE INDEX outbox_live ON outbox (namespace, topic, tenant_id, next_attempt_at, seq) WHERE done_at IS NULL AND is_due;
CREATE INDEX outbox_ordering ON outbox (tenant_id, topic, ordering_key, seq) WHERE ordering_key IS NOT NULL;
CREATE INDEX outbox_slots ON outbox (namespace, topic) WHERE holds_slot;
CREATE INDEX outbox_timers ON outbox (next_attempt_at) WHERE done_at IS NULL AND NOT is_due;
CREATE INDEX signals_account ON signals (tenant_id, account_id, seq);
CREATE TRIGGER ledger_is_append_only before update on ledger
begin select raise(abort, 'update of ledger is refused'); end;
CREATE TRIGGER ledger_is_never_cut before delete on ledger
begin select raise(abort, 'delete of ledger is refused'); end;
CREATE TRIGGER policies_are_kept before update on policies
begin select raise(abort, 'update of policies is refused'); end;
CREATE TRIGGER policies_are_never_cut before delete on policies
begin select raise(abort, 'delete of policies is refused'); end;
CREATE TRIGGER success_is_final before update on runs when old.state = 'SUCCEEDED'
begin select raise(abort, 'update of runs is refused'); end;
COMMIT;
