"""Policy: the standing orders, as one document and as the rules it gives each tenant.

A document is sparse: it says what differs from the shipped one. Each value is taken
from the most particular place that names it: the shipped default, the document, the
tenant's tier, the tenant. `rules_for` resolves that once and keeps where each value
came from, so that a verdict can say whose rule it followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from watchkeeper.core.delivery import DeliveryRule, Guarantee, OnDead, Order
from watchkeeper.core.heat import HeatRules
from watchkeeper.core.milestones import ReportRules
from watchkeeper.core.plan_types import ActRules
from watchkeeper.core.policy_act import act_rules
from watchkeeper.core.policy_perceive import heat_rules, pull_rules
from watchkeeper.core.policy_read import (
    NONE,
    UNLIMITED,
    Document,
    Value,
    entry,
    limit,
    table,
    whole,
)
from watchkeeper.core.policy_report import report_rules
from watchkeeper.core.pulls import PullRules
from watchkeeper.core.quota import TOTAL, Model, Period, QuotaRules, Scope, tier_bucket
from watchkeeper.core.time import SECOND

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of the document. `version` 0 is the shipped one."""

    version: int
    hash: str  # over what it means, so that comments and layout do not count
    text: str
    said: Document = field(compare=False, repr=False)  # what the document itself names
    effective: Document = field(compare=False, repr=False)  # with the shipped values under it


@dataclass(frozen=True, slots=True)
class TriggerRule:
    """One entry of the trigger registry, in the units of the gate. None is unlimited."""

    debounce_us: int
    cooldown_us: int
    account_cap: int | None = None
    tenant_cap: int | None = None


NO_QUOTA = QuotaRules(models={})
NO_HEAT = HeatRules()
NO_PULLS = PullRules()
NO_PLANS = ActRules()
NO_REPORTS = ReportRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRules:
    """What one tenant is ruled by, resolved."""

    triggers: Mapping[str, TriggerRule]
    run_budget_per_day: int | None = None
    idempotency_ttl_us: int = 86_400 * SECOND
    spread_seconds: int = 300
    signals_per_run_max: int = 1000
    quota: QuotaRules = NO_QUOTA
    heat: HeatRules = NO_HEAT
    pulls: PullRules = NO_PULLS
    act: ActRules = NO_PLANS
    reports: ReportRules = NO_REPORTS
    policy_version: int = 0
    policy_hash: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def source_of(self, path: str) -> str:
        """default, policy, tier:NAME or tenant:ID: who set the value at this dotted path."""
        return self.sources.get(path, DEFAULT)


@dataclass(frozen=True, slots=True)
class Change:
    """One value that differs between two policies; None where it is absent."""

    path: str
    before: int | str | None
    after: int | str | None


def rules_for(policy: Policy, tenant_id: str, tier: str | None) -> TenantRules:
    """Resolve a tenant's rules. Pure: worth keeping by (version, tenant, tier)."""
    merged = merged_view(policy, tenant_id, tier)
    return TenantRules(
        triggers={name: _trigger_rule(table(t)) for name, t in table(merged["triggers"]).items()},
        run_budget_per_day=limit(merged, "run_budget_per_day"),
        idempotency_ttl_us=whole(merged, "idempotency_ttl_seconds") * SECOND,
        spread_seconds=whole(merged, "spread_seconds"),
        signals_per_run_max=whole(merged, "signals_per_run_max"),
        quota=_quota_rules(merged),
        heat=heat_rules(merged),
        pulls=pull_rules(merged),
        act=act_rules(merged),
        reports=report_rules(merged),
        policy_version=policy.version,
        policy_hash=policy.hash,
        sources=_sources(policy, tenant_id, tier),
    )


def merged_view(policy: Policy, tenant_id: str, tier: str | None) -> dict[str, Value]:
    """The document as it holds for one tenant: itself a valid document, naming no other."""
    base = _for_all(policy.effective)
    for _, layer in _overrides(policy, tenant_id, tier):
        base = overlay(base, layer)
    return base


def delivery_for(policy: Policy, topic: str) -> DeliveryRule:
    """The rule of a topic: the defaults, under what is said of the topic itself."""
    delivery = table(policy.effective["delivery"])
    values = overlay(table(delivery["defaults"]), entry(delivery, "topics", topic))
    guarantee = Guarantee(str(values["guarantee"]))
    once = guarantee is Guarantee.AT_MOST_ONCE
    timeout = limit(values, "timeout_seconds")
    return DeliveryRule(
        guarantee=guarantee,
        max_attempts=1 if once else whole(values, "max_attempts"),
        lease_us=whole(values, "lease_seconds") * SECOND,
        backoff_base_us=whole(values, "backoff_base_seconds") * SECOND,
        backoff_max_us=whole(values, "backoff_max_seconds") * SECOND,
        concurrency=whole(values, "concurrency"),
        concurrency_total=limit(values, "concurrency_total"),
        endpoint_concurrency=whole(values, "endpoint_concurrency"),
        order=Order(str(values["order"])),
        on_dead=OnDead(str(values["on_dead"])),
        timeout_us=None if timeout is None else timeout * SECOND,
    )


