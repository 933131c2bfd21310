"""Why a plan was held back or activated, and why an action went by itself, was asked for or barred.

Both are decided again, from what was recorded, by the very functions that decided them first;
so is the smallest change of policy: each line is tried, and told only if it changes the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from watchkeeper.core.approvals import Approval, ApprovalReason, Autonomy, Judged, Mode, Risk, judge
from watchkeeper.core.explain import Check, Outcome
from watchkeeper.core.plan_types import (
    Gate,
    GateCheck,
    GateFacts,
    PlanType,
    may_activate,
    out_of_order,
)
from watchkeeper.core.plans import Step
from watchkeeper.core.policy import TenantRules, path_part
from watchkeeper.core.time import DAY, Instant

POLICY = "policy"  # who approves a draft that policy approves
CHANGES_MAX = 10


@dataclass(frozen=True, slots=True)
class ActTrail:
    """Every check in order, which of them bound first, and what would have changed it."""

    result: str
    reason: str | None
    explanation: str
    clause: str | None  # the line of policy that bound, where one did
    checks: tuple[Check, ...]
    binding_check: str | None
    earliest_pass_at: Instant | None
    smallest_change: str | None


class GateCase(NamedTuple):
    """All that the gate of a plan is asked with."""

    rules: TenantRules
    plan_type: str
    steps: tuple[Step, ...]
    risks: Mapping[str, Risk]  # of the actions of its steps, as they were known
    of: GateFacts

    @property
    def kind(self) -> PlanType | None:
        return self.rules.act.types.get(self.plan_type)

    def decided(self) -> Gate:
        return may_activate(self.rules.act, self.plan_type, self.steps, self.risks, self.of)


def gate_record(
    steps: Sequence[Step], risks: Mapping[str, Risk], of: GateFacts
) -> dict[str, object]:
    """What a plan's gate was asked with, as plain data for the ledger."""
    known = {one.action_type: risks[one.action_type] for one in steps if one.action_type in risks}
    return {
        **of._asdict(),
        "facts": sorted(of.facts),
        "risks": {name: risk.name.lower() for name, risk in sorted(known.items())},
        "steps": [[one.step_id, one.action_type, one.position, one.sequence] for one in steps],
    }


def read_gate(data: Mapping[str, Any], rules: TenantRules, plan_type: str) -> GateCase:
    """The case, from what `gate_record` made of it."""
    given = {name: data[name] for name in GateFacts._fields if name != "facts"}
    return GateCase(
        rules,
        plan_type,
        tuple(Step(*one) for one in data["steps"]),
        {name: Risk[risk.upper()] for name, risk in data["risks"].items()},
        GateFacts(facts=frozenset(data["facts"]), **given),
    )


# -- the gate ---------------------------------------------------------------------------


def gate_trail(case: GateCase) -> ActTrail:
    """Ask the gate again, telling what each of its checks compared."""
    gate = case.decided()
    bound = {one.check for one in gate.obstacles}
    checks = tuple(_gate_check(case, check, bound) for check in GateCheck)
    first = gate.obstacles[0] if gate.obstacles else None
    return ActTrail(
        result="ACTIVATED" if first is None else "HELD",
        reason=None if first is None else first.reason,
        explanation="; ".join(one.explanation for one in gate.obstacles) or "nothing is in its way",
        clause=None if first is None else _clause(case, first.check),
        checks=checks,
        binding_check=None if first is None else first.check,
        earliest_pass_at=None,  # none of it passes by waiting
        smallest_change=_text(_gate_change(case)),
    )


def _gate_check(case: GateCase, check: GateCheck, bound: set[GateCheck]) -> Check:
    if case.kind is None and check not in (GateCheck.CONFLICT, GateCheck.TYPE):
        return Check(check, Outcome.NOT_REACHED)
    compared, threshold = _compared(case, check)
    clause = _clause(case, check)
    source = None if clause is None else case.rules.source_of(clause)
    outcome = Outcome.BOUND if check in bound else Outcome.PASSED
    return Check(check, outcome, compared, None, threshold, None, source)


