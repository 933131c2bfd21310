-- A signal is one by its account and the place of its verdict: its id may come again.

alter table signals drop constraint signals_pkey;
alter table signals add primary key (tenant_id, account_id, seq);
drop index signals_account;
