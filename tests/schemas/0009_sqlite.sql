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
INSERT INTO "accounts" VALUES('acme','ann','at risk',NULL,'{}',1,1893457200000000,32,1,'{"SIGNAL_ARRIVED":[1893456300000000,1893456300000000,525960,2]}','{}',1893456000000000,1893457200000000);
INSERT INTO "accounts" VALUES('acme','bob','at risk',NULL,'{}',1,1893456000000000,13,0,'{"SIGNAL_ARRIVED":[1893456000000000,null,525960,1]}','{}',1893456000000000,1893456000000000);
INSERT INTO "accounts" VALUES('acme','cyd',NULL,NULL,'{}',0,1893456000000000,2,0,'{"SIGNAL_ARRIVED":[1893456000000000,null,525960,1]}','{}',1893456000000000,1893456000000000);
CREATE TABLE action_types (
    action_type TEXT NOT NULL,
    risk INTEGER NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (action_type),
    CONSTRAINT risk_is_known CHECK (risk IN (0, 1, 2))
);
INSERT INTO "action_types" VALUES('REQUEST_RENEWAL_MEETING',0,1893456000000000);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO "alembic_version" VALUES('0009');
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
CREATE TABLE autonomy_days (
    tenant_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, day),
    CONSTRAINT autonomy_not_negative CHECK (used >= 0)
);
CREATE TABLE clock (
    only BOOLEAN NOT NULL,
    now_at BIGINT NOT NULL,
    PRIMARY KEY (only),
    CONSTRAINT there_is_one_clock CHECK ("only")
);
INSERT INTO "clock" VALUES(1,1893459600000000);
CREATE TABLE connector_slots (
    connector_id TEXT NOT NULL,
    message_id VARCHAR(36) NOT NULL,
    until_at BIGINT NOT NULL,
    PRIMARY KEY (connector_id, message_id)
);
CREATE TABLE connector_states (
    tenant_id TEXT NOT NULL,
    connector_id TEXT NOT NULL,
    milli_per_second BIGINT,
    burst INTEGER DEFAULT '1' NOT NULL,
    scheduled_at BIGINT DEFAULT '0' NOT NULL,
    failures INTEGER DEFAULT '0' NOT NULL,
    open_until_at BIGINT,
    probe_until_at BIGINT,
    PRIMARY KEY (tenant_id, connector_id),
    CONSTRAINT limit_makes_sense CHECK (coalesce(milli_per_second, 1) > 0 AND burst > 0),
    CONSTRAINT failures_not_negative CHECK (failures >= 0)
);
CREATE TABLE connectors (
    connector_id TEXT NOT NULL,
    milli_per_second BIGINT,
    burst INTEGER DEFAULT '1' NOT NULL,
    max_concurrency INTEGER,
    shallow_units INTEGER DEFAULT '1' NOT NULL,
    deep_units INTEGER DEFAULT '3' NOT NULL,
    has_cadence BOOLEAN DEFAULT false NOT NULL,
    scheduled_at BIGINT DEFAULT '0' NOT NULL,
    held_until_at BIGINT,
    probe_at BIGINT,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (connector_id),
    CONSTRAINT limits_make_sense CHECK (coalesce(milli_per_second, 1) > 0 AND burst > 0 AND coalesce(max_concurrency, 1) > 0 AND shallow_units > 0 AND deep_units > 0)
);
INSERT INTO "connectors" VALUES('crm',NULL,1,NULL,1,3,1,0,NULL,NULL,1893456000000000);
CREATE TABLE dedupe_keys (
    tenant_id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    message_id VARCHAR(36) NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, namespace, topic, dedupe_key)
);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ece6-317d-70f5-9a00-a7414e214563/01a1ece6-317d-70f5-9a00-a7414e214563','01a1ece6-31cf-7266-b396-3912a59238aa',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ece6-3249-76f8-820b-37db6d01d938/01a1ece6-3249-76f8-820b-37db6d01d938','01a1ece6-32e1-73c9-84c7-f01e9789fbba',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ece6-325e-7337-bacc-818ce7ddf4fa/01a1ece6-325e-7337-bacc-818ce7ddf4fa','01a1ece6-32e1-7465-a453-a20f7c0a3412',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ece6-343e-7043-8e2e-9a050507b9a7/01a1ece6-343e-7043-8e2e-9a050507b9a7','01a1ece6-3548-78d4-9ac9-49ac2c77b37c',1893457200000000);
CREATE TABLE delivered_tallies (
    tenant_id TEXT NOT NULL,
    hour INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    topic TEXT NOT NULL,
    messages BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, hour, namespace, topic),
    CONSTRAINT a_delivery_counts_something CHECK (messages > 0)
)
 WITHOUT ROWID;
CREATE TABLE heat_days (
    tenant_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    tier INTEGER NOT NULL,
    heat_micro INTEGER NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, account_id, day)
)
 WITHOUT ROWID;
CREATE TABLE heats (
    tenant_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    posture TEXT,
    recent TEXT DEFAULT '[]' NOT NULL,
    tier INTEGER NOT NULL,
    entered_at BIGINT NOT NULL,
    below_warm_at BIGINT,
    below_hot_at BIGINT,
    computed_at BIGINT NOT NULL,
    changes_at BIGINT NOT NULL,
    heat_micro INTEGER NOT NULL,
    posture_micro INTEGER NOT NULL,
    recency_micro INTEGER NOT NULL,
    volume_micro INTEGER NOT NULL,
    policy_version INTEGER NOT NULL,
    version INTEGER NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, account_id),
    CONSTRAINT tier_is_known CHECK (tier IN (0, 1, 2)),
    CONSTRAINT heat_is_a_fraction CHECK (heat_micro BETWEEN 0 AND 1000000)
)
 WITHOUT ROWID;
