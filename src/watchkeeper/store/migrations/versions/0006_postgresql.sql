CREATE TABLE ledger_checkpoints (
    tenant_id TEXT NOT NULL,
    checkpoint_id UUID NOT NULL,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    exported_after BIGINT,
    made_at BIGINT NOT NULL,
    made_by TEXT NOT NULL,
    PRIMARY KEY (tenant_id, checkpoint_id),
    CONSTRAINT an_export_has_entries CHECK (exported_after < seq)
);

CREATE INDEX ledger_checkpoints_seq ON ledger_checkpoints (tenant_id, seq);

CREATE TABLE ledger_prunes (
    tenant_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    newest_at BIGINT NOT NULL,
    last_entry_id UUID NOT NULL,
    pruned_at BIGINT NOT NULL,
    pruned_by TEXT NOT NULL,
    PRIMARY KEY (tenant_id)
);

CREATE TABLE ledger_seals (
    tenant_id TEXT NOT NULL,
    from_seq BIGINT NOT NULL,
    to_seq BIGINT NOT NULL,
    hashes BYTEA NOT NULL,
    sealed_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, from_seq),
    CONSTRAINT a_hash_for_each_entry CHECK (from_seq > 0 AND to_seq >= from_seq AND length(hashes) = 32 * (to_seq - from_seq + 1))
);

-- Hashes do not compress: trying would only cost time.
alter table ledger_seals alter column hashes set storage external;

-- Seals and checkpoints are append-only; an entry leaves only behind a recorded place, a place is
-- recorded only where an export reaches, and an export is noted only where the seals agree.

create function watchkeeper_sealed_hash(tenant text, place bigint) returns text
language sql stable as $$
    select encode(substr(s.hashes, ((place - s.from_seq) * 32 + 1)::int, 32), 'hex')
    from (select * from ledger_seals where tenant_id = tenant and from_seq <= place
        order by from_seq desc limit 1) s
    where s.to_seq >= place
$$;

create trigger seals_stay before update on ledger_seals
    for each row execute function watchkeeper_refuse();

create trigger seals_are_never_emptied before truncate on ledger_seals
    for each statement execute function watchkeeper_refuse();

create function watchkeeper_keep_seals() returns trigger language plpgsql as $$
begin
    if not exists (select from ledger_prunes p
        where p.tenant_id = old.tenant_id and p.seq > old.to_seq) then
        raise exception 'delete of ledger_seals is refused' using errcode = '23001';
    end if;
    return old;
end $$;

create trigger seals_are_never_cut before delete on ledger_seals
    for each row execute function watchkeeper_keep_seals();

create trigger checkpoints_stay before update or delete on ledger_checkpoints
    for each row execute function watchkeeper_refuse();

create trigger checkpoints_are_never_emptied before truncate on ledger_checkpoints
    for each statement execute function watchkeeper_refuse();

create function watchkeeper_checkpoint_is_sealed() returns trigger language plpgsql as $$
begin
    if watchkeeper_sealed_hash(new.tenant_id, new.seq) is distinct from new.hash then
        raise exception 'a checkpoint needs the seal of its place' using errcode = '23001';
    end if;
    return new;
end $$;

create trigger a_checkpoint_is_sealed before insert on ledger_checkpoints
    for each row execute function watchkeeper_checkpoint_is_sealed();

create trigger what_was_pruned_stays before delete on ledger_prunes
    for each row execute function watchkeeper_refuse();

create trigger what_was_pruned_is_never_emptied before truncate on ledger_prunes
    for each statement execute function watchkeeper_refuse();

create function watchkeeper_prune_goes_forward() returns trigger language plpgsql as $$
declare
    before bigint := 0;
begin
    if tg_op = 'UPDATE' then
        before := old.seq;
        if new.tenant_id <> old.tenant_id or new.seq <= old.seq
            or new.newest_at < old.newest_at or new.last_entry_id < old.last_entry_id then
            raise exception 'update of ledger_prunes is refused' using errcode = '23001';
        end if;
    end if;
    if not exists (select from ledger_checkpoints c where c.tenant_id = new.tenant_id
        and c.seq >= new.seq and c.exported_after <= before) then
        raise exception 'pruning of the ledger needs an export behind a checkpoint'
            using errcode = '23001';
    end if;
    if watchkeeper_sealed_hash(new.tenant_id, new.seq) is distinct from new.hash then
        raise exception 'pruning of the ledger needs the seal of its place' using errcode = '23001';
    end if;
    return new;
end $$;

create trigger pruning_goes_forward before insert or update on ledger_prunes
    for each row execute function watchkeeper_prune_goes_forward();

drop trigger ledger_is_append_only on ledger;

