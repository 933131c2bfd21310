"""A pull is asked for: by hand, or by a signal of an account that is looked at at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from watchkeeper.actions.answer_once import Once, remember, take, until_known
from watchkeeper.actions.count_pulls import count_pulls
from watchkeeper.actions.first_use import batched, on_first_use
from watchkeeper.core.delivery import AttemptResult, Delivered, Retry
from watchkeeper.core.heat import Depth, Tier
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.pulls import Origin, PullKey, PullReason, manual_slot, pull_job_id
from watchkeeper.core.time import SECOND
from watchkeeper.errors import NotFound
from watchkeeper.moves import pulls
from watchkeeper.moves.pulls import Scheduled, Wanted
from watchkeeper.perceive_results import pull_answer_of
from watchkeeper.store import connectors, heats, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.transaction import Tx


def request_pull(
    db: Database,
    tenant_id: TenantId,
    account_id: AccountId,
    connector_id: str,
    depth: Depth,
    *,
    pull_job_id: str | None = None,
    correlation_id: str | None = None,
    makes_tenant: bool = False,
    once: Once | None = None,
) -> Scheduled:
    """Ask for one pull, of any connector; it starts no cadence.

    Without an id of the caller's, the same pull within the same hour is one. A repeat of the
    same request raises AlreadyDone with the first answer.
    """

    def jobs(tx: Tx) -> list[Wanted]:
        named = pull_job_id or _manual_id(tx, account_id, connector_id, depth)
        tier = _tier(tx, account_id)
        return [Wanted(named, account_id, connector_id, depth, Origin.MANUAL, tier, correlation_id)]

    [answer] = _scheduled(db, tenant_id, jobs, once, makes_tenant=makes_tenant)
    return answer


def pull_on_signal(db: Database, tenant_id: TenantId, payload: str) -> AttemptResult:
    """A hot account said something: a shallow pull by every connector that has a cadence.

    One that a limit refuses is asked for again when the limit says; its id sees to it that
    those that were scheduled are not scheduled twice.
    """
    told = loads(payload)
    account_id = AccountId(told["account_id"])

    def jobs(tx: Tx) -> list[Wanted]:
        tier = _tier(tx, account_id)
        return [
            Wanted(
                _signal_id(tx, account_id, one.connector_id, told["signal_id"]),
                account_id,
                one.connector_id,
                Depth.SHALLOW,
                Origin.SIGNAL,
                tier,
                told["correlation_id"],
            )
            for one in connectors.with_cadence(tx)
        ]

    try:
        answers = _scheduled(db, tenant_id, jobs)
    except NotFound:
        return Delivered()
    waits = [
        one.retry_at - one.at
        for one in answers
        if one.reason is PullReason.RATE_LIMIT and one.retry_at is not None
    ]
    if not waits:
        return Delivered()
    return Retry("a limit refused the pull for now", max(0.001, min(waits) / SECOND))


def _scheduled(
    db: Database,
    tenant_id: TenantId,
    jobs: Callable[[Tx], Sequence[Wanted]],
    once: Once | None = None,
    *,
    makes_tenant: bool = False,
) -> Sequence[Scheduled]:
    """Answers to what `jobs` finds to be wanted, in the transaction in which it found it."""

    def deed(is_first: bool) -> Sequence[Scheduled]:
        with batched(db, tenant_id, makes_tenant=is_first) as tx:
            tenant = tenants.lock(tx)
            take(tx, once)
            rules = db.policies.exact(tx).rules
            answers = pulls.schedule(tx, tenant, rules, jobs(tx))
            tenants.save_seq(tx, tenant)
            for answer in answers if once else ():
                remember(tx, once, _told(answer, tenant_id))
            tx.after_commit.append(partial(count_pulls, answers))
            return answers

    def known(is_first: bool) -> Sequence[Scheduled]:
        done = partial(deed, is_first)
        return db.retrying(done) if once is None else until_known(db, done)

    return on_first_use(known, makes_tenant=makes_tenant)


def _told(answer: Scheduled, tenant_id: TenantId) -> list[object]:
    told = pull_answer_of(answer, tenant_id)
    return [told.to_json(), told.retry_after_seconds]


def _manual_id(tx: Tx, account_id: str, connector_id: str, depth: Depth) -> str:
    key = PullKey(tx.tenant_id, account_id, connector_id)
    return pull_job_id(key, depth, Origin.MANUAL, manual_slot(tx.now))


def _signal_id(tx: Tx, account_id: str, connector_id: str, signal_id: str) -> str:
    key = PullKey(tx.tenant_id, account_id, connector_id)
    return pull_job_id(key, Depth.SHALLOW, Origin.SIGNAL, signal_id)


def _tier(tx: Tx, account_id: str) -> Tier | None:
    found = heats.read(tx, [account_id]).get(account_id)
    return None if found is None else found.state.tier
