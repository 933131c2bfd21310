"""The versions of the policy, and a book of those this process has read.

A version never changes once it is written, so keeping one in memory is safe. Which
version is in force is asked of the database in every transaction that decides.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from watchkeeper.core.canonical import canonical_json
from watchkeeper.core.delivery import DeliveryRule
from watchkeeper.core.ids import TenantId
from watchkeeper.core.policy import Policy, TenantRules, delivery_for, rules_for
from watchkeeper.core.policy_parse import (
    first_meaning,
    shipped_meaning,
    shipped_policies,
    shipped_policy,
    stored_policy,
)
from watchkeeper.core.time import Instant
from watchkeeper.errors import NotFound
from watchkeeper.store.json import loads
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Session, Tx

VERSIONS_KEPT_MAX = 64
TENANTS_KEPT_MAX = 10_000
VERSIONS_END = 2**31 - 1
TOPICS_KEPT_MAX = 1_000
FRESH_SECONDS = 1.0
"""So long a worker goes by the delivery rules it has read, when another process applies others."""

_CURRENT = same("select coalesce(max(version), 0) from policies")
_TIER = same("select tier from tenants where tenant_id = %s")
_TEXT = same(
    "select p.text, p.hash, m.effective from policies p"
    " left join policy_meanings m on m.version = p.version where p.version = %s"
)
_INSERT = same(
    "insert into policies (version, hash, text, author, reason, applied_at)"
    " values (%s, %s, %s, %s, %s, %s)"
)
_INSERT_MEANING = same("insert into policy_meanings (version, effective) values (%s, %s)")
_LIST = same(
    "select version, hash, author, reason, applied_at from policies where version < %s"
    " order by version desc limit %s"
)


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One line of the history of the policy: who put which version in force, when and why."""

    version: int
    hash: str
    author: str
    reason: str
    applied_at: Instant


@dataclass(frozen=True, slots=True)
class Guess:
    """What ruled a tenant when this process last looked; checked again under its lock."""

    version: int
    tier: str | None
    rules: TenantRules


class PolicyBook:
    """The policies this process has read, and the rules it has resolved from them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._policies = {0: shipped_policy()}
        self._latest = self._policies[0]
        self._guesses: dict[TenantId, Guess] = {}
        self._lock = threading.Lock()
        self._delivery: tuple[Policy, dict[str, DeliveryRule]] = (self._policies[0], {})
        self._looked_at: float | None = None

    def is_fresh(self) -> bool:
        """Whether this process has just asked which version is in force."""
        return self._looked_at is not None and self.clock() - self._looked_at < FRESH_SECONDS

    def policy(self, session: Session, version: int) -> Policy:
        found = self._policies.get(version)
        if found is None:
            found = load(session, version)
            self.keep(found)
        return found

    def keep(self, policy: Policy) -> None:
        """Remember a version that is in the database."""
        with self._lock:
            if len(self._policies) >= VERSIONS_KEPT_MAX:
                self._policies = {0: self._policies[0]}
            self._policies[policy.version] = policy
            if policy.version > self._latest.version:
                self._latest = policy

    def recorded(self, session: Session, version: int, hash: str) -> Policy:
        """The policy that a verdict names. What shipped then may not be what ships now."""
        if version > 0:
            return self.policy(session, version)
        shipped_meaning(hash)
        return shipped_policies()[hash]

    def current(self, session: Session) -> Policy:
        at = self.clock()
        found = self.policy(session, current_version(session))
        self._looked_at = at
        return found

    def latest(self) -> Policy:
        """The newest version this process has read: for what need not be exact."""
        return self._latest

    def delivery(self, topic: str) -> DeliveryRule:
        """The rule of a topic by that version: asked for with every message."""
        policy = self.latest()
        of, rules = self._delivery
        if of is not policy or len(rules) > TOPICS_KEPT_MAX:
            rules = {}
            self._delivery = (policy, rules)
        found = rules.get(topic)
        if found is None:
            found = rules[topic] = delivery_for(policy, topic)
        return found

    def guess(self, tx: Tx) -> Guess:
        return self._guesses.get(tx.tenant_id) or self.exact(tx)

    def exact(self, tx: Tx) -> Guess:
        """What rules the tenant at this moment, for who holds no lock."""
        tiers = tx.rows(_TIER, (tx.tenant_id,))
        return self.under(tx, current_version(tx), tiers[0][0] if tiers else None)

    def under(self, tx: Tx, version: int, tier: str | None) -> Guess:
        """What rules the tenant under this version, in this tier."""
        found = self._guesses.get(tx.tenant_id)
        if found is not None and (found.version, found.tier) == (version, tier):
            return found
        return self.learn(tx, version, tier)

    def learn(self, tx: Tx, version: int, tier: str | None) -> Guess:
        policy = self.policy(tx, version)
        found = Guess(version, tier, rules_for(policy, tx.tenant_id, tier))
        with self._lock:
            if len(self._guesses) >= TENANTS_KEPT_MAX:
                self._guesses = {}
            self._guesses[tx.tenant_id] = found
        return found


def current_version(session: Session) -> int:
    return int(session.rows(_CURRENT)[0][0])


def load(session: Session, version: int) -> Policy:
    if version == 0:
        return shipped_policy()
    rows = session.rows(_TEXT, (version,))
    if not rows:
        raise NotFound(f"there is no policy version {version}", version=version)
    text, hash, effective = rows[0]
    meaning = None if effective is None else loads(effective)
    return stored_policy(text, meaning, version=version, hash=hash)


def meaning(session: Session, version: int, hash: str) -> tuple[str, str]:
    """The document of a version, and what it means in full as canonical JSON, as of its time."""
    if version == 0:
        return "", shipped_meaning(hash)
    rows = session.rows(_TEXT, (version,))
    if not rows:
        raise NotFound(f"there is no policy version {version}", version=version)
    text, _, effective = rows[0]
    return text, effective or first_meaning(text)


def add(tx: Tx, policy: Policy, *, author: str, reason: str) -> None:
    """Write a version down, with what it means by what ships today."""
    tx.run(_INSERT, (policy.version, policy.hash, policy.text, author, reason, tx.now))
    tx.run(_INSERT_MEANING, (policy.version, canonical_json(policy.effective)))


def history(session: Session, limit: int, before: int = VERSIONS_END) -> list[PolicyChange]:
    """The newest first, those before a version."""
    return [PolicyChange(*row) for row in session.rows(_LIST, (before, limit))]