create trigger ledger_is_append_only before update on ledger
    for each row execute function watchkeeper_refuse();

create function watchkeeper_keep_entries() returns trigger language plpgsql as $$
begin
    if not exists (select from ledger_prunes p
        where p.tenant_id = old.tenant_id and p.seq >= old.seq) then
        raise exception 'delete of ledger is refused' using errcode = '23001';
    end if;
    return old;
end $$;

create trigger ledger_is_never_cut before delete on ledger
    for each row execute function watchkeeper_keep_entries();

-- The owner's functions. The product's roles may call them for their own tenant; they have no
-- right of their own to delete entries or seals, nor to write what was pruned.

create function watchkeeper_prune_to(place bigint, pruned_by text, pruned_at bigint)
returns boolean language plpgsql security definer as $$
declare
    tenant text := watchkeeper_tenant();
    before bigint := coalesce((select p.seq from ledger_prunes p where p.tenant_id = tenant), 0);
    newest bigint;
    last text;
begin
    if place <= before then
        return false;
    end if;
    select max(l.at), max(l.entry_id::text) into newest, last
    from ledger l where l.tenant_id = tenant and l.seq > before and l.seq <= place;
    update ledger_prunes p set seq = place, hash = watchkeeper_sealed_hash(tenant, place),
        newest_at = greatest(p.newest_at, newest),
        last_entry_id = greatest(p.last_entry_id, last::uuid),
        pruned_at = watchkeeper_prune_to.pruned_at, pruned_by = watchkeeper_prune_to.pruned_by
    where p.tenant_id = tenant;
    if not found then
        insert into ledger_prunes values (tenant, place, watchkeeper_sealed_hash(tenant, place),
            newest, last::uuid, watchkeeper_prune_to.pruned_at, watchkeeper_prune_to.pruned_by);
    end if;
    return true;
end $$;

create function watchkeeper_prune_slice(most int)
returns int language plpgsql security definer as $$
declare
    tenant text := watchkeeper_tenant();
    place bigint := (select p.seq from ledger_prunes p where p.tenant_id = tenant);
    gone int;
begin
    with old as (select l.seq from ledger l where l.tenant_id = tenant and l.seq <= place
        order by l.seq limit most)
    delete from ledger l using old where l.tenant_id = tenant and l.seq = old.seq;
    get diagnostics gone = row_count;
    if gone < most then
        delete from ledger_seals s where s.tenant_id = tenant and s.to_seq < place;
    end if;
    return gone;
end $$;

revoke execute on function watchkeeper_prune_to(bigint, text, bigint) from public;
revoke execute on function watchkeeper_prune_slice(int) from public;
grant execute on function watchkeeper_prune_to(bigint, text, bigint) to watchkeeper_app;
grant execute on function watchkeeper_prune_slice(int) to watchkeeper_app;

alter table ledger_checkpoints enable row level security;
alter table ledger_checkpoints force row level security;
create policy own_tenant on ledger_checkpoints to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert on ledger_checkpoints to watchkeeper_app;

alter table ledger_prunes enable row level security;
alter table ledger_prunes force row level security;
create policy own_tenant on ledger_prunes to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select on ledger_prunes to watchkeeper_app;

alter table ledger_seals enable row level security;
alter table ledger_seals force row level security;
create policy own_tenant on ledger_seals to watchkeeper_app using (tenant_id = (select watchkeeper_tenant())) with check (tenant_id = (select watchkeeper_tenant()));
grant select, insert on ledger_seals to watchkeeper_app;
-- only to see whose ledger goes beyond its seals
create policy all_tenants on ledger_seals for select to watchkeeper_worker using (true);
grant select (tenant_id, from_seq, to_seq) on ledger_seals to watchkeeper_worker;

-- The owner is held by row-level security too; its functions need to see what they prune.
do $$ begin
    execute format('create policy owner_prunes on ledger to %I using (true)', current_user);
    execute format('create policy owner_prunes on ledger_seals to %I using (true)', current_user);
    execute format('create policy owner_prunes on ledger_checkpoints to %I using (true)', current_user);
    execute format('create policy owner_prunes on ledger_prunes to %I using (true) with check (true)', current_user);
end $$;

-- A table of the same name in a caller's temporary schema must not stand in for the real one.
do $$
declare
    named regprocedure;
begin
    foreach named in array array['watchkeeper_prune_to(bigint, text, bigint)',
        'watchkeeper_prune_slice(int)', 'watchkeeper_keep_entries()', 'watchkeeper_keep_seals()',
        'watchkeeper_checkpoint_is_sealed()', 'watchkeeper_prune_goes_forward()'
    ]::regprocedure[] loop
        execute format('alter function %s set search_path = %I, pg_temp', named, current_schema());
    end loop;
end $$;
