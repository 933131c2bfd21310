CREATE TABLE action_types (
    action_type TEXT NOT NULL,
    risk INTEGER NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (action_type),
    CONSTRAINT risk_is_known CHECK (risk IN (0, 1, 2))
);

CREATE TABLE autonomy_days (
    tenant_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, day),
    CONSTRAINT autonomy_not_negative CHECK (used >= 0)
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

CREATE UNIQUE INDEX intents_attempt ON intents (tenant_id, plan_id, step_id, attempt);

CREATE INDEX intents_state ON intents (tenant_id, state, intent_id);

CREATE UNIQUE INDEX intents_under_way ON intents (tenant_id, plan_id) WHERE state IN ('APPROVED', 'EXECUTING', 'PENDING_APPROVAL') AND NOT is_late;

CREATE TABLE plan_cycles (
    tenant_id TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id)
);

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

CREATE INDEX plans_account ON plans (tenant_id, account_id, plan_id);

CREATE INDEX plans_moving ON plans (tenant_id, due_at) WHERE status NOT IN ('DRAFT', 'APPROVED') AND due_at IS NOT NULL;

CREATE INDEX plans_new ON plans (tenant_id, due_at) WHERE status IN ('DRAFT', 'APPROVED') AND due_at IS NOT NULL;

CREATE UNIQUE INDEX plans_one_active ON plans (tenant_id, account_id, plan_type) WHERE status = 'ACTIVE';

CREATE INDEX plans_status ON plans (tenant_id, status, plan_id);

-- Each status goes only the ways that core/plans.py names. Plans begin as drafts, and what they
-- consist of stays as it was approved.

create trigger plans_are_kept before delete on plans
begin select raise(abort, 'delete of plans is refused'); end;

create trigger intents_are_kept before delete on intents
begin select raise(abort, 'delete of intents is refused'); end;

create trigger plans_are_born_as_drafts before insert on plans
when new.status <> 'DRAFT' or exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.plan_id = new.plan_id)
begin select raise(abort, 'insert of plans is refused'); end;

create trigger plans_go_their_ways before update on plans
when old.status <> new.status and not (
        old.status = 'DRAFT' and new.status in ('APPROVED', 'ABORTED')
        or old.status = 'APPROVED' and new.status in ('ACTIVE', 'ABORTED', 'EXPIRED')
        or old.status = 'ACTIVE' and new.status in ('PAUSED', 'COMPLETED', 'ABORTED', 'EXPIRED')
        or old.status = 'PAUSED' and new.status in ('ACTIVE', 'ABORTED', 'EXPIRED'))
begin select raise(abort, 'update of plans is refused'); end;

create trigger plans_keep_their_name before update on plans
when (old.tenant_id, old.plan_id, old.source, old.created_at, old.created_by)
        is not
        (new.tenant_id, new.plan_id, new.source, new.created_at, new.created_by)
begin select raise(abort, 'update of plans is refused'); end;

create trigger terms_of_a_plan_stay before update on plans
when old.status <> 'DRAFT' and
        (old.account_id, old.plan_type, old.objective, old.constraints, old.expires_at, old.version)
        is not
        (new.account_id, new.plan_type, new.objective, new.constraints, new.expires_at, new.version)
begin select raise(abort, 'update of plans is refused'); end;

create trigger the_end_of_a_plan_stays before update on plans
when old.ended_at is not null and
        (old.status, old.ended_at, old.completion_reason, old.reason)
        is not
        (new.status, new.ended_at, new.completion_reason, new.reason)
begin select raise(abort, 'update of plans is refused'); end;

create trigger steps_are_born_pending before insert on plan_steps
when new.status <> 'PENDING' or new.attempts <> 0
begin select raise(abort, 'insert of plan_steps is refused'); end;

create trigger steps_go_their_ways before update on plan_steps
when old.status <> new.status and not (
        old.status = 'PENDING' and new.status in ('PENDING_APPROVAL', 'AUTO_EXECUTED', 'SKIPPED', 'FAILED')
        or old.status = 'PENDING_APPROVAL' and new.status in ('DONE', 'SKIPPED', 'FAILED')
        or old.status = 'AUTO_EXECUTED' and new.status in ('DONE', 'SKIPPED', 'FAILED')
        or old.status = 'FAILED' and new.status in ('PENDING_APPROVAL', 'AUTO_EXECUTED', 'SKIPPED'))
