"""The policy that ships: every value that holds until a document says otherwise."""

from __future__ import annotations

DEFAULT_POLICY_TOML = """\
# The shipped policy. A document of your own needs only the lines that differ:
# a tenant's entry wins over its tier's, that over the document, that over these.
# "unlimited" lifts a cap or a budget.

idempotency_ttl_seconds = 86400  # how long an idempotency key stays reserved
spread_seconds = 300             # over how long the runs of a new hour are spread
signals_per_run_max = 1000       # signals handed to one run, the newest
run_budget_per_day = "unlimited" # ALLOWs per tenant and UTC day

[triggers.SIGNAL_ARRIVED]
debounce_seconds = 60
cooldown_seconds = 300
max_per_account_per_hour = 12

[triggers.LIFECYCLE_STATE_CHANGE]
debounce_seconds = 120
cooldown_seconds = 600
max_per_account_per_hour = 6

[triggers.POSTURE_CHANGE]
debounce_seconds = 120
cooldown_seconds = 600
max_per_account_per_hour = 6

[triggers.TIME_RITUAL_DAILY_BRIEF]
debounce_seconds = 72000
cooldown_seconds = 300
max_per_account_per_hour = 1

[triggers.TIME_RITUAL_WEEKLY_REVIEW]
debounce_seconds = 518400
cooldown_seconds = 300
max_per_account_per_hour = 1

[triggers.TIME_RITUAL_RENEWAL_RUNWAY]
debounce_seconds = 72000
cooldown_seconds = 300
max_per_account_per_hour = 2

[delivery.defaults]
guarantee = "at_least_once"
max_attempts = 10
lease_seconds = 30
backoff_base_seconds = 1
backoff_max_seconds = 3600
concurrency = 16                 # in one process
concurrency_total = "unlimited"  # over all processes
order = "none"
on_dead = "continue"

[delivery.topics."decision.evaluation_requested"]
guarantee = "at_most_once"
max_attempts = 1
lease_seconds = 60
concurrency = 16

[delivery.topics."decision.retry"]
guarantee = "at_least_once"

[delivery.topics."schedule.due"]
guarantee = "at_least_once"
max_attempts = 1000              # a schedule outlives a long outage
backoff_base_seconds = 1
backoff_max_seconds = 300

[retention]
delivered_days = 7
"""
