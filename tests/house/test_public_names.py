"""What `import watchkeeper` offers is a promise: it grows on purpose and never by accident."""

import inspect

import pytest

import watchkeeper

PUBLIC = [
    "Action",
    "App",
    "Asked",
    "Decision",
    "Explanation",
    "Heat",
    "Intent",
    "MilestoneView",
    "Outcome",
    "Plan",
    "Proposal",
    "Pull",
    "PullAnswer",
    "PullBudget",
    "PullResult",
    "QuotaBucket",
    "PendingReceipt",
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


@pytest.mark.req("U-01")
def test_the_public_names_are_these_and_no_others() -> None:
    assert sorted(watchkeeper.__all__) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(watchkeeper, name)
    assert not (inspect.isclass(value) or callable(value)) or inspect.getdoc(value)