begin select raise(abort, 'update of plan_steps is refused'); end;

create trigger attempts_are_counted before update on plan_steps
when new.attempts < old.attempts or new.spared < old.spared
        or new.attempts > old.attempts + 1
        or old.status in ('PENDING', 'FAILED') and new.status in ('PENDING_APPROVAL', 'AUTO_EXECUTED')
        and new.attempts = old.attempts
begin select raise(abort, 'update of plan_steps is refused'); end;

create trigger steps_are_inserted_in_drafts before insert on plan_steps
when not exists (select 1 from plans p where p.tenant_id = new.tenant_id
    and p.plan_id = new.plan_id and p.status = 'DRAFT')
begin select raise(abort, 'steps of the plan can no longer be edited'); end;

create trigger steps_are_deleted_in_drafts before delete on plan_steps
when not exists (select 1 from plans p where p.tenant_id = old.tenant_id
    and p.plan_id = old.plan_id and p.status = 'DRAFT')
begin select raise(abort, 'steps of the plan can no longer be edited'); end;

create trigger steps_are_edited_in_drafts before update on plan_steps
when (old.tenant_id, old.plan_id, old.step_id, old.action_type, old.position, old.sequence, old.dependencies, old.data)
        is not
        (new.tenant_id, new.plan_id, new.step_id, new.action_type, new.position, new.sequence, new.dependencies, new.data)
    and not exists (select 1 from plans p where p.tenant_id = old.tenant_id
    and p.plan_id = old.plan_id and p.status = 'DRAFT')
begin select raise(abort, 'steps of the plan can no longer be edited'); end;

create trigger intents_are_born_open before insert on intents
when new.state not in ('PENDING_APPROVAL', 'APPROVED', 'REJECTED', 'EXECUTING') or exists (
    select 1 from intents i where i.tenant_id = new.tenant_id and i.intent_id = new.intent_id)
    or exists (select 1 from intents i where i.tenant_id = new.tenant_id and i.plan_id = new.plan_id
    and i.step_id = new.step_id and i.attempt = new.attempt)
begin select raise(abort, 'insert of intents is refused'); end;

create trigger intents_go_their_ways before update on intents
when old.state <> new.state and not (
        old.state = 'PENDING_APPROVAL' and new.state in ('APPROVED', 'REJECTED', 'CANCELLED')
        or old.state = 'APPROVED' and new.state in ('EXECUTING', 'FAILED', 'CANCELLED')
        or old.state = 'EXECUTING' and new.state in ('SUCCEEDED', 'FAILED'))
begin select raise(abort, 'update of intents is refused'); end;

create trigger terms_of_an_intent_stay before update on intents
when (old.tenant_id, old.intent_id, old.plan_id, old.step_id, old.attempt, old.account_id, old.action_type, old.created_at, old.approval)
        is not
        (new.tenant_id, new.intent_id, new.plan_id, new.step_id, new.attempt, new.account_id, new.action_type, new.created_at, new.approval)
begin select raise(abort, 'update of intents is refused'); end;

create trigger the_end_of_an_intent_stays before update on intents
when old.ended_at is not null and
        (old.state, old.ended_at, old.detail, old.is_late)
        is not
        (new.state, new.ended_at, new.detail, new.is_late)
begin select raise(abort, 'update of intents is refused'); end;

-- Nothing is carried out for a plan that is not active.

create trigger intents_begin_for_active_plans before insert on intents
when new.state = 'EXECUTING' and not exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.plan_id = new.plan_id
    and p.status = 'ACTIVE')
begin select raise(abort, 'the plan of the intent is not active'); end;

create trigger intents_execute_for_active_plans before update on intents
when old.state <> new.state and new.state = 'EXECUTING' and not exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.plan_id = new.plan_id
    and p.status = 'ACTIVE')
begin select raise(abort, 'the plan of the intent is not active'); end;
