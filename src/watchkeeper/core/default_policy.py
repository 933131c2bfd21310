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

# Models are priced in micro-credits: a token costs multiplier / 1000000 of one, rounded up.
# Where a model's tier is full, or its kill switch is on, the one it is downgraded to is tried.

[models.standard]
tier = "standard"
input_multiplier_micro = 1000000
output_multiplier_micro = 3000000

[models.premium]
tier = "premium"
input_multiplier_micro = 5000000
output_multiplier_micro = 15000000
downgrade_to = "standard"        # "none" ends the cascade

[quota]
default_model = "standard"       # of runs that report usage and name no model
tolerance_percent = 110          # what a turn may be charged, of what it reserved
generation_floor_tokens = 50     # output that an unfinished turn is estimated at
watchdog_seconds = 300           # a turn that is silent for longer is ended

[quota.tenant.daily]             # micro-credits, for the tenant as a whole
total = 1000000000
tiers.premium = 500000000

[quota.tenant.monthly]
total = 20000000000
tiers.premium = 10000000000

[quota.user.daily]               # and for each of its users
total = 100000000
tiers.premium = 50000000

[quota.user.monthly]
total = 2000000000
tiers.premium = 1000000000

[heat]                           # how warm an account is: three factors, weighted to 100
posture_weight = 40
recency_weight = 35
volume_weight = 25
older_percent = 10               # a last signal older than every step below
volume_signals = 5               # so many within volume_hours count as full
volume_hours = 24
hot_percent = 70
warm_percent = 35
rollup_days = 0                  # days for which the heat of each day is kept; 0: not at all

[heat.postures]
DORMANT = 0
OK = 30
WATCH = 50
AT_RISK = 70
EXPAND = 90

[heat.recency.hour]
within_hours = 1
percent = 100

[heat.recency.morning]
within_hours = 6
percent = 70

[heat.recency.day]
within_hours = 24
percent = 40

[heat_tiers.HOT]
cadence_seconds = 3600
depth = "DEEP"
pull_on_signal = "yes"           # and a shallow pull on each signal
promotion_signals = 2
promotion_window_hours = 1
demotion_cooldown_hours = 4

[heat_tiers.WARM]
cadence_seconds = 21600
depth = "SHALLOW"
pull_on_signal = "no"
promotion_signals = 1
promotion_window_hours = 6
demotion_cooldown_hours = 24

[heat_tiers.COLD]
cadence_seconds = 259200
depth = "SHALLOW"
pull_on_signal = "no"
promotion_signals = 0
promotion_window_hours = 0
demotion_cooldown_hours = 48

[pulls]
per_tick_max = 100               # scheduled at once for one tenant
lease_seconds = 300              # a slot of a dead worker is free again after this
breaker_failures = 5             # in a row, for one tenant
breaker_pause_seconds = 300

[plans]
per_cycle_max = 10               # plans activated, and plans advanced, in one cycle of a tenant
cycle_seconds = 60               # a plan that is held back is considered again after this
outcome_timeout_seconds = 86400  # an action that is silent for longer has failed

[autonomy]                       # what agents may do by themselves
mode = "approve_each"            # "propose_only", "approve_each", "auto_low_risk"
max_risk = "high"                # an action of higher risk is never carried out
auto_per_day_max = "unlimited"   # actions without an approval, by UTC day
approval_hours = 72              # how long an approval is waited for
unanswered = "reject"            # then: "reject" the action, or "pause" the plan

[plan_types.RENEWAL_DEFENSE]
objective = "Keep the customer through the coming renewal"
expiry_hours = 720
max_retries_per_step = 3         # attempts in all
human_touch = "no"               # "yes": only a person's approval activates it
approval = "person"              # "policy": drafts are approved by themselves
skipped_counts = "yes"           # a skipped step satisfies those that depend on it

[plan_types.RENEWAL_DEFENSE.actions] # and their order; 0 is anywhere
REQUEST_RENEWAL_MEETING = 1
PREP_RENEWAL_BRIEF = 2
ESCALATE_SUPPORT_RISK = 3

[reports]
tick_seconds = 300               # how often it is looked whether a tick of a tenant went missing
forecast_min_hours = 6           # a shorter window is not enough for a forecast
kept_days = 365                  # of reports that were asked for; those of milestones stay

[reports.milestones.AUTO_12H]    # a milestone's window ends where that of the next begins
after_hours = 12                 # after the installation; "unlimited": never

[reports.milestones.AUTO_24H]
after_hours = 24

[delivery.defaults]
guarantee = "at_least_once"
max_attempts = 10
lease_seconds = 30
backoff_base_seconds = 1
backoff_max_seconds = 3600
concurrency = 16                 # in one process
concurrency_total = "unlimited"  # over all processes
endpoint_concurrency = 4         # sends at once from one process to one endpoint of a sink
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

[delivery.topics.usage_snapshot]
guarantee = "at_least_once"
max_attempts = 100               # billing may be away for days
backoff_max_seconds = 3600

[delivery.topics."pull.requested"]
guarantee = "at_most_once"
max_attempts = 1
lease_seconds = 60

[delivery.topics."pull.tick"]
max_attempts = 1000
backoff_max_seconds = 60

[delivery.topics."pull.on_signal"]
max_attempts = 1000              # a limit that refuses it is no failure
backoff_max_seconds = 60

[delivery.topics."action.requested"]
guarantee = "at_least_once"      # to a webhook, with the same id; a Python handler is called once
max_attempts = 10
lease_seconds = 60

[delivery.topics."plan.cycle"]
max_attempts = 1000
backoff_max_seconds = 60

[delivery.topics."heat.sweep"]
max_attempts = 1000
backoff_max_seconds = 300

[delivery.topics."milestone.tick"]
max_attempts = 1000
backoff_max_seconds = 300

[retention]
delivered_days = 7
ledger_days = "unlimited"        # older entries may be pruned, once they are exported
pulls_days = 30                  # from when its id is free again
"""

FORMER_POLICIES: tuple[str, ...] = ()
"""Documents that shipped before this one, oldest first.

A verdict of version 0 was given under the one of its time, and names it by its hash. So whoever
changes what ships after a release puts the former text here, and none is ever taken away.
"""
