"""A new policy is put in force: validated, hashed, given the next version, recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from watchkeeper.actions.tenant_tiers import refuse_dropped
from watchkeeper.core.ids import SYSTEM
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.policy import Policy, diff
from watchkeeper.core.policy_parse import parse_policy, parse_policy_json
from watchkeeper.errors import Conflict
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, policies, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx


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

    A document that drops a tier which tenants have is refused.
    `against` is the version that somebody compared it with: where another one is in force by
    now, nothing is changed.
    """
    checked = read_policy(document)

    def deed() -> Policy:
        with db.begin(SYSTEM) as tx:
            tenants.create(tx, name=None, tier=None, installed_at=None)
            tenant = tenants.lock(tx)  # versions are given out one at a time
            current = db.policies.current(tx)
            if is_in_force(current, checked):
                return current
            if against is not None and current.version != against:
                raise Conflict(
                    f"version {current.version} is in force by now, not {against}: compare again"
                )
            return put_in_force(
                tx, tenant, db.policies, current, checked, author=author, reason=reason
            )

    return db.retrying(deed)


def is_in_force(current: Policy, checked: Policy) -> bool:
    same = (current.text, current.hash) == (checked.text, checked.hash)
    return current.version > 0 and same


def put_in_force(
    tx: Tx,
    tenant: LockedTenant,
    book: PolicyBook,
    current: Policy,
    checked: Policy,
    *,
    author: str,
    reason: str,
) -> Policy:
    """Give a document the version after the current one, under the system's lock.

    This process follows it as soon as it is committed. One that drops a tier which tenants
    have is refused.
    """
    refuse_dropped(tx, current, checked)
    policy = replace(checked, version=current.version + 1)
    policies.add(tx, policy, author=author, reason=reason)
    tx.after_commit.append(partial(book.keep, policy))
    changes = [
        {"after": change.after, "before": change.before, "path": change.path}
        for change in diff(current, policy)
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
