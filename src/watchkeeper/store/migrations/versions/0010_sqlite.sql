-- A signal is one by its account and the place of its verdict: its id may come again.

alter table signals rename to signals_by_id;
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
    PRIMARY KEY (tenant_id, account_id, seq)
);
insert into signals (
    tenant_id, signal_id, account_id, type, occurred_at, recorded_at, seq, correlation_id, data)
select tenant_id, signal_id, account_id, type, occurred_at, recorded_at, seq, correlation_id, data
from signals_by_id;
drop table signals_by_id;
