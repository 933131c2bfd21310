-- REPLACE takes a row away without asking as a delete does. So a row that is final refuses every insert
-- that brings one of its keys, or its rowid (-1 here, unless the statement names one), and every update
-- that could take the key of another.

create trigger ledger_is_not_replaced before insert on ledger
when exists (select 1 from ledger t where t.tenant_id = new.tenant_id and t.seq = new.seq)
    or exists (select 1 from ledger t where t.tenant_id = new.tenant_id and t.entry_id = new.entry_id)
    or new.rowid > 0 and exists (select 1 from ledger t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of ledger is refused'); end;

create trigger ledger_seals_are_not_replaced before insert on ledger_seals
when exists (select 1 from ledger_seals t where t.tenant_id = new.tenant_id and t.from_seq = new.from_seq)
    or new.rowid > 0 and exists (select 1 from ledger_seals t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of ledger_seals is refused'); end;

create trigger ledger_checkpoints_are_not_replaced before insert on ledger_checkpoints
when exists (select 1 from ledger_checkpoints t where t.tenant_id = new.tenant_id and t.checkpoint_id = new.checkpoint_id)
    or new.rowid > 0 and exists (select 1 from ledger_checkpoints t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of ledger_checkpoints is refused'); end;

create trigger ledger_prunes_are_not_replaced before insert on ledger_prunes
when exists (select 1 from ledger_prunes t where t.tenant_id = new.tenant_id)
    or new.rowid > 0 and exists (select 1 from ledger_prunes t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of ledger_prunes is refused'); end;

create trigger policies_are_not_replaced before insert on policies
when exists (select 1 from policies t where t.version = new.version)
begin select raise(abort, 'replacing rows of policies is refused'); end;

create trigger policy_meanings_are_not_replaced before insert on policy_meanings
when exists (select 1 from policy_meanings t where t.version = new.version)
begin select raise(abort, 'replacing rows of policy_meanings is refused'); end;

create trigger milestones_are_not_replaced before insert on milestones
when exists (select 1 from milestones t where t.tenant_id = new.tenant_id and t.milestone = new.milestone)
    or exists (select 1 from milestones t where t.tenant_id = new.tenant_id and t.report_id = new.report_id)
    or new.rowid > 0 and exists (select 1 from milestones t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of milestones is refused'); end;

create trigger reports_are_not_replaced before insert on reports
when exists (select 1 from reports t where t.tenant_id = new.tenant_id and t.report_id = new.report_id)
    or new.rowid > 0 and exists (select 1 from reports t where t.rowid = new.rowid)
begin select raise(abort, 'replacing rows of reports is refused'); end;

-- A run is started and ended by upserts, which find one that succeeded and leave it: so does this.

create trigger runs_are_not_replaced before insert on runs
when exists (select 1 from runs t where t.tenant_id = new.tenant_id and t.decision_id = new.decision_id and t.state = 'SUCCEEDED')
    or new.rowid > 0 and exists (select 1 from runs t where t.rowid = new.rowid and t.state = 'SUCCEEDED')
begin select raise(ignore); end;

-- These have a guard of inserts already: it looks at rowids too, and intents at the one under way.

drop trigger turns_are_born_running;

create trigger turns_are_born_running before insert on turns
when new.state <> 'running' or exists (select 1 from turns t where t.tenant_id = new.tenant_id
    and t.turn_id = new.turn_id) or exists (select 1 from turns t where t.tenant_id = new.tenant_id
    and t.request_id = new.request_id)
    or new.rowid > 0 and exists (select 1 from turns t where t.rowid = new.rowid)
begin select raise(abort, 'insert of turns is refused'); end;

drop trigger plans_are_born_as_drafts;

create trigger plans_are_born_as_drafts before insert on plans
when new.status <> 'DRAFT' or exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.plan_id = new.plan_id)
    or new.rowid > 0 and exists (select 1 from plans p where p.rowid = new.rowid)
begin select raise(abort, 'insert of plans is refused'); end;

drop trigger steps_are_born_pending;

create trigger steps_are_born_pending before insert on plan_steps
when new.status <> 'PENDING' or new.attempts <> 0
    or new.rowid > 0 and exists (select 1 from plan_steps s where s.rowid = new.rowid)
begin select raise(abort, 'insert of plan_steps is refused'); end;

drop trigger intents_are_born_open;

create trigger intents_are_born_open before insert on intents
when new.state not in ('PENDING_APPROVAL', 'APPROVED', 'REJECTED', 'EXECUTING') or exists (
    select 1 from intents i where i.tenant_id = new.tenant_id and i.intent_id = new.intent_id)
    or exists (select 1 from intents i where i.tenant_id = new.tenant_id and i.plan_id = new.plan_id
    and i.step_id = new.step_id and i.attempt = new.attempt)
    or new.state in ('APPROVED', 'EXECUTING', 'PENDING_APPROVAL') and not new.is_late and exists (
    select 1 from intents i where i.tenant_id = new.tenant_id and i.plan_id = new.plan_id
    and i.state in ('APPROVED', 'EXECUTING', 'PENDING_APPROVAL') and not i.is_late)
    or new.rowid > 0 and exists (select 1 from intents i where i.rowid = new.rowid)
begin select raise(abort, 'insert of intents is refused'); end;

-- Updates: nothing moves to another key or rowid, and one that is active or under way stays so.

create trigger runs_stay_where_they_are before update of tenant_id, decision_id, rowid, _rowid_, oid on runs
begin select raise(abort, 'moving rows of runs is refused'); end;

create trigger turns_stay_where_they_are before update of rowid, _rowid_, oid on turns
begin select raise(abort, 'moving rows of turns is refused'); end;

create trigger plans_stay_where_they_are before update of rowid, _rowid_, oid on plans
begin select raise(abort, 'moving rows of plans is refused'); end;

create trigger plan_steps_stay_where_they_are before update of tenant_id, plan_id, rowid, _rowid_, oid on plan_steps
begin select raise(abort, 'moving rows of plan_steps is refused'); end;

create trigger intents_stay_where_they_are before update of rowid, _rowid_, oid on intents
begin select raise(abort, 'moving rows of intents is refused'); end;

create trigger ledger_prunes_stay_where_they_are before update of rowid, _rowid_, oid on ledger_prunes
begin select raise(abort, 'moving rows of ledger_prunes is refused'); end;

create trigger active_plans_are_not_replaced before update of status on plans
when new.status = 'ACTIVE' and old.status <> 'ACTIVE' and exists (
    select 1 from plans p where p.tenant_id = new.tenant_id and p.account_id = new.account_id
    and p.plan_type = new.plan_type and p.status = 'ACTIVE')
begin select raise(abort, 'another plan of the account is active'); end;

create trigger late_intents_stay_late before update of is_late on intents
when old.is_late and not new.is_late
begin select raise(abort, 'update of intents is refused'); end;
