"""Watchkeeper: the control plane for always-on agents.

It decides when an agent may think, so that a storm of signals costs a handful of runs;
it records why; and it never runs one twice.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchkeeper.act_results import Action, Asked, Outcome, Proposal
    from watchkeeper.app import App
    from watchkeeper.results import Decision, PullResult, Receipt, Run, Verdict

__all__ = [
    "Action",
    "App",
    "Asked",
    "Decision",
    "Outcome",
    "Proposal",
    "PullResult",
    "Receipt",
    "Run",
    "Verdict",
]

_HOME = {
    "Action": "watchkeeper.act_results",
    "App": "watchkeeper.app",
    "Asked": "watchkeeper.act_results",
    "Outcome": "watchkeeper.act_results",
    "Proposal": "watchkeeper.act_results",
    "Decision": "watchkeeper.results",
    "PullResult": "watchkeeper.results",
    "Receipt": "watchkeeper.results",
    "Run": "watchkeeper.results",
    "Verdict": "watchkeeper.results",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: the command line needs few of them."""
    if name not in _HOME:
        raise AttributeError(f"module 'watchkeeper' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
