-- The message that waits for a tenant's next cycle or tick: what takes its place takes it away.

alter table plan_cycles add column message_id VARCHAR(36);
alter table pull_ticks add column message_id VARCHAR(36);
