"""The policy as people look at it: its versions, what one changed, what a new document would."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.actions.apply_policy import read_policy
from watchkeeper.actions.views import view_policy
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.policy import Change, Policy, diff
from watchkeeper.core.text_diff import Hunk, text_diff
from watchkeeper.core.toml_text import to_toml
from watchkeeper.store import policies
from watchkeeper.store.database import Database
from watchkeeper.store.policies import VERSIONS_END, PolicyChange


@dataclass(frozen=True, slots=True)
class Compared:
    """Two policies side by side. Without hunks the texts are not comparable, or too long."""

    before: Policy
    after: Policy
    changes: tuple[Change, ...]
    hunks: list[Hunk] | None


def policy_history(db: Database, before: int | None, limit: int) -> list[PolicyChange]:
    """Who put which version in force, when and why; the newest first."""
    with db.read(SYSTEM) as tx:
        return policies.history(tx, limit, VERSIONS_END if before is None else before)


def compare_versions(db: Database, tenant_id: TenantId | None, before: int, after: int) -> Compared:
    """What changed from one version to another; for a tenant, in what it sees of them."""
    old, new = view_policy(db, tenant_id, before), view_policy(db, tenant_id, after)
    return _compared(old, new, is_written=tenant_id is None)


def compare_document(db: Database, document: str) -> Compared:
    """What a document would change, were it put in force now. Raises Invalid with each mistake."""
    return _compared(view_policy(db, None), read_policy(document), is_written=True)


def meaning_of(policy: Policy) -> str:
    """A document with all that it leaves to the defaults."""
    return to_toml(policy.effective)


def _compared(old: Policy, new: Policy, *, is_written: bool) -> Compared:
    # What ships is written in full, a document only says what differs from it.
    is_alike = not is_written or (old.version == 0) == (new.version == 0 and not new.said)
    hunks = text_diff(old.text, new.text) if is_alike else None
    return Compared(old, new, tuple(diff(old, new)), hunks)
