"""The policy of the demo's tiers: the shipped rules with seconds for minutes.

Nothing in it reaches a tenant of another tier, the topic of the demo's own notes aside.
"""

from __future__ import annotations

NOTES = "crm.note"

# A token costs a hundred times what it costs by the shipped rules, so that a minute's work can
# be seen in whole credits.
_SHARED = """
[tiers.{tier}]
idempotency_ttl_seconds = 3600
{head}
[tiers.{tier}.triggers.TIME_RITUAL_DAILY_BRIEF]
debounce_seconds = 30
cooldown_seconds = 4
max_per_account_per_hour = "unlimited"
[tiers.{tier}.models.standard]
input_multiplier_micro = 100000000
output_multiplier_micro = 300000000
[tiers.{tier}.models.premium]
input_multiplier_micro = 500000000
output_multiplier_micro = 1500000000
[tiers.{tier}.quota]
watchdog_seconds = 60
[tiers.{tier}.heat]
volume_signals = 20
hot_percent = 75
warm_percent = 50
[tiers.{tier}.heat_tiers.HOT]
cadence_seconds = 60
pull_on_signal = "no"
demotion_cooldown_hours = 0
[tiers.{tier}.heat_tiers.WARM]
cadence_seconds = 900
demotion_cooldown_hours = 0
[tiers.{tier}.heat_tiers.COLD]
cadence_seconds = 3600
[tiers.{tier}.pulls]
breaker_failures = 3
breaker_pause_seconds = 20
[tiers.{tier}.plans]
cycle_seconds = 3
outcome_timeout_seconds = 120
[tiers.{tier}.autonomy]
approval_hours = 1
mode = "{mode}"
[tiers.{tier}.plan_types.RENEWAL_DEFENSE]
approval = "{approval}"
expiry_hours = 24
max_retries_per_step = 2
[tiers.{tier}.reports.milestones.AUTO_1H]
after_hours = 1
"""

_ENTERPRISE = """
[tiers.demo-enterprise.triggers.SIGNAL_ARRIVED]
debounce_seconds = 2
cooldown_seconds = 8
max_per_account_per_hour = 60
[tiers.demo-enterprise.quota.tenant]
daily = {total = 60000000000, tiers = {premium = 30000000000}}
monthly = {total = 1200000000000, tiers = {premium = 600000000000}}
[tiers.demo-enterprise.quota.user]
daily = {total = 2000000000, tiers = {premium = 1000000000}}
monthly = {total = 40000000000, tiers = {premium = 20000000000}}
"""

_TEAM = """
[tiers.demo-team.triggers.SIGNAL_ARRIVED]
debounce_seconds = 3
cooldown_seconds = 15
max_per_account_per_hour = 20
[tiers.demo-team.quota.tenant]
daily = {total = 40000000000, tiers = {premium = 400000000}}
monthly = {total = 800000000000, tiers = {premium = 8000000000}}
[tiers.demo-team.quota.user]
daily = {total = 2000000000, tiers = {premium = 200000000}}
monthly = {total = 40000000000, tiers = {premium = 4000000000}}
"""

# Room for the runs of a day, which are budgeted; the rooms of users and of premium are small.
_STARTER = """
[tiers.demo-starter.triggers.SIGNAL_ARRIVED]
debounce_seconds = 5
cooldown_seconds = 20
max_per_account_per_hour = 4
max_per_tenant_per_hour = 40
[tiers.demo-starter.quota.tenant]
daily = {total = 200000000, tiers = {premium = 12000000}}
monthly = {total = 4000000000, tiers = {premium = 240000000}}
[tiers.demo-starter.quota.user]
daily = {total = 1000000, tiers = {premium = 1000000}}
monthly = {total = 20000000, tiers = {premium = 20000000}}
"""

_DELIVERY = f"""
[delivery.topics."{NOTES}"]
max_attempts = 3
backoff_base_seconds = 1
backoff_max_seconds = 5
"""


def _tier(name: str, head: str, *, mode: str, approval: str) -> str:
    return _SHARED.format(tier=name, head=head, mode=mode, approval=approval)


POLICY = "".join(
    (
        _tier("demo-enterprise", "spread_seconds = 20", mode="auto_low_risk", approval="policy"),
        _ENTERPRISE,
        _tier("demo-team", "spread_seconds = 20", mode="auto_low_risk", approval="person"),
        _TEAM,
        _tier("demo-starter", "run_budget_per_day = 120", mode="approve_each", approval="person"),
        _STARTER,
        _DELIVERY,
    )
)
