"""Who has to say yes before an action is carried out: nobody, a person, or nobody may."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple


class Risk(IntEnum):
    LOW = 0
    MEDIUM = 1
    HIGH = 2  # also of what nobody knows the risk of


class Mode(StrEnum):
    PROPOSE_ONLY = "propose_only"
    APPROVE_EACH = "approve_each"
    AUTO_LOW_RISK = "auto_low_risk"


class Unanswered(StrEnum):
    """What becomes of an approval that nobody gives in time."""

    REJECT = "reject"
    PAUSE = "pause"


@dataclass(frozen=True, slots=True, kw_only=True)
class Autonomy:
    """How much a tenant lets its agents do by themselves."""

    mode: Mode = Mode.APPROVE_EACH
    risk_max: Risk = Risk.HIGH
    auto_per_day_max: int | None = None
    unanswered: Unanswered = Unanswered.REJECT


class Approval(StrEnum):
    AUTO_EXECUTE = "AUTO_EXECUTE"
    REQUIRE_APPROVAL = "REQUIRE_APPROVAL"
    BLOCK = "BLOCK"


class ApprovalReason(StrEnum):
    PROPOSE_ONLY = "PROPOSE_ONLY"
    RISK_NOT_ALLOWED = "RISK_NOT_ALLOWED"
    APPROVE_EACH = "APPROVE_EACH"
    RISK_NOT_LOW = "RISK_NOT_LOW"
    AUTONOMY_BUDGET_USED = "AUTONOMY_BUDGET_USED"
    LOW_RISK = "LOW_RISK"


class Judged(NamedTuple):
    """The answer, why, which line of policy said so, and in words."""

    approval: Approval
    reason: ApprovalReason
    clause: str
    explanation: str


def judge(risk: Risk, autonomy: Autonomy, *, used_today: int) -> Judged:
    """Decide about one action, by its risk and by what the tenant has let happen today."""
    name = risk.name.lower()
    if autonomy.mode is Mode.PROPOSE_ONLY:
        words = "the tenant's agents may propose and nothing else"
        return Judged(Approval.BLOCK, ApprovalReason.PROPOSE_ONLY, "autonomy.mode", words)
    if risk > autonomy.risk_max:
        words = f"it is of {name} risk, the tenant allows {autonomy.risk_max.name.lower()}"
        return Judged(Approval.BLOCK, ApprovalReason.RISK_NOT_ALLOWED, "autonomy.max_risk", words)
    if autonomy.mode is Mode.APPROVE_EACH:
        return _ask(ApprovalReason.APPROVE_EACH, "autonomy.mode", "every action is asked for")
    if risk is not Risk.LOW:
        words = f"it is of {name} risk, and only low risk goes by itself"
        return _ask(ApprovalReason.RISK_NOT_LOW, "autonomy.mode", words)
    most = autonomy.auto_per_day_max
    if most is not None and used_today >= most:
        words = f"{used_today} of {most} went by themselves today"
        return _ask(ApprovalReason.AUTONOMY_BUDGET_USED, "autonomy.auto_per_day_max", words)
    words = "it is of low risk"
    return Judged(Approval.AUTO_EXECUTE, ApprovalReason.LOW_RISK, "autonomy.mode", words)


def _ask(reason: ApprovalReason, clause: str, words: str) -> Judged:
    return Judged(Approval.REQUIRE_APPROVAL, reason, clause, words)
