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
INSERT INTO "alembic_version" VALUES('0008');
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
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-7ec9-7ebc-9f29-2a077edcb21b/01a1ecca-7ec9-7ebc-9f29-2a077edcb21b','01a1ecca-7f03-76c6-b32d-34944a0b3da4',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-7f69-773f-80e7-4a0591ef7a1a/01a1ecca-7f69-773f-80e7-4a0591ef7a1a','01a1ecca-8035-70fd-abd2-86ad655cb257',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-7fb5-7f38-a09b-89ac97f58378/01a1ecca-7fb5-7f38-a09b-89ac97f58378','01a1ecca-8035-723d-b749-99287dc16b30',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-813d-7f49-bb83-601908089f5f/01a1ecca-813d-7f49-bb83-601908089f5f','01a1ecca-82d9-76fa-bf31-722ff9c8f5e2',1893457200000000);
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
    expires_at BIGINT NOT NULL,
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
INSERT INTO "intents" VALUES('acme','01a1ecca-8116-7c33-9a20-6193ae9e47c8','01a1ecca-80b9-7ed1-88f1-223e3969c70e','step-1',1,'ann','REQUEST_RENEWAL_MEETING','SUCCEEDED',1893456300000000,1893546000000000,'REQUIRE_APPROVAL','APPROVE_EACH','autonomy.mode','every action is asked for',1893459600000000,'ann',1893459600000000,1893459600000000,NULL,0,'01a1ecca-8457-799a-b755-03687c1459c2');
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
INSERT INTO "ledger" VALUES('_system',1,'01a1ecca-7eb0-7d42-9e2a-4a69c2a5dfc1',1893456000000000,'perceive','connector.set','crm',NULL,0,NULL,NULL,NULL,'{"by":"app","set":{"has_cadence":true}}');
INSERT INTO "ledger" VALUES('acme',1,'01a1ecca-7ed2-79bd-9e92-cac8f850ff19',1893456000000000,'system','tenant.created','acme',NULL,0,NULL,NULL,NULL,'{"installed_at":1893456000000000,"name":null,"tier":null}');
INSERT INTO "ledger" VALUES('acme',2,'01a1ecca-7ec9-7ebc-9f29-2a077edcb21b',1893456000000000,'decide','verdict','cyd',NULL,0,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"cyd","idempotency_key":"01a1ecca-7ec9-72e8-b86b-b494a949d5d4","signal_id":"01a1ecca-7ec9-72e8-b86b-b494a949d5d4","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f","version":0},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":0,"day_runs":0,"hour":0,"hour_runs":0,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',3,'01a1ecca-7ee0-7fb7-829b-5c0dc9f5ba8e',1893456000000000,'perceive','heat.tier_changed','cyd',NULL,0,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',4,'01a1ecca-7efc-7d9a-981d-0e69436dfd2d',1893456000000000,'settle','turn.reserved','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b',0,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b","turn_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b"},"effective_model":"premium","levels":[["","daily","total",0,0],["","daily","tier:premium",0,0],["","monthly","total",0,0],["","monthly","tier:premium",0,0]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',5,'01a1ecca-7f03-7137-b0b2-1ca5658f078d',1893456000000000,'decide','run.ended','cyd',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',6,'01a1ecca-7f03-78cc-9324-ecc0d1351ce8',1893456000000000,'settle','turn.settled','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b',0,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b","ended_by":"run","event_id":"01a1ecca-7f03-76c6-b32d-34944a0b3da4","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('_system',2,'01a1ecca-7f5e-7b05-b7b0-540396aaaf2b',1893456000000000,'system','policy.applied','1',NULL,1,NULL,NULL,NULL,'{"author":"python","changes":[{"after":1200,"before":300,"path":"triggers.SIGNAL_ARRIVED.cooldown_seconds"}],"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","reason":"quieter","version":1}');
INSERT INTO "ledger" VALUES('acme',7,'01a1ecca-7f61-791b-9a92-e47ca56c59a9',1893456000000000,'decide','schedule.set','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"catch_up":"fire_once","cron":"0 * * * *","generation":1,"next_fire_at":1893459600000000,"spread_seconds":null,"timezone":"UTC"}');
INSERT INTO "ledger" VALUES('acme',8,'01a1ecca-7f66-7787-9e19-79ed5fb12f9e',1893456000000000,'system','kill_switch.set','trigger:POSTURE_CHANGE',NULL,0,NULL,NULL,NULL,'{"id":"POSTURE_CHANGE","on":true,"reason":"too many","scope":"trigger","set_by":"python"}');
INSERT INTO "ledger" VALUES('acme',9,'01a1ecca-7f69-773f-80e7-4a0591ef7a1a',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"01a1ecca-7f69-779a-acc4-e4ae12054cec","signal_id":"01a1ecca-7f69-779a-acc4-e4ae12054cec","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":1,"hour":525960,"hour_runs":1,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',10,'01a1ecca-7f6d-79e2-93c4-e93c8fec8139',1893456000000000,'perceive','heat.tier_changed','ann',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',11,'01a1ecca-7f9d-7631-9ed3-53c2a0409672',1893456000000000,'decide','account.changed','ann',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',12,'01a1ecca-7f9d-764a-b60a-34655beacdb8',1893456000000000,'decide','verdict','ann',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"ann","idempotency_key":"account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',13,'01a1ecca-7fb5-7f38-a09b-89ac97f58378',1893456000000000,'decide','verdict','bob',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"bob","idempotency_key":"01a1ecca-7fb5-74d2-8af2-1218f3506039","signal_id":"01a1ecca-7fb5-74d2-8af2-1218f3506039","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":2,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',14,'01a1ecca-7fb5-70d6-bd29-c712fe206f89',1893456000000000,'perceive','heat.tier_changed','bob',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',15,'01a1ecca-7fcd-7643-96b1-af7647808ab5',1893456000000000,'decide','account.changed','bob',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',16,'01a1ecca-7fcd-7047-8147-d88396a3c1dd',1893456000000000,'decide','verdict','bob',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"bob","idempotency_key":"account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',17,'01a1ecca-7fe5-7715-9b71-13e1f7bf754e',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','SKIP','DEBOUNCED','{"engine":1,"event":{"account_id":"ann","idempotency_key":"soon","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"reason":"DEBOUNCED","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',18,'01a1ecca-8019-73c2-9e37-0298df978405',1893456000000000,'settle','turn.reserved','01a1ecca-7f69-773f-80e7-4a0591ef7a1a','01a1ecca-7f69-773f-80e7-4a0591ef7a1a',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a","turn_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a"},"effective_model":"premium","levels":[["","daily","total",0,165],["","daily","tier:premium",0,165],["","monthly","total",0,165],["","monthly","tier:premium",0,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',19,'01a1ecca-8019-7bb1-9b37-127a7eeaed61',1893456000000000,'settle','turn.reserved','01a1ecca-7fb5-7f38-a09b-89ac97f58378','01a1ecca-7fb5-7f38-a09b-89ac97f58378',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378","turn_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378"},"effective_model":"premium","levels":[["","daily","total",650,165],["","daily","tier:premium",650,165],["","monthly","total",650,165],["","monthly","tier:premium",650,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',20,'01a1ecca-8035-7c78-9c73-9c1858f0ad18',1893456000000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',21,'01a1ecca-8035-7fcf-a94e-e9c073f9a279',1893456000000000,'decide','run.ended','bob',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',22,'01a1ecca-8035-764d-a272-aa729ffdfd66',1893456000000000,'settle','turn.settled','01a1ecca-7f69-773f-80e7-4a0591ef7a1a','01a1ecca-7f69-773f-80e7-4a0591ef7a1a',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a","ended_by":"run","event_id":"01a1ecca-8035-70fd-abd2-86ad655cb257","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',23,'01a1ecca-8035-7b59-b8c3-24d58daf5021',1893456000000000,'settle','turn.settled','01a1ecca-7fb5-7f38-a09b-89ac97f58378','01a1ecca-7fb5-7f38-a09b-89ac97f58378',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378","ended_by":"run","event_id":"01a1ecca-8035-723d-b749-99287dc16b30","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',24,'01a1ecca-808a-757d-9dae-290bc5e1c805',1893456000000000,'perceive','pull_budget.set','acme',NULL,0,NULL,NULL,NULL,'{"budget":{"connectors":{},"total":100},"by":"python"}');
INSERT INTO "ledger" VALUES('acme',25,'01a1ecca-80a2-750d-af3a-cdc4859519e0',1893456000000000,'perceive','pull.decided','ann',NULL,1,NULL,'SCHEDULED',NULL,'{"connector_id":"crm","depth":"DEEP","expires_at":1893542400000000,"message_id":"01a1ecca-80a1-7ce1-baed-f5a627a37008","origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","remaining":97,"tier":"WARM","units":3}');
INSERT INTO "ledger" VALUES('acme',26,'01a1ecca-80b9-79c0-9e5a-2351430a4729',1893456000000000,'act','PLAN_CREATED','01a1ecca-80b9-7ed1-88f1-223e3969c70e',NULL,1,NULL,'DRAFT',NULL,'{"account_id":"ann","by":"python","objective":"Keep the customer through the coming renewal","plan_id":"01a1ecca-80b9-7ed1-88f1-223e3969c70e","plan_type":"RENEWAL_DEFENSE","steps":[{"action_type":"REQUEST_RENEWAL_MEETING","dependencies":[],"sequence":1,"step_id":"step-1"}]}');
INSERT INTO "ledger" VALUES('acme',27,'01a1ecca-80c9-70c5-9779-0f42555a7801',1893456000000000,'act','PLAN_APPROVED','01a1ecca-80b9-7ed1-88f1-223e3969c70e',NULL,1,NULL,'APPROVED',NULL,'{"account_id":"ann","by":"ann","is_person":true,"plan_id":"01a1ecca-80b9-7ed1-88f1-223e3969c70e","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',28,'01a1ecca-8115-795d-b943-f06c0160d85e',1893456300000000,'act','PLAN_ACTIVATED','01a1ecca-80b9-7ed1-88f1-223e3969c70e',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","facts":[],"gate":{"approved_by":"ann","approved_by_person":true,"conflict":null,"facts":[],"posture":"at risk","risks":{"REQUEST_RENEWAL_MEETING":"low"},"steps":[["step-1","REQUEST_RENEWAL_MEETING",0,1]]},"plan_id":"01a1ecca-80b9-7ed1-88f1-223e3969c70e","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"posture":"at risk"}');
INSERT INTO "ledger" VALUES('acme',29,'01a1ecca-8116-77eb-9b61-e5047802e9f0',1893456300000000,'act','STEP_STARTED','01a1ecca-80b9-7ed1-88f1-223e3969c70e',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","approval":"REQUIRE_APPROVAL","approval_reason":"APPROVE_EACH","attempt":1,"clause":"autonomy.mode","intent_id":"01a1ecca-8116-7c33-9a20-6193ae9e47c8","plan_id":"01a1ecca-80b9-7ed1-88f1-223e3969c70e","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"risk":"low","step_id":"step-1","used_today":0}');
INSERT INTO "ledger" VALUES('acme',30,'01a1ecca-813d-72df-9a26-5d8bce68530e',1893456300000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','DEFER','COOLDOWN','{"engine":1,"event":{"account_id":"ann","idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","signal_id":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","trigger_type":"SIGNAL_ARRIVED"},"now":1893456300000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"defer_until":1893457200000000,"reason":"COOLDOWN","result":"DEFER"}}');
INSERT INTO "ledger" VALUES('acme',31,'01a1ecca-818d-73d5-a72b-63448a756bfc',1893456300000000,'perceive','pull.ended','ann',NULL,0,NULL,'SUCCEEDED',NULL,'{"connector_id":"crm","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","signals":1}');
INSERT INTO "ledger" VALUES('acme',32,'01a1ecca-813d-7f49-bb83-601908089f5f',1893457200000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"retry:a5aa406c618d802d051586a26cf44e97128b9c2527033a2fe3a7ae781faae3b1","retry_of":"01a1ecca-813d-72df-9a26-5d8bce68530e","trigger_type":"SIGNAL_ARRIVED"},"now":1893457200000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{"SIGNAL_ARRIVED":[1893457200000000,"01a1ecca-813d-72df-9a26-5d8bce68530e"]},"trigger":[1893456300000000,1893456300000000,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',33,'01a1ecca-82c0-727f-97a7-238ff29669e3',1893457200000000,'settle','turn.reserved','01a1ecca-813d-7f49-bb83-601908089f5f','01a1ecca-813d-7f49-bb83-601908089f5f',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-813d-7f49-bb83-601908089f5f","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-813d-7f49-bb83-601908089f5f","turn_id":"01a1ecca-813d-7f49-bb83-601908089f5f"},"effective_model":"premium","levels":[["","daily","total",0,495],["","daily","tier:premium",0,495],["","monthly","total",0,495],["","monthly","tier:premium",0,495]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',34,'01a1ecca-82d9-7a28-ba21-23fe5bef7e0c',1893457200000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-813d-7f49-bb83-601908089f5f","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',35,'01a1ecca-82d9-7040-8d63-ddd09eec7ced',1893457200000000,'settle','turn.settled','01a1ecca-813d-7f49-bb83-601908089f5f','01a1ecca-813d-7f49-bb83-601908089f5f',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-813d-7f49-bb83-601908089f5f","ended_by":"run","event_id":"01a1ecca-82d9-76fa-bf31-722ff9c8f5e2","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',36,'01a1ecca-841e-703f-943b-185d6d108959',1893459600000000,'decide','schedule.fired','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"scheduled_at":1893459600000000,"when":"2030-01-01T01:00:00Z"}');
INSERT INTO "ledger" VALUES('acme',37,'01a1ecca-8457-723d-a6f3-c727a7f65b66',1893459600000000,'act','INTENT_APPROVED','01a1ecca-80b9-7ed1-88f1-223e3969c70e',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"by":"ann","intent_id":"01a1ecca-8116-7c33-9a20-6193ae9e47c8","plan_id":"01a1ecca-80b9-7ed1-88f1-223e3969c70e","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',38,'01a1ecca-8466-74d2-88f7-5f1b8208ace6',1893459600000000,'act','STEP_COMPLETED','01a1ecca-80b9-7ed1-88f1-223e3969c70e',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"plan_id":"01a1ecca-80b9-7ed1-88f1-223e3969c70e","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',39,'01a1ecca-8466-755f-80aa-e11e62031c9b',1893459600000000,'act','PLAN_COMPLETED','01a1ecca-80b9-7ed1-88f1-223e3969c70e',NULL,1,NULL,'COMPLETED','all_steps_done','{"account_id":"ann","plan_id":"01a1ecca-80b9-7ed1-88f1-223e3969c70e","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',40,'01a1ecca-8474-7aa0-9a9f-866f688fe0b6',1893459600000000,'report','report.generated','MANUAL',NULL,1,NULL,NULL,NULL,'{"last_seq":39,"trigger":"MANUAL","window":[1893456000000000,1893459600000000]}');
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
INSERT INTO "ledger_checkpoints" VALUES('acme','01a1ecca-8496-7c60-9cd8-33942a374d1f',40,'0436f35fabafa45c9dcaab3b665cb3623556b6ff76b62b73c3b13882d48d3e08',NULL,1893459600000000,'python');
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
INSERT INTO "ledger_seals" VALUES('_system',1,2,X'624580472085ABC5364FB8DD950D0710C7BA8C7AA875FE4C09F926887A0E6B5C7996D7A66E239F28C4E9228431EA40E0D896477376A1CF65078BFCFBA7B1362F',1893459600000000);
INSERT INTO "ledger_seals" VALUES('acme',1,40,X'AA39A09D0570D46A6FA6CA36D10882A7A92BCEABA787DEA30A2558F7B0792BB58C44D70B68D511BDAB9113EE62A2DD3411711C84EEE06636E6BE54BD416BA31ED5A37CC5DEB1347D1E116FD97473807185D92C67C2D02D82C2FA73CE22F47F9E183C6AB60BBC8D8DAE8A1A47A45B5C33E577F670FA728D7A2EC208889B37C15321CFD356A84ED0A8C6491C7AF77C1E833F515854C39087E44977380E39A0B279025D22E942F39098CEA88EE989A51F540D5C75CE94A1CA95046B3A9352FC5E57B98826B2E76E106EB29B075A42C1BA85A352105328B76AC8BE2120875BEB698BEBC27459FB3A285BD14279F012A1BDE4C7EB7D7177552F120AC9EE6672211F0B9FFA067A2782E20FEBC1D86CAD439D628C7B0A28B4845EBA538A41C8139809D1EF3CAA6816DDBD68AF1C11E752E6A006F8CD55FB7EBD4E0D98CA08C7D78152940F524D9FAE8359BD28E2F11D9B05910419FB752308982D0AFC49B1BD5035FD3C8E9D1592C4165665D3A2B6B0C12DAF5DA9A3163F6F8D489BBBEA0A2851B51DF67F9469FEAE580516CA10515AC1071A03690CDD93A4402B72909EC5AD45CB7C52183B1BA68A77856DF07A592DF5C018410BF6709674954FB817F9D0F692AD7D2F759F395DC05EBE187BF5747680E4E3E52642A286D120FB2CFD80EB808DB6D64815CBE7510E7AE1304669B18613D9682AC7966768216B381622C577D1297EA1853A3234564BF3CCD282672235DDEC38303AA09679F102CF03FF263BB81BEA969C0EFA594168F6C83041E90A62DD2D52ED4C42515B1AE1A29421CFA4FFE5320DDA17157D5A47A92BF08BFE3427EABC2FDEA232DC840F242AAB36A98DFFA7F84A2633B376D8E0AB654979614E2A0A917DF691FF7D42B8A515B84AB8009F44BAD190AD1A3E79E3752BBF184399C4F1EE1A8EDD5F09D2C823573B5496D066F97DB04E1DA9736839CB86205485841DCECA2C50FDC65DFB1D4751437D8266210D5F2D7341C1CE32DC31BB0FDF82D9A0651434F5852B743B59D845FB176B242A57A967AAA3BFADD753D9C700BF764AB89FEB07304FC408B839DF2C0A76263BC814F710C81CEE4B26D8A43B360B6FD7946D95702D2A7D1A0D4484EC0BC9F251AAC8CFD8FE6CF7360489B0D37559EABE632DFC9636964F4D058DF97F5BA9E067BF701DB8104F78005C02582B00C97AC054726312A8E8970B0FCDF0CC20D11BEB91287524828777E3821A904F57B3B036178A2C51489090D56D0D8CA3B4E1FDF9537729B8FF55D86F7F8385EA54FE8BD35B8C4CCE782CC1C6C7DFC13A407544A81F1194F0CBB8483E2CB3B519529E2F009FB2937C5A919E4825ACBBD36BD90DA437A842278A0E968BA14F17002D778CBC5EF41D89E9B9775E73E72EB3C04FDBD1298A03759E0B0FF8A7DC27A3F43C6EBF55DAAD16447BAE97EB26699D1E0462ACABC82DBDDA73AD2D587F923E78ED24004658F4E64084CC94569B3A2911AE3DA3CA689C2A902A3DAF508390F8BE52138C9F650F2F8D544F1141EC1DE31F419C02D219E455127F7736AECEFCE1ADBC46578DFC6A52088F155BD6340050A0A88AEA943841B40E0056E0D913CB836F454898DA613DE4A0EE5731E5A15E9A63A2FE4FDE33C821BC2E864A0743560439036C65DEAEA68A5FC7603795B549D343F0A36AA19D4CCF935BA4C47A773EC58611B9383BA89764BADD327C83344B2D22146A73D9C975FF04CAC1852FC2E1201B695CEDA22A1302F8206749F57209CC74C2DD80D8E1F921160436F35FABAFA45C9DCAAB3B665CB3623556B6FF76B62B73C3B13882D48D3E08',1893459600000000);
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
INSERT INTO "outbox" VALUES(3,'acme','01a1ecca-7ed3-7c29-8a55-90330fbbb4d4','watchkeeper','milestone.tick',NULL,NULL,'{"due_at":1893499200000000}','pending',0,0,1893499200000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(13,'acme','01a1ecca-7fb5-75bd-af7a-1cbebdf45b8e','watchkeeper','pull.tick',NULL,NULL,'{"due_at":1893465486000000}','pending',0,0,1893465486000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(19,'acme','01a1ecca-841d-7ccd-aa28-f434291b2691','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893463200000000,"generation":1,"schedule_id":"brief"}','pending',0,0,1893463200000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(21,'_system','01a1ecca-842f-7add-8c8a-d03851b7d6dd','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(23,'acme','01a1ecca-8445-7778-a4c8-93c641053248','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"ann","idempotency_key":"87ab13628cbafa4578e1e7f45a1db6178390380e3a38c1658b9ee04c18426006","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459747000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(24,'acme','01a1ecca-8445-7608-9797-a6ddf10ea379','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"bob","idempotency_key":"ec45c35fdfef73e6e1fad69d9240b944456d5696ef70ee6658d9ade150973c1a","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459704000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(25,'acme','01a1ecca-8445-7fb4-bb4c-b05f3ba2a431','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"cyd","idempotency_key":"9cb83f09950d1128a057f39b68b722c432642618af13951a1625b9d43b1bc25b","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459745000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(26,'acme','01a1ecca-844f-7996-b13d-3d93334d7845','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(28,'acme','01a1ecca-8458-7fc6-8e32-8d86386c146a','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893546000000000}','pending',0,0,1893546000000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
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
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7ed3-7e54-89be-3acb13f9ee81','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-7eb3-7c85-b64c-ae6330c19434','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"cyd","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-7ec9-72e8-b86b-b494a949d5d4","signals_after":0,"signals_until":2},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7ef2-71a9-bbc8-1e8898ce28c2','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7f03-76c6-b32d-34944a0b3da4','mini-chat','usage_snapshot','acme/01a1ecca-7ec9-7ebc-9f29-2a077edcb21b/01a1ecca-7ec9-7ebc-9f29-2a077edcb21b',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":0,"request_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-7ec9-7ebc-9f29-2a077edcb21b"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7f69-773f-80e7-4a0591ef7a1a','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-7f69-779a-acc4-e4ae12054cec","signals_after":0,"signals_until":9},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7fb5-7f38-a09b-89ac97f58378','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"bob","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-7fb5-74d2-8af2-1218f3506039","signals_after":0,"signals_until":13},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-8035-70fd-abd2-86ad655cb257','mini-chat','usage_snapshot','acme/01a1ecca-7f69-773f-80e7-4a0591ef7a1a/01a1ecca-7f69-773f-80e7-4a0591ef7a1a',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-7f69-773f-80e7-4a0591ef7a1a"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-8035-723d-b749-99287dc16b30','mini-chat','usage_snapshot','acme/01a1ecca-7fb5-7f38-a09b-89ac97f58378/01a1ecca-7fb5-7f38-a09b-89ac97f58378',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-7fb5-7f38-a09b-89ac97f58378"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-80ca-7a23-a1c7-72afc414b78a','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-80a1-7ce1-baed-f5a627a37008','watchkeeper','pull.requested',NULL,NULL,'{"detail":{"account_id":"ann","budget_remaining":97,"connector_id":"crm","depth":"DEEP","depth_units":3,"origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","scheduled_at":"2030-01-01T00:00:00Z","tenant_id":"acme"},"detail-type":"PULL_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-813d-7f49-bb83-601908089f5e','watchkeeper','decision.retry',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","idempotency_key":"retry:a5aa406c618d802d051586a26cf44e97128b9c2527033a2fe3a7ae781faae3b1","due_at":"2030-01-01T00:20:00Z","moved":false,"original_idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","retry_of":"01a1ecca-813d-72df-9a26-5d8bce68530e"},"detail-type":"RUN_DECISION","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893456300000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-813d-7f49-bb83-601908089f5f','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-813d-7f49-bb83-601908089f5f","evaluated_at":"2030-01-01T00:20:00Z","idempotency_key":"retry:a5aa406c618d802d051586a26cf44e97128b9c2527033a2fe3a7ae781faae3b1","signals_after":9,"signals_until":32},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-82d9-76fa-bf31-722ff9c8f5e2','mini-chat','usage_snapshot','acme/01a1ecca-813d-7f49-bb83-601908089f5f/01a1ecca-813d-7f49-bb83-601908089f5f',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-813d-7f49-bb83-601908089f5f","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-813d-7f49-bb83-601908089f5f","reserved_at":"2030-01-01T00:20:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:20:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-813d-7f49-bb83-601908089f5f"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-7ef5-7cd6-aec0-cf432d219b7b','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7f21-7918-9d92-47969702fa17','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-8388-7092-a5c5-f9d87a07c05d','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893457800000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7f61-76ed-93a1-e1fe2fc4cd1a','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893456000000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-8379-788d-8c70-f399212dd95a','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-83c1-70dd-8bb0-67dd4066cd38','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-841e-72f4-8338-1b911966d5c8','watchkeeper','schedule.slice',NULL,NULL,'{"after":"","fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-8439-7891-8936-67ddfc5164d6','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-8457-799a-b755-03687c1459c2','watchkeeper','action.requested',NULL,NULL,'{"detail":{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","attempt":1,"data":{},"idempotency_key":"01a1ecca-80b9-7ed1-88f1-223e3969c70e/step-1","intent_id":"01a1ecca-8116-7c33-9a20-6193ae9e47c8","objective":"Keep the customer through the coming renewal","plan_id":"01a1ecca-80b9-7ed1-88f1-223e3969c70e","plan_type":"RENEWAL_DEFENSE","source":"plan","step_id":"step-1","tenant_id":"acme"},"detail-type":"ACTION_REQUESTED","source":"watchkeeper"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
CREATE TABLE plan_cycles (
    tenant_id TEXT NOT NULL,
    due_at BIGINT NOT NULL, message_id VARCHAR(36),
    PRIMARY KEY (tenant_id)
);
INSERT INTO "plan_cycles" VALUES('acme',1893546000000000,'01a1ecca-8458-7fc6-8e32-8d86386c146a');
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
INSERT INTO "plan_steps" VALUES('acme','01a1ecca-80b9-7ed1-88f1-223e3969c70e','step-1','REQUEST_RENEWAL_MEETING',0,1,'[]','{}','DONE',1,0,NULL,NULL);
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
INSERT INTO "plans" VALUES('acme','01a1ecca-80b9-7ed1-88f1-223e3969c70e','ann','RENEWAL_DEFENSE','Keep the customer through the coming renewal','COMPLETED','{}','{}','caller',NULL,1893456000000000,'python',1896048000000000,1893456000000000,'ann',1,1893456300000000,1893459600000000,'all_steps_done',NULL,NULL,1);
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
INSERT INTO "pull_ticks" VALUES('acme',1893465486000000,'01a1ecca-7fb5-75bd-af7a-1cbebdf45b8e');
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
INSERT INTO "pulls" VALUES('acme','pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750','01a1ecca-80a1-7ce1-baed-f5a627a37008','ann','crm',1,3,'manual','SUCCEEDED',1893456000000000,1893456300000000,1893456300000000,1,NULL,1893542400000000);
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
INSERT INTO "reports" VALUES('acme','01a1ecca-8474-7aa0-9a9f-866f688fe0b6','MANUAL',1893456000000000,1893459600000000,39,'{"collected":{"connectors":[{"connector_id":"crm","pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"sum of signals over ledger entries of kind pull.ended, repeats included","unit":"signals","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}}],"pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"ledger entries of kind verdict that tell of a signal, repeats left out","unit":"signals","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}},"coverage":[{"connector_id":"crm","pulls":[{"count":{"how":"ledger entries of kind pull.decided, by result and reason","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SCHEDULED","name":null},{"count":{"how":"ledger entries of kind pull.ended, by result","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"reason":"pulls succeeded, and none failed","state":"AVAILABLE"}],"forecast":{"needed":{"how":"policy value reports.forecast_min_hours, in seconds","unit":"seconds","value":21600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"observed":{"how":"length of the window","unit":"seconds","value":3600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"statement":"not enough observation"},"format":1,"generated_at":"2030-01-01T01:00:00Z","header":{"entries":{"how":"entries of the ledger, of every kind","unit":"entries","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"generated_at":"2030-01-01T01:00:00Z","installed_at":"2030-01-01T00:00:00Z","last_entry":{"how":"place of the newest entry of the ledger that was counted","unit":"place","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"policy_version":1,"report_id":"01a1ecca-8474-7aa0-9a9f-866f688fe0b6","tenant_id":"acme","tenant_name":null,"trigger":"MANUAL","window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"},"window_from":"the installation"},"observations":{"credits_settled":{"how":"sum of charged_micro over ledger entries of kind turn.settled","unit":"micro-credits","value":660,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"decisions":[{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"ALLOW","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"COOLDOWN","label":"DEFER","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"DEBOUNCED","label":"SKIP","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":2,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"KILL_SWITCH","label":"SKIP","name":null}],"events_dead":[],"events_delivered":[{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"mini-chat/usage_snapshot"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/action.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.evaluation_requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.retry"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":6,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/heat.sweep"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/plan.cycle"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/pull.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.due"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.slice"}],"plans":[{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_ACTIVATED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_APPROVED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_CREATED","name":null}],"runs":[{"count":{"how":"ledger entries of kind run.ended, by result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"steps":[{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_STARTED","name":null}],"turns":[{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"turn.reserved","name":null},{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"completed","label":"turn.settled","name":null}]},"report_id":"01a1ecca-8474-7aa0-9a9f-866f688fe0b6","series":[{"bucket_seconds":3600,"how":"ledger entries of kind verdict that tell of a signal, repeats left out","label":null,"of":"signals","starts_at":"2030-01-01T00:00:00Z","unit":"signals","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"pulls","starts_at":"2030-01-01T00:00:00Z","unit":"pulls","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"units","starts_at":"2030-01-01T00:00:00Z","unit":"units","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"ALLOW","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"DEFER","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"SKIP","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind run.ended, by result","label":null,"of":"runs ended","starts_at":"2030-01-01T00:00:00Z","unit":"runs","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of charged_micro over ledger entries of kind turn.settled","label":null,"of":"credits settled","starts_at":"2030-01-01T00:00:00Z","unit":"micro-credits","values":[660,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind message.dead, by reason and topic","label":null,"of":"events dead","starts_at":"2030-01-01T00:00:00Z","unit":"messages","values":[0,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}],"tenant_id":"acme","trigger":"MANUAL"}');
CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;
INSERT INTO "reservations" VALUES('acme','01a1ecca-7ec9-72e8-b86b-b494a949d5d4','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b','8bfb31fb',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-7f69-779a-acc4-e4ae12054cec','01a1ecca-7f69-773f-80e7-4a0591ef7a1a','dc183bd6',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-7fb5-74d2-8af2-1218f3506039','01a1ecca-7fb5-7f38-a09b-89ac97f58378','c45beb46',1893542400000000);
INSERT INTO "reservations" VALUES('acme','2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0','01a1ecca-813d-72df-9a26-5d8bce68530e','e5317ac9',1893542700000000);
INSERT INTO "reservations" VALUES('acme','account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1','01a1ecca-7f9d-764a-b60a-34655beacdb8','b94b280d',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237','01a1ecca-7fcd-7047-8147-d88396a3c1dd','aaa48f09',1893542400000000);
INSERT INTO "reservations" VALUES('acme','retry:a5aa406c618d802d051586a26cf44e97128b9c2527033a2fe3a7ae781faae3b1','01a1ecca-813d-7f49-bb83-601908089f5f','ab96c2ed',1893543600000000);
INSERT INTO "reservations" VALUES('acme','soon','01a1ecca-7fe5-7715-9b71-13e1f7bf754e','ab96c2ed',1893542400000000);
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
INSERT INTO "runs" VALUES('acme','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b','cyd','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-7f69-773f-80e7-4a0591ef7a1a','ann','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-7fb5-7f38-a09b-89ac97f58378','bob','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-813d-7f49-bb83-601908089f5f','ann','SIGNAL_ARRIVED','SUCCEEDED',1893457200000000,1893457200000000,NULL,NULL);
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
INSERT INTO "signals" VALUES('acme','01a1ecca-7ec9-72e8-b86b-b494a949d5d4','cyd','mail.received',1893456000000000,1893456000000000,2,NULL,'{}');
INSERT INTO "signals" VALUES('acme','01a1ecca-7f69-779a-acc4-e4ae12054cec','ann','mail.received',1893456000000000,1893456000000000,9,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','01a1ecca-7fb5-74d2-8af2-1218f3506039','bob','mail.received',1893456000000000,1893456000000000,13,NULL,'{"n":1}');
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
INSERT INTO "turns" VALUES('acme','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b','01a1ecca-7ec9-7ebc-9f29-2a077edcb21b',NULL,'01a1ecca-7ec9-7ebc-9f29-2a077edcb21b',0,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-7f03-78ca-91b7-81f4aa4d1dde','actual',9,8,165,165,0,'01a1ecca-7f03-76c6-b32d-34944a0b3da4',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-7f69-773f-80e7-4a0591ef7a1a','01a1ecca-7f69-773f-80e7-4a0591ef7a1a',NULL,'01a1ecca-7f69-773f-80e7-4a0591ef7a1a',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-8035-72f2-b469-f62266573459','actual',9,8,165,165,0,'01a1ecca-8035-70fd-abd2-86ad655cb257',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-7fb5-7f38-a09b-89ac97f58378','01a1ecca-7fb5-7f38-a09b-89ac97f58378',NULL,'01a1ecca-7fb5-7f38-a09b-89ac97f58378',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-8035-78f9-97d7-f7243a8ee764','actual',9,8,165,165,0,'01a1ecca-8035-723d-b749-99287dc16b30',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-813d-7f49-bb83-601908089f5f','01a1ecca-813d-7f49-bb83-601908089f5f',NULL,'01a1ecca-813d-7f49-bb83-601908089f5f',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893457200000000,'completed',1893457200000000,1893457200000000,1893457500000000,1893457200000000,'run','01a1ecca-82d9-72f8-87df-141b6d6dce37','actual',9,8,165,165,0,'01a1ecca-82d9-76fa-bf31-722ff9c8f5e2',NULL,NULL);
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
