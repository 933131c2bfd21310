"""A new policy is put in force: validated, hashed, given the next version, recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from watchkeeper.core.ids import SYSTEM
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.policy import Policy, diff
from watchkeeper.core.policy_parse import parse_policy, parse_policy_json
from watchkeeper.errors import Conflict
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, policies, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps


def read_policy(document: str | Mapping[str, object]) -> Policy:
    """Check a document without putting it in force. Raises Invalid with each mistake."""
    return parse_policy(document) if isinstance(document, str) else parse_policy_json(document)


def apply_policy(
    db: Database,
    document: str | Mapping[str, object],
    *,
    author: str,
    reason: str,
    against: int | None = None,
) -> Policy:
    """Put it in force for every later decision. The document in force already stays as it is.

    `against` is the version that somebody compared it with: where another one is in force by
    now, nothing is changed.
    """
    checked = read_policy(document)

    def deed() -> Policy:
        with db.begin(SYSTEM) as tx:
            tenants.create(tx, name=None, tier=None, installed_at=None)
            tenant = tenants.lock(tx)  # versions are given out one at a time
            current = db.policies.current(tx)
            same = (current.text, current.hash) == (checked.text, checked.hash)
            if current.version > 0 and same:
                return current
            if against is not None and current.version != against:
                raise Conflict(
                    f"version {current.version} is in force by now, not {against}: compare again"
                )
            policy = replace(checked, version=current.version + 1)
            policies.add(tx, policy, author=author, reason=reason)
            changes = [
                {"after": c.after, "before": c.before, "path": c.path}
                for c in diff(current, policy)
            ]
            entry = Entry(
                entry_id=new_id(),
                at=tx.now,
                stage=Stage.SYSTEM,
                kind=Kind.POLICY_APPLIED,
                subject=str(policy.version),
                policy_version=policy.version,
                data=dumps(
                    {
                        "author": author,
                        "changes": changes,
                        "hash": policy.hash,
                        "reason": reason,
                        "version": policy.version,
                    }
                ),
            )
            ledger.append_and_save(tx, tenant, [entry])
            return policy

    return db.retrying(deed)
