"""Watchkeeper: the control plane for always-on agents.

It decides when an agent may think, so that a storm of signals costs a handful of runs;
it records why; and it never runs one twice.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchkeeper.act_results import Action, Asked, Intent, Outcome, Plan, Proposal, Step
    from watchkeeper.actions.explain_decision import Explanation
    from watchkeeper.app import App
    from watchkeeper.perceive_results import Heat, PullAnswer, PullBudget
    from watchkeeper.report_results import MilestoneView, ReportSummary
    from watchkeeper.results import (
        Decision,
        PendingReceipt,
        Pull,
        PullResult,
        Receipt,
        Run,
        SignalSeen,
        Tenant,
        Verdict,
    )
    from watchkeeper.turn_results import QuotaBucket, Settlement, Turn

__all__ = [
    "Action",
    "App",
    "Asked",
    "Decision",
    "Explanation",
    "Heat",
    "Intent",
    "MilestoneView",
    "Outcome",
    "PendingReceipt",
    "Plan",
    "Proposal",
    "Pull",
    "PullAnswer",
    "PullBudget",
    "PullResult",
    "QuotaBucket",
    "Receipt",
    "ReportSummary",
    "Run",
    "Settlement",
    "SignalSeen",
    "Step",
    "Tenant",
    "Turn",
    "Verdict",
]

_HOME = {
    "Action": "watchkeeper.act_results",
    "App": "watchkeeper.app",
    "Asked": "watchkeeper.act_results",
    "Decision": "watchkeeper.results",
    "Explanation": "watchkeeper.actions.explain_decision",
    "Heat": "watchkeeper.perceive_results",
    "Intent": "watchkeeper.act_results",
    "MilestoneView": "watchkeeper.report_results",
    "Outcome": "watchkeeper.act_results",
    "Plan": "watchkeeper.act_results",
    "Proposal": "watchkeeper.act_results",
    "Pull": "watchkeeper.results",
    "PullAnswer": "watchkeeper.perceive_results",
    "PullBudget": "watchkeeper.perceive_results",
    "PullResult": "watchkeeper.results",
    "QuotaBucket": "watchkeeper.turn_results",
    "PendingReceipt": "watchkeeper.results",
    "Receipt": "watchkeeper.results",
    "ReportSummary": "watchkeeper.report_results",
    "Run": "watchkeeper.results",
    "Settlement": "watchkeeper.turn_results",
    "SignalSeen": "watchkeeper.results",
    "Step": "watchkeeper.act_results",
    "Tenant": "watchkeeper.results",
    "Turn": "watchkeeper.turn_results",
    "Verdict": "watchkeeper.results",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: the command line needs few of them."""
    if name not in _HOME:
        raise AttributeError(f"module 'watchkeeper' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