INSERT INTO "heats" VALUES('acme','ann','at risk','[1893456000000000,1893456300000000]',1,1893456000000000,NULL,1893456000000000,1893456300000000,1893459900000001,450000,0,1000000,400000,1,3,1893456300000000);
INSERT INTO "heats" VALUES('acme','bob','at risk','[1893456000000000]',1,1893456000000000,NULL,1893456000000000,1893456000000000,1893459600000001,400000,0,1000000,200000,1,2,1893456000000000);
INSERT INTO "heats" VALUES('acme','cyd',NULL,'[1893456000000000]',1,1893456000000000,NULL,1893456000000000,1893457800000000,1893459600000001,400000,0,1000000,200000,1,2,1893457800000000);
CREATE TABLE http_replies (
    tenant_id TEXT NOT NULL,
    route TEXT NOT NULL,
    "key" TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER,
    headers TEXT,
    body TEXT,
    expires_at BIGINT NOT NULL, deed TEXT,
    PRIMARY KEY (tenant_id, route, "key")
);
CREATE TABLE intents (
    tenant_id TEXT NOT NULL,
    intent_id VARCHAR(36) NOT NULL,
    plan_id VARCHAR(36) NOT NULL,
    step_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    account_id TEXT NOT NULL,
    action_type TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    approval TEXT NOT NULL,
    reason TEXT,
    clause TEXT,
    explanation TEXT,
    decided_at BIGINT,
    decided_by TEXT,
    executing_at BIGINT,
    ended_at BIGINT,
    detail TEXT,
    is_late BOOLEAN DEFAULT false NOT NULL,
    message_id VARCHAR(36),
    PRIMARY KEY (tenant_id, intent_id),
    CONSTRAINT intent_state_is_known CHECK (state IN ('APPROVED', 'CANCELLED', 'EXECUTING', 'FAILED', 'PENDING_APPROVAL', 'REJECTED', 'SUCCEEDED')),
    CONSTRAINT an_ended_intent_has_an_end CHECK ((state IN ('APPROVED', 'EXECUTING', 'PENDING_APPROVAL')) = (ended_at IS NULL)),
    CONSTRAINT attempts_count_from_one CHECK (attempt > 0)
);
INSERT INTO "intents" VALUES('acme','01a1ece6-33f9-7ad2-ad72-789690bd509b','01a1ece6-3388-794e-91ee-c7439129908c','step-1',1,'ann','REQUEST_RENEWAL_MEETING','SUCCEEDED',1893456300000000,1893546000000000,'REQUIRE_APPROVAL','APPROVE_EACH','autonomy.mode','every action is asked for',1893459600000000,'ann',1893459600000000,1893459600000000,NULL,0,'01a1ece6-373e-7f73-96a7-e2e81c58c430');
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
INSERT INTO "ledger" VALUES('_system',1,'01a1ece6-314d-727e-a3d9-5e1f4950d6c9',1893456000000000,'perceive','connector.set','crm',NULL,0,NULL,NULL,NULL,'{"by":"app","set":{"has_cadence":true}}');
INSERT INTO "ledger" VALUES('acme',1,'01a1ece6-3189-7823-95cb-745cf606a5da',1893456000000000,'system','tenant.created','acme',NULL,0,NULL,NULL,NULL,'{"installed_at":1893456000000000,"name":null,"tier":null}');
INSERT INTO "ledger" VALUES('acme',2,'01a1ece6-317d-70f5-9a00-a7414e214563',1893456000000000,'decide','verdict','cyd',NULL,0,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"cyd","idempotency_key":"01a1ece6-317d-7236-af94-3fc8219e2241","signal_id":"01a1ece6-317d-7236-af94-3fc8219e2241","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f","version":0},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":0,"day_runs":0,"hour":0,"hour_runs":0,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',3,'01a1ece6-319d-7a58-8dec-c5f6339b595b',1893456000000000,'perceive','heat.tier_changed','cyd',NULL,0,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',4,'01a1ece6-31c2-7b10-9bf9-58e7415ec980',1893456000000000,'settle','turn.reserved','01a1ece6-317d-70f5-9a00-a7414e214563','01a1ece6-317d-70f5-9a00-a7414e214563',0,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ece6-317d-70f5-9a00-a7414e214563","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ece6-317d-70f5-9a00-a7414e214563","turn_id":"01a1ece6-317d-70f5-9a00-a7414e214563"},"effective_model":"premium","levels":[["","daily","total",0,0],["","daily","tier:premium",0,0],["","monthly","total",0,0],["","monthly","tier:premium",0,0]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',5,'01a1ece6-31cf-7f31-9344-9d537e86f982',1893456000000000,'decide','run.ended','cyd',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ece6-317d-70f5-9a00-a7414e214563","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',6,'01a1ece6-31d0-7b8b-8b7e-c28a465f4197',1893456000000000,'settle','turn.settled','01a1ece6-317d-70f5-9a00-a7414e214563','01a1ece6-317d-70f5-9a00-a7414e214563',0,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ece6-317d-70f5-9a00-a7414e214563","ended_by":"run","event_id":"01a1ece6-31cf-7266-b396-3912a59238aa","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('_system',2,'01a1ece6-322e-7739-af4d-caad9178e6a0',1893456000000000,'system','policy.applied','1',NULL,1,NULL,NULL,NULL,'{"author":"python","changes":[{"after":1200,"before":300,"path":"triggers.SIGNAL_ARRIVED.cooldown_seconds"}],"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","reason":"quieter","version":1}');
INSERT INTO "ledger" VALUES('acme',7,'01a1ece6-323f-7a78-86a8-c831e80a5c97',1893456000000000,'decide','schedule.set','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"catch_up":"fire_once","cron":"0 * * * *","generation":1,"next_fire_at":1893459600000000,"spread_seconds":null,"timezone":"UTC"}');
INSERT INTO "ledger" VALUES('acme',8,'01a1ece6-3246-709d-b6f7-2e19837f49f3',1893456000000000,'system','kill_switch.set','trigger:POSTURE_CHANGE',NULL,0,NULL,NULL,NULL,'{"id":"POSTURE_CHANGE","on":true,"reason":"too many","scope":"trigger","set_by":"python"}');
INSERT INTO "ledger" VALUES('acme',9,'01a1ece6-3249-76f8-820b-37db6d01d938',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"01a1ece6-3249-767d-8383-763215b2b92b","signal_id":"01a1ece6-3249-767d-8383-763215b2b92b","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":1,"hour":525960,"hour_runs":1,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',10,'01a1ece6-324e-780c-969d-68995b146fa0',1893456000000000,'perceive','heat.tier_changed','ann',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',11,'01a1ece6-3255-78f2-9490-71833f0d9ead',1893456000000000,'decide','account.changed','ann',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',12,'01a1ece6-3255-7148-b778-320c81087587',1893456000000000,'decide','verdict','ann',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"ann","idempotency_key":"account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',13,'01a1ece6-325e-7337-bacc-818ce7ddf4fa',1893456000000000,'decide','verdict','bob',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"bob","idempotency_key":"01a1ece6-325e-76ea-bb47-e3155b7c4da1","signal_id":"01a1ece6-325e-76ea-bb47-e3155b7c4da1","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":2,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',14,'01a1ece6-325e-79ae-97ff-5edbe5079ded',1893456000000000,'perceive','heat.tier_changed','bob',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',15,'01a1ece6-3271-7437-aaaf-1e82f97cd2eb',1893456000000000,'decide','account.changed','bob',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',16,'01a1ece6-3271-74d7-b4bb-9026c06687d5',1893456000000000,'decide','verdict','bob',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"bob","idempotency_key":"account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',17,'01a1ece6-3285-7436-8747-5d59a1adc779',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','SKIP','DEBOUNCED','{"engine":1,"event":{"account_id":"ann","idempotency_key":"soon","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"reason":"DEBOUNCED","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',18,'01a1ece6-32c3-73ff-96f9-64591bed0306',1893456000000000,'settle','turn.reserved','01a1ece6-3249-76f8-820b-37db6d01d938','01a1ece6-3249-76f8-820b-37db6d01d938',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ece6-3249-76f8-820b-37db6d01d938","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ece6-3249-76f8-820b-37db6d01d938","turn_id":"01a1ece6-3249-76f8-820b-37db6d01d938"},"effective_model":"premium","levels":[["","daily","total",0,165],["","daily","tier:premium",0,165],["","monthly","total",0,165],["","monthly","tier:premium",0,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',19,'01a1ece6-32c3-744c-883c-addee019b237',1893456000000000,'settle','turn.reserved','01a1ece6-325e-7337-bacc-818ce7ddf4fa','01a1ece6-325e-7337-bacc-818ce7ddf4fa',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa","turn_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa"},"effective_model":"premium","levels":[["","daily","total",650,165],["","daily","tier:premium",650,165],["","monthly","total",650,165],["","monthly","tier:premium",650,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',20,'01a1ece6-32e1-7cf3-afc0-03c77792bde2',1893456000000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ece6-3249-76f8-820b-37db6d01d938","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',21,'01a1ece6-32e1-71a0-90e7-1a1c95d8aa85',1893456000000000,'decide','run.ended','bob',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',22,'01a1ece6-32e2-78c2-b1df-85be5d2380dc',1893456000000000,'settle','turn.settled','01a1ece6-3249-76f8-820b-37db6d01d938','01a1ece6-3249-76f8-820b-37db6d01d938',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ece6-3249-76f8-820b-37db6d01d938","ended_by":"run","event_id":"01a1ece6-32e1-73c9-84c7-f01e9789fbba","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',23,'01a1ece6-32e2-7638-b2a4-95b5d380ae77',1893456000000000,'settle','turn.settled','01a1ece6-325e-7337-bacc-818ce7ddf4fa','01a1ece6-325e-7337-bacc-818ce7ddf4fa',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa","ended_by":"run","event_id":"01a1ece6-32e1-7465-a453-a20f7c0a3412","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',24,'01a1ece6-333a-788c-8ff8-08f6806af8c1',1893456000000000,'perceive','pull_budget.set','acme',NULL,0,NULL,NULL,NULL,'{"budget":{"connectors":{},"total":100},"by":"python"}');
INSERT INTO "ledger" VALUES('acme',25,'01a1ece6-336a-7e61-a7c0-4ca090eed894',1893456000000000,'perceive','pull.decided','ann',NULL,1,NULL,'SCHEDULED',NULL,'{"connector_id":"crm","depth":"DEEP","expires_at":1893542400000000,"message_id":"01a1ece6-3369-7845-8ca4-bacfbdb8f252","origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","remaining":97,"tier":"WARM","units":3}');
INSERT INTO "ledger" VALUES('acme',26,'01a1ece6-3387-71f8-9ac9-ece8a30beeaa',1893456000000000,'act','PLAN_CREATED','01a1ece6-3388-794e-91ee-c7439129908c',NULL,1,NULL,'DRAFT',NULL,'{"account_id":"ann","by":"python","objective":"Keep the customer through the coming renewal","plan_id":"01a1ece6-3388-794e-91ee-c7439129908c","plan_type":"RENEWAL_DEFENSE","steps":[{"action_type":"REQUEST_RENEWAL_MEETING","dependencies":[],"sequence":1,"step_id":"step-1"}]}');
INSERT INTO "ledger" VALUES('acme',27,'01a1ece6-33a9-7058-840d-57d219f48c10',1893456000000000,'act','PLAN_APPROVED','01a1ece6-3388-794e-91ee-c7439129908c',NULL,1,NULL,'APPROVED',NULL,'{"account_id":"ann","by":"ann","is_person":true,"plan_id":"01a1ece6-3388-794e-91ee-c7439129908c","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',28,'01a1ece6-33f9-78e3-8775-451729d3597b',1893456300000000,'act','PLAN_ACTIVATED','01a1ece6-3388-794e-91ee-c7439129908c',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","facts":[],"gate":{"approved_by":"ann","approved_by_person":true,"conflict":null,"facts":[],"posture":"at risk","risks":{"REQUEST_RENEWAL_MEETING":"low"},"steps":[["step-1","REQUEST_RENEWAL_MEETING",0,1]]},"plan_id":"01a1ece6-3388-794e-91ee-c7439129908c","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"posture":"at risk"}');
INSERT INTO "ledger" VALUES('acme',29,'01a1ece6-33f9-7fa8-8b3b-7213e9c74afc',1893456300000000,'act','STEP_STARTED','01a1ece6-3388-794e-91ee-c7439129908c',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","approval":"REQUIRE_APPROVAL","approval_reason":"APPROVE_EACH","attempt":1,"clause":"autonomy.mode","intent_id":"01a1ece6-33f9-7ad2-ad72-789690bd509b","plan_id":"01a1ece6-3388-794e-91ee-c7439129908c","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"risk":"low","step_id":"step-1","used_today":0}');
INSERT INTO "ledger" VALUES('acme',30,'01a1ece6-343e-705d-b688-eb512d09bf60',1893456300000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','DEFER','COOLDOWN','{"engine":1,"event":{"account_id":"ann","idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","signal_id":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","trigger_type":"SIGNAL_ARRIVED"},"now":1893456300000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"defer_until":1893457200000000,"reason":"COOLDOWN","result":"DEFER"}}');
INSERT INTO "ledger" VALUES('acme',31,'01a1ece6-3499-7857-af37-daa2b5d433c1',1893456300000000,'perceive','pull.ended','ann',NULL,0,NULL,'SUCCEEDED',NULL,'{"connector_id":"crm","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","signals":1}');
INSERT INTO "ledger" VALUES('acme',32,'01a1ece6-343e-7043-8e2e-9a050507b9a7',1893457200000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"retry:807754130acc8f9d57aea32a7428611e3cb5db8b8040e61d1ccbfef91314c74c","retry_of":"01a1ece6-343e-705d-b688-eb512d09bf60","trigger_type":"SIGNAL_ARRIVED"},"now":1893457200000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{"SIGNAL_ARRIVED":[1893457200000000,"01a1ece6-343e-705d-b688-eb512d09bf60"]},"trigger":[1893456300000000,1893456300000000,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',33,'01a1ece6-3542-7d35-b918-1c7368bdb877',1893457200000000,'settle','turn.reserved','01a1ece6-343e-7043-8e2e-9a050507b9a7','01a1ece6-343e-7043-8e2e-9a050507b9a7',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7","turn_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7"},"effective_model":"premium","levels":[["","daily","total",0,495],["","daily","tier:premium",0,495],["","monthly","total",0,495],["","monthly","tier:premium",0,495]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',34,'01a1ece6-3548-7ac4-8dec-7ab77b018e07',1893457200000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',35,'01a1ece6-3549-7248-8466-0e3a3cf3c20b',1893457200000000,'settle','turn.settled','01a1ece6-343e-7043-8e2e-9a050507b9a7','01a1ece6-343e-7043-8e2e-9a050507b9a7',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7","ended_by":"run","event_id":"01a1ece6-3548-78d4-9ac9-49ac2c77b37c","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',36,'01a1ece6-36c6-73bd-8558-3bdd1d2b24a1',1893459600000000,'decide','schedule.fired','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"scheduled_at":1893459600000000,"when":"2030-01-01T01:00:00Z"}');
INSERT INTO "ledger" VALUES('acme',37,'01a1ece6-373e-74af-8b8b-e856e9024cea',1893459600000000,'act','INTENT_APPROVED','01a1ece6-3388-794e-91ee-c7439129908c',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"by":"ann","intent_id":"01a1ece6-33f9-7ad2-ad72-789690bd509b","plan_id":"01a1ece6-3388-794e-91ee-c7439129908c","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',38,'01a1ece6-377d-7c36-8790-5f18d1ab2623',1893459600000000,'act','STEP_COMPLETED','01a1ece6-3388-794e-91ee-c7439129908c',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"plan_id":"01a1ece6-3388-794e-91ee-c7439129908c","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',39,'01a1ece6-377d-7494-b29b-876df5ec9d4f',1893459600000000,'act','PLAN_COMPLETED','01a1ece6-3388-794e-91ee-c7439129908c',NULL,1,NULL,'COMPLETED','all_steps_done','{"account_id":"ann","plan_id":"01a1ece6-3388-794e-91ee-c7439129908c","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',40,'01a1ece6-3794-7ec9-a88e-ecc10206c3ae',1893459600000000,'report','report.generated','MANUAL',NULL,1,NULL,NULL,NULL,'{"last_seq":39,"trigger":"MANUAL","window":[1893456000000000,1893459600000000]}');
CREATE TABLE ledger_checkpoints (
    tenant_id TEXT NOT NULL,
    checkpoint_id VARCHAR(36) NOT NULL,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    exported_after BIGINT,
    made_at BIGINT NOT NULL,
    made_by TEXT NOT NULL,
    PRIMARY KEY (tenant_id, checkpoint_id),
    CONSTRAINT an_export_has_entries CHECK (exported_after < seq)
);
INSERT INTO "ledger_checkpoints" VALUES('acme','01a1ece6-37c2-73e5-8030-5256c65d3cc1',40,'ca8aa8e14f64f81bad3ea0b5c7bb11c1b7388941476ca6fa0fa8c5b67bc8bbf2',NULL,1893459600000000,'python');
CREATE TABLE ledger_prunes (
    tenant_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    newest_at BIGINT NOT NULL,
    last_entry_id VARCHAR(36) NOT NULL,
    pruned_at BIGINT NOT NULL,
    pruned_by TEXT NOT NULL,
    PRIMARY KEY (tenant_id)
);
CREATE TABLE ledger_seals (
    tenant_id TEXT NOT NULL,
    from_seq BIGINT NOT NULL,
    to_seq BIGINT NOT NULL,
    hashes BLOB NOT NULL,
    sealed_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, from_seq),
    CONSTRAINT a_hash_for_each_entry CHECK (from_seq > 0 AND to_seq >= from_seq AND length(hashes) = 32 * (to_seq - from_seq + 1))
);
INSERT INTO "ledger_seals" VALUES('_system',1,2,X'348EB8C6A8FFB9B2B76C7BADEE4D41112A0B22509300FA08FE43CFFF83DA44B82578634971973FBD78279A5757954194433F5B5B5AC7D62FF91659628315C7D4',1893459600000000);
INSERT INTO "ledger_seals" VALUES('acme',1,40,X'8E44716247CF2CBF1F36DD8A4563D07FE9CD3545C7AD65E6D0CD9C31C1F9000C749C0617975A52938AC454FEDD77B63A817A43AC3B3514DA5FA390DF4BF69CAFB154E3001D7FF839BFFB67E580A540E22E13E856BD3153122B160AE9D51A3418121F997478FA3066FCD81DB2CFDA1701805AF61084E360A18C66D598643E2EDA35F4019EA108D979A30698B27358AC5117DA71C0E235833BE393B8F324AB10EA477901785B131FCEEDBEDACC876A856971688A6ED0C03AD57E35FA3A02EC047AD653A9FD028C40C5B2973FFBB58632E39D30880509F3DB0937D600CC015207853E2B396A06F32485561E52F6F6C7B39974A4D91D6A6785B3FB258913D75B16C06934FACCA8FA61675F4E919B22F786245BB3B30F5742DBFBE24F8DFB80945A2188444449F0FAA0BBF4D6C6746A72A2CA4886750ABAA3A305272802B628E3EED3416D057B3C20DBA5A1ADA3BDC360830A89F4B3531B086A240CFFC3621C55A6528828434475160741803BB789E354B5FE54BE1AAEF31D89B81AEB6250AFFCFFDA04C097DB8F357C3D6E69BB835B05B35CD08613F666D3139DBE0205A73277E6FE935A187865FD7577717A258CDD1695430DBEE42AC4A18F954B94DE40D8AED31347CF6E72EB86B5492DEFE6384F55BE7083B3F9DFCA58A091FB02B5DAF3931ED46126DB4BE0EBA99A08F4450379C5C37E47AEDD97EB775E73E7126C0AF82D9F291EAEB88E7CC20E3CC7C886F1A806EFD0234F55E9F610275CA6566C911BDA9F381DFDD4D8E87A8FDAB7B063ED20101FDFBBAA199C525D78A5EB6ED85623F9A47061BCDFE35455EE06D1E1334F38DE2E6C4AB2B59DF61BC537F6DBC1102C8878F2438E86275B4935316EB6FBBC723285651EAADF0F953A288B5FF78AFD4AD2FA956CE98B069D822DBA301379242B8D9420F4EAD17B3E647050D087BCD4E9BEF7EAFC8F11B840E93845EAA5F7851BC95BFD9A253AF4D97FDA1A9750D505693812CB4AFE2E8CE49F3AE1DF22418A6788ADD09305377228CAF10CEB15A1DD1C38A4F39D21D5D4E6A9BC17E4F8FF6EE8F9AE4318F83281B340EA762DADA4A98DC68E018BACF5C18508354D108F9C487B85CFA36F49B499D9D7CFD0298D32838F6BE4E685DD80E13DD06287DE6ED4A5B143523F488A4052413142E96FE071D4A06607B961AFF0D608155AC011CB7437EE8D83DF5B6776D657E9E740385E793E80790C3B667EA53CC68B9FE81AE40EA62BB184726D202414F0A80FD07265061B3661EFBCB9F0B1A65D4C7C25823C98BCA6214C86906873BB5987FE7CADB4F472CA68715C0234346D8EE486D9F2D6D513F706F9303A991535F6D63A21AFB74AF6DB23796D313AADEB25C5C8C11FDA63D8028F17E3F676FA1FF035B9BD60D2528029DB71E7F1B898E9A3ADCCA28D21EBEF3559785DA5F3948B7FAF5984A7745DEA856BF46C61BF58377D90C7000ECE3695132373FEA3C96B2E0F00B1DDB93FC7E0A08260536C9E8E07CB70AAFD49B2CD620B5FE5D5038EA8949AD2383B879533C8360EB9EE1154717937ABB3469CDB7D6F3352FA827C6029C1267F3FB3FFD333318CE9FF2819913F324A2727D315179EFE7FE8DD8FA307AD4BAD6D527B5ACE723CAE5CCAFE19F224376491D357AAF7713F5AEDBF2087B02FE371C46ED69454D039EA032A10FF50400C6610CB9D76DB06B2D0E101A0B246D38C79A98DA54011FB09CD3A99733760BEBB0F7150EF098447631A5869580867AD7467DD55992A3EC4635E1119D7CA8AA8E14F64F81BAD3EA0B5C7BB11C1B7388941476CA6FA0FA8C5B67BC8BBF2',1893459600000000);
CREATE TABLE milestone_states (
    tenant_id TEXT NOT NULL,
    milestone TEXT NOT NULL,
    last_run_at BIGINT,
    attempts INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    last_error TEXT,
    last_error_at BIGINT,
    backoff_until_at BIGINT,
    PRIMARY KEY (tenant_id, milestone),
    CONSTRAINT failures_are_attempts CHECK (failures >= 0 AND attempts >= failures AND (failures = 0) = (last_error IS NULL) AND (failures = 0) = (last_error_at IS NULL))
);
CREATE TABLE milestone_ticks (
    tenant_id TEXT NOT NULL,
    due_at BIGINT,
    policy_version INTEGER NOT NULL,
    PRIMARY KEY (tenant_id)
);
INSERT INTO "milestone_ticks" VALUES('acme',1893499200000000,0);
CREATE TABLE milestones (
    tenant_id TEXT NOT NULL,
    milestone TEXT NOT NULL,
    outcome TEXT NOT NULL,
    report_id VARCHAR(36),
    marked_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, milestone),
    CONSTRAINT a_generated_one_has_its_report CHECK (CASE outcome WHEN 'GENERATED' THEN report_id IS NOT NULL WHEN 'MISSED' THEN report_id IS NULL ELSE false END),
    CONSTRAINT milestones_report UNIQUE (tenant_id, report_id)
);
CREATE TABLE next_pulls (
    tenant_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    connector_id TEXT NOT NULL,
    tier INTEGER NOT NULL,
    slot_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    overdue_at BIGINT NOT NULL,
    pulled_at BIGINT,
    PRIMARY KEY (tenant_id, account_id, connector_id),
    CONSTRAINT next_tier_is_known CHECK (tier IN (0, 1, 2))
)
 WITHOUT ROWID;
INSERT INTO "next_pulls" VALUES('acme','ann','crm',1,1893468791000000,1893468791000000,1893490391000000,NULL);
INSERT INTO "next_pulls" VALUES('acme','bob','crm',1,1893465486000000,1893465486000000,1893487086000000,NULL);
INSERT INTO "next_pulls" VALUES('acme','cyd','crm',1,1893474780000000,1893474780000000,1893496380000000,NULL);
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
INSERT INTO "outbox" VALUES(3,'acme','01a1ece6-318a-7123-9e22-fe155e420c6d','watchkeeper','milestone.tick',NULL,NULL,'{"due_at":1893499200000000}','pending',0,0,1893499200000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(13,'acme','01a1ece6-325e-7261-a7f1-30845ed84f63','watchkeeper','pull.tick',NULL,NULL,'{"due_at":1893465486000000}','pending',0,0,1893465486000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(19,'acme','01a1ece6-36c6-768b-b452-a9540e9945c9','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893463200000000,"generation":1,"schedule_id":"brief"}','pending',0,0,1893463200000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(21,'_system','01a1ece6-3709-7332-8f64-fd83c14e7765','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(23,'acme','01a1ece6-3721-79bd-9ade-8bc544d97764','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"ann","idempotency_key":"87ab13628cbafa4578e1e7f45a1db6178390380e3a38c1658b9ee04c18426006","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459747000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(24,'acme','01a1ece6-3721-76af-aef8-8d78374013fc','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"bob","idempotency_key":"ec45c35fdfef73e6e1fad69d9240b944456d5696ef70ee6658d9ade150973c1a","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459704000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(25,'acme','01a1ece6-3721-7af2-9e81-176eaa993d1e','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"cyd","idempotency_key":"9cb83f09950d1128a057f39b68b722c432642618af13951a1625b9d43b1bc25b","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459745000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(26,'acme','01a1ece6-372d-7569-ba30-d1c9152c6769','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(28,'acme','01a1ece6-373f-74a5-8a3e-8516f60a495f','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893546000000000}','pending',0,0,1893546000000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
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
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-318a-733d-a084-c83082d09826','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ece6-3156-7da1-b731-fba0179cce68','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-317d-70f5-9a00-a7414e214563','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"cyd","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ece6-317d-70f5-9a00-a7414e214563","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ece6-317d-7236-af94-3fc8219e2241","signals_after":0,"signals_until":2},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-31aa-7a43-aaed-02600bbc8c52','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-31cf-7266-b396-3912a59238aa','mini-chat','usage_snapshot','acme/01a1ece6-317d-70f5-9a00-a7414e214563/01a1ece6-317d-70f5-9a00-a7414e214563',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ece6-317d-70f5-9a00-a7414e214563","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":0,"request_id":"01a1ece6-317d-70f5-9a00-a7414e214563","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ece6-317d-70f5-9a00-a7414e214563"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-3249-76f8-820b-37db6d01d938','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ece6-3249-76f8-820b-37db6d01d938","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ece6-3249-767d-8383-763215b2b92b","signals_after":0,"signals_until":9},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-325e-7337-bacc-818ce7ddf4fa','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"bob","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ece6-325e-76ea-bb47-e3155b7c4da1","signals_after":0,"signals_until":13},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-32e1-73c9-84c7-f01e9789fbba','mini-chat','usage_snapshot','acme/01a1ece6-3249-76f8-820b-37db6d01d938/01a1ece6-3249-76f8-820b-37db6d01d938',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ece6-3249-76f8-820b-37db6d01d938","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ece6-3249-76f8-820b-37db6d01d938","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ece6-3249-76f8-820b-37db6d01d938"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-32e1-7465-a453-a20f7c0a3412','mini-chat','usage_snapshot','acme/01a1ece6-325e-7337-bacc-818ce7ddf4fa/01a1ece6-325e-7337-bacc-818ce7ddf4fa',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ece6-325e-7337-bacc-818ce7ddf4fa"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-33aa-729d-b1ab-58496be61e50','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-3369-7845-8ca4-bacfbdb8f252','watchkeeper','pull.requested',NULL,NULL,'{"detail":{"account_id":"ann","budget_remaining":97,"connector_id":"crm","depth":"DEEP","depth_units":3,"origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","scheduled_at":"2030-01-01T00:00:00Z","tenant_id":"acme"},"detail-type":"PULL_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-343e-7043-8e2e-9a050507b9a6','watchkeeper','decision.retry',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","idempotency_key":"retry:807754130acc8f9d57aea32a7428611e3cb5db8b8040e61d1ccbfef91314c74c","due_at":"2030-01-01T00:20:00Z","moved":false,"original_idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","retry_of":"01a1ece6-343e-705d-b688-eb512d09bf60"},"detail-type":"RUN_DECISION","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893456300000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-343e-7043-8e2e-9a050507b9a7','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7","evaluated_at":"2030-01-01T00:20:00Z","idempotency_key":"retry:807754130acc8f9d57aea32a7428611e3cb5db8b8040e61d1ccbfef91314c74c","signals_after":9,"signals_until":32},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-3548-78d4-9ac9-49ac2c77b37c','mini-chat','usage_snapshot','acme/01a1ece6-343e-7043-8e2e-9a050507b9a7/01a1ece6-343e-7043-8e2e-9a050507b9a7',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7","reserved_at":"2030-01-01T00:20:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:20:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ece6-343e-7043-8e2e-9a050507b9a7"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ece6-31ac-750a-8ea1-3318ff3a8bf3','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-31f9-74cd-b8fb-c5c15aa50990','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-3593-7fe5-b2b4-0c5d2027a720','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893457800000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-323f-7a3e-92f8-b1cb288c8750','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893456000000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ece6-358c-711b-bd19-2227a80c070e','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-35d9-73d1-8817-7cc358044b68','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-36c6-73a5-b935-4a2616dd9123','watchkeeper','schedule.slice',NULL,NULL,'{"after":"","fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-3715-7767-8e67-99db9849cdc9','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ece6-373e-7f73-96a7-e2e81c58c430','watchkeeper','action.requested',NULL,NULL,'{"detail":{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","attempt":1,"data":{},"idempotency_key":"01a1ece6-3388-794e-91ee-c7439129908c/step-1","intent_id":"01a1ece6-33f9-7ad2-ad72-789690bd509b","objective":"Keep the customer through the coming renewal","plan_id":"01a1ece6-3388-794e-91ee-c7439129908c","plan_type":"RENEWAL_DEFENSE","source":"plan","step_id":"step-1","tenant_id":"acme"},"detail-type":"ACTION_REQUESTED","source":"watchkeeper"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
CREATE TABLE plan_cycles (
    tenant_id TEXT NOT NULL,
    due_at BIGINT NOT NULL, message_id VARCHAR(36),
    PRIMARY KEY (tenant_id)
);
INSERT INTO "plan_cycles" VALUES('acme',1893546000000000,'01a1ece6-373f-74a5-8a3e-8516f60a495f');
CREATE TABLE plan_steps (
    tenant_id TEXT NOT NULL,
    plan_id VARCHAR(36) NOT NULL,
    step_id TEXT NOT NULL,
    action_type TEXT NOT NULL,
    position INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    dependencies TEXT DEFAULT '[]' NOT NULL,
    data TEXT DEFAULT '{}' NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    spared INTEGER DEFAULT '0' NOT NULL,
    retry_at BIGINT,
    reason TEXT,
    PRIMARY KEY (tenant_id, plan_id, step_id),
    CONSTRAINT step_status_is_known CHECK (status IN ('AUTO_EXECUTED', 'DONE', 'FAILED', 'PENDING', 'PENDING_APPROVAL', 'SKIPPED')),
    CONSTRAINT attempts_only_grow CHECK (attempts >= spared AND spared >= 0)
);
INSERT INTO "plan_steps" VALUES('acme','01a1ece6-3388-794e-91ee-c7439129908c','step-1','REQUEST_RENEWAL_MEETING',0,1,'[]','{}','DONE',1,0,NULL,NULL);
CREATE TABLE plans (
    tenant_id TEXT NOT NULL,
    plan_id VARCHAR(36) NOT NULL,
    account_id TEXT NOT NULL,
    plan_type TEXT NOT NULL,
    objective TEXT NOT NULL,
    status TEXT NOT NULL,
    facts TEXT DEFAULT '{}' NOT NULL,
    constraints TEXT DEFAULT '{}' NOT NULL,
    source TEXT NOT NULL,
    correlation_id TEXT,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    approved_at BIGINT,
    approved_by TEXT,
    approved_by_person BOOLEAN DEFAULT false NOT NULL,
    activated_at BIGINT,
    ended_at BIGINT,
    completion_reason TEXT,
    reason TEXT,
    due_at BIGINT,
    version INTEGER DEFAULT '1' NOT NULL,
    PRIMARY KEY (tenant_id, plan_id),
    CONSTRAINT plan_status_is_known CHECK (status IN ('ABORTED', 'ACTIVE', 'APPROVED', 'COMPLETED', 'DRAFT', 'EXPIRED', 'PAUSED')),
    CONSTRAINT an_ended_plan_has_an_end CHECK ((status IN ('ABORTED', 'COMPLETED', 'EXPIRED')) = (ended_at IS NOT NULL)),
    CONSTRAINT a_completed_plan_says_why CHECK ((status = 'COMPLETED') = (completion_reason IS NOT NULL)),
    CONSTRAINT a_live_plan_is_approved CHECK (status IN ('DRAFT', 'ABORTED') OR approved_at IS NOT NULL)
);
INSERT INTO "plans" VALUES('acme','01a1ece6-3388-794e-91ee-c7439129908c','ann','RENEWAL_DEFENSE','Keep the customer through the coming renewal','COMPLETED','{}','{}','caller',NULL,1893456000000000,'python',1896048000000000,1893456000000000,'ann',1,1893456300000000,1893459600000000,'all_steps_done',NULL,NULL,1);
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
CREATE TABLE policy_meanings (
    version INTEGER NOT NULL,
    effective TEXT NOT NULL,
    PRIMARY KEY (version)
);
INSERT INTO "policy_meanings" VALUES(1,'{"autonomy":{"approval_hours":72,"auto_per_day_max":"unlimited","max_risk":"high","mode":"approve_each","unanswered":"reject"},"delivery":{"defaults":{"backoff_base_seconds":1,"backoff_max_seconds":3600,"concurrency":16,"concurrency_total":"unlimited","endpoint_concurrency":4,"guarantee":"at_least_once","lease_seconds":30,"max_attempts":10,"on_dead":"continue","order":"none"},"topics":{"action.requested":{"guarantee":"at_least_once","lease_seconds":60,"max_attempts":10},"decision.evaluation_requested":{"concurrency":16,"guarantee":"at_most_once","lease_seconds":60,"max_attempts":1},"decision.retry":{"guarantee":"at_least_once"},"heat.sweep":{"backoff_max_seconds":300,"max_attempts":1000},"milestone.tick":{"backoff_max_seconds":300,"max_attempts":1000},"plan.cycle":{"backoff_max_seconds":60,"max_attempts":1000},"pull.on_signal":{"backoff_max_seconds":60,"max_attempts":1000},"pull.requested":{"guarantee":"at_most_once","lease_seconds":60,"max_attempts":1},"pull.tick":{"backoff_max_seconds":60,"max_attempts":1000},"schedule.due":{"backoff_base_seconds":1,"backoff_max_seconds":300,"guarantee":"at_least_once","max_attempts":1000},"usage_snapshot":{"backoff_max_seconds":3600,"guarantee":"at_least_once","max_attempts":100}}},"heat":{"hot_percent":70,"older_percent":10,"posture_weight":40,"postures":{"AT_RISK":70,"DORMANT":0,"EXPAND":90,"OK":30,"WATCH":50},"recency":{"day":{"percent":40,"within_hours":24},"hour":{"percent":100,"within_hours":1},"morning":{"percent":70,"within_hours":6}},"recency_weight":35,"rollup_days":0,"volume_hours":24,"volume_signals":5,"volume_weight":25,"warm_percent":35},"heat_tiers":{"COLD":{"cadence_seconds":259200,"demotion_cooldown_hours":48,"depth":"SHALLOW","promotion_signals":0,"promotion_window_hours":0,"pull_on_signal":"no"},"HOT":{"cadence_seconds":3600,"demotion_cooldown_hours":4,"depth":"DEEP","promotion_signals":2,"promotion_window_hours":1,"pull_on_signal":"yes"},"WARM":{"cadence_seconds":21600,"demotion_cooldown_hours":24,"depth":"SHALLOW","promotion_signals":1,"promotion_window_hours":6,"pull_on_signal":"no"}},"idempotency_ttl_seconds":86400,"models":{"premium":{"downgrade_to":"standard","input_multiplier_micro":5000000,"output_multiplier_micro":15000000,"tier":"premium"},"standard":{"input_multiplier_micro":1000000,"output_multiplier_micro":3000000,"tier":"standard"}},"plan_types":{"RENEWAL_DEFENSE":{"actions":{"ESCALATE_SUPPORT_RISK":3,"PREP_RENEWAL_BRIEF":2,"REQUEST_RENEWAL_MEETING":1},"approval":"person","expiry_hours":720,"human_touch":"no","max_retries_per_step":3,"objective":"Keep the customer through the coming renewal","skipped_counts":"yes"}},"plans":{"cycle_seconds":60,"outcome_timeout_seconds":86400,"per_cycle_max":10},"pulls":{"breaker_failures":5,"breaker_pause_seconds":300,"lease_seconds":300,"per_tick_max":100},"quota":{"default_model":"standard","generation_floor_tokens":50,"tenant":{"daily":{"tiers":{"premium":500000000},"total":1000000000},"monthly":{"tiers":{"premium":10000000000},"total":20000000000}},"tolerance_percent":110,"user":{"daily":{"tiers":{"premium":50000000},"total":100000000},"monthly":{"tiers":{"premium":1000000000},"total":2000000000}},"watchdog_seconds":300},"reports":{"forecast_min_hours":6,"kept_days":365,"milestones":{"AUTO_12H":{"after_hours":12},"AUTO_24H":{"after_hours":24}},"tick_seconds":300},"retention":{"delivered_days":7,"ledger_days":"unlimited","pulls_days":30},"run_budget_per_day":"unlimited","signals_per_run_max":1000,"spread_seconds":300,"triggers":{"LIFECYCLE_STATE_CHANGE":{"cooldown_seconds":600,"debounce_seconds":120,"max_per_account_per_hour":6},"POSTURE_CHANGE":{"cooldown_seconds":600,"debounce_seconds":120,"max_per_account_per_hour":6},"SIGNAL_ARRIVED":{"cooldown_seconds":1200,"debounce_seconds":60,"max_per_account_per_hour":12},"TIME_RITUAL_DAILY_BRIEF":{"cooldown_seconds":300,"debounce_seconds":72000,"max_per_account_per_hour":1},"TIME_RITUAL_RENEWAL_RUNWAY":{"cooldown_seconds":300,"debounce_seconds":72000,"max_per_account_per_hour":2},"TIME_RITUAL_WEEKLY_REVIEW":{"cooldown_seconds":300,"debounce_seconds":518400,"max_per_account_per_hour":1}}}');
CREATE TABLE pull_budgets (
    tenant_id TEXT NOT NULL,
    max_units_per_day BIGINT NOT NULL,
    max_per_connector TEXT DEFAULT '{}' NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id),
    CONSTRAINT budget_not_negative CHECK (max_units_per_day >= 0)
);
INSERT INTO "pull_budgets" VALUES('acme',100,'{}',1893456000000000);
CREATE TABLE pull_days (
    tenant_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    connector_id TEXT NOT NULL,
    units BIGINT NOT NULL,
    pulls INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, day, connector_id),
    CONSTRAINT consumption_not_negative CHECK (units >= 0 AND pulls >= 0)
);
INSERT INTO "pull_days" VALUES('acme',21915,'',3,1);
INSERT INTO "pull_days" VALUES('acme',21915,'crm',3,1);
CREATE TABLE pull_ticks (
    tenant_id TEXT NOT NULL,
    due_at BIGINT NOT NULL, message_id VARCHAR(36),
    PRIMARY KEY (tenant_id)
);
INSERT INTO "pull_ticks" VALUES('acme',1893465486000000,'01a1ece6-325e-7261-a7f1-30845ed84f63');
CREATE TABLE pulls (
    tenant_id TEXT NOT NULL,
    pull_job_id TEXT NOT NULL,
    message_id VARCHAR(36) NOT NULL,
    account_id TEXT NOT NULL,
    connector_id TEXT NOT NULL,
    depth INTEGER NOT NULL,
    units INTEGER NOT NULL,
    origin TEXT NOT NULL,
    state TEXT NOT NULL,
    scheduled_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    signals INTEGER,
    error TEXT,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, pull_job_id),
    CONSTRAINT pull_state_is_known CHECK (state IN ('REQUESTED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'OUTCOME_UNKNOWN')),
    CONSTRAINT an_ended_pull_has_an_end CHECK ((state IN ('REQUESTED', 'RUNNING')) = (ended_at IS NULL)),
    CONSTRAINT depth_is_known CHECK (depth IN (0, 1) AND units > 0)
);
INSERT INTO "pulls" VALUES('acme','pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750','01a1ece6-3369-7845-8ca4-bacfbdb8f252','ann','crm',1,3,'manual','SUCCEEDED',1893456000000000,1893456300000000,1893456300000000,1,NULL,1893542400000000);
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
);
INSERT INTO "quota_buckets" VALUES('acme','','daily',1893456000000000,'total',0,660,4,4,36,32);
INSERT INTO "quota_buckets" VALUES('acme','','daily',1893456000000000,'tier:premium',0,660,4,4,36,32);
INSERT INTO "quota_buckets" VALUES('acme','','monthly',1893456000000000,'total',0,660,4,4,36,32);
INSERT INTO "quota_buckets" VALUES('acme','','monthly',1893456000000000,'tier:premium',0,660,4,4,36,32);
CREATE TABLE reports (
    tenant_id TEXT NOT NULL,
    report_id VARCHAR(36) NOT NULL,
    trigger_name TEXT NOT NULL,
    window_since_at BIGINT NOT NULL,
    generated_at BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (tenant_id, report_id),
    CONSTRAINT window_ends_after_its_beginning CHECK (window_since_at <= generated_at)
);
INSERT INTO "reports" VALUES('acme','01a1ece6-3794-7ec9-a88e-ecc10206c3ae','MANUAL',1893456000000000,1893459600000000,39,'{"collected":{"connectors":[{"connector_id":"crm","pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"sum of signals over ledger entries of kind pull.ended, repeats included","unit":"signals","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}}],"pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"ledger entries of kind verdict that tell of a signal, repeats left out","unit":"signals","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}},"coverage":[{"connector_id":"crm","pulls":[{"count":{"how":"ledger entries of kind pull.decided, by result and reason","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SCHEDULED","name":null},{"count":{"how":"ledger entries of kind pull.ended, by result","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"reason":"pulls succeeded, and none failed","state":"AVAILABLE"}],"forecast":{"needed":{"how":"policy value reports.forecast_min_hours, in seconds","unit":"seconds","value":21600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"observed":{"how":"length of the window","unit":"seconds","value":3600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"statement":"not enough observation"},"format":1,"generated_at":"2030-01-01T01:00:00Z","header":{"entries":{"how":"entries of the ledger, of every kind","unit":"entries","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"generated_at":"2030-01-01T01:00:00Z","installed_at":"2030-01-01T00:00:00Z","last_entry":{"how":"place of the newest entry of the ledger that was counted","unit":"place","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"policy_version":1,"report_id":"01a1ece6-3794-7ec9-a88e-ecc10206c3ae","tenant_id":"acme","tenant_name":null,"trigger":"MANUAL","window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"},"window_from":"the installation"},"observations":{"credits_settled":{"how":"sum of charged_micro over ledger entries of kind turn.settled","unit":"micro-credits","value":660,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"decisions":[{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"ALLOW","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"COOLDOWN","label":"DEFER","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"DEBOUNCED","label":"SKIP","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":2,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"KILL_SWITCH","label":"SKIP","name":null}],"events_dead":[],"events_delivered":[{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"mini-chat/usage_snapshot"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/action.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.evaluation_requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.retry"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":6,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/heat.sweep"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/plan.cycle"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/pull.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.due"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.slice"}],"plans":[{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_ACTIVATED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_APPROVED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_CREATED","name":null}],"runs":[{"count":{"how":"ledger entries of kind run.ended, by result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"steps":[{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_STARTED","name":null}],"turns":[{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"turn.reserved","name":null},{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"completed","label":"turn.settled","name":null}]},"report_id":"01a1ece6-3794-7ec9-a88e-ecc10206c3ae","series":[{"bucket_seconds":3600,"how":"ledger entries of kind verdict that tell of a signal, repeats left out","label":null,"of":"signals","starts_at":"2030-01-01T00:00:00Z","unit":"signals","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"pulls","starts_at":"2030-01-01T00:00:00Z","unit":"pulls","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"units","starts_at":"2030-01-01T00:00:00Z","unit":"units","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"ALLOW","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"DEFER","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"SKIP","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind run.ended, by result","label":null,"of":"runs ended","starts_at":"2030-01-01T00:00:00Z","unit":"runs","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of charged_micro over ledger entries of kind turn.settled","label":null,"of":"credits settled","starts_at":"2030-01-01T00:00:00Z","unit":"micro-credits","values":[660,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind message.dead, by reason and topic","label":null,"of":"events dead","starts_at":"2030-01-01T00:00:00Z","unit":"messages","values":[0,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}],"tenant_id":"acme","trigger":"MANUAL"}');
CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;
INSERT INTO "reservations" VALUES('acme','01a1ece6-317d-7236-af94-3fc8219e2241','01a1ece6-317d-70f5-9a00-a7414e214563','8bfb31fb',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ece6-3249-767d-8383-763215b2b92b','01a1ece6-3249-76f8-820b-37db6d01d938','dc183bd6',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ece6-325e-76ea-bb47-e3155b7c4da1','01a1ece6-325e-7337-bacc-818ce7ddf4fa','c45beb46',1893542400000000);
INSERT INTO "reservations" VALUES('acme','2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0','01a1ece6-343e-705d-b688-eb512d09bf60','e5317ac9',1893542700000000);
INSERT INTO "reservations" VALUES('acme','account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1','01a1ece6-3255-7148-b778-320c81087587','b94b280d',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237','01a1ece6-3271-74d7-b4bb-9026c06687d5','aaa48f09',1893542400000000);
INSERT INTO "reservations" VALUES('acme','retry:807754130acc8f9d57aea32a7428611e3cb5db8b8040e61d1ccbfef91314c74c','01a1ece6-343e-7043-8e2e-9a050507b9a7','ab96c2ed',1893543600000000);
INSERT INTO "reservations" VALUES('acme','soon','01a1ece6-3285-7436-8747-5d59a1adc779','ab96c2ed',1893542400000000);
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
INSERT INTO "runs" VALUES('acme','01a1ece6-317d-70f5-9a00-a7414e214563','cyd','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ece6-3249-76f8-820b-37db6d01d938','ann','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ece6-325e-7337-bacc-818ce7ddf4fa','bob','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ece6-343e-7043-8e2e-9a050507b9a7','ann','SIGNAL_ARRIVED','SUCCEEDED',1893457200000000,1893457200000000,NULL,NULL);
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
CREATE TABLE shadow_accounts (
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    account_id TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name, account_id)
);
CREATE TABLE shadow_flips (
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    seq BIGINT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    account_id TEXT NOT NULL,
    was TEXT NOT NULL,
    would_be TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name, seq)
);
CREATE TABLE shadow_states (
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    shadow_id VARCHAR(36) NOT NULL,
    seq BIGINT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);
CREATE TABLE shadows (
    name TEXT NOT NULL,
    shadow_id VARCHAR(36) NOT NULL,
    hash TEXT NOT NULL,
    text TEXT NOT NULL,
    effective TEXT NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    PRIMARY KEY (name)
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
INSERT INTO "signals" VALUES('acme','01a1ece6-317d-7236-af94-3fc8219e2241','cyd','mail.received',1893456000000000,1893456000000000,2,NULL,'{}');
INSERT INTO "signals" VALUES('acme','01a1ece6-3249-767d-8383-763215b2b92b','ann','mail.received',1893456000000000,1893456000000000,9,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','01a1ece6-325e-76ea-bb47-e3155b7c4da1','bob','mail.received',1893456000000000,1893456000000000,13,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0','ann','renewal.near',1893456300000000,1893456300000000,30,NULL,'{}');
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
CREATE TABLE sweeps (
    tenant_id TEXT NOT NULL,
    round_at BIGINT NOT NULL,
    after_account TEXT NOT NULL,
    finished_at BIGINT,
    PRIMARY KEY (tenant_id)
);
INSERT INTO "sweeps" VALUES('_system',1893461400000000,'',1893459600000000);
INSERT INTO "sweeps" VALUES('acme',1893461400000000,'',1893459600000000);
CREATE TABLE tallies (
    tenant_id TEXT NOT NULL,
    hour INTEGER NOT NULL,
    kind TEXT NOT NULL,
    result TEXT NOT NULL,
    reason TEXT NOT NULL,
    name TEXT NOT NULL,
    entries BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, hour, kind, result, reason, name),
    CONSTRAINT a_tally_counts_something CHECK (entries > 0 AND first_seq <= last_seq)
)
 WITHOUT ROWID;
INSERT INTO "tallies" VALUES('acme',525960,'PLAN_ACTIVATED','ACTIVE','','',1,0,28,28,1893456300000000,1893456300000000);
INSERT INTO "tallies" VALUES('acme',525960,'PLAN_APPROVED','APPROVED','','',1,0,27,27,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'PLAN_CREATED','DRAFT','','',1,0,26,26,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'STEP_STARTED','ACTIVE','','',1,0,29,29,1893456300000000,1893456300000000);
INSERT INTO "tallies" VALUES('acme',525960,'account.changed','','','',2,0,11,15,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'heat.tier_changed','WARM','','',3,0,3,14,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'kill_switch.set','','','',1,0,8,8,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'pull.decided','SCHEDULED','','crm',1,3,25,25,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'pull.ended','SUCCEEDED','','crm',1,1,31,31,1893456300000000,1893456300000000);
INSERT INTO "tallies" VALUES('acme',525960,'pull_budget.set','','','',1,0,24,24,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'run.ended','SUCCEEDED','','',4,0,5,34,1893456000000000,1893457200000000);
INSERT INTO "tallies" VALUES('acme',525960,'schedule.set','','','',1,0,7,7,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'tenant.created','','','',1,0,1,1,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'turn.reserved','','','',4,0,4,33,1893456000000000,1893457200000000);
INSERT INTO "tallies" VALUES('acme',525960,'turn.settled','completed','','',4,660,6,35,1893456000000000,1893457200000000);
INSERT INTO "tallies" VALUES('acme',525960,'verdict','ALLOW','','',1,0,32,32,1893457200000000,1893457200000000);
INSERT INTO "tallies" VALUES('acme',525960,'verdict','ALLOW','','signal',3,0,2,13,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'verdict','DEFER','COOLDOWN','signal',1,0,30,30,1893456300000000,1893456300000000);
INSERT INTO "tallies" VALUES('acme',525960,'verdict','SKIP','DEBOUNCED','',1,0,17,17,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525960,'verdict','SKIP','KILL_SWITCH','',2,0,12,16,1893456000000000,1893456000000000);
INSERT INTO "tallies" VALUES('acme',525961,'INTENT_APPROVED','ACTIVE','','',1,0,37,37,1893459600000000,1893459600000000);
INSERT INTO "tallies" VALUES('acme',525961,'PLAN_COMPLETED','COMPLETED','all_steps_done','',1,0,39,39,1893459600000000,1893459600000000);
INSERT INTO "tallies" VALUES('acme',525961,'STEP_COMPLETED','ACTIVE','','',1,0,38,38,1893459600000000,1893459600000000);
INSERT INTO "tallies" VALUES('acme',525961,'schedule.fired','','','',1,0,36,36,1893459600000000,1893459600000000);
CREATE TABLE tally_places (
    tenant_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (tenant_id)
);
INSERT INTO "tally_places" VALUES('acme',39);
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
INSERT INTO "tenants" VALUES('_system',NULL,NULL,NULL,1893456000000000,0,'{}',0,0,2);
INSERT INTO "tenants" VALUES('acme',NULL,NULL,1893456000000000,1893456000000000,525960,'{"SIGNAL_ARRIVED":4}',21915,4,40);
CREATE TABLE turns (
    tenant_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    user_id TEXT,
    decision_id VARCHAR(36),
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
    finalize_id VARCHAR(36),
    settlement_method TEXT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    computed_micro BIGINT,
    charged_micro BIGINT,
    is_capped BOOLEAN,
    event_id VARCHAR(36),
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
);
INSERT INTO "turns" VALUES('acme','01a1ece6-317d-70f5-9a00-a7414e214563','01a1ece6-317d-70f5-9a00-a7414e214563',NULL,'01a1ece6-317d-70f5-9a00-a7414e214563',0,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ece6-31cf-7b73-8a16-760dba347d6b','actual',9,8,165,165,0,'01a1ece6-31cf-7266-b396-3912a59238aa',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ece6-3249-76f8-820b-37db6d01d938','01a1ece6-3249-76f8-820b-37db6d01d938',NULL,'01a1ece6-3249-76f8-820b-37db6d01d938',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ece6-32e1-7eec-9e08-cea1232043b9','actual',9,8,165,165,0,'01a1ece6-32e1-73c9-84c7-f01e9789fbba',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ece6-325e-7337-bacc-818ce7ddf4fa','01a1ece6-325e-7337-bacc-818ce7ddf4fa',NULL,'01a1ece6-325e-7337-bacc-818ce7ddf4fa',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ece6-32e1-78f6-8793-df912a08d56f','actual',9,8,165,165,0,'01a1ece6-32e1-7465-a453-a20f7c0a3412',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ece6-343e-7043-8e2e-9a050507b9a7','01a1ece6-343e-7043-8e2e-9a050507b9a7',NULL,'01a1ece6-343e-7043-8e2e-9a050507b9a7',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893457200000000,'completed',1893457200000000,1893457200000000,1893457500000000,1893457200000000,'run','01a1ece6-3548-7fe1-b41d-1f084460249c','actual',9,8,165,165,0,'01a1ece6-3548-78d4-9ac9-49ac2c77b37c',NULL,NULL);
CREATE INDEX api_keys_tenant ON api_keys (tenant_id, key_id);
CREATE INDEX ledger_correlation ON ledger (tenant_id, correlation_id, seq) WHERE correlation_id IS NOT NULL;
CREATE INDEX ledger_subject ON ledger (tenant_id, subject, seq);
CREATE INDEX outbox_dead ON outbox (tenant_id, done_at) WHERE done_at IS NOT NULL;
CREATE INDEX outbox_live ON outbox (namespace, topic, tenant_id, next_attempt_at, seq) WHERE done_at IS NULL AND is_due;
CREATE INDEX outbox_ordering ON outbox (tenant_id, topic, ordering_key, seq) WHERE ordering_key IS NOT NULL;
CREATE INDEX outbox_slots ON outbox (namespace, topic) WHERE holds_slot;
CREATE INDEX outbox_timers ON outbox (next_attempt_at) WHERE done_at IS NULL AND NOT is_due;
CREATE INDEX signals_account ON signals (tenant_id, account_id, seq);
CREATE INDEX turns_decision ON turns (tenant_id, decision_id) WHERE decision_id IS NOT NULL;
CREATE INDEX turns_reserved ON turns (tenant_id, reserved_at, turn_id);
CREATE INDEX turns_running ON turns (deadline_at) WHERE state = 'running';
CREATE INDEX heat_days_expiry ON heat_days (tenant_id, expires_at);
CREATE INDEX heats_tier ON heats (tenant_id, tier, account_id);
CREATE INDEX next_pulls_due ON next_pulls (tenant_id, connector_id, tier, due_at);
CREATE INDEX next_pulls_overdue ON next_pulls (tenant_id, connector_id, overdue_at);
CREATE INDEX pulls_expiry ON pulls (tenant_id, expires_at);
CREATE INDEX pulls_scheduled ON pulls (tenant_id, scheduled_at, pull_job_id);
CREATE UNIQUE INDEX intents_attempt ON intents (tenant_id, plan_id, step_id, attempt);
CREATE INDEX intents_state ON intents (tenant_id, state, intent_id);
CREATE UNIQUE INDEX intents_under_way ON intents (tenant_id, plan_id) WHERE state IN ('APPROVED', 'EXECUTING', 'PENDING_APPROVAL') AND NOT is_late;
CREATE INDEX plans_account ON plans (tenant_id, account_id, plan_id);
CREATE INDEX plans_moving ON plans (tenant_id, due_at) WHERE status NOT IN ('DRAFT', 'APPROVED') AND due_at IS NOT NULL;
CREATE INDEX plans_new ON plans (tenant_id, due_at) WHERE status IN ('DRAFT', 'APPROVED') AND due_at IS NOT NULL;
CREATE UNIQUE INDEX plans_one_active ON plans (tenant_id, account_id, plan_type) WHERE status = 'ACTIVE';
CREATE INDEX plans_status ON plans (tenant_id, status, plan_id);
CREATE INDEX reports_generated ON reports (tenant_id, generated_at, report_id);
CREATE INDEX ledger_checkpoints_seq ON ledger_checkpoints (tenant_id, seq);
CREATE TRIGGER ledger_is_append_only before update on ledger
begin select raise(abort, 'update of ledger is refused'); end;
CREATE TRIGGER policies_are_kept before update on policies
begin select raise(abort, 'update of policies is refused'); end;
CREATE TRIGGER policies_are_never_cut before delete on policies
begin select raise(abort, 'delete of policies is refused'); end;
CREATE TRIGGER success_is_final before update on runs when old.state = 'SUCCEEDED'
begin select raise(abort, 'update of runs is refused'); end;
CREATE TRIGGER turns_are_kept before delete on turns
begin select raise(abort, 'delete of turns is refused'); end;
CREATE TRIGGER turns_are_born_running before insert on turns
when new.state <> 'running' or exists (select 1 from turns t where t.tenant_id = new.tenant_id
    and t.turn_id = new.turn_id) or exists (select 1 from turns t where t.tenant_id = new.tenant_id
    and t.request_id = new.request_id)
begin select raise(abort, 'insert of turns is refused'); end;
CREATE TRIGGER terms_of_a_turn_stay before update on turns when
    (old.tenant_id, old.turn_id, old.request_id, old.user_id, old.decision_id,
        old.policy_version, old.selected_model, old.effective_model, old.tier,
        old.input_multiplier_micro, old.output_multiplier_micro, old.estimated_input_tokens,
        old.max_output_tokens, old.generation_floor_tokens, old.tolerance_percent,
        old.reserved_micro, old.day_start_at, old.month_start_at, old.timeout_us,
        old.reserved_at)
    is not
    (new.tenant_id, new.turn_id, new.request_id, new.user_id, new.decision_id,
        new.policy_version, new.selected_model, new.effective_model, new.tier,
        new.input_multiplier_micro, new.output_multiplier_micro, new.estimated_input_tokens,
        new.max_output_tokens, new.generation_floor_tokens, new.tolerance_percent,
        new.reserved_micro, new.day_start_at, new.month_start_at, new.timeout_us,
        new.reserved_at)
begin select raise(abort, 'update of turns is refused'); end;
CREATE TRIGGER a_settlement_stays before update on turns when old.state <> 'running' and
    (old.state, old.started_at, old.ended_at, old.ended_by, old.finalize_id,
        old.settlement_method, old.input_tokens, old.output_tokens, old.computed_micro,
        old.charged_micro, old.event_id)
    is not
    (new.state, new.started_at, new.ended_at, new.ended_by, new.finalize_id,
        new.settlement_method, new.input_tokens, new.output_tokens, new.computed_micro,
        new.charged_micro, new.event_id)
begin select raise(abort, 'update of turns is refused'); end;
CREATE TRIGGER a_turn_is_settled_with_its_event before update on turns
when old.state = 'running' and new.state <> 'running' and not exists (
    select 1 from outbox o where o.tenant_id = new.tenant_id and o.id = new.event_id
    and o.topic = 'usage_snapshot'
    and o.dedupe_key = new.tenant_id || '/' || new.turn_id || '/' || new.request_id)
begin select raise(abort, 'a turn would be settled without its usage event'); end;
CREATE TRIGGER a_usage_event_belongs_to_a_turn before insert on outbox
when new.topic = 'usage_snapshot' and not exists (
    select 1 from turns t where t.tenant_id = new.tenant_id
    and t.turn_id = substr(substr(new.dedupe_key, length(new.tenant_id) + 2), 1, instr(substr(new.dedupe_key, length(new.tenant_id) + 2), '/') - 1)
    and t.tenant_id || '/' || t.turn_id || '/' || t.request_id = new.dedupe_key
    and (t.state = 'running' or t.event_id = new.id and t.event_fate is null))
begin select raise(rollback, 'a usage event needs the key of a turn of its tenant'); end;
CREATE TRIGGER plans_are_kept before delete on plans
begin select raise(abort, 'delete of plans is refused'); end;
CREATE TRIGGER intents_are_kept before delete on intents
begin select raise(abort, 'delete of intents is refused'); end;
CREATE TRIGGER plans_are_born_as_drafts before insert on plans
when new.status <> 'DRAFT' or exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.plan_id = new.plan_id)
begin select raise(abort, 'insert of plans is refused'); end;
CREATE TRIGGER plans_go_their_ways before update on plans
when old.status <> new.status and not (
        old.status = 'DRAFT' and new.status in ('APPROVED', 'ABORTED')
        or old.status = 'APPROVED' and new.status in ('ACTIVE', 'ABORTED', 'EXPIRED')
        or old.status = 'ACTIVE' and new.status in ('PAUSED', 'COMPLETED', 'ABORTED', 'EXPIRED')
        or old.status = 'PAUSED' and new.status in ('ACTIVE', 'ABORTED', 'EXPIRED'))
begin select raise(abort, 'update of plans is refused'); end;
CREATE TRIGGER plans_keep_their_name before update on plans
when (old.tenant_id, old.plan_id, old.source, old.created_at, old.created_by)
        is not
        (new.tenant_id, new.plan_id, new.source, new.created_at, new.created_by)
begin select raise(abort, 'update of plans is refused'); end;
CREATE TRIGGER terms_of_a_plan_stay before update on plans
when old.status <> 'DRAFT' and
        (old.account_id, old.plan_type, old.objective, old.constraints, old.expires_at, old.version)
        is not
        (new.account_id, new.plan_type, new.objective, new.constraints, new.expires_at, new.version)
begin select raise(abort, 'update of plans is refused'); end;
CREATE TRIGGER the_end_of_a_plan_stays before update on plans
when old.ended_at is not null and
        (old.status, old.ended_at, old.completion_reason, old.reason)
        is not
        (new.status, new.ended_at, new.completion_reason, new.reason)
begin select raise(abort, 'update of plans is refused'); end;
CREATE TRIGGER steps_are_born_pending before insert on plan_steps
when new.status <> 'PENDING' or new.attempts <> 0
begin select raise(abort, 'insert of plan_steps is refused'); end;
CREATE TRIGGER steps_go_their_ways before update on plan_steps
when old.status <> new.status and not (
        old.status = 'PENDING' and new.status in ('PENDING_APPROVAL', 'AUTO_EXECUTED', 'SKIPPED', 'FAILED')
        or old.status = 'PENDING_APPROVAL' and new.status in ('DONE', 'SKIPPED', 'FAILED')
        or old.status = 'AUTO_EXECUTED' and new.status in ('DONE', 'SKIPPED', 'FAILED')
        or old.status = 'FAILED' and new.status in ('PENDING_APPROVAL', 'AUTO_EXECUTED', 'SKIPPED'))
begin select raise(abort, 'update of plan_steps is refused'); end;
CREATE TRIGGER attempts_are_counted before update on plan_steps
when new.attempts < old.attempts or new.spared < old.spared
        or new.attempts > old.attempts + 1
        or old.status in ('PENDING', 'FAILED') and new.status in ('PENDING_APPROVAL', 'AUTO_EXECUTED')
        and new.attempts = old.attempts
begin select raise(abort, 'update of plan_steps is refused'); end;
CREATE TRIGGER steps_are_inserted_in_drafts before insert on plan_steps
when not exists (select 1 from plans p where p.tenant_id = new.tenant_id
    and p.plan_id = new.plan_id and p.status = 'DRAFT')
begin select raise(abort, 'steps of the plan can no longer be edited'); end;
CREATE TRIGGER steps_are_deleted_in_drafts before delete on plan_steps
when not exists (select 1 from plans p where p.tenant_id = old.tenant_id
    and p.plan_id = old.plan_id and p.status = 'DRAFT')
begin select raise(abort, 'steps of the plan can no longer be edited'); end;
CREATE TRIGGER steps_are_edited_in_drafts before update on plan_steps
when (old.tenant_id, old.plan_id, old.step_id, old.action_type, old.position, old.sequence, old.dependencies, old.data)
        is not
        (new.tenant_id, new.plan_id, new.step_id, new.action_type, new.position, new.sequence, new.dependencies, new.data)
    and not exists (select 1 from plans p where p.tenant_id = old.tenant_id
    and p.plan_id = old.plan_id and p.status = 'DRAFT')
begin select raise(abort, 'steps of the plan can no longer be edited'); end;
CREATE TRIGGER intents_are_born_open before insert on intents
when new.state not in ('PENDING_APPROVAL', 'APPROVED', 'REJECTED', 'EXECUTING') or exists (
    select 1 from intents i where i.tenant_id = new.tenant_id and i.intent_id = new.intent_id)
    or exists (select 1 from intents i where i.tenant_id = new.tenant_id and i.plan_id = new.plan_id
    and i.step_id = new.step_id and i.attempt = new.attempt)
begin select raise(abort, 'insert of intents is refused'); end;
CREATE TRIGGER intents_go_their_ways before update on intents
when old.state <> new.state and not (
        old.state = 'PENDING_APPROVAL' and new.state in ('APPROVED', 'REJECTED', 'CANCELLED')
        or old.state = 'APPROVED' and new.state in ('EXECUTING', 'FAILED', 'CANCELLED')
        or old.state = 'EXECUTING' and new.state in ('SUCCEEDED', 'FAILED'))
begin select raise(abort, 'update of intents is refused'); end;
CREATE TRIGGER terms_of_an_intent_stay before update on intents
when (old.tenant_id, old.intent_id, old.plan_id, old.step_id, old.attempt, old.account_id, old.action_type, old.created_at, old.approval)
        is not
        (new.tenant_id, new.intent_id, new.plan_id, new.step_id, new.attempt, new.account_id, new.action_type, new.created_at, new.approval)
begin select raise(abort, 'update of intents is refused'); end;
CREATE TRIGGER the_end_of_an_intent_stays before update on intents
when old.ended_at is not null and
        (old.state, old.ended_at, old.detail, old.is_late)
        is not
        (new.state, new.ended_at, new.detail, new.is_late)
begin select raise(abort, 'update of intents is refused'); end;
CREATE TRIGGER intents_begin_for_active_plans before insert on intents
when new.state = 'EXECUTING' and not exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.plan_id = new.plan_id
    and p.status = 'ACTIVE')
begin select raise(abort, 'the plan of the intent is not active'); end;
CREATE TRIGGER intents_execute_for_active_plans before update on intents
when old.state <> new.state and new.state = 'EXECUTING' and not exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.plan_id = new.plan_id
    and p.status = 'ACTIVE')
begin select raise(abort, 'the plan of the intent is not active'); end;
CREATE TRIGGER milestones_are_final before update on milestones
begin select raise(abort, 'update of milestones is refused'); end;
CREATE TRIGGER milestones_are_never_cut before delete on milestones
begin select raise(abort, 'delete of milestones is refused'); end;
CREATE TRIGGER reports_are_final before update on reports
begin select raise(abort, 'update of reports is refused'); end;
CREATE TRIGGER reports_of_milestones_are_kept before delete on reports
when old.trigger_name <> 'MANUAL'
begin select raise(abort, 'delete of reports is refused'); end;
CREATE TRIGGER seals_stay before update on ledger_seals
begin select raise(abort, 'update of ledger_seals is refused'); end;
CREATE TRIGGER seals_are_never_cut before delete on ledger_seals when not exists (
    select 1 from ledger_prunes p where p.tenant_id = old.tenant_id and p.seq > old.to_seq)
begin select raise(abort, 'delete of ledger_seals is refused'); end;
CREATE TRIGGER checkpoints_stay before update on ledger_checkpoints
begin select raise(abort, 'update of ledger_checkpoints is refused'); end;
CREATE TRIGGER checkpoints_are_never_cut before delete on ledger_checkpoints
begin select raise(abort, 'delete of ledger_checkpoints is refused'); end;
CREATE TRIGGER a_checkpoint_is_sealed before insert on ledger_checkpoints when not exists (
    select 1 from (select * from ledger_seals s where s.tenant_id = new.tenant_id
        and s.from_seq <= new.seq order by s.from_seq desc limit 1) s
    where s.to_seq >= new.seq
    and lower(hex(substr(s.hashes, (new.seq - s.from_seq) * 32 + 1, 32))) = new.hash)
begin select raise(abort, 'a checkpoint needs the seal of its place'); end;
CREATE TRIGGER what_was_pruned_stays before delete on ledger_prunes
begin select raise(abort, 'delete of ledger_prunes is refused'); end;
CREATE TRIGGER pruning_goes_forward before update on ledger_prunes
when new.tenant_id <> old.tenant_id or new.seq <= old.seq
    or new.newest_at < old.newest_at or new.last_entry_id < old.last_entry_id
begin select raise(abort, 'update of ledger_prunes is refused'); end;
CREATE TRIGGER pruning_starts_behind_an_export before insert on ledger_prunes when not exists (
    select 1 from ledger_checkpoints c where c.tenant_id = new.tenant_id and c.seq >= new.seq
    and c.exported_after = 0)
begin select raise(abort, 'pruning of the ledger needs an export behind a checkpoint'); end;
CREATE TRIGGER pruning_goes_on_behind_an_export before update on ledger_prunes when not exists (
    select 1 from ledger_checkpoints c where c.tenant_id = new.tenant_id and c.seq >= new.seq
    and c.exported_after <= old.seq)
begin select raise(abort, 'pruning of the ledger needs an export behind a checkpoint'); end;
CREATE TRIGGER a_pruned_place_is_sealed before insert on ledger_prunes when not exists (
    select 1 from (select * from ledger_seals s where s.tenant_id = new.tenant_id
        and s.from_seq <= new.seq order by s.from_seq desc limit 1) s
    where s.to_seq >= new.seq
    and lower(hex(substr(s.hashes, (new.seq - s.from_seq) * 32 + 1, 32))) = new.hash)
begin select raise(abort, 'pruning of the ledger needs the seal of its place'); end;
CREATE TRIGGER the_next_pruned_place_is_sealed before update on ledger_prunes when not exists (
    select 1 from (select * from ledger_seals s where s.tenant_id = new.tenant_id
        and s.from_seq <= new.seq order by s.from_seq desc limit 1) s
    where s.to_seq >= new.seq
    and lower(hex(substr(s.hashes, (new.seq - s.from_seq) * 32 + 1, 32))) = new.hash)
begin select raise(abort, 'pruning of the ledger needs the seal of its place'); end;
CREATE TRIGGER ledger_is_never_cut before delete on ledger when not exists (
    select 1 from ledger_prunes p where p.tenant_id = old.tenant_id and p.seq >= old.seq)
begin select raise(abort, 'delete of ledger is refused'); end;
CREATE TRIGGER policy_meanings_are_kept before update on policy_meanings
begin select raise(abort, 'update of policy_meanings is refused'); end;
CREATE TRIGGER policy_meanings_are_never_cut before delete on policy_meanings
begin select raise(abort, 'delete of policy_meanings is refused'); end;
COMMIT;
