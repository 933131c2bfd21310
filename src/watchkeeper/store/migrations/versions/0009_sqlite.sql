-- The change that an Idempotency-Key stands for, as a note in JSON.

alter table http_replies add column deed TEXT;
