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
);

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

CREATE TABLE milestones (
    tenant_id TEXT NOT NULL,
    milestone TEXT NOT NULL,
    outcome TEXT NOT NULL,
    report_id UUID,
    marked_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, milestone),
    CONSTRAINT a_generated_one_has_its_report CHECK (CASE outcome WHEN 'GENERATED' THEN report_id IS NOT NULL WHEN 'MISSED' THEN report_id IS NULL ELSE false END),
    CONSTRAINT milestones_report UNIQUE (tenant_id, report_id)
);

CREATE TABLE reports (
    tenant_id TEXT NOT NULL,
    report_id UUID NOT NULL,
    trigger_name TEXT NOT NULL,
    window_since_at BIGINT NOT NULL,
    generated_at BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    document JSON NOT NULL,
    PRIMARY KEY (tenant_id, report_id),
    CONSTRAINT window_ends_after_its_beginning CHECK (window_since_at <= generated_at)
);

CREATE INDEX reports_generated ON reports (tenant_id, generated_at, report_id);

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
);

CREATE TABLE tally_places (
    tenant_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (tenant_id)
);

alter table delivered_tallies enable row level security;
alter table delivered_tallies force row level security;
create policy own_tenant on delivered_tallies to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select on delivered_tallies to watchkeeper_app;
create policy all_tenants on delivered_tallies to watchkeeper_worker using (true) with check (true);
grant select, insert, update on delivered_tallies to watchkeeper_worker;

alter table milestone_states enable row level security;
alter table milestone_states force row level security;
create policy own_tenant on milestone_states to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on milestone_states to watchkeeper_app;
create policy all_tenants on milestone_states for select to watchkeeper_worker using (true);
grant select on milestone_states to watchkeeper_worker;

alter table milestone_ticks enable row level security;
alter table milestone_ticks force row level security;
create policy own_tenant on milestone_ticks to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on milestone_ticks to watchkeeper_app;
create policy all_tenants on milestone_ticks for select to watchkeeper_worker using (true);
grant select on milestone_ticks to watchkeeper_worker;

alter table milestones enable row level security;
alter table milestones force row level security;
create policy own_tenant on milestones to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert on milestones to watchkeeper_app;

alter table reports enable row level security;
alter table reports force row level security;
create policy own_tenant on reports to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, delete on reports to watchkeeper_app;

alter table tallies enable row level security;
alter table tallies force row level security;
create policy own_tenant on tallies to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on tallies to watchkeeper_app;

alter table tally_places enable row level security;
alter table tally_places force row level security;
create policy own_tenant on tally_places to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on tally_places to watchkeeper_app;
create policy all_tenants on tally_places for select to watchkeeper_worker using (true);
grant select on tally_places to watchkeeper_worker;

-- A marker that exists is final, and so is its report.

create trigger milestones_are_final before update or delete on milestones
    for each row execute function watchkeeper_refuse();

create trigger milestones_are_never_emptied before truncate on milestones
    for each statement execute function watchkeeper_refuse();

create trigger reports_are_final before update on reports
    for each row execute function watchkeeper_refuse();

create trigger reports_of_milestones_are_kept before delete on reports
    for each row when (old.trigger_name <> 'MANUAL') execute function watchkeeper_refuse();

create trigger reports_are_never_emptied before truncate on reports
    for each statement execute function watchkeeper_refuse();
