CREATE TABLE policy_meanings (
    version INTEGER NOT NULL,
    effective TEXT NOT NULL,
    PRIMARY KEY (version)
);

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
    decision_id UUID NOT NULL,
    account_id TEXT NOT NULL,
    was TEXT NOT NULL,
    would_be TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name, seq)
);

CREATE TABLE shadow_states (
    tenant_id TEXT NOT NULL,
    name TEXT NOT NULL,
    shadow_id UUID NOT NULL,
    seq BIGINT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

CREATE TABLE shadows (
    name TEXT NOT NULL,
    shadow_id UUID NOT NULL,
    hash TEXT NOT NULL,
    text TEXT NOT NULL,
    effective TEXT NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    PRIMARY KEY (name)
);

create trigger policy_meanings_are_kept before update or delete on policy_meanings
    for each row execute function watchkeeper_refuse();

grant select, insert on policy_meanings to watchkeeper_app;
grant select on policy_meanings to watchkeeper_worker;

alter table shadow_accounts enable row level security;
alter table shadow_accounts force row level security;
create policy own_tenant on shadow_accounts to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on shadow_accounts to watchkeeper_app;

alter table shadow_flips enable row level security;
alter table shadow_flips force row level security;
create policy own_tenant on shadow_flips to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on shadow_flips to watchkeeper_app;

alter table shadow_states enable row level security;
alter table shadow_states force row level security;
create policy own_tenant on shadow_states to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert, update, delete on shadow_states to watchkeeper_app;

grant select, insert, update, delete on shadows to watchkeeper_app;
grant select on shadows to watchkeeper_worker;
