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
INSERT INTO "alembic_version" VALUES('0010');
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
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ed02-06c9-7b15-98e7-487914709220/01a1ed02-06c9-7b15-98e7-487914709220','01a1ed02-0775-7209-88dd-f11f96650ada',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ed02-0851-7f3f-83f2-7051ed7b4646/01a1ed02-0851-7f3f-83f2-7051ed7b4646','01a1ed02-091c-7915-be2d-314cbb961949',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ed02-0899-7d54-8d12-41fc58893774/01a1ed02-0899-7d54-8d12-41fc58893774','01a1ed02-091c-734b-a11c-99a5d2c80402',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ed02-0a38-766b-a28f-559c055fde57/01a1ed02-0a38-766b-a28f-559c055fde57','01a1ed02-0b10-7b11-8e6c-52cf6b950f62',1893457200000000);
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
INSERT INTO "intents" VALUES('acme','01a1ed02-0a0a-79fc-b3f6-747a12f0d315','01a1ed02-09a5-71b2-999b-08798e41f250','step-1',1,'ann','REQUEST_RENEWAL_MEETING','SUCCEEDED',1893456300000000,1893546000000000,'REQUIRE_APPROVAL','APPROVE_EACH','autonomy.mode','every action is asked for',1893459600000000,'ann',1893459600000000,1893459600000000,NULL,0,'01a1ed02-0d96-747c-b05f-518017ae6808');
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
INSERT INTO "ledger" VALUES('_system',1,'01a1ed02-0692-730e-b3f7-13963e6068bb',1893456000000000,'perceive','connector.set','crm',NULL,0,NULL,NULL,NULL,'{"by":"app","set":{"has_cadence":true}}');
INSERT INTO "ledger" VALUES('acme',1,'01a1ed02-06d1-75ec-93b8-1d37b054b1df',1893456000000000,'system','tenant.created','acme',NULL,0,NULL,NULL,NULL,'{"installed_at":1893456000000000,"name":null,"tier":null}');
INSERT INTO "ledger" VALUES('acme',2,'01a1ed02-06c9-7b15-98e7-487914709220',1893456000000000,'decide','verdict','cyd',NULL,0,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"cyd","idempotency_key":"01a1ed02-06c9-71fb-8397-931fd7c93bf0","signal_id":"01a1ed02-06c9-71fb-8397-931fd7c93bf0","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f","version":0},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":0,"day_runs":0,"hour":0,"hour_runs":0,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',3,'01a1ed02-06e1-7adb-9752-bc12b35175a5',1893456000000000,'perceive','heat.tier_changed','cyd',NULL,0,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',4,'01a1ed02-075d-70c1-ba8d-4bd43d027477',1893456000000000,'settle','turn.reserved','01a1ed02-06c9-7b15-98e7-487914709220','01a1ed02-06c9-7b15-98e7-487914709220',0,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ed02-06c9-7b15-98e7-487914709220","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ed02-06c9-7b15-98e7-487914709220","turn_id":"01a1ed02-06c9-7b15-98e7-487914709220"},"effective_model":"premium","levels":[["","daily","total",0,0],["","daily","tier:premium",0,0],["","monthly","total",0,0],["","monthly","tier:premium",0,0]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',5,'01a1ed02-0775-7243-8087-499ac6646360',1893456000000000,'decide','run.ended','cyd',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ed02-06c9-7b15-98e7-487914709220","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',6,'01a1ed02-0776-71e2-999a-522a19351b9b',1893456000000000,'settle','turn.settled','01a1ed02-06c9-7b15-98e7-487914709220','01a1ed02-06c9-7b15-98e7-487914709220',0,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ed02-06c9-7b15-98e7-487914709220","ended_by":"run","event_id":"01a1ed02-0775-7209-88dd-f11f96650ada","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('_system',2,'01a1ed02-07f7-7a05-a400-2ed9e36e7924',1893456000000000,'system','policy.applied','1',NULL,1,NULL,NULL,NULL,'{"author":"python","changes":[{"after":1200,"before":300,"path":"triggers.SIGNAL_ARRIVED.cooldown_seconds"}],"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","reason":"quieter","version":1}');
INSERT INTO "ledger" VALUES('acme',7,'01a1ed02-080b-7230-b125-dcd6f46bfb49',1893456000000000,'decide','schedule.set','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"catch_up":"fire_once","cron":"0 * * * *","generation":1,"next_fire_at":1893459600000000,"spread_seconds":null,"timezone":"UTC","zone_data":"8b85846791ab2c8a"}');
INSERT INTO "ledger" VALUES('acme',8,'01a1ed02-0835-792e-863e-4b89016a98c3',1893456000000000,'system','kill_switch.set','trigger:POSTURE_CHANGE',NULL,0,NULL,NULL,NULL,'{"id":"POSTURE_CHANGE","on":true,"reason":"too many","scope":"trigger","set_by":"python"}');
INSERT INTO "ledger" VALUES('acme',9,'01a1ed02-0851-7f3f-83f2-7051ed7b4646',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"01a1ed02-0851-7ed5-be53-1e2df5bf8d85","signal_id":"01a1ed02-0851-7ed5-be53-1e2df5bf8d85","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":1,"hour":525960,"hour_runs":1,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',10,'01a1ed02-0859-7d57-be8f-9c6f08b64770',1893456000000000,'perceive','heat.tier_changed','ann',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',11,'01a1ed02-0879-702c-b993-9ef0ccfdf5e5',1893456000000000,'decide','account.changed','ann',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',12,'01a1ed02-0879-710b-a670-0502f3c36cf5',1893456000000000,'decide','verdict','ann',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"ann","idempotency_key":"account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',13,'01a1ed02-0899-7d54-8d12-41fc58893774',1893456000000000,'decide','verdict','bob',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"bob","idempotency_key":"01a1ed02-0899-74ee-8466-6c2a8f289b30","signal_id":"01a1ed02-0899-74ee-8466-6c2a8f289b30","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":2,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',14,'01a1ed02-0899-7ed7-9e7b-5fd06ce12201',1893456000000000,'perceive','heat.tier_changed','bob',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',15,'01a1ed02-08ad-75f5-afd9-6932f6443f3a',1893456000000000,'decide','account.changed','bob',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',16,'01a1ed02-08ad-7f01-8834-918133a043d0',1893456000000000,'decide','verdict','bob',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"bob","idempotency_key":"account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',17,'01a1ed02-08d1-7999-8a73-8a3b69ab019d',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','SKIP','DEBOUNCED','{"engine":1,"event":{"account_id":"ann","idempotency_key":"soon","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"reason":"DEBOUNCED","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',18,'01a1ed02-0905-76f7-bb2e-a170ce27b811',1893456000000000,'settle','turn.reserved','01a1ed02-0851-7f3f-83f2-7051ed7b4646','01a1ed02-0851-7f3f-83f2-7051ed7b4646',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646","turn_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646"},"effective_model":"premium","levels":[["","daily","total",0,165],["","daily","tier:premium",0,165],["","monthly","total",0,165],["","monthly","tier:premium",0,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',19,'01a1ed02-0905-7bf7-a49a-3dddc98bc678',1893456000000000,'settle','turn.reserved','01a1ed02-0899-7d54-8d12-41fc58893774','01a1ed02-0899-7d54-8d12-41fc58893774',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ed02-0899-7d54-8d12-41fc58893774","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ed02-0899-7d54-8d12-41fc58893774","turn_id":"01a1ed02-0899-7d54-8d12-41fc58893774"},"effective_model":"premium","levels":[["","daily","total",650,165],["","daily","tier:premium",650,165],["","monthly","total",650,165],["","monthly","tier:premium",650,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',20,'01a1ed02-091c-7c51-9a6b-f80b2dd866c7',1893456000000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',21,'01a1ed02-091c-7afd-8a9f-7a2fe0a7919c',1893456000000000,'decide','run.ended','bob',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ed02-0899-7d54-8d12-41fc58893774","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',22,'01a1ed02-091c-7c04-b398-89d405b9e83c',1893456000000000,'settle','turn.settled','01a1ed02-0851-7f3f-83f2-7051ed7b4646','01a1ed02-0851-7f3f-83f2-7051ed7b4646',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646","ended_by":"run","event_id":"01a1ed02-091c-7915-be2d-314cbb961949","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',23,'01a1ed02-091c-76fb-bfdf-ae72d8a9a402',1893456000000000,'settle','turn.settled','01a1ed02-0899-7d54-8d12-41fc58893774','01a1ed02-0899-7d54-8d12-41fc58893774',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ed02-0899-7d54-8d12-41fc58893774","ended_by":"run","event_id":"01a1ed02-091c-734b-a11c-99a5d2c80402","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',24,'01a1ed02-096d-7b8f-89cf-93e522ab4e4c',1893456000000000,'perceive','pull_budget.set','acme',NULL,0,NULL,NULL,NULL,'{"budget":{"connectors":{},"total":100},"by":"python"}');
INSERT INTO "ledger" VALUES('acme',25,'01a1ed02-098a-77be-969c-c5c5724d5ebe',1893456000000000,'perceive','pull.decided','ann',NULL,1,NULL,'SCHEDULED',NULL,'{"connector_id":"crm","depth":"DEEP","expires_at":1893542400000000,"message_id":"01a1ed02-0989-746e-ba58-acde1c315119","origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","remaining":97,"tier":"WARM","units":3}');
INSERT INTO "ledger" VALUES('acme',26,'01a1ed02-09a5-78f4-a906-b51f27a9d5a1',1893456000000000,'act','PLAN_CREATED','01a1ed02-09a5-71b2-999b-08798e41f250',NULL,1,NULL,'DRAFT',NULL,'{"account_id":"ann","by":"python","objective":"Keep the customer through the coming renewal","plan_id":"01a1ed02-09a5-71b2-999b-08798e41f250","plan_type":"RENEWAL_DEFENSE","steps":[{"action_type":"REQUEST_RENEWAL_MEETING","dependencies":[],"sequence":1,"step_id":"step-1"}]}');
INSERT INTO "ledger" VALUES('acme',27,'01a1ed02-09bd-73b5-8ef3-4036839020d0',1893456000000000,'act','PLAN_APPROVED','01a1ed02-09a5-71b2-999b-08798e41f250',NULL,1,NULL,'APPROVED',NULL,'{"account_id":"ann","by":"ann","is_person":true,"plan_id":"01a1ed02-09a5-71b2-999b-08798e41f250","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',28,'01a1ed02-0a0a-7492-b160-db8ed72fb79d',1893456300000000,'act','PLAN_ACTIVATED','01a1ed02-09a5-71b2-999b-08798e41f250',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","facts":[],"gate":{"approved_by":"ann","approved_by_person":true,"conflict":null,"facts":[],"posture":"at risk","risks":{"REQUEST_RENEWAL_MEETING":"low"},"steps":[["step-1","REQUEST_RENEWAL_MEETING",0,1]]},"plan_id":"01a1ed02-09a5-71b2-999b-08798e41f250","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"posture":"at risk"}');
INSERT INTO "ledger" VALUES('acme',29,'01a1ed02-0a0a-7aed-b5a5-2613f38c9d4e',1893456300000000,'act','STEP_STARTED','01a1ed02-09a5-71b2-999b-08798e41f250',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","approval":"REQUIRE_APPROVAL","approval_reason":"APPROVE_EACH","attempt":1,"clause":"autonomy.mode","intent_id":"01a1ed02-0a0a-79fc-b3f6-747a12f0d315","plan_id":"01a1ed02-09a5-71b2-999b-08798e41f250","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"risk":"low","step_id":"step-1","used_today":0}');
INSERT INTO "ledger" VALUES('acme',30,'01a1ed02-0a38-7fc2-a12f-b25139d81a4e',1893456300000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','DEFER','COOLDOWN','{"engine":1,"event":{"account_id":"ann","idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","signal_id":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","trigger_type":"SIGNAL_ARRIVED"},"now":1893456300000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"defer_until":1893457200000000,"reason":"COOLDOWN","result":"DEFER"}}');
INSERT INTO "ledger" VALUES('acme',31,'01a1ed02-0a55-729b-ac2a-def6f936167d',1893456300000000,'perceive','pull.ended','ann',NULL,0,NULL,'SUCCEEDED',NULL,'{"connector_id":"crm","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","signals":1}');
INSERT INTO "ledger" VALUES('acme',32,'01a1ed02-0a38-766b-a28f-559c055fde57',1893457200000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"retry:94f25291163c46921c2a56e44fef04dbaf3ce23886088548fb687dfbf0c91881","retry_of":"01a1ed02-0a38-7fc2-a12f-b25139d81a4e","slot_cooldown_us":1200000000,"trigger_type":"SIGNAL_ARRIVED"},"now":1893457200000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{"SIGNAL_ARRIVED":[1893457200000000,"01a1ed02-0a38-7fc2-a12f-b25139d81a4e"]},"trigger":[1893456300000000,1893456300000000,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',33,'01a1ed02-0afd-7d2b-a25e-219fab4bb838',1893457200000000,'settle','turn.reserved','01a1ed02-0a38-766b-a28f-559c055fde57','01a1ed02-0a38-766b-a28f-559c055fde57',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ed02-0a38-766b-a28f-559c055fde57","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ed02-0a38-766b-a28f-559c055fde57","turn_id":"01a1ed02-0a38-766b-a28f-559c055fde57"},"effective_model":"premium","levels":[["","daily","total",0,495],["","daily","tier:premium",0,495],["","monthly","total",0,495],["","monthly","tier:premium",0,495]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',34,'01a1ed02-0b10-76ad-a959-a2d7f7a3d9c3',1893457200000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ed02-0a38-766b-a28f-559c055fde57","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',35,'01a1ed02-0b10-77bb-a6f7-a0affa98a5b6',1893457200000000,'settle','turn.settled','01a1ed02-0a38-766b-a28f-559c055fde57','01a1ed02-0a38-766b-a28f-559c055fde57',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ed02-0a38-766b-a28f-559c055fde57","ended_by":"run","event_id":"01a1ed02-0b10-7b11-8e6c-52cf6b950f62","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',36,'01a1ed02-0cb5-7c09-85fe-e7147977afe0',1893459600000000,'decide','schedule.fired','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"scheduled_at":1893459600000000,"when":"2030-01-01T01:00:00Z","zone_data":"8b85846791ab2c8a"}');
INSERT INTO "ledger" VALUES('acme',37,'01a1ed02-0d96-7c5d-8793-0c9e7832ee7d',1893459600000000,'act','INTENT_APPROVED','01a1ed02-09a5-71b2-999b-08798e41f250',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"by":"ann","intent_id":"01a1ed02-0a0a-79fc-b3f6-747a12f0d315","plan_id":"01a1ed02-09a5-71b2-999b-08798e41f250","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',38,'01a1ed02-0dc9-73b2-b1b9-45d5346ee986',1893459600000000,'act','STEP_COMPLETED','01a1ed02-09a5-71b2-999b-08798e41f250',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"plan_id":"01a1ed02-09a5-71b2-999b-08798e41f250","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',39,'01a1ed02-0dc9-7a53-a831-b5622f44674e',1893459600000000,'act','PLAN_COMPLETED','01a1ed02-09a5-71b2-999b-08798e41f250',NULL,1,NULL,'COMPLETED','all_steps_done','{"account_id":"ann","plan_id":"01a1ed02-09a5-71b2-999b-08798e41f250","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',40,'01a1ed02-0de9-7e6a-b365-281046e392b4',1893459600000000,'report','report.generated','MANUAL',NULL,1,NULL,NULL,NULL,'{"last_seq":39,"trigger":"MANUAL","window":[1893456000000000,1893459600000000]}');
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
INSERT INTO "ledger_checkpoints" VALUES('acme','01a1ed02-0e29-79bf-83f9-d16770cb7d0b',40,'848ef0a196133ec5df4fd2f95fc0f0791b1bbc77f7394197c6cd220b0d5eec5f',NULL,1893459600000000,'python');
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
INSERT INTO "ledger_seals" VALUES('_system',1,2,X'13FC01686F8A8E0C6D827E2B94B42B4CD16D8ED8950F7F13244DB1059F90E4E1A8A03365FAC15E467E5EB9EFF66CC7A3EFA6FB4C3FC01D902F9C9E91E66BEC16',1893459600000000);
INSERT INTO "ledger_seals" VALUES('acme',1,40,X'2063F70E897452F289E084452F59CAAA9AE3FDE4A904657FB72C887AF9F9BCF9955B29D8B1CC5A3BA93F2FC9D66F60A872EA15D5FDE4E16F6C2E66B270717E7953F446B2FE8104F27D72451849F82729AA36E043EDF72731B16260DCD66F836C930ABCFD92C910119E958F76D233C30A32C030E922CCF3A10120D02A9630E23729F8A47D5A6A96B2324766FF8F499E2B32B14F93011AA10F979CAAD5293438B3CE74B9F2CE4636A837E5556D61121669D27C2A66E9C2518D080BA2CCCB070336ADAA130705FE0E0DA784ACFAAE9AD7B188EB8F23BDA27606FD1F7D619E8A100EEC260D2F651869F459114302062B67177E44423311E8B3991FDE4145EE6EFF97846D7639A345A1CD5AD4E1EBCCF0533D9BCF81F8AB14C9F97B0D0F6C3C6B4D9F2CEF7B97E9330A08F1EF84D5ED0432C89B179EC2BA0B5EE4856E37E18FE53E4301F2A51AA8CE371D793DBEC465964F83DC3056271E5DC89052F22353E2E86D688F02C93191FF2A174CC7A3CE91BE793761E1210B5DD303E0EEDD420BE00AB37AAA9E74E5A907AFC7105E71DE4E409B5CAA3957C3BFBF765BC6440F85BDE1E0966CC276A5A536EF4598115B440E6F1063541B3AA3B9A813FDABEB094E2AB925417ACD77F13A364DF0ED534E1639190310727B1C2F796BD615EF495921EF8A43B000B39062656F576D3681E024115FD0600FC24776B526D7183C12B3F4B4BDB89F941E079BF25CFEEC03146BAEEE71D45068521AF92116E93B4696490C2F7E960EAE459129E609E10645976DA05F859C88EDA964CCAF445572820058D0460E4CE114D834ACC5E06397628B989B663E50C6F1F54BC476A014D135EA28494E74796FEC90A01EA56B9BB07EF56CC04F1CF203E6ED87886746B5A7AD3CAB8FE1C08A282C2080EEEEF310BA05EB189D8E05247185169CA0CAFF3CF857F6D9759DC8A76CB1356AEAB6D14C16AA3E670F793EBC9A41F2019FD4101F4C5171828C7B1E2549162042D8141DAA9BED7973236D0C716245929D2A9AB54FA7E977FCCF0F36371D21331C15B4ADAFB22BCD2E20A01242BBB12AF73579C4FBD10B4A4B9EF10FB60D2F84F7E703B183DC75EE3FBCD9E4A95B58EB31808E65E637279EF750CF16A703ADB8AB130FF711D139DFA948A01EDBFE361A4C5C4732F5B353FBAAA194BBDCAFC1C818A0B8F2F690D0267D8E33F6A6F5D552F00C83552DE5C9A3D331AA93BED1A12EA57EA914C19778FFC30192A53E5C792AF6582474A7B1608E82882C5FF9E0565B614064344054DCF372B86452FAA0C6B35B0563B2054E6B9F2DF80AA3EBA39171684F32857CED0A3F90C10C561A6A878C0CB50A1B93C8BE24F6531C331308132144B9591450F81AB34BD0BAE72C5F4AD9B9249C7C63400E053D41E6278199C410100BCF640112C68C582762C5CBA4677F34510B32C032097F0E6CEA693764D2F16E866B67F727597D8AD7F52B25ACD17C5333CF80EDB5F1DCE29E56B035B5BA82263FE038BFB0579180EC5BBAC3A16E570691660BF9C68558D7E05429DD6CB3DAF1139C4079D5A7A02FB2925F29DE6CE3A6DADB23F81EED023B4C75853AB04600B195B3624907525E1496C5A73D1EE246379706C28F4617FA9BB37B1CE1010B6CE629C4BBDEED746DC345CC00A661F086D7DFF522441ACFA106B752637F905AFD648260A88D427BE45ED9671CCFC81CCCAB4C8DFDD5C6A60A749A5001BDDAE6ED1AE64BE66973805CDD9E7953FD2D4C6EB77C54EAAE98DE2580A38FFEF239848EF0A196133EC5DF4FD2F95FC0F0791B1BBC77F7394197C6CD220B0D5EEC5F',1893459600000000);
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
INSERT INTO "outbox" VALUES(3,'acme','01a1ed02-06d1-7894-b15b-a0f62893dbe3','watchkeeper','milestone.tick',NULL,NULL,'{"due_at":1893499200000000}','pending',0,0,1893499200000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(13,'acme','01a1ed02-0899-7811-b2c4-cc5e3f410e96','watchkeeper','pull.tick',NULL,NULL,'{"due_at":1893465486000000}','pending',0,0,1893465486000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(19,'acme','01a1ed02-0cb5-70d7-b73e-1a60e837a331','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893463200000000,"generation":1,"schedule_id":"brief"}','pending',0,0,1893463200000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(21,'_system','01a1ed02-0cef-7736-a950-6348150866de','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(23,'acme','01a1ed02-0d45-74c0-a309-918c7d821928','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"ann","idempotency_key":"87ab13628cbafa4578e1e7f45a1db6178390380e3a38c1658b9ee04c18426006","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459747000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(24,'acme','01a1ed02-0d45-74d2-a6af-a8d735c55fdb','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"bob","idempotency_key":"ec45c35fdfef73e6e1fad69d9240b944456d5696ef70ee6658d9ade150973c1a","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459704000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(25,'acme','01a1ed02-0d45-7ffd-90a6-e5a49360da71','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"cyd","idempotency_key":"9cb83f09950d1128a057f39b68b722c432642618af13951a1625b9d43b1bc25b","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459745000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(26,'acme','01a1ed02-0d6a-7f26-a13f-eeb962edf312','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(28,'acme','01a1ed02-0d96-7a3f-9fd8-b5c6a7b09f88','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893546000000000}','pending',0,0,1893546000000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
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
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-06d1-7e36-a635-6eed909cbfa3','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ed02-06a6-70aa-9ba0-33ad9862ce4e','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-06c9-7b15-98e7-487914709220','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"cyd","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ed02-06c9-7b15-98e7-487914709220","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ed02-06c9-71fb-8397-931fd7c93bf0","signals_after":0,"signals_until":2},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0715-7721-9622-093654c05b76','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0775-7209-88dd-f11f96650ada','mini-chat','usage_snapshot','acme/01a1ed02-06c9-7b15-98e7-487914709220/01a1ed02-06c9-7b15-98e7-487914709220',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ed02-06c9-7b15-98e7-487914709220","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":0,"request_id":"01a1ed02-06c9-7b15-98e7-487914709220","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ed02-06c9-7b15-98e7-487914709220"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0851-7f3f-83f2-7051ed7b4646','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ed02-0851-7ed5-be53-1e2df5bf8d85","signals_after":0,"signals_until":9},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0899-7d54-8d12-41fc58893774','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"bob","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ed02-0899-7d54-8d12-41fc58893774","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ed02-0899-74ee-8466-6c2a8f289b30","signals_after":0,"signals_until":13},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-091c-7915-be2d-314cbb961949','mini-chat','usage_snapshot','acme/01a1ed02-0851-7f3f-83f2-7051ed7b4646/01a1ed02-0851-7f3f-83f2-7051ed7b4646',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ed02-0851-7f3f-83f2-7051ed7b4646"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-091c-734b-a11c-99a5d2c80402','mini-chat','usage_snapshot','acme/01a1ed02-0899-7d54-8d12-41fc58893774/01a1ed02-0899-7d54-8d12-41fc58893774',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ed02-0899-7d54-8d12-41fc58893774","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ed02-0899-7d54-8d12-41fc58893774","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ed02-0899-7d54-8d12-41fc58893774"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-09be-78e3-be37-5f2fef122d63','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0989-746e-ba58-acde1c315119','watchkeeper','pull.requested',NULL,NULL,'{"detail":{"account_id":"ann","budget_remaining":97,"connector_id":"crm","depth":"DEEP","depth_units":3,"origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","scheduled_at":"2030-01-01T00:00:00Z","tenant_id":"acme"},"detail-type":"PULL_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0a38-766b-a28f-559c055fde56','watchkeeper','decision.retry',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","idempotency_key":"retry:94f25291163c46921c2a56e44fef04dbaf3ce23886088548fb687dfbf0c91881","due_at":"2030-01-01T00:20:00Z","moved":false,"original_idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","retry_of":"01a1ed02-0a38-7fc2-a12f-b25139d81a4e","slot_cooldown_seconds":1200},"detail-type":"RUN_DECISION","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893456300000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0a38-766b-a28f-559c055fde57','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ed02-0a38-766b-a28f-559c055fde57","evaluated_at":"2030-01-01T00:20:00Z","idempotency_key":"retry:94f25291163c46921c2a56e44fef04dbaf3ce23886088548fb687dfbf0c91881","signals_after":9,"signals_until":32},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0b10-7b11-8e6c-52cf6b950f62','mini-chat','usage_snapshot','acme/01a1ed02-0a38-766b-a28f-559c055fde57/01a1ed02-0a38-766b-a28f-559c055fde57',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ed02-0a38-766b-a28f-559c055fde57","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ed02-0a38-766b-a28f-559c055fde57","reserved_at":"2030-01-01T00:20:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:20:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ed02-0a38-766b-a28f-559c055fde57"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ed02-0729-799d-ba3a-bb25c0cc7e05','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-07ad-777c-acd7-fd8c00c4103a','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0b95-7afb-af86-a55d798f3a8a','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893457800000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-080a-7685-913e-c003dce33300','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893456000000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ed02-0b81-72ef-b9b5-1d76919edeae','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0bf5-7e6d-b87b-ea0e0b1231c6','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0cb5-70df-a13d-a0e0f24e10a2','watchkeeper','schedule.slice',NULL,NULL,'{"after":"","fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0d07-76d6-89ea-76582481ca88','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ed02-0d96-747c-b05f-518017ae6808','watchkeeper','action.requested',NULL,NULL,'{"detail":{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","attempt":1,"data":{},"idempotency_key":"01a1ed02-09a5-71b2-999b-08798e41f250/step-1","intent_id":"01a1ed02-0a0a-79fc-b3f6-747a12f0d315","objective":"Keep the customer through the coming renewal","plan_id":"01a1ed02-09a5-71b2-999b-08798e41f250","plan_type":"RENEWAL_DEFENSE","source":"plan","step_id":"step-1","tenant_id":"acme"},"detail-type":"ACTION_REQUESTED","source":"watchkeeper"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
CREATE TABLE plan_cycles (
    tenant_id TEXT NOT NULL,
    due_at BIGINT NOT NULL, message_id VARCHAR(36),
    PRIMARY KEY (tenant_id)
);
INSERT INTO "plan_cycles" VALUES('acme',1893546000000000,'01a1ed02-0d96-7a3f-9fd8-b5c6a7b09f88');
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
INSERT INTO "plan_steps" VALUES('acme','01a1ed02-09a5-71b2-999b-08798e41f250','step-1','REQUEST_RENEWAL_MEETING',0,1,'[]','{}','DONE',1,0,NULL,NULL);
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
INSERT INTO "plans" VALUES('acme','01a1ed02-09a5-71b2-999b-08798e41f250','ann','RENEWAL_DEFENSE','Keep the customer through the coming renewal','COMPLETED','{}','{}','caller',NULL,1893456000000000,'python',1896048000000000,1893456000000000,'ann',1,1893456300000000,1893459600000000,'all_steps_done',NULL,NULL,1);
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
INSERT INTO "pull_ticks" VALUES('acme',1893465486000000,'01a1ed02-0899-7811-b2c4-cc5e3f410e96');
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
INSERT INTO "pulls" VALUES('acme','pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750','01a1ed02-0989-746e-ba58-acde1c315119','ann','crm',1,3,'manual','SUCCEEDED',1893456000000000,1893456300000000,1893456300000000,1,NULL,1893542400000000);
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
INSERT INTO "reports" VALUES('acme','01a1ed02-0de9-7e6a-b365-281046e392b4','MANUAL',1893456000000000,1893459600000000,39,'{"collected":{"connectors":[{"connector_id":"crm","pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"sum of signals over ledger entries of kind pull.ended, repeats included","unit":"signals","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}}],"pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"ledger entries of kind verdict that tell of a signal, repeats left out","unit":"signals","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}},"coverage":[{"connector_id":"crm","pulls":[{"count":{"how":"ledger entries of kind pull.decided, by result and reason","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SCHEDULED","name":null},{"count":{"how":"ledger entries of kind pull.ended, by result","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"reason":"pulls succeeded, and none failed","state":"AVAILABLE"}],"forecast":{"needed":{"how":"policy value reports.forecast_min_hours, in seconds","unit":"seconds","value":21600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"observed":{"how":"length of the window","unit":"seconds","value":3600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"statement":"not enough observation"},"format":1,"generated_at":"2030-01-01T01:00:00Z","header":{"entries":{"how":"entries of the ledger, of every kind","unit":"entries","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"generated_at":"2030-01-01T01:00:00Z","installed_at":"2030-01-01T00:00:00Z","last_entry":{"how":"place of the newest entry of the ledger that was counted","unit":"place","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"policy_version":1,"report_id":"01a1ed02-0de9-7e6a-b365-281046e392b4","tenant_id":"acme","tenant_name":null,"trigger":"MANUAL","window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"},"window_from":"the installation"},"observations":{"credits_settled":{"how":"sum of charged_micro over ledger entries of kind turn.settled","unit":"micro-credits","value":660,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"decisions":[{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"ALLOW","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"COOLDOWN","label":"DEFER","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"DEBOUNCED","label":"SKIP","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":2,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"KILL_SWITCH","label":"SKIP","name":null}],"events_dead":[],"events_delivered":[{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"mini-chat/usage_snapshot"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/action.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.evaluation_requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.retry"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":6,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/heat.sweep"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/plan.cycle"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/pull.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.due"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.slice"}],"plans":[{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_ACTIVATED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_APPROVED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_CREATED","name":null}],"runs":[{"count":{"how":"ledger entries of kind run.ended, by result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"steps":[{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_STARTED","name":null}],"turns":[{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"turn.reserved","name":null},{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"completed","label":"turn.settled","name":null}]},"report_id":"01a1ed02-0de9-7e6a-b365-281046e392b4","series":[{"bucket_seconds":3600,"how":"ledger entries of kind verdict that tell of a signal, repeats left out","label":null,"of":"signals","starts_at":"2030-01-01T00:00:00Z","unit":"signals","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"pulls","starts_at":"2030-01-01T00:00:00Z","unit":"pulls","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"units","starts_at":"2030-01-01T00:00:00Z","unit":"units","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"ALLOW","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"DEFER","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"SKIP","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind run.ended, by result","label":null,"of":"runs ended","starts_at":"2030-01-01T00:00:00Z","unit":"runs","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of charged_micro over ledger entries of kind turn.settled","label":null,"of":"credits settled","starts_at":"2030-01-01T00:00:00Z","unit":"micro-credits","values":[660,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind message.dead, by reason and topic","label":null,"of":"events dead","starts_at":"2030-01-01T00:00:00Z","unit":"messages","values":[0,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}],"tenant_id":"acme","trigger":"MANUAL"}');
CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;
INSERT INTO "reservations" VALUES('acme','01a1ed02-06c9-71fb-8397-931fd7c93bf0','01a1ed02-06c9-7b15-98e7-487914709220','8bfb31fb',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ed02-0851-7ed5-be53-1e2df5bf8d85','01a1ed02-0851-7f3f-83f2-7051ed7b4646','dc183bd6',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ed02-0899-74ee-8466-6c2a8f289b30','01a1ed02-0899-7d54-8d12-41fc58893774','c45beb46',1893542400000000);
INSERT INTO "reservations" VALUES('acme','2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0','01a1ed02-0a38-7fc2-a12f-b25139d81a4e','e5317ac9',1893542700000000);
INSERT INTO "reservations" VALUES('acme','account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1','01a1ed02-0879-710b-a670-0502f3c36cf5','b94b280d',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237','01a1ed02-08ad-7f01-8834-918133a043d0','aaa48f09',1893542400000000);
INSERT INTO "reservations" VALUES('acme','retry:94f25291163c46921c2a56e44fef04dbaf3ce23886088548fb687dfbf0c91881','01a1ed02-0a38-766b-a28f-559c055fde57','ab96c2ed',1893543600000000);
INSERT INTO "reservations" VALUES('acme','soon','01a1ed02-08d1-7999-8a73-8a3b69ab019d','ab96c2ed',1893542400000000);
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
INSERT INTO "runs" VALUES('acme','01a1ed02-06c9-7b15-98e7-487914709220','cyd','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ed02-0851-7f3f-83f2-7051ed7b4646','ann','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ed02-0899-7d54-8d12-41fc58893774','bob','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ed02-0a38-766b-a28f-559c055fde57','ann','SIGNAL_ARRIVED','SUCCEEDED',1893457200000000,1893457200000000,NULL,NULL);
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
INSERT INTO "signals" VALUES('acme','01a1ed02-06c9-71fb-8397-931fd7c93bf0','cyd','mail.received',1893456000000000,1893456000000000,2,NULL,'{}');
INSERT INTO "signals" VALUES('acme','01a1ed02-0851-7ed5-be53-1e2df5bf8d85','ann','mail.received',1893456000000000,1893456000000000,9,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','01a1ed02-0899-74ee-8466-6c2a8f289b30','bob','mail.received',1893456000000000,1893456000000000,13,NULL,'{"n":1}');
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
INSERT INTO "turns" VALUES('acme','01a1ed02-06c9-7b15-98e7-487914709220','01a1ed02-06c9-7b15-98e7-487914709220',NULL,'01a1ed02-06c9-7b15-98e7-487914709220',0,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ed02-0775-7c5b-8d86-cc4d53a636e2','actual',9,8,165,165,0,'01a1ed02-0775-7209-88dd-f11f96650ada',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ed02-0851-7f3f-83f2-7051ed7b4646','01a1ed02-0851-7f3f-83f2-7051ed7b4646',NULL,'01a1ed02-0851-7f3f-83f2-7051ed7b4646',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ed02-091c-74aa-be68-515bf2ad6157','actual',9,8,165,165,0,'01a1ed02-091c-7915-be2d-314cbb961949',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ed02-0899-7d54-8d12-41fc58893774','01a1ed02-0899-7d54-8d12-41fc58893774',NULL,'01a1ed02-0899-7d54-8d12-41fc58893774',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ed02-091c-7478-a6ed-fb5975ec0d91','actual',9,8,165,165,0,'01a1ed02-091c-734b-a11c-99a5d2c80402',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ed02-0a38-766b-a28f-559c055fde57','01a1ed02-0a38-766b-a28f-559c055fde57',NULL,'01a1ed02-0a38-766b-a28f-559c055fde57',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893457200000000,'completed',1893457200000000,1893457200000000,1893457500000000,1893457200000000,'run','01a1ed02-0b10-7234-89bf-4d1eb5176897','actual',9,8,165,165,0,'01a1ed02-0b10-7b11-8e6c-52cf6b950f62',NULL,NULL);
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
