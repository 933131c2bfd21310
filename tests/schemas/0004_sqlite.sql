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
INSERT INTO "alembic_version" VALUES('0004');
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
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-4741-7be3-bffe-714e65ce7264/01a1ecca-4741-7be3-bffe-714e65ce7264','01a1ecca-47a9-72d0-a1c2-6cf0979b3403',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-4837-749b-83e2-0cf7e6eee9c2/01a1ecca-4837-749b-83e2-0cf7e6eee9c2','01a1ecca-48ad-7097-9c68-ae98bed88ef9',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-4863-7fcf-af4d-44f117c46e3e/01a1ecca-4863-7fcf-af4d-44f117c46e3e','01a1ecca-48ad-7267-8e3d-aee0a8360e01',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-4900-7c39-8a71-3f285a8328ca/01a1ecca-4900-7c39-8a71-3f285a8328ca','01a1ecca-4964-71f0-89c9-abd9bbe0d980',1893457200000000);
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
INSERT INTO "intents" VALUES('acme','01a1ecca-48f8-7079-892d-02ef27536a87','01a1ecca-48e0-7065-af03-f8a8388ccc54','step-1',1,'ann','REQUEST_RENEWAL_MEETING','SUCCEEDED',1893456300000000,1893546000000000,'REQUIRE_APPROVAL','APPROVE_EACH','autonomy.mode','every action is asked for',1893459600000000,'ann',1893459600000000,1893459600000000,NULL,0,'01a1ecca-4b1e-7cb7-b34f-651aa3154266');
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
INSERT INTO "ledger" VALUES('_system',1,'01a1ecca-4724-7abd-ae02-7a49fe82c2e3',1893456000000000,'perceive','connector.set','crm',NULL,0,NULL,NULL,NULL,'{"by":"app","set":{"has_cadence":true}}');
INSERT INTO "ledger" VALUES('acme',1,'01a1ecca-4745-7934-a6a3-502aead500e9',1893456000000000,'system','tenant.created','acme',NULL,0,NULL,NULL,NULL,'{"installed_at":1893456000000000,"name":null,"tier":null}');
INSERT INTO "ledger" VALUES('acme',2,'01a1ecca-4741-7be3-bffe-714e65ce7264',1893456000000000,'decide','verdict','cyd',NULL,0,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"cyd","idempotency_key":"01a1ecca-4741-705b-a074-a36cdab97279","signal_id":"01a1ecca-4741-705b-a074-a36cdab97279","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f","version":0},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":0,"day_runs":0,"hour":0,"hour_runs":0,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',3,'01a1ecca-4752-731d-8840-134186e50b7d',1893456000000000,'perceive','heat.tier_changed','cyd',NULL,0,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',4,'01a1ecca-4795-750b-9f8d-d1238e37f2a7',1893456000000000,'settle','turn.reserved','01a1ecca-4741-7be3-bffe-714e65ce7264','01a1ecca-4741-7be3-bffe-714e65ce7264',0,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-4741-7be3-bffe-714e65ce7264","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-4741-7be3-bffe-714e65ce7264","turn_id":"01a1ecca-4741-7be3-bffe-714e65ce7264"},"effective_model":"premium","levels":[["","daily","total",0,0],["","daily","tier:premium",0,0],["","monthly","total",0,0],["","monthly","tier:premium",0,0]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',5,'01a1ecca-47a9-7860-9a02-1bb765d44cec',1893456000000000,'decide','run.ended','cyd',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-4741-7be3-bffe-714e65ce7264","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',6,'01a1ecca-47aa-7ad9-906e-74302a9466d7',1893456000000000,'settle','turn.settled','01a1ecca-4741-7be3-bffe-714e65ce7264','01a1ecca-4741-7be3-bffe-714e65ce7264',0,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-4741-7be3-bffe-714e65ce7264","ended_by":"run","event_id":"01a1ecca-47a9-72d0-a1c2-6cf0979b3403","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('_system',2,'01a1ecca-4801-7538-bf3d-68a04e6fceea',1893456000000000,'system','policy.applied','1',NULL,1,NULL,NULL,NULL,'{"author":"python","changes":[{"after":1200,"before":300,"path":"triggers.SIGNAL_ARRIVED.cooldown_seconds"}],"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","reason":"quieter","version":1}');
INSERT INTO "ledger" VALUES('acme',7,'01a1ecca-4814-7b8c-91af-38e3a75749b4',1893456000000000,'decide','schedule.set','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"catch_up":"fire_once","cron":"0 * * * *","generation":1,"next_fire_at":1893459600000000,"spread_seconds":null,"timezone":"UTC"}');
INSERT INTO "ledger" VALUES('acme',8,'01a1ecca-4825-7ac7-b054-a8a20fe31301',1893456000000000,'system','kill_switch.set','trigger:POSTURE_CHANGE',NULL,0,NULL,NULL,NULL,'{"id":"POSTURE_CHANGE","on":true,"reason":"too many","scope":"trigger","set_by":"python"}');
INSERT INTO "ledger" VALUES('acme',9,'01a1ecca-4837-749b-83e2-0cf7e6eee9c2',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"01a1ecca-4837-7b4e-9d49-b54715114d24","signal_id":"01a1ecca-4837-7b4e-9d49-b54715114d24","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":1,"hour":525960,"hour_runs":1,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',10,'01a1ecca-483d-7567-ac90-37060cc059e5',1893456000000000,'perceive','heat.tier_changed','ann',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',11,'01a1ecca-4851-7ff8-b942-c6f63fb72179',1893456000000000,'decide','account.changed','ann',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',12,'01a1ecca-4851-78bc-a3a3-8960f07ff090',1893456000000000,'decide','verdict','ann',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"ann","idempotency_key":"account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',13,'01a1ecca-4863-7fcf-af4d-44f117c46e3e',1893456000000000,'decide','verdict','bob',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"bob","idempotency_key":"01a1ecca-4863-7a9d-8318-f2d226f7e64b","signal_id":"01a1ecca-4863-7a9d-8318-f2d226f7e64b","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":2,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',14,'01a1ecca-4863-7763-8e4f-c73d315e74c0',1893456000000000,'perceive','heat.tier_changed','bob',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',15,'01a1ecca-4875-7be4-8332-bfd5c4f8678c',1893456000000000,'decide','account.changed','bob',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',16,'01a1ecca-4875-76bd-9fc1-b43609430b66',1893456000000000,'decide','verdict','bob',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"bob","idempotency_key":"account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',17,'01a1ecca-4889-7f6f-b8ff-0cfe73996c46',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','SKIP','DEBOUNCED','{"engine":1,"event":{"account_id":"ann","idempotency_key":"soon","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"reason":"DEBOUNCED","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',18,'01a1ecca-48a1-7106-9cbb-be8c16f422a8',1893456000000000,'settle','turn.reserved','01a1ecca-4837-749b-83e2-0cf7e6eee9c2','01a1ecca-4837-749b-83e2-0cf7e6eee9c2',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2","turn_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2"},"effective_model":"premium","levels":[["","daily","total",0,165],["","daily","tier:premium",0,165],["","monthly","total",0,165],["","monthly","tier:premium",0,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',19,'01a1ecca-48a1-75b4-ba9e-a41ea9b4d623',1893456000000000,'settle','turn.reserved','01a1ecca-4863-7fcf-af4d-44f117c46e3e','01a1ecca-4863-7fcf-af4d-44f117c46e3e',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e","turn_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e"},"effective_model":"premium","levels":[["","daily","total",650,165],["","daily","tier:premium",650,165],["","monthly","total",650,165],["","monthly","tier:premium",650,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',20,'01a1ecca-48ad-79e5-aa99-4dbc978627e9',1893456000000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',21,'01a1ecca-48ad-7963-bc51-db96b714b824',1893456000000000,'decide','run.ended','bob',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',22,'01a1ecca-48ad-7a15-bfdc-5ca3d36cf380',1893456000000000,'settle','turn.settled','01a1ecca-4837-749b-83e2-0cf7e6eee9c2','01a1ecca-4837-749b-83e2-0cf7e6eee9c2',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2","ended_by":"run","event_id":"01a1ecca-48ad-7097-9c68-ae98bed88ef9","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',23,'01a1ecca-48ad-7df3-b984-3fabbc44b0d2',1893456000000000,'settle','turn.settled','01a1ecca-4863-7fcf-af4d-44f117c46e3e','01a1ecca-4863-7fcf-af4d-44f117c46e3e',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e","ended_by":"run","event_id":"01a1ecca-48ad-7267-8e3d-aee0a8360e01","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',24,'01a1ecca-48ce-726f-a977-425e28d26c61',1893456000000000,'perceive','pull_budget.set','acme',NULL,0,NULL,NULL,NULL,'{"budget":{"connectors":{},"total":100},"by":"python"}');
INSERT INTO "ledger" VALUES('acme',25,'01a1ecca-48d5-77ea-9dc5-6c9992e004b0',1893456000000000,'perceive','pull.decided','ann',NULL,1,NULL,'SCHEDULED',NULL,'{"connector_id":"crm","depth":"DEEP","expires_at":1893542400000000,"message_id":"01a1ecca-48d5-7687-a778-73780f970ddc","origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","remaining":97,"tier":"WARM","units":3}');
INSERT INTO "ledger" VALUES('acme',26,'01a1ecca-48df-7e70-8b43-26c3ae4b5cfc',1893456000000000,'act','PLAN_CREATED','01a1ecca-48e0-7065-af03-f8a8388ccc54',NULL,1,NULL,'DRAFT',NULL,'{"account_id":"ann","by":"python","objective":"Keep the customer through the coming renewal","plan_id":"01a1ecca-48e0-7065-af03-f8a8388ccc54","plan_type":"RENEWAL_DEFENSE","steps":[{"action_type":"REQUEST_RENEWAL_MEETING","dependencies":[],"sequence":1,"step_id":"step-1"}]}');
INSERT INTO "ledger" VALUES('acme',27,'01a1ecca-48e5-71e5-9bfb-cf02c978b1a0',1893456000000000,'act','PLAN_APPROVED','01a1ecca-48e0-7065-af03-f8a8388ccc54',NULL,1,NULL,'APPROVED',NULL,'{"account_id":"ann","by":"ann","is_person":true,"plan_id":"01a1ecca-48e0-7065-af03-f8a8388ccc54","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',28,'01a1ecca-48f8-7c23-8462-61fcbb4dcc8e',1893456300000000,'act','PLAN_ACTIVATED','01a1ecca-48e0-7065-af03-f8a8388ccc54',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","facts":[],"gate":{"approved_by":"ann","approved_by_person":true,"conflict":null,"facts":[],"posture":"at risk","risks":{"REQUEST_RENEWAL_MEETING":"low"},"steps":[["step-1","REQUEST_RENEWAL_MEETING",0,1]]},"plan_id":"01a1ecca-48e0-7065-af03-f8a8388ccc54","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"posture":"at risk"}');
INSERT INTO "ledger" VALUES('acme',29,'01a1ecca-48f8-7e57-9cd6-25ce8a1df70d',1893456300000000,'act','STEP_STARTED','01a1ecca-48e0-7065-af03-f8a8388ccc54',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","approval":"REQUIRE_APPROVAL","approval_reason":"APPROVE_EACH","attempt":1,"clause":"autonomy.mode","intent_id":"01a1ecca-48f8-7079-892d-02ef27536a87","plan_id":"01a1ecca-48e0-7065-af03-f8a8388ccc54","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"risk":"low","step_id":"step-1","used_today":0}');
INSERT INTO "ledger" VALUES('acme',30,'01a1ecca-4900-740c-afd9-7f2f1168550f',1893456300000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','DEFER','COOLDOWN','{"engine":1,"event":{"account_id":"ann","idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","signal_id":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","trigger_type":"SIGNAL_ARRIVED"},"now":1893456300000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"defer_until":1893457200000000,"reason":"COOLDOWN","result":"DEFER"}}');
INSERT INTO "ledger" VALUES('acme',31,'01a1ecca-4904-7b2f-b392-67a76e127a97',1893456300000000,'perceive','pull.ended','ann',NULL,0,NULL,'SUCCEEDED',NULL,'{"connector_id":"crm","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","signals":1}');
INSERT INTO "ledger" VALUES('acme',32,'01a1ecca-4900-7c39-8a71-3f285a8328ca',1893457200000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"retry:a88811d97eb7d83496d62c38385d32a291d93167ec42e8ccca0f09732761f882","retry_of":"01a1ecca-4900-740c-afd9-7f2f1168550f","trigger_type":"SIGNAL_ARRIVED"},"now":1893457200000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{"SIGNAL_ARRIVED":[1893457200000000,"01a1ecca-4900-740c-afd9-7f2f1168550f"]},"trigger":[1893456300000000,1893456300000000,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',33,'01a1ecca-4958-7cc6-aabb-7ad3e072cc67',1893457200000000,'settle','turn.reserved','01a1ecca-4900-7c39-8a71-3f285a8328ca','01a1ecca-4900-7c39-8a71-3f285a8328ca',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca","turn_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca"},"effective_model":"premium","levels":[["","daily","total",0,495],["","daily","tier:premium",0,495],["","monthly","total",0,495],["","monthly","tier:premium",0,495]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',34,'01a1ecca-4964-7e49-ad3d-a2c37807cef3',1893457200000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',35,'01a1ecca-4964-75b8-b996-5c868c803f7f',1893457200000000,'settle','turn.settled','01a1ecca-4900-7c39-8a71-3f285a8328ca','01a1ecca-4900-7c39-8a71-3f285a8328ca',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca","ended_by":"run","event_id":"01a1ecca-4964-71f0-89c9-abd9bbe0d980","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',36,'01a1ecca-4a69-73d1-832d-85805493dacd',1893459600000000,'decide','schedule.fired','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"scheduled_at":1893459600000000,"when":"2030-01-01T01:00:00Z"}');
INSERT INTO "ledger" VALUES('acme',37,'01a1ecca-4b1d-7818-93ae-c9819c3a3dbf',1893459600000000,'act','INTENT_APPROVED','01a1ecca-48e0-7065-af03-f8a8388ccc54',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"by":"ann","intent_id":"01a1ecca-48f8-7079-892d-02ef27536a87","plan_id":"01a1ecca-48e0-7065-af03-f8a8388ccc54","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',38,'01a1ecca-4b54-7bb5-bc9a-6c40739bd00c',1893459600000000,'act','STEP_COMPLETED','01a1ecca-48e0-7065-af03-f8a8388ccc54',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"plan_id":"01a1ecca-48e0-7065-af03-f8a8388ccc54","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',39,'01a1ecca-4b54-72a5-ae72-06c67b5bedeb',1893459600000000,'act','PLAN_COMPLETED','01a1ecca-48e0-7065-af03-f8a8388ccc54',NULL,1,NULL,'COMPLETED','all_steps_done','{"account_id":"ann","plan_id":"01a1ecca-48e0-7065-af03-f8a8388ccc54","plan_type":"RENEWAL_DEFENSE"}');
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
INSERT INTO "outbox" VALUES(13,'acme','01a1ecca-4863-75b5-989b-8fcd6ffffa2b','watchkeeper','pull.tick',NULL,NULL,'{"due_at":1893465486000000}','pending',0,0,1893465486000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(19,'acme','01a1ecca-4a69-75f0-b98d-a745b9ac7743','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893463200000000,"generation":1,"schedule_id":"brief"}','pending',0,0,1893463200000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(21,'_system','01a1ecca-4a8d-76b4-8fc9-35e2ab766f51','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(23,'acme','01a1ecca-4ad5-7f07-9741-0bcf9e4284b2','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"ann","idempotency_key":"87ab13628cbafa4578e1e7f45a1db6178390380e3a38c1658b9ee04c18426006","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459747000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(24,'acme','01a1ecca-4ad5-7f93-a385-04d61922008f','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"bob","idempotency_key":"ec45c35fdfef73e6e1fad69d9240b944456d5696ef70ee6658d9ade150973c1a","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459704000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(25,'acme','01a1ecca-4ad5-7e4d-b13b-4d099c36053c','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"cyd","idempotency_key":"9cb83f09950d1128a057f39b68b722c432642618af13951a1625b9d43b1bc25b","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459745000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(26,'acme','01a1ecca-4af8-7cf9-82ca-24c4084c296a','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(28,'acme','01a1ecca-4b1e-77f5-a0e6-72534342cc37','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893546000000000}','pending',0,0,1893546000000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
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
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4745-7085-808f-4734b7dc4d62','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-472f-7b26-8167-23c5d855b5b1','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4741-7be3-bffe-714e65ce7264','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"cyd","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-4741-7be3-bffe-714e65ce7264","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-4741-705b-a074-a36cdab97279","signals_after":0,"signals_until":2},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-476a-79cd-b7c5-825b6e53531a','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-47a9-72d0-a1c2-6cf0979b3403','mini-chat','usage_snapshot','acme/01a1ecca-4741-7be3-bffe-714e65ce7264/01a1ecca-4741-7be3-bffe-714e65ce7264',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-4741-7be3-bffe-714e65ce7264","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":0,"request_id":"01a1ecca-4741-7be3-bffe-714e65ce7264","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-4741-7be3-bffe-714e65ce7264"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4837-749b-83e2-0cf7e6eee9c2','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-4837-7b4e-9d49-b54715114d24","signals_after":0,"signals_until":9},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4863-7fcf-af4d-44f117c46e3e','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"bob","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-4863-7a9d-8318-f2d226f7e64b","signals_after":0,"signals_until":13},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-48ad-7097-9c68-ae98bed88ef9','mini-chat','usage_snapshot','acme/01a1ecca-4837-749b-83e2-0cf7e6eee9c2/01a1ecca-4837-749b-83e2-0cf7e6eee9c2',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-4837-749b-83e2-0cf7e6eee9c2"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-48ad-7267-8e3d-aee0a8360e01','mini-chat','usage_snapshot','acme/01a1ecca-4863-7fcf-af4d-44f117c46e3e/01a1ecca-4863-7fcf-af4d-44f117c46e3e',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-4863-7fcf-af4d-44f117c46e3e"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-48e6-7b14-aae2-a5c82569dd2e','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-48d5-7687-a778-73780f970ddc','watchkeeper','pull.requested',NULL,NULL,'{"detail":{"account_id":"ann","budget_remaining":97,"connector_id":"crm","depth":"DEEP","depth_units":3,"origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","scheduled_at":"2030-01-01T00:00:00Z","tenant_id":"acme"},"detail-type":"PULL_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4900-7c39-8a71-3f285a8328cb','watchkeeper','decision.retry',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","idempotency_key":"retry:a88811d97eb7d83496d62c38385d32a291d93167ec42e8ccca0f09732761f882","due_at":"2030-01-01T00:20:00Z","moved":false,"original_idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","retry_of":"01a1ecca-4900-740c-afd9-7f2f1168550f"},"detail-type":"RUN_DECISION","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893456300000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4900-7c39-8a71-3f285a8328ca','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca","evaluated_at":"2030-01-01T00:20:00Z","idempotency_key":"retry:a88811d97eb7d83496d62c38385d32a291d93167ec42e8ccca0f09732761f882","signals_after":9,"signals_until":32},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4964-71f0-89c9-abd9bbe0d980','mini-chat','usage_snapshot','acme/01a1ecca-4900-7c39-8a71-3f285a8328ca/01a1ecca-4900-7c39-8a71-3f285a8328ca',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca","reserved_at":"2030-01-01T00:20:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:20:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-4900-7c39-8a71-3f285a8328ca"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-4775-754c-9868-6f85b43c6d41','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-47ce-79f0-acde-46186b521f11','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-49c7-76a6-b917-ac7496baaa68','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893457800000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4813-7b8b-ab7c-ef83a25e6a4b','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893456000000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-49bd-7475-87a1-3e3b3f5eaca2','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-49f1-74ac-b26e-87aa29425b1b','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4a69-76c7-afdb-7599bf7738ac','watchkeeper','schedule.slice',NULL,NULL,'{"after":"","fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4a9d-7066-8df8-3107afa1e116','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-4b1e-7cb7-b34f-651aa3154266','watchkeeper','action.requested',NULL,NULL,'{"detail":{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","attempt":1,"data":{},"idempotency_key":"01a1ecca-48e0-7065-af03-f8a8388ccc54/step-1","intent_id":"01a1ecca-48f8-7079-892d-02ef27536a87","objective":"Keep the customer through the coming renewal","plan_id":"01a1ecca-48e0-7065-af03-f8a8388ccc54","plan_type":"RENEWAL_DEFENSE","source":"plan","step_id":"step-1","tenant_id":"acme"},"detail-type":"ACTION_REQUESTED","source":"watchkeeper"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
CREATE TABLE plan_cycles (
    tenant_id TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id)
);
INSERT INTO "plan_cycles" VALUES('acme',1893546000000000);
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
INSERT INTO "plan_steps" VALUES('acme','01a1ecca-48e0-7065-af03-f8a8388ccc54','step-1','REQUEST_RENEWAL_MEETING',0,1,'[]','{}','DONE',1,0,NULL,NULL);
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
INSERT INTO "plans" VALUES('acme','01a1ecca-48e0-7065-af03-f8a8388ccc54','ann','RENEWAL_DEFENSE','Keep the customer through the coming renewal','COMPLETED','{}','{}','caller',NULL,1893456000000000,'python',1896048000000000,1893456000000000,'ann',1,1893456300000000,1893459600000000,'all_steps_done',NULL,NULL,1);
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
    due_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id)
);
INSERT INTO "pull_ticks" VALUES('acme',1893465486000000);
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
INSERT INTO "pulls" VALUES('acme','pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750','01a1ecca-48d5-7687-a778-73780f970ddc','ann','crm',1,3,'manual','SUCCEEDED',1893456000000000,1893456300000000,1893456300000000,1,NULL,1893542400000000);
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
CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;
INSERT INTO "reservations" VALUES('acme','01a1ecca-4741-705b-a074-a36cdab97279','01a1ecca-4741-7be3-bffe-714e65ce7264','8bfb31fb',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-4837-7b4e-9d49-b54715114d24','01a1ecca-4837-749b-83e2-0cf7e6eee9c2','dc183bd6',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-4863-7a9d-8318-f2d226f7e64b','01a1ecca-4863-7fcf-af4d-44f117c46e3e','c45beb46',1893542400000000);
INSERT INTO "reservations" VALUES('acme','2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0','01a1ecca-4900-740c-afd9-7f2f1168550f','e5317ac9',1893542700000000);
INSERT INTO "reservations" VALUES('acme','account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1','01a1ecca-4851-78bc-a3a3-8960f07ff090','b94b280d',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237','01a1ecca-4875-76bd-9fc1-b43609430b66','aaa48f09',1893542400000000);
INSERT INTO "reservations" VALUES('acme','retry:a88811d97eb7d83496d62c38385d32a291d93167ec42e8ccca0f09732761f882','01a1ecca-4900-7c39-8a71-3f285a8328ca','ab96c2ed',1893543600000000);
INSERT INTO "reservations" VALUES('acme','soon','01a1ecca-4889-7f6f-b8ff-0cfe73996c46','ab96c2ed',1893542400000000);
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
INSERT INTO "runs" VALUES('acme','01a1ecca-4741-7be3-bffe-714e65ce7264','cyd','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-4837-749b-83e2-0cf7e6eee9c2','ann','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-4863-7fcf-af4d-44f117c46e3e','bob','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-4900-7c39-8a71-3f285a8328ca','ann','SIGNAL_ARRIVED','SUCCEEDED',1893457200000000,1893457200000000,NULL,NULL);
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
INSERT INTO "signals" VALUES('acme','01a1ecca-4741-705b-a074-a36cdab97279','cyd','mail.received',1893456000000000,1893456000000000,2,NULL,'{}');
INSERT INTO "signals" VALUES('acme','01a1ecca-4837-7b4e-9d49-b54715114d24','ann','mail.received',1893456000000000,1893456000000000,9,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','01a1ecca-4863-7a9d-8318-f2d226f7e64b','bob','mail.received',1893456000000000,1893456000000000,13,NULL,'{"n":1}');
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
INSERT INTO "tenants" VALUES('acme',NULL,NULL,1893456000000000,1893456000000000,525960,'{"SIGNAL_ARRIVED":4}',21915,4,39);
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
INSERT INTO "turns" VALUES('acme','01a1ecca-4741-7be3-bffe-714e65ce7264','01a1ecca-4741-7be3-bffe-714e65ce7264',NULL,'01a1ecca-4741-7be3-bffe-714e65ce7264',0,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-47a9-764c-9c8b-d305786c9aca','actual',9,8,165,165,0,'01a1ecca-47a9-72d0-a1c2-6cf0979b3403',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-4837-749b-83e2-0cf7e6eee9c2','01a1ecca-4837-749b-83e2-0cf7e6eee9c2',NULL,'01a1ecca-4837-749b-83e2-0cf7e6eee9c2',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-48ad-7dab-88ad-c057da004d70','actual',9,8,165,165,0,'01a1ecca-48ad-7097-9c68-ae98bed88ef9',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-4863-7fcf-af4d-44f117c46e3e','01a1ecca-4863-7fcf-af4d-44f117c46e3e',NULL,'01a1ecca-4863-7fcf-af4d-44f117c46e3e',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-48ad-7a3d-8d75-4158053f5dfc','actual',9,8,165,165,0,'01a1ecca-48ad-7267-8e3d-aee0a8360e01',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-4900-7c39-8a71-3f285a8328ca','01a1ecca-4900-7c39-8a71-3f285a8328ca',NULL,'01a1ecca-4900-7c39-8a71-3f285a8328ca',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893457200000000,'completed',1893457200000000,1893457200000000,1893457500000000,1893457200000000,'run','01a1ecca-4964-71bb-8b0c-d9159bf6b8d4','actual',9,8,165,165,0,'01a1ecca-4964-71f0-89c9-abd9bbe0d980',NULL,NULL);
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
COMMIT;
