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
INSERT INTO "alembic_version" VALUES('0011');
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
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ed06-5801-7ea0-b7ca-4c14f8b6b092/01a1ed06-5801-7ea0-b7ca-4c14f8b6b092','01a1ed06-58a5-7056-ae1d-2562b3ef7412',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ed06-595d-740f-adf6-baed9247ede1/01a1ed06-595d-740f-adf6-baed9247ede1','01a1ed06-59f9-7e9a-8479-5f1e8b0adaba',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ed06-5991-7e1a-9ad2-5662dddf2eaf/01a1ed06-5991-7e1a-9ad2-5662dddf2eaf','01a1ed06-59f9-7261-92b4-9a0c584344bc',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ed06-5ab7-7c53-a8e1-ab806dd729f5/01a1ed06-5ab7-7c53-a8e1-ab806dd729f5','01a1ed06-5b6a-7ef2-937c-8af171289829',1893457200000000);
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
INSERT INTO "intents" VALUES('acme','01a1ed06-5aa2-723f-ab92-ab2c73988850','01a1ed06-5a5d-755e-92de-740ee850c085','step-1',1,'ann','REQUEST_RENEWAL_MEETING','SUCCEEDED',1893456300000000,1893546000000000,'REQUIRE_APPROVAL','APPROVE_EACH','autonomy.mode','every action is asked for',1893459600000000,'ann',1893459600000000,1893459600000000,NULL,0,'01a1ed06-5dee-7250-9eb4-382fdca640d3');
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
INSERT INTO "ledger" VALUES('_system',1,'01a1ed06-57cd-72da-9c77-aadd68194a2a',1893456000000000,'perceive','connector.set','crm',NULL,0,NULL,NULL,NULL,'{"by":"app","set":{"has_cadence":true}}');
INSERT INTO "ledger" VALUES('acme',1,'01a1ed06-5809-7866-9277-b3dd92f82a9d',1893456000000000,'system','tenant.created','acme',NULL,0,NULL,NULL,NULL,'{"installed_at":1893456000000000,"name":null,"tier":null}');
INSERT INTO "ledger" VALUES('acme',2,'01a1ed06-5801-7ea0-b7ca-4c14f8b6b092',1893456000000000,'decide','verdict','cyd',NULL,0,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"cyd","idempotency_key":"01a1ed06-5801-7855-b96f-2b3a1abf7892","signal_id":"01a1ed06-5801-7855-b96f-2b3a1abf7892","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f","version":0},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":0,"day_runs":0,"hour":0,"hour_runs":0,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',3,'01a1ed06-581d-7e2d-9db6-380edcb8148d',1893456000000000,'perceive','heat.tier_changed','cyd',NULL,0,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',4,'01a1ed06-588d-7e53-b49b-fdc295911b2a',1893456000000000,'settle','turn.reserved','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092',0,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092","turn_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092"},"effective_model":"premium","levels":[["","daily","total",0,0],["","daily","tier:premium",0,0],["","monthly","total",0,0],["","monthly","tier:premium",0,0]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',5,'01a1ed06-58a5-7c4c-90af-e5e9b50a64d0',1893456000000000,'decide','run.ended','cyd',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',6,'01a1ed06-58a6-761d-b3a9-e80311260d76',1893456000000000,'settle','turn.settled','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092',0,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092","ended_by":"run","event_id":"01a1ed06-58a5-7056-ae1d-2562b3ef7412","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('_system',2,'01a1ed06-5916-797d-b1ca-ffc57b22bd4b',1893456000000000,'system','policy.applied','1',NULL,1,NULL,NULL,NULL,'{"author":"python","changes":[{"after":1200,"before":300,"path":"triggers.SIGNAL_ARRIVED.cooldown_seconds"}],"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","reason":"quieter","version":1}');
INSERT INTO "ledger" VALUES('acme',7,'01a1ed06-592d-72eb-b12b-86e7f44fcdda',1893456000000000,'decide','schedule.set','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"catch_up":"fire_once","cron":"0 * * * *","generation":1,"next_fire_at":1893459600000000,"spread_seconds":null,"timezone":"UTC","zone_data":"8b85846791ab2c8a"}');
INSERT INTO "ledger" VALUES('acme',8,'01a1ed06-5945-76c4-bf94-8a841aa9a888',1893456000000000,'system','kill_switch.set','trigger:POSTURE_CHANGE',NULL,0,NULL,NULL,NULL,'{"id":"POSTURE_CHANGE","on":true,"reason":"too many","scope":"trigger","set_by":"python"}');
INSERT INTO "ledger" VALUES('acme',9,'01a1ed06-595d-740f-adf6-baed9247ede1',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"01a1ed06-595d-7b14-9fd7-313a71e4d559","signal_id":"01a1ed06-595d-7b14-9fd7-313a71e4d559","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":1,"hour":525960,"hour_runs":1,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',10,'01a1ed06-5965-70d9-8dbb-8bbcd7b156dd',1893456000000000,'perceive','heat.tier_changed','ann',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',11,'01a1ed06-5979-78d1-9dc5-160d84e8441b',1893456000000000,'decide','account.changed','ann',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',12,'01a1ed06-5979-715e-a113-c4ab144b563c',1893456000000000,'decide','verdict','ann',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"ann","idempotency_key":"account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',13,'01a1ed06-5991-7e1a-9ad2-5662dddf2eaf',1893456000000000,'decide','verdict','bob',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"bob","idempotency_key":"01a1ed06-5991-75f0-9313-a6ed466d551f","signal_id":"01a1ed06-5991-75f0-9313-a6ed466d551f","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":2,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',14,'01a1ed06-5991-73cb-a880-48c0e6cf0098',1893456000000000,'perceive','heat.tier_changed','bob',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',15,'01a1ed06-59a5-78fb-8419-fd1f42031120',1893456000000000,'decide','account.changed','bob',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',16,'01a1ed06-59a5-7aba-8b2f-c46ae50737c2',1893456000000000,'decide','verdict','bob',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"bob","idempotency_key":"account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',17,'01a1ed06-59bd-776b-867a-a63a20829214',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','SKIP','DEBOUNCED','{"engine":1,"event":{"account_id":"ann","idempotency_key":"soon","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"reason":"DEBOUNCED","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',18,'01a1ed06-59e5-7e02-a27e-a87527f5ac2f',1893456000000000,'settle','turn.reserved','01a1ed06-595d-740f-adf6-baed9247ede1','01a1ed06-595d-740f-adf6-baed9247ede1',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ed06-595d-740f-adf6-baed9247ede1","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ed06-595d-740f-adf6-baed9247ede1","turn_id":"01a1ed06-595d-740f-adf6-baed9247ede1"},"effective_model":"premium","levels":[["","daily","total",0,165],["","daily","tier:premium",0,165],["","monthly","total",0,165],["","monthly","tier:premium",0,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',19,'01a1ed06-59e5-75a6-9008-716e6d18ed7b',1893456000000000,'settle','turn.reserved','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf","turn_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf"},"effective_model":"premium","levels":[["","daily","total",650,165],["","daily","tier:premium",650,165],["","monthly","total",650,165],["","monthly","tier:premium",650,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',20,'01a1ed06-59f9-7a46-b453-f1c4722a9a1f',1893456000000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ed06-595d-740f-adf6-baed9247ede1","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',21,'01a1ed06-59f9-7da9-8e6c-0e6e50b2bda8',1893456000000000,'decide','run.ended','bob',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',22,'01a1ed06-59f9-7ba3-b360-5d6b9638dc80',1893456000000000,'settle','turn.settled','01a1ed06-595d-740f-adf6-baed9247ede1','01a1ed06-595d-740f-adf6-baed9247ede1',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ed06-595d-740f-adf6-baed9247ede1","ended_by":"run","event_id":"01a1ed06-59f9-7e9a-8479-5f1e8b0adaba","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',23,'01a1ed06-59f9-740a-ac59-1552d43f2187',1893456000000000,'settle','turn.settled','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf","ended_by":"run","event_id":"01a1ed06-59f9-7261-92b4-9a0c584344bc","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',24,'01a1ed06-5a3e-72f5-a8d0-fc24f0b1e32a',1893456000000000,'perceive','pull_budget.set','acme',NULL,0,NULL,NULL,NULL,'{"budget":{"connectors":{},"total":100},"by":"python"}');
INSERT INTO "ledger" VALUES('acme',25,'01a1ed06-5a4b-705c-b463-63929defc7f9',1893456000000000,'perceive','pull.decided','ann',NULL,1,NULL,'SCHEDULED',NULL,'{"connector_id":"crm","depth":"DEEP","expires_at":1893542400000000,"message_id":"01a1ed06-5a4a-76d4-b910-0c98ef50456c","origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","remaining":97,"tier":"WARM","units":3}');
INSERT INTO "ledger" VALUES('acme',26,'01a1ed06-5a5d-735c-9825-5f7bf7850c7a',1893456000000000,'act','PLAN_CREATED','01a1ed06-5a5d-755e-92de-740ee850c085',NULL,1,NULL,'DRAFT',NULL,'{"account_id":"ann","by":"python","objective":"Keep the customer through the coming renewal","plan_id":"01a1ed06-5a5d-755e-92de-740ee850c085","plan_type":"RENEWAL_DEFENSE","steps":[{"action_type":"REQUEST_RENEWAL_MEETING","dependencies":[],"sequence":1,"step_id":"step-1"}]}');
INSERT INTO "ledger" VALUES('acme',27,'01a1ed06-5a70-7611-a2aa-3d77914af509',1893456000000000,'act','PLAN_APPROVED','01a1ed06-5a5d-755e-92de-740ee850c085',NULL,1,NULL,'APPROVED',NULL,'{"account_id":"ann","by":"ann","is_person":true,"plan_id":"01a1ed06-5a5d-755e-92de-740ee850c085","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',28,'01a1ed06-5aa2-7287-90ce-5c6839b7fbb8',1893456300000000,'act','PLAN_ACTIVATED','01a1ed06-5a5d-755e-92de-740ee850c085',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","facts":[],"gate":{"approved_by":"ann","approved_by_person":true,"conflict":null,"facts":[],"posture":"at risk","risks":{"REQUEST_RENEWAL_MEETING":"low"},"steps":[["step-1","REQUEST_RENEWAL_MEETING",0,1]]},"plan_id":"01a1ed06-5a5d-755e-92de-740ee850c085","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"posture":"at risk"}');
INSERT INTO "ledger" VALUES('acme',29,'01a1ed06-5aa2-77c0-ae56-9c2f2827b1e6',1893456300000000,'act','STEP_STARTED','01a1ed06-5a5d-755e-92de-740ee850c085',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","approval":"REQUIRE_APPROVAL","approval_reason":"APPROVE_EACH","attempt":1,"clause":"autonomy.mode","intent_id":"01a1ed06-5aa2-723f-ab92-ab2c73988850","plan_id":"01a1ed06-5a5d-755e-92de-740ee850c085","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"risk":"low","step_id":"step-1","used_today":0}');
INSERT INTO "ledger" VALUES('acme',30,'01a1ed06-5ab7-7fa7-8e3b-b98ed1b4dee4',1893456300000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','DEFER','COOLDOWN','{"engine":1,"event":{"account_id":"ann","idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","signal_id":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","trigger_type":"SIGNAL_ARRIVED"},"now":1893456300000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"defer_until":1893457200000000,"reason":"COOLDOWN","result":"DEFER"}}');
INSERT INTO "ledger" VALUES('acme',31,'01a1ed06-5ac9-7185-9f82-51496991c86d',1893456300000000,'perceive','pull.ended','ann',NULL,0,NULL,'SUCCEEDED',NULL,'{"connector_id":"crm","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","signals":1}');
INSERT INTO "ledger" VALUES('acme',32,'01a1ed06-5ab7-7c53-a8e1-ab806dd729f5',1893457200000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"retry:c6f893f38bbf5788328f5443ea114c98541f33e19ff055790ad056e56c3e9d4b","retry_of":"01a1ed06-5ab7-7fa7-8e3b-b98ed1b4dee4","slot_cooldown_us":1200000000,"trigger_type":"SIGNAL_ARRIVED"},"now":1893457200000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{"SIGNAL_ARRIVED":[1893457200000000,"01a1ed06-5ab7-7fa7-8e3b-b98ed1b4dee4"]},"trigger":[1893456300000000,1893456300000000,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',33,'01a1ed06-5b65-7965-87d7-dae672c0d236',1893457200000000,'settle','turn.reserved','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5","turn_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5"},"effective_model":"premium","levels":[["","daily","total",0,495],["","daily","tier:premium",0,495],["","monthly","total",0,495],["","monthly","tier:premium",0,495]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',34,'01a1ed06-5b6a-7311-bdcf-e70f8d4a927e',1893457200000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',35,'01a1ed06-5b6a-7056-89f3-cd964951e24e',1893457200000000,'settle','turn.settled','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5","ended_by":"run","event_id":"01a1ed06-5b6a-7ef2-937c-8af171289829","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',36,'01a1ed06-5d09-7fdf-b161-0acd003f4afb',1893459600000000,'decide','schedule.fired','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"scheduled_at":1893459600000000,"when":"2030-01-01T01:00:00Z","zone_data":"8b85846791ab2c8a"}');
INSERT INTO "ledger" VALUES('acme',37,'01a1ed06-5ded-7f87-91f8-1e5afae55f24',1893459600000000,'act','INTENT_APPROVED','01a1ed06-5a5d-755e-92de-740ee850c085',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"by":"ann","intent_id":"01a1ed06-5aa2-723f-ab92-ab2c73988850","plan_id":"01a1ed06-5a5d-755e-92de-740ee850c085","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',38,'01a1ed06-5e2b-74d5-b0bc-8841ee907582',1893459600000000,'act','STEP_COMPLETED','01a1ed06-5a5d-755e-92de-740ee850c085',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"plan_id":"01a1ed06-5a5d-755e-92de-740ee850c085","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',39,'01a1ed06-5e2b-72c1-9b1c-8cc3189233ff',1893459600000000,'act','PLAN_COMPLETED','01a1ed06-5a5d-755e-92de-740ee850c085',NULL,1,NULL,'COMPLETED','all_steps_done','{"account_id":"ann","plan_id":"01a1ed06-5a5d-755e-92de-740ee850c085","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',40,'01a1ed06-5e59-7cdc-bba4-7a4a619c6f13',1893459600000000,'report','report.generated','MANUAL',NULL,1,NULL,NULL,NULL,'{"last_seq":39,"trigger":"MANUAL","window":[1893456000000000,1893459600000000]}');
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
INSERT INTO "ledger_checkpoints" VALUES('acme','01a1ed06-5ea5-7637-839c-3e5c9e3ad280',40,'1596a707bfd58c6317b7f1f4cddb459f1026583931c9b590eb6f193645f782ed',NULL,1893459600000000,'python');
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
INSERT INTO "ledger_seals" VALUES('_system',1,2,X'193EA4D82DF7CD584BF1EE5B1D747A721F4773EE56787338707AABA826ABBC4F57FE275DF45B1B406F75616C50D1065B7F6E3B4B35FA79E2CAF3D4B390295BF0',1893459600000000);
INSERT INTO "ledger_seals" VALUES('acme',1,40,X'7F2E051C0EAEB302F37BEB94924E1DE197FCAC56557CEE23E1A7E8D0303E212ED410D7446312EB26273433B1C486688D5BBDB450CD6222FABA5F8C9097A1FC48846A800B613D6394873F08DF6158DA919F5C58C3107D6CBF1F0D4D64F7952CB3104C487DCA22D4930EF77E920E13C351501E178D6F82998FAF960CDF316909EAE81FE88556D45B7551D4E77E2A4838F825B807FEFB89FC7359C1F71267ABDEE11BF49ADC468CD83AFAF9936A9BB9840DCCD570F4844F47FD89F5A85BC0EE725980726E21C1FDC3324CEB6FB18E0DA7A7230064224D60EF44B6DE7338E68DEF3E17A8C5C666133D366AD65325268E831C022D45EAFB88EE4311463B9F98C1D2D725B7EE992EC2430E38BF0AB212314B683BC4989F29B0DFCA956F3320031020965DB72BEA7FD406BC3D2171CC289ABF15931FD3ACA8B5E655348C85443FDAFBA51893E5C85464C6E548950F5FF8E4B2A1F642AF1A885F5E80D47B987EE6FBC9446AECAA4B5F4F61CF94513FF5FE95C22E31B355178BDAEE45071729E6C508CA70077D191D8819EE15A10B49E7BEE385FF33A7CEFE3F557AF157172AF0452D565DD78D7185605873482DCBF36606C05E6D85E9DAC65E34A56131FDFA1187E752BF405C98B9C38AC5112EAB46286465B41EFE91F7CC7B3BC4EF8EB7C3BA58D9C72781263D87B52BF8857A2FAF6892FF6D1C19663B677B1F1B23368C0B9F36957CF9156F9844A190A3884ECD4863879539F7DA54E2F533B98324942A38834A23FC80C2C5824BD2174B3325EBA5C5A4E1286FC8C4479A91D1267ECD24CD5936122F91EB74EAD1E008F4D071645994DC5EA725ECDA6133D54C7F3C6E0635CE72500140D2BE11B63F1E91EB80101E541702A7F491B19BE8CD63B15098379D7CB82B7DDB4F2D7065D482C26DC730BA5B5D744F52B761988EA5ECCDE5CDEC97255F9AE6AD73434BA4FED037FCD89B87485694DFD69E30309031C2A75D95E20542EB867AE7087085EA9C55429B4475840D96D3F10B2115AD2512A4F760C93C3BCA4E7EAAD5438D7A5388E0E7D57B2102006E982E81D18D8A3F4942479760B3A4F0D7DD42FE35B18509CF1FF7D59DE1300A91711A18AB11E72757028AD0F82A64C4B3D7169E20EF6C0B0E2684A87B0E41FE54BF04153D4741CCD6C7066626A59E05508B8225F6BFBB50DE26B44EB9D13480F9A5071F0FDFD3F27DC1E8053E98F997E3FA88E42ACC393DCAB82C23E9ED7C5AA7B3D6E33AB1433005FC2FA75C6A01CCDC28FA9E87F893E42A3DC60578386FFF7CE86CBB1FA6D43464492B53D139D858CD3ECD75E8047344D786449ACB233D1488FA234C9C10659AEB0D08F1654E044D665D40F9969CC951B9CF48669B74717C25BA48D4929C12B979465C609AA56E4CB9C652F86E45F911C040AA1492A58468D001A8CFB71217C1612DC6D47524EB77587B301B68D215BC09075885A64484559AD4C339B8FB958FC8A705525D007DDBAA8F6992F3A54096E65F628D2D5C594B980BC2D34E5A2EAD0B946A3C6F3D96777BBB4568FDB35F4D7F2EB3857722C34BE78B6F8C2BB97B8B6628CC7D20841EA1B7F10494D51BF089781B69FDD6A09A3696C613FA2BA43377434B074376A03221F1D304A6A938A84322C2A50525B24FD5D05CFCA96C71E82AF4BFF382EF2B8523433A531973DCEE8D75103D4A2CCF719AB2AB012F38518E273B77DEEF1F09D4565AD9F490FC66B2C5841889E7CBF03C6D42954F42E6DFAC3C08C0E07431BAAD341286D2AE1596A707BFD58C6317B7F1F4CDDB459F1026583931C9B590EB6F193645F782ED',1893459600000000);
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
INSERT INTO "outbox" VALUES(3,'acme','01a1ed06-5809-7d74-9cd8-a11c3decd172','watchkeeper','milestone.tick',NULL,NULL,'{"due_at":1893499200000000}','pending',0,0,1893499200000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(13,'acme','01a1ed06-5991-71f2-a2f0-5b3ee3c78b00','watchkeeper','pull.tick',NULL,NULL,'{"due_at":1893465486000000}','pending',0,0,1893465486000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(19,'acme','01a1ed06-5d09-7d59-bbd8-d18afaecfa17','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893463200000000,"generation":1,"schedule_id":"brief"}','pending',0,0,1893463200000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(21,'_system','01a1ed06-5d39-75e8-b195-5db0a20764e8','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(23,'acme','01a1ed06-5d95-7b21-92a1-bb061b0570d3','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"ann","idempotency_key":"87ab13628cbafa4578e1e7f45a1db6178390380e3a38c1658b9ee04c18426006","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459747000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(24,'acme','01a1ed06-5d95-796b-9e96-f2270da8b065','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"bob","idempotency_key":"ec45c35fdfef73e6e1fad69d9240b944456d5696ef70ee6658d9ade150973c1a","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459704000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(25,'acme','01a1ed06-5d95-73c3-9c91-d5f119b40ed1','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"cyd","idempotency_key":"9cb83f09950d1128a057f39b68b722c432642618af13951a1625b9d43b1bc25b","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459745000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(26,'acme','01a1ed06-5dc5-7d80-880d-ea9f4ec3d109','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(28,'acme','01a1ed06-5dee-762a-ab34-b24c61484a4c','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893546000000000}','pending',0,0,1893546000000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
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
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5809-72c0-bbf4-b21f023ac3ce','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ed06-57e2-77f7-bffe-152a6b3334f1','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"cyd","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ed06-5801-7855-b96f-2b3a1abf7892","signals_after":0,"signals_until":2},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-584d-78ea-955e-fdcc80e98cca','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-58a5-7056-ae1d-2562b3ef7412','mini-chat','usage_snapshot','acme/01a1ed06-5801-7ea0-b7ca-4c14f8b6b092/01a1ed06-5801-7ea0-b7ca-4c14f8b6b092',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":0,"request_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ed06-5801-7ea0-b7ca-4c14f8b6b092"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-595d-740f-adf6-baed9247ede1','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ed06-595d-740f-adf6-baed9247ede1","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ed06-595d-7b14-9fd7-313a71e4d559","signals_after":0,"signals_until":9},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"bob","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ed06-5991-75f0-9313-a6ed466d551f","signals_after":0,"signals_until":13},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-59f9-7e9a-8479-5f1e8b0adaba','mini-chat','usage_snapshot','acme/01a1ed06-595d-740f-adf6-baed9247ede1/01a1ed06-595d-740f-adf6-baed9247ede1',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ed06-595d-740f-adf6-baed9247ede1","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ed06-595d-740f-adf6-baed9247ede1","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ed06-595d-740f-adf6-baed9247ede1"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-59f9-7261-92b4-9a0c584344bc','mini-chat','usage_snapshot','acme/01a1ed06-5991-7e1a-9ad2-5662dddf2eaf/01a1ed06-5991-7e1a-9ad2-5662dddf2eaf',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ed06-5991-7e1a-9ad2-5662dddf2eaf"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5a71-759a-a6ca-d360f2d8298d','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5a4a-76d4-b910-0c98ef50456c','watchkeeper','pull.requested',NULL,NULL,'{"detail":{"account_id":"ann","budget_remaining":97,"connector_id":"crm","depth":"DEEP","depth_units":3,"origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","scheduled_at":"2030-01-01T00:00:00Z","tenant_id":"acme"},"detail-type":"PULL_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5ab7-7c53-a8e1-ab806dd729f4','watchkeeper','decision.retry',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","idempotency_key":"retry:c6f893f38bbf5788328f5443ea114c98541f33e19ff055790ad056e56c3e9d4b","due_at":"2030-01-01T00:20:00Z","moved":false,"original_idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","retry_of":"01a1ed06-5ab7-7fa7-8e3b-b98ed1b4dee4","slot_cooldown_seconds":1200},"detail-type":"RUN_DECISION","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893456300000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5","evaluated_at":"2030-01-01T00:20:00Z","idempotency_key":"retry:c6f893f38bbf5788328f5443ea114c98541f33e19ff055790ad056e56c3e9d4b","signals_after":9,"signals_until":32},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5b6a-7ef2-937c-8af171289829','mini-chat','usage_snapshot','acme/01a1ed06-5ab7-7c53-a8e1-ab806dd729f5/01a1ed06-5ab7-7c53-a8e1-ab806dd729f5',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5","reserved_at":"2030-01-01T00:20:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:20:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ed06-5ab7-7c53-a8e1-ab806dd729f5"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ed06-5865-70bd-a72e-81a45fc86ff2','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-58d5-7155-ac5a-63502996ab7e','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5c01-710c-80e4-8eef9f6ae4d5','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893457800000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-592d-7300-8931-2c07b5a0bf0d','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893456000000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ed06-5be9-775e-8729-1f517b10ae21','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5c49-770d-9ec6-cb9a39f33e0b','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5d09-7f0b-9cb8-f06b41f640a3','watchkeeper','schedule.slice',NULL,NULL,'{"after":"","fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5d55-7a55-90cb-82d07c213d44','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed06-5dee-7250-9eb4-382fdca640d3','watchkeeper','action.requested',NULL,NULL,'{"detail":{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","attempt":1,"data":{},"idempotency_key":"01a1ed06-5a5d-755e-92de-740ee850c085/step-1","intent_id":"01a1ed06-5aa2-723f-ab92-ab2c73988850","objective":"Keep the customer through the coming renewal","plan_id":"01a1ed06-5a5d-755e-92de-740ee850c085","plan_type":"RENEWAL_DEFENSE","source":"plan","step_id":"step-1","tenant_id":"acme"},"detail-type":"ACTION_REQUESTED","source":"watchkeeper"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
CREATE TABLE plan_cycles (
    tenant_id TEXT NOT NULL,
    due_at BIGINT NOT NULL, message_id VARCHAR(36),
    PRIMARY KEY (tenant_id)
);
INSERT INTO "plan_cycles" VALUES('acme',1893546000000000,'01a1ed06-5dee-762a-ab34-b24c61484a4c');
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
INSERT INTO "plan_steps" VALUES('acme','01a1ed06-5a5d-755e-92de-740ee850c085','step-1','REQUEST_RENEWAL_MEETING',0,1,'[]','{}','DONE',1,0,NULL,NULL);
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
INSERT INTO "plans" VALUES('acme','01a1ed06-5a5d-755e-92de-740ee850c085','ann','RENEWAL_DEFENSE','Keep the customer through the coming renewal','COMPLETED','{}','{}','caller',NULL,1893456000000000,'python',1896048000000000,1893456000000000,'ann',1,1893456300000000,1893459600000000,'all_steps_done',NULL,NULL,1);
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
INSERT INTO "pull_ticks" VALUES('acme',1893465486000000,'01a1ed06-5991-71f2-a2f0-5b3ee3c78b00');
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
INSERT INTO "pulls" VALUES('acme','pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750','01a1ed06-5a4a-76d4-b910-0c98ef50456c','ann','crm',1,3,'manual','SUCCEEDED',1893456000000000,1893456300000000,1893456300000000,1,NULL,1893542400000000);
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
INSERT INTO "reports" VALUES('acme','01a1ed06-5e59-7cdc-bba4-7a4a619c6f13','MANUAL',1893456000000000,1893459600000000,39,'{"collected":{"connectors":[{"connector_id":"crm","pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"sum of signals over ledger entries of kind pull.ended, repeats included","unit":"signals","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}}],"pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"ledger entries of kind verdict that tell of a signal, repeats left out","unit":"signals","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}},"coverage":[{"connector_id":"crm","pulls":[{"count":{"how":"ledger entries of kind pull.decided, by result and reason","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SCHEDULED","name":null},{"count":{"how":"ledger entries of kind pull.ended, by result","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"reason":"pulls succeeded, and none failed","state":"AVAILABLE"}],"forecast":{"needed":{"how":"policy value reports.forecast_min_hours, in seconds","unit":"seconds","value":21600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"observed":{"how":"length of the window","unit":"seconds","value":3600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"statement":"not enough observation"},"format":1,"generated_at":"2030-01-01T01:00:00Z","header":{"entries":{"how":"entries of the ledger, of every kind","unit":"entries","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"generated_at":"2030-01-01T01:00:00Z","installed_at":"2030-01-01T00:00:00Z","last_entry":{"how":"place of the newest entry of the ledger that was counted","unit":"place","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"policy_version":1,"report_id":"01a1ed06-5e59-7cdc-bba4-7a4a619c6f13","tenant_id":"acme","tenant_name":null,"trigger":"MANUAL","window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"},"window_from":"the installation"},"observations":{"credits_settled":{"how":"sum of charged_micro over ledger entries of kind turn.settled","unit":"micro-credits","value":660,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"decisions":[{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"ALLOW","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"COOLDOWN","label":"DEFER","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"DEBOUNCED","label":"SKIP","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":2,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"KILL_SWITCH","label":"SKIP","name":null}],"events_dead":[],"events_delivered":[{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"mini-chat/usage_snapshot"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/action.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.evaluation_requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.retry"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":6,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/heat.sweep"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/plan.cycle"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/pull.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.due"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.slice"}],"plans":[{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_ACTIVATED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_APPROVED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_CREATED","name":null}],"runs":[{"count":{"how":"ledger entries of kind run.ended, by result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"steps":[{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_STARTED","name":null}],"turns":[{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"turn.reserved","name":null},{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"completed","label":"turn.settled","name":null}]},"report_id":"01a1ed06-5e59-7cdc-bba4-7a4a619c6f13","series":[{"bucket_seconds":3600,"how":"ledger entries of kind verdict that tell of a signal, repeats left out","label":null,"of":"signals","starts_at":"2030-01-01T00:00:00Z","unit":"signals","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"pulls","starts_at":"2030-01-01T00:00:00Z","unit":"pulls","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"units","starts_at":"2030-01-01T00:00:00Z","unit":"units","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"ALLOW","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"DEFER","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"SKIP","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind run.ended, by result","label":null,"of":"runs ended","starts_at":"2030-01-01T00:00:00Z","unit":"runs","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of charged_micro over ledger entries of kind turn.settled","label":null,"of":"credits settled","starts_at":"2030-01-01T00:00:00Z","unit":"micro-credits","values":[660,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind message.dead, by reason and topic","label":null,"of":"events dead","starts_at":"2030-01-01T00:00:00Z","unit":"messages","values":[0,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}],"tenant_id":"acme","trigger":"MANUAL"}');
CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;
INSERT INTO "reservations" VALUES('acme','01a1ed06-5801-7855-b96f-2b3a1abf7892','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092','8bfb31fb',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ed06-595d-7b14-9fd7-313a71e4d559','01a1ed06-595d-740f-adf6-baed9247ede1','dc183bd6',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ed06-5991-75f0-9313-a6ed466d551f','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf','c45beb46',1893542400000000);
INSERT INTO "reservations" VALUES('acme','2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0','01a1ed06-5ab7-7fa7-8e3b-b98ed1b4dee4','e5317ac9',1893542700000000);
INSERT INTO "reservations" VALUES('acme','account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1','01a1ed06-5979-715e-a113-c4ab144b563c','b94b280d',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237','01a1ed06-59a5-7aba-8b2f-c46ae50737c2','aaa48f09',1893542400000000);
INSERT INTO "reservations" VALUES('acme','retry:c6f893f38bbf5788328f5443ea114c98541f33e19ff055790ad056e56c3e9d4b','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5','ab96c2ed',1893543600000000);
INSERT INTO "reservations" VALUES('acme','soon','01a1ed06-59bd-776b-867a-a63a20829214','ab96c2ed',1893542400000000);
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
INSERT INTO "runs" VALUES('acme','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092','cyd','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ed06-595d-740f-adf6-baed9247ede1','ann','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf','bob','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5','ann','SIGNAL_ARRIVED','SUCCEEDED',1893457200000000,1893457200000000,NULL,NULL);
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
    PRIMARY KEY (tenant_id, account_id, seq)
);
INSERT INTO "signals" VALUES('acme','01a1ed06-5801-7855-b96f-2b3a1abf7892','cyd','mail.received',1893456000000000,1893456000000000,2,NULL,'{}');
INSERT INTO "signals" VALUES('acme','01a1ed06-595d-7b14-9fd7-313a71e4d559','ann','mail.received',1893456000000000,1893456000000000,9,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','01a1ed06-5991-75f0-9313-a6ed466d551f','bob','mail.received',1893456000000000,1893456000000000,13,NULL,'{"n":1}');
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
INSERT INTO "turns" VALUES('acme','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092','01a1ed06-5801-7ea0-b7ca-4c14f8b6b092',NULL,'01a1ed06-5801-7ea0-b7ca-4c14f8b6b092',0,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ed06-58a5-7247-90a3-6304029741ce','actual',9,8,165,165,0,'01a1ed06-58a5-7056-ae1d-2562b3ef7412',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ed06-595d-740f-adf6-baed9247ede1','01a1ed06-595d-740f-adf6-baed9247ede1',NULL,'01a1ed06-595d-740f-adf6-baed9247ede1',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ed06-59f9-7dca-9457-196e95109fbb','actual',9,8,165,165,0,'01a1ed06-59f9-7e9a-8479-5f1e8b0adaba',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf','01a1ed06-5991-7e1a-9ad2-5662dddf2eaf',NULL,'01a1ed06-5991-7e1a-9ad2-5662dddf2eaf',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ed06-59f9-78c8-b2d9-70885ec65f97','actual',9,8,165,165,0,'01a1ed06-59f9-7261-92b4-9a0c584344bc',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5','01a1ed06-5ab7-7c53-a8e1-ab806dd729f5',NULL,'01a1ed06-5ab7-7c53-a8e1-ab806dd729f5',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893457200000000,'completed',1893457200000000,1893457200000000,1893457500000000,1893457200000000,'run','01a1ed06-5b6a-7010-b482-917e12098bb6','actual',9,8,165,165,0,'01a1ed06-5b6a-7ef2-937c-8af171289829',NULL,NULL);
CREATE INDEX api_keys_tenant ON api_keys (tenant_id, key_id);
CREATE INDEX ledger_correlation ON ledger (tenant_id, correlation_id, seq) WHERE correlation_id IS NOT NULL;
CREATE INDEX ledger_subject ON ledger (tenant_id, subject, seq);
CREATE INDEX outbox_dead ON outbox (tenant_id, done_at) WHERE done_at IS NOT NULL;
CREATE INDEX outbox_live ON outbox (namespace, topic, tenant_id, next_attempt_at, seq) WHERE done_at IS NULL AND is_due;
CREATE INDEX outbox_ordering ON outbox (tenant_id, topic, ordering_key, seq) WHERE ordering_key IS NOT NULL;
CREATE INDEX outbox_slots ON outbox (namespace, topic) WHERE holds_slot;
CREATE INDEX outbox_timers ON outbox (next_attempt_at) WHERE done_at IS NULL AND NOT is_due;
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
CREATE TRIGGER ledger_is_not_replaced before insert on ledger
when exists (select 1 from ledger t where t.tenant_id = new.tenant_id and t.seq = new.seq)
    or exists (select 1 from ledger t where t.tenant_id = new.tenant_id and t.entry_id = new.entry_id)
    or new.rowid > 0 and exists (select 1 from ledger t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of ledger is refused'); end;
CREATE TRIGGER ledger_seals_are_not_replaced before insert on ledger_seals
when exists (select 1 from ledger_seals t where t.tenant_id = new.tenant_id and t.from_seq = new.from_seq)
    or new.rowid > 0 and exists (select 1 from ledger_seals t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of ledger_seals is refused'); end;
CREATE TRIGGER ledger_checkpoints_are_not_replaced before insert on ledger_checkpoints
when exists (select 1 from ledger_checkpoints t where t.tenant_id = new.tenant_id and t.checkpoint_id = new.checkpoint_id)
    or new.rowid > 0 and exists (select 1 from ledger_checkpoints t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of ledger_checkpoints is refused'); end;
CREATE TRIGGER ledger_prunes_are_not_replaced before insert on ledger_prunes
when exists (select 1 from ledger_prunes t where t.tenant_id = new.tenant_id)
    or new.rowid > 0 and exists (select 1 from ledger_prunes t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of ledger_prunes is refused'); end;
CREATE TRIGGER policies_are_not_replaced before insert on policies
when exists (select 1 from policies t where t.version = new.version)
begin select raise(abort, 'replacing rows of policies is refused'); end;
CREATE TRIGGER policy_meanings_are_not_replaced before insert on policy_meanings
when exists (select 1 from policy_meanings t where t.version = new.version)
begin select raise(abort, 'replacing rows of policy_meanings is refused'); end;
CREATE TRIGGER milestones_are_not_replaced before insert on milestones
when exists (select 1 from milestones t where t.tenant_id = new.tenant_id and t.milestone = new.milestone)
    or exists (select 1 from milestones t where t.tenant_id = new.tenant_id and t.report_id = new.report_id)
    or new.rowid > 0 and exists (select 1 from milestones t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of milestones is refused'); end;
CREATE TRIGGER reports_are_not_replaced before insert on reports
when exists (select 1 from reports t where t.tenant_id = new.tenant_id and t.report_id = new.report_id)
    or new.rowid > 0 and exists (select 1 from reports t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of reports is refused'); end;
CREATE TRIGGER runs_are_not_replaced before insert on runs
when exists (select 1 from runs t where t.tenant_id = new.tenant_id and t.decision_id = new.decision_id and t.state = 'SUCCEEDED')
    or new.rowid > 0 and exists (select 1 from runs t where t.rowid = new.rowid and t.state = 'SUCCEEDED')
begin select raise(ignore); end;
CREATE TRIGGER turns_are_born_running before insert on turns
when new.state <> 'running' or exists (select 1 from turns t where t.tenant_id = new.tenant_id
    and t.turn_id = new.turn_id) or exists (select 1 from turns t where t.tenant_id = new.tenant_id
    and t.request_id = new.request_id)
    or new.rowid > 0 and exists (select 1 from turns t where t.rowid = new.rowid)
begin select raise(abort, 'insert of turns is refused'); end;
CREATE TRIGGER plans_are_born_as_drafts before insert on plans
when new.status <> 'DRAFT' or exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.plan_id = new.plan_id)
    or new.rowid > 0 and exists (select 1 from plans p where p.rowid = new.rowid)
begin select raise(abort, 'insert of plans is refused'); end;
CREATE TRIGGER steps_are_born_pending before insert on plan_steps
when new.status <> 'PENDING' or new.attempts <> 0
    or new.rowid > 0 and exists (select 1 from plan_steps s where s.rowid = new.rowid)
begin select raise(abort, 'insert of plan_steps is refused'); end;
CREATE TRIGGER intents_are_born_open before insert on intents
when new.state not in ('PENDING_APPROVAL', 'APPROVED', 'REJECTED', 'EXECUTING') or exists (
    select 1 from intents i where i.tenant_id = new.tenant_id and i.intent_id = new.intent_id)
    or exists (select 1 from intents i where i.tenant_id = new.tenant_id and i.plan_id = new.plan_id
    and i.step_id = new.step_id and i.attempt = new.attempt)
    or new.state in ('APPROVED', 'EXECUTING', 'PENDING_APPROVAL') and not new.is_late and exists (
    select 1 from intents i where i.tenant_id = new.tenant_id and i.plan_id = new.plan_id
    and i.state in ('APPROVED', 'EXECUTING', 'PENDING_APPROVAL') and not i.is_late)
    or new.rowid > 0 and exists (select 1 from intents i where i.rowid = new.rowid)
begin select raise(abort, 'insert of intents is refused'); end;
CREATE TRIGGER runs_stay_where_they_are before update of tenant_id, decision_id, rowid, _rowid_, oid on runs
begin select raise(abort, 'moving rows of runs is refused'); end;
CREATE TRIGGER turns_stay_where_they_are before update of rowid, _rowid_, oid on turns
begin select raise(abort, 'moving rows of turns is refused'); end;
CREATE TRIGGER plans_stay_where_they_are before update of rowid, _rowid_, oid on plans
begin select raise(abort, 'moving rows of plans is refused'); end;
CREATE TRIGGER plan_steps_stay_where_they_are before update of tenant_id, plan_id, rowid, _rowid_, oid on plan_steps
begin select raise(abort, 'moving rows of plan_steps is refused'); end;
CREATE TRIGGER intents_stay_where_they_are before update of rowid, _rowid_, oid on intents
begin select raise(abort, 'moving rows of intents is refused'); end;
CREATE TRIGGER ledger_prunes_stay_where_they_are before update of rowid, _rowid_, oid on ledger_prunes
begin select raise(abort, 'moving rows of ledger_prunes is refused'); end;
CREATE TRIGGER active_plans_are_not_replaced before update of status on plans
when new.status = 'ACTIVE' and old.status <> 'ACTIVE' and exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.account_id = new.account_id
    and p.plan_type = new.plan_type and p.status = 'ACTIVE')
begin select raise(abort, 'another plan of the account is active'); end;
CREATE TRIGGER late_intents_stay_late before update of is_late on intents
when old.is_late and not new.is_late
begin select raise(abort, 'update of intents is refused'); end;
COMMIT;
