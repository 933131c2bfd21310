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
INSERT INTO "alembic_version" VALUES('0007');
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
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-6c5d-7826-a377-942a668a8054/01a1ecca-6c5d-7826-a377-942a668a8054','01a1ecca-6dd9-71d0-997f-bd55d2cdc4da',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-6e17-74e0-a7da-7a48278816d7/01a1ecca-6e17-74e0-a7da-7a48278816d7','01a1ecca-6ea9-70c6-b8b1-0e591a77fdb2',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-6e2d-7fc1-a386-fd890ffb5d87/01a1ecca-6e2d-7fc1-a386-fd890ffb5d87','01a1ecca-6ea9-74ba-b9e4-c18a2bb98b6b',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-6f6a-72d3-b51c-44f726dc1e3a/01a1ecca-6f6a-72d3-b51c-44f726dc1e3a','01a1ecca-6fd5-7354-87ef-e04e6f77ae52',1893457200000000);
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
INSERT INTO "intents" VALUES('acme','01a1ecca-6f4e-7fc9-947a-f0e1f59edb21','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a','step-1',1,'ann','REQUEST_RENEWAL_MEETING','SUCCEEDED',1893456300000000,1893546000000000,'REQUIRE_APPROVAL','APPROVE_EACH','autonomy.mode','every action is asked for',1893459600000000,'ann',1893459600000000,1893459600000000,NULL,0,'01a1ecca-71fd-7925-a13d-58376ee949d7');
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
INSERT INTO "ledger" VALUES('_system',1,'01a1ecca-6c2e-73ac-823d-389d69cd127a',1893456000000000,'perceive','connector.set','crm',NULL,0,NULL,NULL,NULL,'{"by":"app","set":{"has_cadence":true}}');
INSERT INTO "ledger" VALUES('acme',1,'01a1ecca-6c69-7918-ae0f-09e534ca2c08',1893456000000000,'system','tenant.created','acme',NULL,0,NULL,NULL,NULL,'{"installed_at":1893456000000000,"name":null,"tier":null}');
INSERT INTO "ledger" VALUES('acme',2,'01a1ecca-6c5d-7826-a377-942a668a8054',1893456000000000,'decide','verdict','cyd',NULL,0,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"cyd","idempotency_key":"01a1ecca-6c5d-7ebc-84e7-cccbbfbf833d","signal_id":"01a1ecca-6c5d-7ebc-84e7-cccbbfbf833d","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f","version":0},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":0,"day_runs":0,"hour":0,"hour_runs":0,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',3,'01a1ecca-6c7b-7a07-94ce-80b03f4fa32f',1893456000000000,'perceive','heat.tier_changed','cyd',NULL,0,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',4,'01a1ecca-6d0f-70b0-b540-757127e40e4a',1893456000000000,'settle','turn.reserved','01a1ecca-6c5d-7826-a377-942a668a8054','01a1ecca-6c5d-7826-a377-942a668a8054',0,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-6c5d-7826-a377-942a668a8054","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-6c5d-7826-a377-942a668a8054","turn_id":"01a1ecca-6c5d-7826-a377-942a668a8054"},"effective_model":"premium","levels":[["","daily","total",0,0],["","daily","tier:premium",0,0],["","monthly","total",0,0],["","monthly","tier:premium",0,0]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',5,'01a1ecca-6dd9-7cfe-ae0a-b6be252087de',1893456000000000,'decide','run.ended','cyd',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-6c5d-7826-a377-942a668a8054","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',6,'01a1ecca-6dd9-7544-9311-11da45da821e',1893456000000000,'settle','turn.settled','01a1ecca-6c5d-7826-a377-942a668a8054','01a1ecca-6c5d-7826-a377-942a668a8054',0,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-6c5d-7826-a377-942a668a8054","ended_by":"run","event_id":"01a1ecca-6dd9-71d0-997f-bd55d2cdc4da","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('_system',2,'01a1ecca-6ded-7742-bf5c-c40496ca7e20',1893456000000000,'system','policy.applied','1',NULL,1,NULL,NULL,NULL,'{"author":"python","changes":[{"after":1200,"before":300,"path":"triggers.SIGNAL_ARRIVED.cooldown_seconds"}],"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","reason":"quieter","version":1}');
INSERT INTO "ledger" VALUES('acme',7,'01a1ecca-6dfe-7bc1-afef-581e8fd7e699',1893456000000000,'decide','schedule.set','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"catch_up":"fire_once","cron":"0 * * * *","generation":1,"next_fire_at":1893459600000000,"spread_seconds":null,"timezone":"UTC"}');
INSERT INTO "ledger" VALUES('acme',8,'01a1ecca-6e05-76a0-aa34-c9712249823a',1893456000000000,'system','kill_switch.set','trigger:POSTURE_CHANGE',NULL,0,NULL,NULL,NULL,'{"id":"POSTURE_CHANGE","on":true,"reason":"too many","scope":"trigger","set_by":"python"}');
INSERT INTO "ledger" VALUES('acme',9,'01a1ecca-6e17-74e0-a7da-7a48278816d7',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"01a1ecca-6e17-7dea-8896-69134b041b35","signal_id":"01a1ecca-6e17-7dea-8896-69134b041b35","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":1,"hour":525960,"hour_runs":1,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',10,'01a1ecca-6e1d-7621-87af-de7fd5e76ebd',1893456000000000,'perceive','heat.tier_changed','ann',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',11,'01a1ecca-6e2b-75b4-865b-b7a1658da6b3',1893456000000000,'decide','account.changed','ann',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',12,'01a1ecca-6e2b-757e-a8b3-1fb728ecb0df',1893456000000000,'decide','verdict','ann',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"ann","idempotency_key":"account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',13,'01a1ecca-6e2d-7fc1-a386-fd890ffb5d87',1893456000000000,'decide','verdict','bob',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"bob","idempotency_key":"01a1ecca-6e2d-7a11-a6a1-2960c97a822e","signal_id":"01a1ecca-6e2d-7a11-a6a1-2960c97a822e","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":2,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',14,'01a1ecca-6e2d-7fcd-aafd-a32b5f66b388',1893456000000000,'perceive','heat.tier_changed','bob',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',15,'01a1ecca-6e4d-7408-8e2b-01c380d02e80',1893456000000000,'decide','account.changed','bob',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',16,'01a1ecca-6e4d-7f87-8813-4a20c471a3a7',1893456000000000,'decide','verdict','bob',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"bob","idempotency_key":"account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',17,'01a1ecca-6e5f-75db-bf93-3b1a1b6d6b1e',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','SKIP','DEBOUNCED','{"engine":1,"event":{"account_id":"ann","idempotency_key":"soon","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"reason":"DEBOUNCED","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',18,'01a1ecca-6e95-713a-a1e9-8883e7f36a59',1893456000000000,'settle','turn.reserved','01a1ecca-6e17-74e0-a7da-7a48278816d7','01a1ecca-6e17-74e0-a7da-7a48278816d7',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7","turn_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7"},"effective_model":"premium","levels":[["","daily","total",0,165],["","daily","tier:premium",0,165],["","monthly","total",0,165],["","monthly","tier:premium",0,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',19,'01a1ecca-6e95-71c1-aa1c-1042c8163a7c',1893456000000000,'settle','turn.reserved','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87","turn_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87"},"effective_model":"premium","levels":[["","daily","total",650,165],["","daily","tier:premium",650,165],["","monthly","total",650,165],["","monthly","tier:premium",650,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',20,'01a1ecca-6ea9-74f3-bb47-0fc21d9330e6',1893456000000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',21,'01a1ecca-6ea9-742e-91a2-f391ace5f0a4',1893456000000000,'decide','run.ended','bob',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',22,'01a1ecca-6eaa-733b-9c1c-c23694f9d183',1893456000000000,'settle','turn.settled','01a1ecca-6e17-74e0-a7da-7a48278816d7','01a1ecca-6e17-74e0-a7da-7a48278816d7',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7","ended_by":"run","event_id":"01a1ecca-6ea9-70c6-b8b1-0e591a77fdb2","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',23,'01a1ecca-6eaa-7c08-911a-7b6eb75aa9df',1893456000000000,'settle','turn.settled','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87","ended_by":"run","event_id":"01a1ecca-6ea9-74ba-b9e4-c18a2bb98b6b","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',24,'01a1ecca-6efa-7acb-9155-3da414e65b8e',1893456000000000,'perceive','pull_budget.set','acme',NULL,0,NULL,NULL,NULL,'{"budget":{"connectors":{},"total":100},"by":"python"}');
INSERT INTO "ledger" VALUES('acme',25,'01a1ecca-6f05-7824-9a49-b134d4019c3e',1893456000000000,'perceive','pull.decided','ann',NULL,1,NULL,'SCHEDULED',NULL,'{"connector_id":"crm","depth":"DEEP","expires_at":1893542400000000,"message_id":"01a1ecca-6f04-7bc7-9bc5-5239e18a814c","origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","remaining":97,"tier":"WARM","units":3}');
INSERT INTO "ledger" VALUES('acme',26,'01a1ecca-6f08-7100-84a3-7401cee98143',1893456000000000,'act','PLAN_CREATED','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a',NULL,1,NULL,'DRAFT',NULL,'{"account_id":"ann","by":"python","objective":"Keep the customer through the coming renewal","plan_id":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a","plan_type":"RENEWAL_DEFENSE","steps":[{"action_type":"REQUEST_RENEWAL_MEETING","dependencies":[],"sequence":1,"step_id":"step-1"}]}');
INSERT INTO "ledger" VALUES('acme',27,'01a1ecca-6f15-73a3-b9f8-aa3487cd67ac',1893456000000000,'act','PLAN_APPROVED','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a',NULL,1,NULL,'APPROVED',NULL,'{"account_id":"ann","by":"ann","is_person":true,"plan_id":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',28,'01a1ecca-6f4e-73e6-a107-9f8e1c83688c',1893456300000000,'act','PLAN_ACTIVATED','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","facts":[],"gate":{"approved_by":"ann","approved_by_person":true,"conflict":null,"facts":[],"posture":"at risk","risks":{"REQUEST_RENEWAL_MEETING":"low"},"steps":[["step-1","REQUEST_RENEWAL_MEETING",0,1]]},"plan_id":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"posture":"at risk"}');
INSERT INTO "ledger" VALUES('acme',29,'01a1ecca-6f4e-75a0-9cce-dc55f4638682',1893456300000000,'act','STEP_STARTED','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","approval":"REQUIRE_APPROVAL","approval_reason":"APPROVE_EACH","attempt":1,"clause":"autonomy.mode","intent_id":"01a1ecca-6f4e-7fc9-947a-f0e1f59edb21","plan_id":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a","plan_type":"RENEWAL_DEFENSE","policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"risk":"low","step_id":"step-1","used_today":0}');
INSERT INTO "ledger" VALUES('acme',30,'01a1ecca-6f6a-7f6d-a54d-927bb6f9ae44',1893456300000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','DEFER','COOLDOWN','{"engine":1,"event":{"account_id":"ann","idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","signal_id":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","trigger_type":"SIGNAL_ARRIVED"},"now":1893456300000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"defer_until":1893457200000000,"reason":"COOLDOWN","result":"DEFER"}}');
INSERT INTO "ledger" VALUES('acme',31,'01a1ecca-6f77-792d-b59d-53da09bb0914',1893456300000000,'perceive','pull.ended','ann',NULL,0,NULL,'SUCCEEDED',NULL,'{"connector_id":"crm","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","signals":1}');
INSERT INTO "ledger" VALUES('acme',32,'01a1ecca-6f6a-72d3-b51c-44f726dc1e3a',1893457200000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"retry:83110a8924b15797de37548cd6409f90c16b9285d40941d6e4cae2a483508504","retry_of":"01a1ecca-6f6a-7f6d-a54d-927bb6f9ae44","trigger_type":"SIGNAL_ARRIVED"},"now":1893457200000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{"SIGNAL_ARRIVED":[1893457200000000,"01a1ecca-6f6a-7f6d-a54d-927bb6f9ae44"]},"trigger":[1893456300000000,1893456300000000,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',33,'01a1ecca-6fc7-7605-a83b-6c22c51d3db1',1893457200000000,'settle','turn.reserved','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a","turn_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a"},"effective_model":"premium","levels":[["","daily","total",0,495],["","daily","tier:premium",0,495],["","monthly","total",0,495],["","monthly","tier:premium",0,495]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',34,'01a1ecca-6fd5-736a-866b-513f964137bb',1893457200000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',35,'01a1ecca-6fd6-7548-bfd1-a8f8f2f84c49',1893457200000000,'settle','turn.settled','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a","ended_by":"run","event_id":"01a1ecca-6fd5-7354-87ef-e04e6f77ae52","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',36,'01a1ecca-7135-7c09-8c05-950c78f9e104',1893459600000000,'decide','schedule.fired','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"scheduled_at":1893459600000000,"when":"2030-01-01T01:00:00Z"}');
INSERT INTO "ledger" VALUES('acme',37,'01a1ecca-71fd-77b2-b0ed-708a7367edff',1893459600000000,'act','INTENT_APPROVED','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"by":"ann","intent_id":"01a1ecca-6f4e-7fc9-947a-f0e1f59edb21","plan_id":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',38,'01a1ecca-725f-7232-9ac5-02acc13451fc',1893459600000000,'act','STEP_COMPLETED','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a',NULL,1,NULL,'ACTIVE',NULL,'{"account_id":"ann","attempt":1,"plan_id":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a","plan_type":"RENEWAL_DEFENSE","step_id":"step-1"}');
INSERT INTO "ledger" VALUES('acme',39,'01a1ecca-725f-79b6-bfb8-95ec128080b7',1893459600000000,'act','PLAN_COMPLETED','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a',NULL,1,NULL,'COMPLETED','all_steps_done','{"account_id":"ann","plan_id":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a","plan_type":"RENEWAL_DEFENSE"}');
INSERT INTO "ledger" VALUES('acme',40,'01a1ecca-7282-7bc7-9cca-98f0b8d5b321',1893459600000000,'report','report.generated','MANUAL',NULL,1,NULL,NULL,NULL,'{"last_seq":39,"trigger":"MANUAL","window":[1893456000000000,1893459600000000]}');
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
INSERT INTO "ledger_checkpoints" VALUES('acme','01a1ecca-72bc-7c11-a5b5-a18b535a91b8',40,'dea06546fe9236eeca3e0b7e4dca46095119476333edc35e926501e0f431f3b0',NULL,1893459600000000,'python');
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
INSERT INTO "ledger_seals" VALUES('_system',1,2,X'B467F9DE566D12B04F7A02F568530421A05E7D60C8186C3FBDBC72DF45340F7439241ABA2A3B854DF7D182A2B76BFC03FC5F49EA72556B56E7ED6A1B19942253',1893459600000000);
INSERT INTO "ledger_seals" VALUES('acme',1,40,X'3EF091804D45668228B66B2DB66449ABE2F2B9016640AC7D034A770F7098F7936F65B96A359903F6FF3BF131D4EDFE28E02010C47EAACB739B48DC48F38B5A2A02C4CEFADFCC568ECABD5654F91365EDB64C0A28DB663777486AEAD422055D69A6609667D17EFBD1506CD8651A1E00790A6A4D450E963F27157F41ADF42274227BDAEF1BEBF6223A4C659A96813C5FA97FAD962A305515E7A45403F3C00E046151826A019C6AEAAD5108B811021D7BD7C87DB1299A5E4F0924481B68811BD3D4ADF22D2D0763F1B9A70657F878C73121C2DFD7DA270D6499392EFC985646CBF51311A5618DCCA1C8A7A35A58D556131EED54574FB8B47C8E6AA40F1067B6D9D880AA29EA83E145278564F3FF69E02EE3752D4B0A466D664EC488BAA45834EFB6817480B31CB5F7F4DED2DF1B0B9CAA09E8D23CE380816D5196A24CA2355EED6CEE578247710CE1C650B4F12E60F782A07601446454A2C2F49248279408E6CCB30713995DFC66A4C6FBA71806241F615A590F9BEC4ACBAFDFCCBCB6B36BC2A944E45D1D02A170E7A163294319BCD1CA124BEB074AAF0C4CAD0EFE58BEA93B6ED977AD1B9E4D3F93805FF7118D7BFF030197594CF0FF421FC16A09D77E96811C39035AD89E0AE19E5EC739470F956954EB1B91601E934CD40800DD01476CBC7237EE40703368615516D015AA9910F0DC1097E8876A8167661D7A3CC7205D94844F315B0ECC8DF5A70BB1980669936FB9223C024290BA23823DB10F5D481A914CDD09CE6FF1969EFC0EFB20B5AADC69B92774D0BA8BA56410561F7A1359863619E0D9BBAF630C7FB4F5C46E119A7903F5201157D49E0354A3108B6183F343F87383D0C9A7B6A6C605C57113F4A1B08CD38E81AE293C74631D354A712743B3042135540A2E9715726954E6135661168F86590266114A2B57B6426276D7B3DEAEBFD20C159913204FD0ADC4A7DB7D3FE00AF66E026AE2667461D189F67EC2F80257400F4EEBC006246CC6C9A0863EDFD648F085F15C56418671203F39BA1E403B79E73CCAEA8D8B87D57E6D15999D298F3856952862C25A1F10DD3290F2C50E241E057594CD8DE4E070BF5CBF25490391A3D8111EBCD4F50A7B730ED6926E4180C6C9C4B3D09460F8565EF3B1DC81E4332F1005C3981485BAB47CFF75BFB50755DCF5F59D501A5D42C39CDCFAB814F1EBDB2DBE507030ADA7389C8811EE86B250754D50B03C2410E905B749172D77AB43184DFBD7FDD4C98B7A6F94BAAF8DED581DD49B352BD3244E162B3B9D930AA502F756E5AA988C17D446B8F8ACA9E43B0DD71A21B64302E3E4524D38160A1095270A88CD3542E2912FD49D4BE5D1353A06301C35E19962F762CEAE2EE29BFA3FC7A5F7F4CAA90166FE9C964CE15E62D90FAC2661D372F57041E2BBE11EB2775C5222D259CC6C41F69DB295958E953DC273CF25CD53D868477B8E9CC140751E292CAB44A5A23C9E0F9A2AD8DBA25E2C0C4DB05457F233A307260775C4D388AAC87EDB778A3FF5DB5864C83126319986A5E8BD7FD84DE3B9612F5DB031A7E7997E587633FC0D1D2934A6EC6519DEF7876AE492546A152C8AC985D1FF99243065050A97060E07EE8DDBBAE1869C584A9CF5AEC7899DA3293F2809750A2E2A093FF855791EE3F4E10793A8C545C15A2E5C95E462C6B69DE8A39583887FEF94B82AA86032D0EF7104AD5E1F4B5963D2DFFCF6DB9E5A07396159B01746CDF9A317907F6CE2952F7020E987E504203301677ED672DAF2DEA06546FE9236EECA3E0B7E4DCA46095119476333EDC35E926501E0F431F3B0',1893459600000000);
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
INSERT INTO "outbox" VALUES(3,'acme','01a1ecca-6c69-7808-bd23-af829aa53301','watchkeeper','milestone.tick',NULL,NULL,'{"due_at":1893499200000000}','pending',0,0,1893499200000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(13,'acme','01a1ecca-6e2d-7139-8b90-8086899f5d29','watchkeeper','pull.tick',NULL,NULL,'{"due_at":1893465486000000}','pending',0,0,1893465486000000,0,0,NULL,NULL,NULL,NULL,1893456000000000,1893456000000000,NULL);
INSERT INTO "outbox" VALUES(19,'acme','01a1ecca-7135-7fef-9912-42df4a01a5d6','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893463200000000,"generation":1,"schedule_id":"brief"}','pending',0,0,1893463200000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(21,'_system','01a1ecca-7159-76dc-9400-973af9cf88dc','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(23,'acme','01a1ecca-71a9-7ec9-90ee-858b30376ff8','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"ann","idempotency_key":"87ab13628cbafa4578e1e7f45a1db6178390380e3a38c1658b9ee04c18426006","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459747000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(24,'acme','01a1ecca-71a9-7b68-8ea4-d87487b6cf53','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"bob","idempotency_key":"ec45c35fdfef73e6e1fad69d9240b944456d5696ef70ee6658d9ade150973c1a","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459704000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(25,'acme','01a1ecca-71a9-720e-b713-c1e0a1402ca0','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"cyd","idempotency_key":"9cb83f09950d1128a057f39b68b722c432642618af13951a1625b9d43b1bc25b","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459745000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(26,'acme','01a1ecca-71d9-7742-a5d4-fce2c49f3549','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893461400000000}','pending',0,0,1893461400000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(28,'acme','01a1ecca-71fe-7e75-bb39-91fdd623dbbd','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893546000000000}','pending',0,0,1893546000000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
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
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6c69-7bc8-8868-a048d06bb2d2','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-6c36-7750-b15b-f74727e2e560','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6c5d-7826-a377-942a668a8054','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"cyd","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-6c5d-7826-a377-942a668a8054","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-6c5d-7ebc-84e7-cccbbfbf833d","signals_after":0,"signals_until":2},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6cbd-7ca9-8704-84bb21fee3a3','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6dd9-71d0-997f-bd55d2cdc4da','mini-chat','usage_snapshot','acme/01a1ecca-6c5d-7826-a377-942a668a8054/01a1ecca-6c5d-7826-a377-942a668a8054',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-6c5d-7826-a377-942a668a8054","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":0,"request_id":"01a1ecca-6c5d-7826-a377-942a668a8054","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-6c5d-7826-a377-942a668a8054"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6e17-74e0-a7da-7a48278816d7','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-6e17-7dea-8896-69134b041b35","signals_after":0,"signals_until":9},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"bob","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-6e2d-7a11-a6a1-2960c97a822e","signals_after":0,"signals_until":13},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6ea9-70c6-b8b1-0e591a77fdb2','mini-chat','usage_snapshot','acme/01a1ecca-6e17-74e0-a7da-7a48278816d7/01a1ecca-6e17-74e0-a7da-7a48278816d7',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-6e17-74e0-a7da-7a48278816d7"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6ea9-74ba-b9e4-c18a2bb98b6b','mini-chat','usage_snapshot','acme/01a1ecca-6e2d-7fc1-a386-fd890ffb5d87/01a1ecca-6e2d-7fc1-a386-fd890ffb5d87',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-6e2d-7fc1-a386-fd890ffb5d87"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6f16-743f-aa7d-70033f33925c','watchkeeper','plan.cycle',NULL,NULL,'{"due_at":1893456000000000}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6f04-7bc7-9bc5-5239e18a814c','watchkeeper','pull.requested',NULL,NULL,'{"detail":{"account_id":"ann","budget_remaining":97,"connector_id":"crm","depth":"DEEP","depth_units":3,"origin":"manual","pull_job_id":"pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750","scheduled_at":"2030-01-01T00:00:00Z","tenant_id":"acme"},"detail-type":"PULL_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456300000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6f6a-72d3-b51c-44f726dc1e3b','watchkeeper','decision.retry',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","idempotency_key":"retry:83110a8924b15797de37548cd6409f90c16b9285d40941d6e4cae2a483508504","due_at":"2030-01-01T00:20:00Z","moved":false,"original_idempotency_key":"2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0","retry_of":"01a1ecca-6f6a-7f6d-a54d-927bb6f9ae44"},"detail-type":"RUN_DECISION","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893456300000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a","evaluated_at":"2030-01-01T00:20:00Z","idempotency_key":"retry:83110a8924b15797de37548cd6409f90c16b9285d40941d6e4cae2a483508504","signals_after":9,"signals_until":32},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6fd5-7354-87ef-e04e6f77ae52','mini-chat','usage_snapshot','acme/01a1ecca-6f6a-72d3-b51c-44f726dc1e3a/01a1ecca-6f6a-72d3-b51c-44f726dc1e3a',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a","reserved_at":"2030-01-01T00:20:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:20:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-6f6a-72d3-b51c-44f726dc1e3a"}',1,0,1893457200000000,NULL,1893457200000000,1893457200000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-6cd9-702b-bd8c-03f00e17c934','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6ddd-77e1-b477-0663823abf5b','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893456000000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7055-7c92-9ee7-f8246dbc9110','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893457800000000}',1,0,1893457800000000,NULL,1893457800000000,1893457800000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-6dfe-7ffa-b3d7-7061c3102f89','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893456000000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('_system','01a1ecca-7041-7d25-9f07-7fc0e4ac12c7','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7090-70dc-9816-5a4a1e3f88de','watchkeeper','heat.sweep',NULL,NULL,'{"after":"","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893457800000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-7135-73f9-aef1-98d0fdf92ed3','watchkeeper','schedule.slice',NULL,NULL,'{"after":"","fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-716d-732f-bde8-9a643b72a02b','watchkeeper','heat.sweep',NULL,NULL,'{"after":"cyd","round_at":1893459600000000}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-71fd-7925-a13d-58376ee949d7','watchkeeper','action.requested',NULL,NULL,'{"detail":{"account_id":"ann","action_type":"REQUEST_RENEWAL_MEETING","attempt":1,"data":{},"idempotency_key":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a/step-1","intent_id":"01a1ecca-6f4e-7fc9-947a-f0e1f59edb21","objective":"Keep the customer through the coming renewal","plan_id":"01a1ecca-6f09-7235-ac97-0bc7baf8bc7a","plan_type":"RENEWAL_DEFENSE","source":"plan","step_id":"step-1","tenant_id":"acme"},"detail-type":"ACTION_REQUESTED","source":"watchkeeper"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
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
INSERT INTO "plan_steps" VALUES('acme','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a','step-1','REQUEST_RENEWAL_MEETING',0,1,'[]','{}','DONE',1,0,NULL,NULL);
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
INSERT INTO "plans" VALUES('acme','01a1ecca-6f09-7235-ac97-0bc7baf8bc7a','ann','RENEWAL_DEFENSE','Keep the customer through the coming renewal','COMPLETED','{}','{}','caller',NULL,1893456000000000,'python',1896048000000000,1893456000000000,'ann',1,1893456300000000,1893459600000000,'all_steps_done',NULL,NULL,1);
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
INSERT INTO "pulls" VALUES('acme','pull:68e13d11cb70a864ae96bfb396b7962eab1a7a3b0365cc61be09eb5f7c968750','01a1ecca-6f04-7bc7-9bc5-5239e18a814c','ann','crm',1,3,'manual','SUCCEEDED',1893456000000000,1893456300000000,1893456300000000,1,NULL,1893542400000000);
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
INSERT INTO "reports" VALUES('acme','01a1ecca-7282-7bc7-9cca-98f0b8d5b321','MANUAL',1893456000000000,1893459600000000,39,'{"collected":{"connectors":[{"connector_id":"crm","pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"sum of signals over ledger entries of kind pull.ended, repeats included","unit":"signals","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}}],"pulls":{"how":"ledger entries of kind pull.decided with the result SCHEDULED","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"signals":{"how":"ledger entries of kind verdict that tell of a signal, repeats left out","unit":"signals","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"units":{"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","unit":"units","value":3,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}},"coverage":[{"connector_id":"crm","pulls":[{"count":{"how":"ledger entries of kind pull.decided, by result and reason","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SCHEDULED","name":null},{"count":{"how":"ledger entries of kind pull.ended, by result","unit":"pulls","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"reason":"pulls succeeded, and none failed","state":"AVAILABLE"}],"forecast":{"needed":{"how":"policy value reports.forecast_min_hours, in seconds","unit":"seconds","value":21600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"observed":{"how":"length of the window","unit":"seconds","value":3600,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"statement":"not enough observation"},"format":1,"generated_at":"2030-01-01T01:00:00Z","header":{"entries":{"how":"entries of the ledger, of every kind","unit":"entries","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"generated_at":"2030-01-01T01:00:00Z","installed_at":"2030-01-01T00:00:00Z","last_entry":{"how":"place of the newest entry of the ledger that was counted","unit":"place","value":39,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"policy_version":1,"report_id":"01a1ecca-7282-7bc7-9cca-98f0b8d5b321","tenant_id":"acme","tenant_name":null,"trigger":"MANUAL","window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"},"window_from":"the installation"},"observations":{"credits_settled":{"how":"sum of charged_micro over ledger entries of kind turn.settled","unit":"micro-credits","value":660,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"decisions":[{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"ALLOW","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"COOLDOWN","label":"DEFER","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"DEBOUNCED","label":"SKIP","name":null},{"count":{"how":"ledger entries of kind verdict, by result and reason","unit":"entries","value":2,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"KILL_SWITCH","label":"SKIP","name":null}],"events_dead":[],"events_delivered":[{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"mini-chat/usage_snapshot"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/action.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.evaluation_requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/decision.retry"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":6,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/heat.sweep"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/plan.cycle"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/pull.requested"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.due"},{"count":{"how":"messages that stand as delivered in the outbox, and those removed since","unit":"messages","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"DELIVERED","name":"watchkeeper/schedule.slice"}],"plans":[{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_ACTIVATED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_APPROVED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about plans","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"PLAN_CREATED","name":null}],"runs":[{"count":{"how":"ledger entries of kind run.ended, by result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"SUCCEEDED","name":null}],"steps":[{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_COMPLETED","name":null},{"count":{"how":"ledger entries of the kind itself, about steps","unit":"entries","value":1,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"STEP_STARTED","name":null}],"turns":[{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":null,"label":"turn.reserved","name":null},{"count":{"how":"ledger entries about turns, by kind and result","unit":"entries","value":4,"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},"detail":"completed","label":"turn.settled","name":null}]},"report_id":"01a1ecca-7282-7bc7-9cca-98f0b8d5b321","series":[{"bucket_seconds":3600,"how":"ledger entries of kind verdict that tell of a signal, repeats left out","label":null,"of":"signals","starts_at":"2030-01-01T00:00:00Z","unit":"signals","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"pulls","starts_at":"2030-01-01T00:00:00Z","unit":"pulls","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of units over ledger entries of kind pull.decided with the result SCHEDULED","label":null,"of":"units","starts_at":"2030-01-01T00:00:00Z","unit":"units","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"ALLOW","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"DEFER","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[1,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind verdict, by result and reason","label":"SKIP","of":"decisions","starts_at":"2030-01-01T00:00:00Z","unit":"decisions","values":[3,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind run.ended, by result","label":null,"of":"runs ended","starts_at":"2030-01-01T00:00:00Z","unit":"runs","values":[4,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"sum of charged_micro over ledger entries of kind turn.settled","label":null,"of":"credits settled","starts_at":"2030-01-01T00:00:00Z","unit":"micro-credits","values":[660,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}},{"bucket_seconds":3600,"how":"ledger entries of kind message.dead, by reason and topic","label":null,"of":"events dead","starts_at":"2030-01-01T00:00:00Z","unit":"messages","values":[0,0],"window":{"since":"2030-01-01T00:00:00Z","until":"2030-01-01T01:00:00Z"}}],"tenant_id":"acme","trigger":"MANUAL"}');
CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;
INSERT INTO "reservations" VALUES('acme','01a1ecca-6c5d-7ebc-84e7-cccbbfbf833d','01a1ecca-6c5d-7826-a377-942a668a8054','8bfb31fb',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-6e17-7dea-8896-69134b041b35','01a1ecca-6e17-74e0-a7da-7a48278816d7','dc183bd6',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-6e2d-7a11-a6a1-2960c97a822e','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87','c45beb46',1893542400000000);
INSERT INTO "reservations" VALUES('acme','2e9cc3e1a1cb087327e1bd7c869afcd21bd5bb286e460d91d5c9ceb860485daf:0','01a1ecca-6f6a-7f6d-a54d-927bb6f9ae44','e5317ac9',1893542700000000);
INSERT INTO "reservations" VALUES('acme','account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1','01a1ecca-6e2b-757e-a8b3-1fb728ecb0df','b94b280d',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237','01a1ecca-6e4d-7f87-8813-4a20c471a3a7','aaa48f09',1893542400000000);
INSERT INTO "reservations" VALUES('acme','retry:83110a8924b15797de37548cd6409f90c16b9285d40941d6e4cae2a483508504','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a','ab96c2ed',1893543600000000);
INSERT INTO "reservations" VALUES('acme','soon','01a1ecca-6e5f-75db-bf93-3b1a1b6d6b1e','ab96c2ed',1893542400000000);
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
INSERT INTO "runs" VALUES('acme','01a1ecca-6c5d-7826-a377-942a668a8054','cyd','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-6e17-74e0-a7da-7a48278816d7','ann','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87','bob','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a','ann','SIGNAL_ARRIVED','SUCCEEDED',1893457200000000,1893457200000000,NULL,NULL);
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
INSERT INTO "signals" VALUES('acme','01a1ecca-6c5d-7ebc-84e7-cccbbfbf833d','cyd','mail.received',1893456000000000,1893456000000000,2,NULL,'{}');
INSERT INTO "signals" VALUES('acme','01a1ecca-6e17-7dea-8896-69134b041b35','ann','mail.received',1893456000000000,1893456000000000,9,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','01a1ecca-6e2d-7a11-a6a1-2960c97a822e','bob','mail.received',1893456000000000,1893456000000000,13,NULL,'{"n":1}');
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
INSERT INTO "turns" VALUES('acme','01a1ecca-6c5d-7826-a377-942a668a8054','01a1ecca-6c5d-7826-a377-942a668a8054',NULL,'01a1ecca-6c5d-7826-a377-942a668a8054',0,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-6dd9-7999-a043-cd7cf5ab3f0a','actual',9,8,165,165,0,'01a1ecca-6dd9-71d0-997f-bd55d2cdc4da',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-6e17-74e0-a7da-7a48278816d7','01a1ecca-6e17-74e0-a7da-7a48278816d7',NULL,'01a1ecca-6e17-74e0-a7da-7a48278816d7',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-6ea9-7be2-8b68-88ca159675ea','actual',9,8,165,165,0,'01a1ecca-6ea9-70c6-b8b1-0e591a77fdb2',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87','01a1ecca-6e2d-7fc1-a386-fd890ffb5d87',NULL,'01a1ecca-6e2d-7fc1-a386-fd890ffb5d87',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-6ea9-710d-8f37-3221822a7ced','actual',9,8,165,165,0,'01a1ecca-6ea9-74ba-b9e4-c18a2bb98b6b',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a','01a1ecca-6f6a-72d3-b51c-44f726dc1e3a',NULL,'01a1ecca-6f6a-72d3-b51c-44f726dc1e3a',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893457200000000,'completed',1893457200000000,1893457200000000,1893457500000000,1893457200000000,'run','01a1ecca-6fd5-7816-a520-d1d7eb706b34','actual',9,8,165,165,0,'01a1ecca-6fd5-7354-87ef-e04e6f77ae52',NULL,NULL);
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
