"""How accounts look in answers: what they were told, runs, heat, next pulls and plans."""

from __future__ import annotations

from typing import Any

from watchkeeper.actions.show_heat import ShownAccount, WarmAccount
from watchkeeper.core.ids import TenantId
from watchkeeper.http import views, views_act
from watchkeeper.perceive_results import heat_day_json, next_pull_json, tier_change_json


def warm_account(found: WarmAccount | ShownAccount) -> dict[str, Any]:
    return {**views.account(found.account), "heat": found.heat.to_json()}


def shown_account(found: ShownAccount, tenant_id: TenantId) -> dict[str, Any]:
    return {
        **warm_account(found),
        "next_pulls": [next_pull_json(pull, depth) for pull, depth in found.next_pulls],
        "tier_history": [tier_change_json(one) for one in found.tier_history],
        "heat_days": [heat_day_json(one) for one in found.days],
        "plans": [views_act.plan(one, tenant_id) for one in found.plans],
    }