def _compared(case: GateCase, check: GateCheck) -> tuple[str, str | None]:
    """What a check looked at, and what it held that against."""
    of, kind = case.of, case.kind or PlanType(name=case.plan_type, actions={})
    actions = list(dict.fromkeys(one.action_type for one in case.steps))
    match check:
        case GateCheck.CONFLICT:
            return ("none" if of.conflict is None else f"plan {of.conflict}"), "none"
        case GateCheck.TYPE:
            return case.plan_type, "in the policy"
        case GateCheck.FACTS:
            return f"given: {_names(of.facts)}", _names(kind.required_facts)
        case GateCheck.APPROVAL:
            return f"approved by {of.approved_by or 'nobody'}", "somebody"
        case GateCheck.POSTURE:
            return of.posture or "none", f"not {_names(kind.blocked_postures)}"
        case GateCheck.PERSON:
            who = "a person" if of.approved_by_person else "no person"
            return f"approved by {who}", "a person" if kind.needs_person else "anybody"
        case GateCheck.ACTIONS:
            return ", ".join(actions), _names(kind.actions)
        case GateCheck.RISK:
            told = [f"{name} {_risk(case, name).name.lower()}" for name in actions]
            return ", ".join(told), f"at most {case.rules.act.autonomy.risk_max.name.lower()}"
        case GateCheck.ORDER:
            places = [f"{one.step_id} {kind.actions.get(one.action_type, 0)}" for one in case.steps]
            return ", ".join(places), "never lower than before; 0 is anywhere"


def _clause(case: GateCase, check: GateCheck) -> str | None:
    base = f"plan_types.{path_part(case.plan_type)}"
    return {
        GateCheck.TYPE: base,
        GateCheck.FACTS: f"{base}.required_facts",
        GateCheck.APPROVAL: f"{base}.approval",
        GateCheck.POSTURE: f"{base}.blocked_postures",
        GateCheck.PERSON: f"{base}.human_touch",
        GateCheck.ACTIONS: f"{base}.actions",
        GateCheck.RISK: "autonomy.max_risk",
        GateCheck.ORDER: f"{base}.actions",
    }.get(check)


def _gate_change(case: GateCase) -> dict[str, object] | None:
    """The lines under which it is activated; None where it was, or where no document helps."""
    lines: dict[str, object] = {}
    for _ in range(CHANGES_MAX):
        obstacles = case.decided().obstacles
        if not obstacles:
            return lines or None
        found = _met(case, obstacles[0].check)
        if found is None:
            return None
        case, met = found
        lines |= {_placed(case.rules, path): value for path, value in met.items()}
    return None


def _met(case: GateCase, check: GateCheck) -> tuple[GateCase, dict[str, object]] | None:
    """The case under rules that one check gives way by, and the lines that say so."""
    kind, of, act = case.kind, case.of, case.rules.act
    base = f"plan_types.{path_part(case.plan_type)}"
    if kind is None or check in (GateCheck.CONFLICT, GateCheck.TYPE):
        return None
    match check:
        case GateCheck.FACTS:
            missing = kind.required_facts - of.facts
            given = replace(kind, required_facts=kind.required_facts - missing)
            paths = [f"{base}.required_facts.{path_part(name)}" for name in sorted(missing)]
            return _under(case, given), dict.fromkeys(paths, "no")
        case GateCheck.APPROVAL:
            by_policy = case._replace(of=of._replace(approved_by=POLICY, approved_by_person=False))
            return by_policy, {f"{base}.approval": POLICY}
        case GateCheck.POSTURE:
            open_to = replace(kind, blocked_postures=kind.blocked_postures - {of.posture or ""})
            return _under(case, open_to), {
                f"{base}.blocked_postures.{path_part(of.posture or '')}": "no"
            }
        case GateCheck.PERSON:
            return _under(case, replace(kind, needs_person=False)), {f"{base}.human_touch": "no"}
        case GateCheck.RISK:
            most = max(_risk(case, one.action_type) for one in case.steps)
            autonomy = replace(act.autonomy, risk_max=most)
            rules = replace(case.rules, act=replace(act, autonomy=autonomy))
            return case._replace(rules=rules), {"autonomy.max_risk": most.name.lower()}
        case _:
            wrong = [one.action_type for one in case.steps if one.action_type not in kind.actions]
            wrong = wrong or [one.action_type for one in out_of_order(kind, case.steps)]
            anywhere = replace(kind, actions={**kind.actions, **dict.fromkeys(wrong, 0)})
            paths = [f"{base}.actions.{path_part(name)}" for name in dict.fromkeys(wrong)]
            return _under(case, anywhere), dict.fromkeys(paths, 0)


def _under(case: GateCase, kind: PlanType) -> GateCase:
    act = case.rules.act
    types = {**act.types, case.plan_type: kind}
    return case._replace(rules=replace(case.rules, act=replace(act, types=types)))


def _risk(case: GateCase, action_type: str) -> Risk:
    return case.risks.get(action_type, Risk.HIGH)


# -- the approval -------------------------------------------------------------------------


class ApprovalCase(NamedTuple):
    """All that an action's approval is judged by."""

    rules: TenantRules
    action_type: str
    risk: Risk
    used_today: int
    at: Instant

    def decided(self) -> Judged:
        return judge(self.risk, self.rules.act.autonomy, used_today=self.used_today)


