CREATE TABLE policy_meanings (
    version INTEGER NOT NULL,
    effective TEXT NOT NULL,
    PRIMARY KEY (version)
);

create trigger policy_meanings_are_kept before update or delete on policy_meanings
    for each row execute function watchkeeper_refuse();

grant select, insert on policy_meanings to watchkeeper_app;
grant select on policy_meanings to watchkeeper_worker;
