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
INSERT INTO "accounts" VALUES('acme','ann','at risk',NULL,'{}',1,1893456000000000,9,0,'{"SIGNAL_ARRIVED":[1893456000000000,null,525960,1]}','{}',1893456000000000,1893456000000000);
INSERT INTO "accounts" VALUES('acme','bob','at risk',NULL,'{}',1,1893456000000000,13,0,'{"SIGNAL_ARRIVED":[1893456000000000,null,525960,1]}','{}',1893456000000000,1893456000000000);
INSERT INTO "accounts" VALUES('acme','cyd',NULL,NULL,'{}',0,1893456000000000,2,0,'{"SIGNAL_ARRIVED":[1893456000000000,null,525960,1]}','{}',1893456000000000,1893456000000000);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
INSERT INTO "alembic_version" VALUES('0002');
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
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-3c20-795e-a554-c3868fbc8ca2/01a1ecca-3c20-795e-a554-c3868fbc8ca2','01a1ecca-3c69-74f3-ab1a-cb4eb96f86c6',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-3cb1-7425-a37f-4dfad6b983c1/01a1ecca-3cb1-7425-a37f-4dfad6b983c1','01a1ecca-3cef-766d-9812-8214332d06d6',1893456000000000);
INSERT INTO "dedupe_keys" VALUES('acme','mini-chat','usage_snapshot','acme/01a1ecca-3ccb-74e7-9138-997d6e326c16/01a1ecca-3ccb-74e7-9138-997d6e326c16','01a1ecca-3cef-7699-827c-bd4a8cf16c39',1893456000000000);
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
INSERT INTO "ledger" VALUES('acme',1,'01a1ecca-3c2d-72ee-9088-bd047c5c9f2d',1893456000000000,'system','tenant.created','acme',NULL,0,NULL,NULL,NULL,'{"installed_at":1893456000000000,"name":null,"tier":null}');
INSERT INTO "ledger" VALUES('acme',2,'01a1ecca-3c20-795e-a554-c3868fbc8ca2',1893456000000000,'decide','verdict','cyd',NULL,0,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"cyd","idempotency_key":"01a1ecca-3c20-72e6-9b27-83c4e0a6d3e9","signal_id":"01a1ecca-3c20-72e6-9b27-83c4e0a6d3e9","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f","version":0},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":0,"day_runs":0,"hour":0,"hour_runs":0,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',3,'01a1ecca-3c33-7431-ae9a-5886a5c84b43',1893456000000000,'perceive','heat.tier_changed','cyd',NULL,0,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',4,'01a1ecca-3c58-777b-a135-d27b0608c971',1893456000000000,'settle','turn.reserved','01a1ecca-3c20-795e-a554-c3868fbc8ca2','01a1ecca-3c20-795e-a554-c3868fbc8ca2',0,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2","turn_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2"},"effective_model":"premium","levels":[["","daily","total",0,0],["","daily","tier:premium",0,0],["","monthly","total",0,0],["","monthly","tier:premium",0,0]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',5,'01a1ecca-3c69-78c7-9998-dc6973d5c4cf',1893456000000000,'decide','run.ended','cyd',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',6,'01a1ecca-3c6a-7077-8fba-21b1c2467072',1893456000000000,'settle','turn.settled','01a1ecca-3c20-795e-a554-c3868fbc8ca2','01a1ecca-3c20-795e-a554-c3868fbc8ca2',0,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2","ended_by":"run","event_id":"01a1ecca-3c69-74f3-ab1a-cb4eb96f86c6","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('_system',1,'01a1ecca-3c9a-7693-9859-89e3ab391346',1893456000000000,'system','policy.applied','1',NULL,1,NULL,NULL,NULL,'{"author":"python","changes":[{"after":1200,"before":300,"path":"triggers.SIGNAL_ARRIVED.cooldown_seconds"}],"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","reason":"quieter","version":1}');
INSERT INTO "ledger" VALUES('acme',7,'01a1ecca-3ca1-73f3-9c5d-958dff0ca28d',1893456000000000,'decide','schedule.set','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"catch_up":"fire_once","cron":"0 * * * *","generation":1,"next_fire_at":1893459600000000,"spread_seconds":null,"timezone":"UTC"}');
INSERT INTO "ledger" VALUES('acme',8,'01a1ecca-3ca6-73f0-ba44-e258b2c6ec7f',1893456000000000,'system','kill_switch.set','trigger:POSTURE_CHANGE',NULL,0,NULL,NULL,NULL,'{"id":"POSTURE_CHANGE","on":true,"reason":"too many","scope":"trigger","set_by":"python"}');
INSERT INTO "ledger" VALUES('acme',9,'01a1ecca-3cb1-7425-a37f-4dfad6b983c1',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"ann","idempotency_key":"01a1ecca-3cb1-7ee3-b459-56bfa3a237c3","signal_id":"01a1ecca-3cb1-7ee3-b459-56bfa3a237c3","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":1,"hour":525960,"hour_runs":1,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',10,'01a1ecca-3cb2-766c-ac86-a1e32b54fb06',1893456000000000,'perceive','heat.tier_changed','ann',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',11,'01a1ecca-3cbe-7e91-809d-d4fab3ac6879',1893456000000000,'decide','account.changed','ann',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',12,'01a1ecca-3cbe-7db1-9aa0-22c816a48311',1893456000000000,'decide','verdict','ann',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"ann","idempotency_key":"account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',13,'01a1ecca-3ccb-74e7-9138-997d6e326c16',1893456000000000,'decide','verdict','bob',NULL,1,'SIGNAL_ARRIVED','ALLOW',NULL,'{"engine":1,"event":{"account_id":"bob","idempotency_key":"01a1ecca-3ccb-72b9-ba19-ed121ab13de1","signal_id":"01a1ecca-3ccb-72b9-ba19-ed121ab13de1","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":null,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":2,"hour":525960,"hour_runs":2,"tier":null},"verdict":{"result":"ALLOW"}}');
INSERT INTO "ledger" VALUES('acme',14,'01a1ecca-3ccb-7751-b695-af9f27fc6cc1',1893456000000000,'perceive','heat.tier_changed','bob',NULL,1,NULL,'WARM',NULL,'{"entered_at":1893456000000000,"heat_micro":400000,"was":null}');
INSERT INTO "ledger" VALUES('acme',15,'01a1ecca-3cd7-730b-a8db-6afeefb2c1b8',1893456000000000,'decide','account.changed','bob',NULL,0,NULL,NULL,NULL,'{"changed":{"lifecycle_state":[null,null],"posture":[null,"at risk"]},"version":1}');
INSERT INTO "ledger" VALUES('acme',16,'01a1ecca-3cd7-7ce1-84e6-ee01a5791b81',1893456000000000,'decide','verdict','bob',NULL,1,'POSTURE_CHANGE','SKIP','KILL_SWITCH','{"engine":1,"event":{"account_id":"bob","idempotency_key":"account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237","trigger_type":"POSTURE_CHANGE"},"kill_switch":"trigger:POSTURE_CHANGE","now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":null},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":0,"tier":null},"verdict":{"reason":"KILL_SWITCH","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',17,'01a1ecca-3ce5-770a-b691-fb6014cea80c',1893456000000000,'decide','verdict','ann',NULL,1,'SIGNAL_ARRIVED','SKIP','DEBOUNCED','{"engine":1,"event":{"account_id":"ann","idempotency_key":"soon","trigger_type":"SIGNAL_ARRIVED"},"now":1893456000000000,"policy":{"hash":"2a2e74e44c001eba2d5495238a49a44008ab4223a56454d2b63c3560c28958ed","version":1},"state":{"last_allowed_at":1893456000000000,"last_run_was_retry":false,"pending":{},"trigger":[1893456000000000,null,525960,1]},"tenant":{"day":21915,"day_runs":3,"hour":525960,"hour_runs":3,"tier":null},"verdict":{"reason":"DEBOUNCED","result":"SKIP"}}');
INSERT INTO "ledger" VALUES('acme',18,'01a1ecca-3ced-7efb-93a6-d22f7ff86314',1893456000000000,'settle','turn.reserved','01a1ecca-3cb1-7425-a37f-4dfad6b983c1','01a1ecca-3cb1-7425-a37f-4dfad6b983c1',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1","turn_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1"},"effective_model":"premium","levels":[["","daily","total",0,165],["","daily","tier:premium",0,165],["","monthly","total",0,165],["","monthly","tier:premium",0,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',19,'01a1ecca-3ced-7363-a91c-11be791c4888',1893456000000000,'settle','turn.reserved','01a1ecca-3ccb-74e7-9138-997d6e326c16','01a1ecca-3ccb-74e7-9138-997d6e326c16',1,NULL,NULL,NULL,'{"asked":{"decision_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16","estimated_input_tokens":100,"is_started":true,"max_output_tokens":10,"model":"premium","request_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16","turn_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16"},"effective_model":"premium","levels":[["","daily","total",650,165],["","daily","tier:premium",650,165],["","monthly","total",650,165],["","monthly","tier:premium",650,165]],"refused":[],"reserved_micro":650}');
INSERT INTO "ledger" VALUES('acme',20,'01a1ecca-3cef-7e0e-b05c-8dd11ec1435c',1893456000000000,'decide','run.ended','ann',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',21,'01a1ecca-3cef-7142-935b-72fdabaec343',1893456000000000,'decide','run.ended','bob',NULL,0,'SIGNAL_ARRIVED','SUCCEEDED',NULL,'{"decision_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16","error":null,"state":"SUCCEEDED"}');
INSERT INTO "ledger" VALUES('acme',22,'01a1ecca-3cef-7eb0-bd3c-d6767b86981d',1893456000000000,'settle','turn.settled','01a1ecca-3cb1-7425-a37f-4dfad6b983c1','01a1ecca-3cb1-7425-a37f-4dfad6b983c1',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1","ended_by":"run","event_id":"01a1ecca-3cef-766d-9812-8214332d06d6","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',23,'01a1ecca-3cef-7d58-8e7f-dab17087d2ab',1893456000000000,'settle','turn.settled','01a1ecca-3ccb-74e7-9138-997d6e326c16','01a1ecca-3ccb-74e7-9138-997d6e326c16',1,NULL,'completed',NULL,'{"charged_micro":165,"computed_micro":165,"decision_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16","ended_by":"run","event_id":"01a1ecca-3cef-7699-827c-bd4a8cf16c39","input_tokens":9,"output_tokens":8,"reserved_micro":650,"settlement_method":"actual"}');
INSERT INTO "ledger" VALUES('acme',24,'01a1ecca-3d75-73aa-ac4e-3def24e95937',1893459600000000,'decide','schedule.fired','brief',NULL,0,'TIME_RITUAL_DAILY_BRIEF',NULL,NULL,'{"account_id":null,"scheduled_at":1893459600000000,"when":"2030-01-01T01:00:00Z"}');
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
INSERT INTO "outbox" VALUES(6,'acme','01a1ecca-3d75-7e08-8f51-55e84f4e90cd','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893463200000000,"generation":1,"schedule_id":"brief"}','pending',0,0,1893463200000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(9,'acme','01a1ecca-3d86-72a1-b0f9-f2678612f9ae','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"ann","idempotency_key":"87ab13628cbafa4578e1e7f45a1db6178390380e3a38c1658b9ee04c18426006","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459747000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(10,'acme','01a1ecca-3d86-7c30-a5c5-7cdf8828aa66','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"bob","idempotency_key":"ec45c35fdfef73e6e1fad69d9240b944456d5696ef70ee6658d9ade150973c1a","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459704000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
INSERT INTO "outbox" VALUES(11,'acme','01a1ecca-3d86-781c-9427-7f9828eaec61','watchkeeper','decision.scheduled',NULL,NULL,'{"detail":{"account_id":"cyd","idempotency_key":"9cb83f09950d1128a057f39b68b722c432642618af13951a1625b9d43b1bc25b","scheduled_at":"2030-01-01T01:00:00Z","tenant_id":"acme","trigger_type":"TIME_RITUAL_DAILY_BRIEF"},"detail-type":"RUN_DECISION","source":"watchkeeper"}','pending',0,0,1893459745000000,0,0,NULL,NULL,NULL,NULL,1893459600000000,1893459600000000,NULL);
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
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3c20-795e-a554-c3868fbc8ca2','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"cyd","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-3c20-72e6-9b27-83c4e0a6d3e9","signals_after":0,"signals_until":2},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3c69-74f3-ab1a-cb4eb96f86c6','mini-chat','usage_snapshot','acme/01a1ecca-3c20-795e-a554-c3868fbc8ca2/01a1ecca-3c20-795e-a554-c3868fbc8ca2',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":0,"request_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-3c20-795e-a554-c3868fbc8ca2"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3cb1-7425-a37f-4dfad6b983c1','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"ann","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-3cb1-7ee3-b459-56bfa3a237c3","signals_after":0,"signals_until":9},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3ccb-74e7-9138-997d6e326c16','watchkeeper','decision.evaluation_requested',NULL,NULL,'{"detail":{"account_id":"bob","tenant_id":"acme","trigger_type":"SIGNAL_ARRIVED","decision_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16","evaluated_at":"2030-01-01T00:00:00Z","idempotency_key":"01a1ecca-3ccb-72b9-ba19-ed121ab13de1","signals_after":0,"signals_until":13},"detail-type":"DECISION_EVALUATION_REQUESTED","source":"watchkeeper"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3cef-766d-9812-8214332d06d6','mini-chat','usage_snapshot','acme/01a1ecca-3cb1-7425-a37f-4dfad6b983c1/01a1ecca-3cb1-7425-a37f-4dfad6b983c1',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-3cb1-7425-a37f-4dfad6b983c1"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3cef-7699-827c-bd4a8cf16c39','mini-chat','usage_snapshot','acme/01a1ecca-3ccb-74e7-9138-997d6e326c16/01a1ecca-3ccb-74e7-9138-997d6e326c16',NULL,'{"charged_credits_micro":165,"computed_credits_micro":165,"day":"2030-01-01","decision_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16","effective_model":"premium","input_tokens":9,"month":"2030-01","outcome":"completed","output_tokens":8,"overshoot_capped":false,"policy_version_applied":1,"request_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16","reserved_at":"2030-01-01T00:00:00Z","reserved_credits_micro":650,"selected_model":"premium","settled_at":"2030-01-01T00:00:00Z","settlement_method":"actual","tenant_id":"acme","tier":"premium","turn_id":"01a1ecca-3ccb-74e7-9138-997d6e326c16"}',1,0,1893456000000000,NULL,1893456000000000,1893456000000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3ca1-7571-8ffd-a0bcfbe15121','watchkeeper','schedule.due',NULL,NULL,'{"fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893456000000000,1893459600000000);
INSERT INTO "outbox_delivered" VALUES('acme','01a1ecca-3d75-7db1-8d2b-21ad57fce314','watchkeeper','schedule.slice',NULL,NULL,'{"after":"","fire_at":1893459600000000,"generation":1,"schedule_id":"brief"}',1,0,1893459600000000,NULL,1893459600000000,1893459600000000);
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
INSERT INTO "quota_buckets" VALUES('acme','','daily',1893456000000000,'total',0,495,3,3,27,24);
INSERT INTO "quota_buckets" VALUES('acme','','daily',1893456000000000,'tier:premium',0,495,3,3,27,24);
INSERT INTO "quota_buckets" VALUES('acme','','monthly',1893456000000000,'total',0,495,3,3,27,24);
INSERT INTO "quota_buckets" VALUES('acme','','monthly',1893456000000000,'tier:premium',0,495,3,3,27,24);
CREATE TABLE reservations (
    tenant_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    decision_id VARCHAR(36) NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, "key")
) WITHOUT ROWID;
INSERT INTO "reservations" VALUES('acme','01a1ecca-3c20-72e6-9b27-83c4e0a6d3e9','01a1ecca-3c20-795e-a554-c3868fbc8ca2','8bfb31fb',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-3cb1-7ee3-b459-56bfa3a237c3','01a1ecca-3cb1-7425-a37f-4dfad6b983c1','dc183bd6',1893542400000000);
INSERT INTO "reservations" VALUES('acme','01a1ecca-3ccb-72b9-ba19-ed121ab13de1','01a1ecca-3ccb-74e7-9138-997d6e326c16','c45beb46',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:a7ad60b27ba216b94221fa249b325bccee267158db5131029808b24c46c209d1','01a1ecca-3cbe-7db1-9aa0-22c816a48311','b94b280d',1893542400000000);
INSERT INTO "reservations" VALUES('acme','account:cf68ff04b64ba1213612c990f01193439e4e32aa8d66ea86017ad693897d2237','01a1ecca-3cd7-7ce1-84e6-ee01a5791b81','aaa48f09',1893542400000000);
INSERT INTO "reservations" VALUES('acme','soon','01a1ecca-3ce5-770a-b691-fb6014cea80c','ab96c2ed',1893542400000000);
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
INSERT INTO "runs" VALUES('acme','01a1ecca-3c20-795e-a554-c3868fbc8ca2','cyd','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-3cb1-7425-a37f-4dfad6b983c1','ann','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
INSERT INTO "runs" VALUES('acme','01a1ecca-3ccb-74e7-9138-997d6e326c16','bob','SIGNAL_ARRIVED','SUCCEEDED',1893456000000000,1893456000000000,NULL,NULL);
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
INSERT INTO "signals" VALUES('acme','01a1ecca-3c20-72e6-9b27-83c4e0a6d3e9','cyd','mail.received',1893456000000000,1893456000000000,2,NULL,'{}');
INSERT INTO "signals" VALUES('acme','01a1ecca-3cb1-7ee3-b459-56bfa3a237c3','ann','mail.received',1893456000000000,1893456000000000,9,NULL,'{"n":1}');
INSERT INTO "signals" VALUES('acme','01a1ecca-3ccb-72b9-ba19-ed121ab13de1','bob','mail.received',1893456000000000,1893456000000000,13,NULL,'{"n":1}');
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
INSERT INTO "tenants" VALUES('acme',NULL,NULL,1893456000000000,1893456000000000,525960,'{"SIGNAL_ARRIVED":3}',21915,3,24);
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
INSERT INTO "turns" VALUES('acme','01a1ecca-3c20-795e-a554-c3868fbc8ca2','01a1ecca-3c20-795e-a554-c3868fbc8ca2',NULL,'01a1ecca-3c20-795e-a554-c3868fbc8ca2',0,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-3c69-729e-9690-d19894190f5a','actual',9,8,165,165,0,'01a1ecca-3c69-74f3-ab1a-cb4eb96f86c6',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-3cb1-7425-a37f-4dfad6b983c1','01a1ecca-3cb1-7425-a37f-4dfad6b983c1',NULL,'01a1ecca-3cb1-7425-a37f-4dfad6b983c1',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-3cef-7f2c-a88b-0e8b0f9faa59','actual',9,8,165,165,0,'01a1ecca-3cef-766d-9812-8214332d06d6',NULL,NULL);
INSERT INTO "turns" VALUES('acme','01a1ecca-3ccb-74e7-9138-997d6e326c16','01a1ecca-3ccb-74e7-9138-997d6e326c16',NULL,'01a1ecca-3ccb-74e7-9138-997d6e326c16',1,'premium','premium','premium',5000000,15000000,100,10,50,110,650,1893456000000000,1893456000000000,300000000,1893456000000000,'completed',1893456000000000,1893456000000000,1893456300000000,1893456000000000,'run','01a1ecca-3cef-7742-89bb-9e9cb6358093','actual',9,8,165,165,0,'01a1ecca-3cef-7699-827c-bd4a8cf16c39',NULL,NULL);
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
COMMIT;