def retention_days(policy: Policy) -> int:
    """For how many days delivered messages are kept."""
    return whole(table(policy.effective["retention"]), "delivered_days")


def ledger_days(policy: Policy) -> int | None:
    """For how many days entries of the ledger are kept at least; None for ever."""
    return limit(table(policy.effective["retention"]), "ledger_days")


def pulls_kept_days(policy: Policy) -> int:
    """For how many days pulls that have ended are kept, from when their ids are free again."""
    return whole(table(policy.effective["retention"]), "pulls_days")


def tiers_of(policy: Policy) -> list[str]:
    """The tenant tiers that the document has, by name."""
    return sorted(table(policy.effective.get("tiers", {})))


def tenants_named(policy: Policy) -> list[str]:
    """The tenants that the document has lines of their own for."""
    return sorted(table(policy.effective.get("tenants", {})))


def diff(old: Policy, new: Policy) -> list[Change]:
    """Every value that differs in effect, by path."""
    before, after = dict(leaves(old.effective)), dict(leaves(new.effective))
    return [
        Change(path, before.get(path), after.get(path))
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ]


def overlay(under: Document, over: Document) -> dict[str, Value]:
    """`over` laid on `under`, table by table; neither is changed."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = overlay(below, value)
        else:
            merged[key] = value
    return merged


def leaves(document: Document, prefix: str = "") -> Iterator[tuple[str, int | str]]:
    """Each value with its dotted path, as written in messages and in `source_of`."""
    for key, value in document.items():
        path = f"{prefix}{path_part(key)}"
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def path_part(key: str) -> str:
    """A key as it stands in a dotted path: quoted when it would not read as one part."""
    return f'"{key}"' if "." in key or ":" in key else key


def _overrides(policy: Policy, tenant_id: str, tier: str | None) -> Iterator[tuple[str, Document]]:
    if tier is not None:
        yield f"tier:{tier}", entry(policy.effective, "tiers", tier)
    yield f"tenant:{tenant_id}", entry(policy.effective, "tenants", tenant_id)


def _sources(policy: Policy, tenant_id: str, tier: str | None) -> dict[str, str]:
    sources = {path: "policy" for path, _ in leaves(_for_all(policy.said))}
    for source, layer in _overrides(policy, tenant_id, tier):
        sources.update((path, source) for path, _ in leaves(layer))
    return sources


def _for_all(document: Document) -> dict[str, Value]:
    return {key: value for key, value in document.items() if key not in ("tiers", "tenants")}


def _trigger_rule(values: Document) -> TriggerRule:
    return TriggerRule(
        debounce_us=whole(values, "debounce_seconds") * SECOND,
        cooldown_us=whole(values, "cooldown_seconds") * SECOND,
        account_cap=limit(values, "max_per_account_per_hour"),
        tenant_cap=limit(values, "max_per_tenant_per_hour"),
    )


def _quota_rules(merged: Document) -> QuotaRules:
    quota = table(merged["quota"])
    return QuotaRules(
        models={name: _model(name, table(t)) for name, t in table(merged["models"]).items()},
        default_model=str(quota["default_model"]),
        limits=dict(_credit_limits(quota)),
        tolerance_percent=whole(quota, "tolerance_percent"),
        generation_floor_tokens=whole(quota, "generation_floor_tokens"),
        timeout_us=whole(quota, "watchdog_seconds") * SECOND,
    )


def _model(name: str, values: Document) -> Model:
    following = str(values.get("downgrade_to", NONE))
    return Model(
        name=name,
        tier=str(values["tier"]),
        input_multiplier_micro=whole(values, "input_multiplier_micro"),
        output_multiplier_micro=whole(values, "output_multiplier_micro"),
        downgrade_to=None if following == NONE else following,
    )


def _credit_limits(quota: Document) -> Iterator[tuple[tuple[Scope, Period, str], int]]:
    for scope in Scope:
        for period in Period:
            values = entry(quota, scope, period)
            named = {TOTAL: values.get(TOTAL, UNLIMITED)}
            tiers = table(values.get("tiers", {}))
            named |= {tier_bucket(tier): most for tier, most in tiers.items()}
            for bucket, most in named.items():
                if isinstance(most, int):
                    yield (scope, period, bucket), most
