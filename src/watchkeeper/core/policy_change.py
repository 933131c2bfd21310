"""A change of policy, laid on what ruled at another time.

A plan asks what a change does. Where an older version ruled, the change is what is laid
on it, and what was different then for other reasons stays so. So a change of nothing
changes nothing, whatever happened to the policy before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from watchkeeper.core.policy import Policy
from watchkeeper.core.policy_read import Document, Value


def changed_as(ruled: Policy, current: Policy, new: Policy) -> Policy:
    """`ruled`, with the difference between `current` and `new` applied to it."""
    if ruled.effective == current.effective:
        return new
    effective = _merged(ruled.effective, current.effective, new.effective)
    said = _merged(ruled.said, current.said, new.said)
    return replace(new, said=said, effective=effective)


def _merged(old: Document, current: Document, new: Document) -> dict[str, Value]:
    merged = dict(old)
    for key in current.keys() | new.keys():
        before, after = current.get(key), new.get(key)
        if before == after:
            continue
        below = old.get(key)
        if after is None:
            merged.pop(key, None)
        elif isinstance(after, Mapping) and isinstance(below, Mapping):
            merged[key] = _merged(below, before if isinstance(before, Mapping) else {}, after)
        elif not isinstance(before, Mapping):
            merged[key] = after
        # Else it did not exist then, and is not made by a change of what it became since.
    return merged
