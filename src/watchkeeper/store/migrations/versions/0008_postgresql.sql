-- A statement that does not name a column cannot change it. A trigger that says which columns it is
-- for is not even read then.

drop trigger plans_keep_their_name on plans;
create trigger plans_keep_their_name
    before update of tenant_id, plan_id, source, created_at, created_by on plans
    for each row when ((old.tenant_id, old.plan_id, old.source, old.created_at, old.created_by)
        is distinct from
        (new.tenant_id, new.plan_id, new.source, new.created_at, new.created_by))
    execute function watchkeeper_refuse();

drop trigger terms_of_a_plan_stay on plans;
create trigger terms_of_a_plan_stay
    before update of account_id, plan_type, objective, constraints, expires_at, version on plans
    for each row when (old.status <> 'DRAFT' and
        (old.account_id, old.plan_type, old.objective, old.constraints::text, old.expires_at, old.version)
        is distinct from
        (new.account_id, new.plan_type, new.objective, new.constraints::text, new.expires_at, new.version))
    execute function watchkeeper_refuse();

drop trigger steps_are_edited_in_drafts on plan_steps;
create trigger steps_are_edited_in_drafts
    before update of tenant_id, plan_id, step_id, action_type, position, sequence, dependencies, data
    on plan_steps
    for each row when ((old.tenant_id, old.plan_id, old.step_id, old.action_type, old.position, old.sequence, old.dependencies::text, old.data::text)
        is distinct from
        (new.tenant_id, new.plan_id, new.step_id, new.action_type, new.position, new.sequence, new.dependencies::text, new.data::text))
    execute function watchkeeper_only_in_drafts();

drop trigger terms_of_an_intent_stay on intents;
create trigger terms_of_an_intent_stay
    before update of tenant_id, intent_id, plan_id, step_id, attempt, account_id, action_type,
        created_at, approval on intents
    for each row when ((old.tenant_id, old.intent_id, old.plan_id, old.step_id, old.attempt, old.account_id, old.action_type, old.created_at, old.approval)
        is distinct from
        (new.tenant_id, new.intent_id, new.plan_id, new.step_id, new.attempt, new.account_id, new.action_type, new.created_at, new.approval))
    execute function watchkeeper_refuse();

-- Attempts that begin as they are born are looked at together. The order and its bounds leave the
-- planner no way but the key.

create function watchkeeper_all_for_active_plans() returns trigger language plpgsql as $$
declare
    idle uuid := (select b.intent_id from born b where b.state = 'EXECUTING' and (
        select p.status from plans p where p.tenant_id = b.tenant_id
        and p.plan_id >= b.plan_id and p.plan_id <= b.plan_id order by p.plan_id limit 1
    ) is distinct from 'ACTIVE' limit 1);
begin
    if idle is not null then
        raise exception 'the plan of intent % is not active', idle using errcode = '23001';
    end if;
    return null;
end $$;

drop trigger intents_begin_for_active_plans on intents;
create trigger intents_begin_for_active_plans after insert on intents
    referencing new table as born
    for each statement execute function watchkeeper_all_for_active_plans();

-- What was decided before it was read is written only where everything was as it was taken to be. If
-- not, nothing has happened, and it is tried again.

create function watchkeeper_as_expected(is_so boolean) returns boolean language plpgsql as $$
begin
    if is_so is not true then
        raise exception 'something is not as it was taken to be' using errcode = '40001';
    end if;
    return true;
end $$;

-- The message that waits for a tenant's next cycle or tick: what takes its place takes it away.

alter table plan_cycles add column message_id uuid;
alter table pull_ticks add column message_id uuid;
