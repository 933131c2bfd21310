"""The judgements: lock, decide, save, record, enqueue, on a transaction they are given."""