_BINDING = {
    ApprovalReason.PROPOSE_ONLY: "may_act",
    ApprovalReason.RISK_NOT_ALLOWED: "risk_allowed",
    ApprovalReason.APPROVE_EACH: "asks_for_each",
    ApprovalReason.RISK_NOT_LOW: "risk_low",
    ApprovalReason.AUTONOMY_BUDGET_USED: "autonomy_budget",
}


def approval_trail(case: ApprovalCase) -> ActTrail:
    """Judge it again, telling what each check compared. AUTO_EXECUTE passed them all."""
    judged, autonomy = case.decided(), case.rules.act.autonomy
    most = autonomy.auto_per_day_max
    risk, allowed = case.risk.name.lower(), autonomy.risk_max.name.lower()
    told = {
        "may_act": (autonomy.mode, f"not {Mode.PROPOSE_ONLY}", "autonomy.mode"),
        "risk_allowed": (f"{risk} risk", f"at most {allowed}", "autonomy.max_risk"),
        "asks_for_each": (autonomy.mode, Mode.AUTO_LOW_RISK, "autonomy.mode"),
        "risk_low": (f"{risk} risk", "low", "autonomy.mode"),
        "autonomy_budget": (
            f"{case.used_today} went by themselves in this UTC day",
            "unlimited" if most is None else f"fewer than {most}",
            "autonomy.auto_per_day_max",
        ),
    }
    binding = _BINDING.get(judged.reason)
    checks, is_over = [], False
    for name, (compared, threshold, path) in told.items():
        outcome = Outcome.BOUND if name == binding else Outcome.PASSED
        source = case.rules.source_of(path)
        line = Check(name, outcome, compared, None, threshold, None, source)
        checks.append(Check(name, Outcome.NOT_REACHED) if is_over else line)
        is_over = is_over or name == binding
    resets = judged.reason is ApprovalReason.AUTONOMY_BUDGET_USED
    return ActTrail(
        result=judged.approval,
        reason=judged.reason,
        explanation=judged.explanation,
        clause=judged.clause,
        checks=tuple(checks),
        binding_check=binding,
        earliest_pass_at=Instant((case.at // DAY + 1) * DAY) if resets else None,
        smallest_change=_text(_approval_change(case)),
    )


def _approval_change(case: ApprovalCase) -> dict[str, object] | None:
    """What lets a barred action be asked for, and one that was asked for go by itself."""
    before = case.decided().approval
    lines: dict[str, object] = {}
    for _ in _BINDING:
        judged = case.decided()
        if judged.approval is not before and judged.approval is not Approval.BLOCK:
            return lines
        if judged.approval is Approval.AUTO_EXECUTE:
            return None
        case, path, value = _judged_by(case, judged.reason)
        lines[_placed(case.rules, path)] = value
    judged = case.decided()
    return lines if judged.approval is not before else None


def _judged_by(case: ApprovalCase, reason: ApprovalReason) -> tuple[ApprovalCase, str, object]:
    """The case under the least that the check that bound must give way."""
    autonomy = case.rules.act.autonomy
    risk = case.risk.name.lower()
    match reason:
        case ApprovalReason.PROPOSE_ONLY:
            mode = Mode.APPROVE_EACH
            return _with(case, replace(autonomy, mode=mode)), "autonomy.mode", str(mode)
        case ApprovalReason.RISK_NOT_ALLOWED:
            allowed = _with(case, replace(autonomy, risk_max=case.risk))
            return allowed, "autonomy.max_risk", risk
        case ApprovalReason.APPROVE_EACH:
            mode = Mode.AUTO_LOW_RISK
            return _with(case, replace(autonomy, mode=mode)), "autonomy.mode", str(mode)
        case ApprovalReason.RISK_NOT_LOW:
            path = f"actions.{path_part(case.action_type)}.risk"
            return case._replace(risk=Risk.LOW), path, "low"
        case _:
            most = case.used_today + 1
            more = _with(case, replace(autonomy, auto_per_day_max=most))
            return more, "autonomy.auto_per_day_max", most


def _with(case: ApprovalCase, autonomy: Autonomy) -> ApprovalCase:
    act = replace(case.rules.act, autonomy=autonomy)
    return case._replace(rules=replace(case.rules, act=act))


# -- in words -------------------------------------------------------------------------------


def _placed(rules: TenantRules, path: str) -> str:
    """Where the value that it takes the place of was set: a wider line would not reach."""
    section, _, owner = rules.source_of(path).partition(":")
    return f"{section}s.{path_part(owner)}.{path}" if section in ("tier", "tenant") else path


def _text(lines: Mapping[str, object] | None) -> str | None:
    if not lines:
        return None
    written = [
        f'{path} = "{v}"' if isinstance(v, str) else f"{path} = {v}" for path, v in lines.items()
    ]
    return "\n".join(written)


def _names(names: object) -> str:
    assert isinstance(names, frozenset | Mapping)
    return ", ".join(sorted(names)) or "none"
