"""Plans: made, approved, paused, resumed, aborted, told facts, and answered intent by intent.

Each call is one transaction under the tenant's lock: of several that come at the same
instant one is first, and the others see what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple, TypeVar

from watchkeeper.actions.answer_once import Once, remember, take, until_known
from watchkeeper.actions.count_acts import count_acts
from watchkeeper.actions.first_use import batched, on_first_use
from watchkeeper.core.ids import IntentId, PlanId, TenantId
from watchkeeper.core.plans import Intent, IntentState, PlanStatus, Reason
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.ids import is_uuid, new_id
from watchkeeper.moves import plans as moves
from watchkeeper.moves import steps as attempts
from watchkeeper.moves.plan_case import Case
from watchkeeper.moves.plan_desk import Desk, Follow
from watchkeeper.moves.plans import NewPlan
from watchkeeper.moves.recall import Recall
from watchkeeper.moves.steps import Ending
from watchkeeper.store import intents, ledger, plan_context, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.plan_context import PlanContext
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

T = TypeVar("T")
CALLER = "caller"


class Reported(NamedTuple):
    """What became of a reported outcome: it counted, or it came too late to."""

    intent: Intent
    is_late: bool


class Plans:
    """Carries plans on one database, on behalf of many threads."""

    def __init__(self, db: Database, *, makes_tenants: bool = False) -> None:
        self.db = db
        self.makes_tenants = makes_tenants
        self.objectives: dict[str, Callable[[Mapping[str, Any]], bool]] = {}
        self.hears_changes: Callable[[TenantId], bool] = lambda _tenant_id: False
        self.look: Callable[[], object] = lambda: None  # who listens is known before a transaction
        self.known: Container[str] = ()  # types of actions that are carried out in this process
        self.recall = Recall()

    def desk(
        self,
        tx: Tx,
        tenant: LockedTenant,
        context: PlanContext | None = None,
        *,
        follow: Follow | None = None,
        mark: str | None = None,
    ) -> Desk:
        """A desk for plans of the tenant whose lock this transaction holds.

        `context` is what plans are judged by, where it was asked for already, under the lock.
        """
        context = context or plan_context.read(plan_context.send(tx))
        desk = Desk(
            tx,
            tenant,
            self.db.policies.under(tx, context.policy_version, tenant.tier).rules,
            context,
            follow=follow,
            follows=self.known,
            objectives=self.objectives,
            hears_changes=self.hears_changes(tx.tenant_id),
            mark=mark,
        )
        tx.after_commit.append(lambda: count_acts(desk.entries, desk.approvals))
        return desk

    def create(
        self,
        tenant_id: TenantId,
        new: NewPlan,
        *,
        by: str,
        source: str = CALLER,
        once: Once | None = None,
    ) -> PlanId:
        def deed(desk: Desk) -> PlanId:
            plan_id = moves.draft(desk, new, by=by, source=source).plan.plan_id
            remember(desk.tx, once, plan_id)
            return plan_id

        return self.at_desk(tenant_id, deed, once, makes_tenant=self.makes_tenants)

    def edit(self, tenant_id: TenantId, plan_id: str, new: NewPlan, *, by: str) -> None:
        self._with(tenant_id, plan_id, lambda desk, case: moves.edit(desk, case, new, by=by))

    def approve(
        self,
        tenant_id: TenantId,
        plan_id: str,
        reason: str | None = None,
        *,
        by: str,
        is_person: bool = True,
        once: Once | None = None,
    ) -> None:
        def deed(desk: Desk, case: Case) -> None:
            moves.approve(desk, case, reason, by=by, is_person=is_person)

        self._with(tenant_id, plan_id, deed, once)

    def pause(
        self,
        tenant_id: TenantId,
        plan_id: str,
        reason: str | None,
        *,
        by: str,
        once: Once | None = None,
    ) -> None:
        why = reason or f"paused by {by}"
        self._with(tenant_id, plan_id, lambda desk, case: moves.pause(desk, case, why, by=by), once)

    def resume(
        self,
        tenant_id: TenantId,
        plan_id: str,
        reason: str | None,
        *,
        by: str,
        once: Once | None = None,
    ) -> None:
        def deed(desk: Desk, case: Case) -> None:
            moves.resume(desk, case, reason, by=by)

        self._with(tenant_id, plan_id, deed, once)

    def abort(
        self,
        tenant_id: TenantId,
        plan_id: str,
        reason: str | None,
        *,
        by: str,
        once: Once | None = None,
    ) -> None:
        why = reason or f"aborted by {by}"
        self._with(tenant_id, plan_id, lambda desk, case: moves.abort(desk, case, why, by=by), once)

    def skip(
        self,
        tenant_id: TenantId,
        plan_id: str,
        step_id: str,
        reason: str,
        *,
        by: str,
        once: Once | None = None,
    ) -> None:
        def deed(desk: Desk, case: Case) -> None:
            moves.skip(desk, case, step_id, reason, by=by)

        self._with(tenant_id, plan_id, deed, once)

    def tell(
        self,
        tenant_id: TenantId,
        plan_id: str,
        facts: Mapping[str, Any],
        *,
        by: str,
        once: Once | None = None,
    ) -> None:
        def deed(desk: Desk, case: Case) -> None:
            moves.tell(desk, case, facts, by=by)

        self._with(tenant_id, plan_id, deed, once)

    # -- intents ------------------------------------------------------------------------

    def approve_intent(
        self,
        tenant_id: TenantId,
        intent_id: str,
        reason: str | None = None,
        *,
        by: str,
        once: Once | None = None,
    ) -> None:
        """Say yes to one attempt: it is carried out."""

        def deed(desk: Desk) -> None:
            case, intent = _open_case(desk, intent_id)
            if case.plan.status is not PlanStatus.ACTIVE:
                raise Conflict(
                    f"its plan is {case.plan.status}; resume it first",
                    status=case.plan.status,
                )
            if min(case.plan.expires_at, intent.deadline_at) <= desk.now:
                raise Conflict("the answer comes too late: its time is over")
            attempts.approve(desk, case, intent, reason, by=by)

        self.at_desk(tenant_id, deed, once)

    def reject_intent(
        self,
        tenant_id: TenantId,
        intent_id: str,
        reason: str | None,
        *,
        by: str,
        once: Once | None = None,
    ) -> None:
        """Reject an intent: its step fails, and the plan pauses until a person resumes it."""

        def deed(desk: Desk) -> None:
            case, intent = _open_case(desk, intent_id)
            why = reason or f"rejected by {by}"
            attempts.reject(desk, case, intent, Reason.REJECTED, by=by, why=why)

        self.at_desk(tenant_id, deed, once)

    def report(self, tenant_id: TenantId, intent_id: str, ending: Ending) -> Reported:
        """How an attempt ended, from whoever carried it out. The same again changes nothing."""

        def deed(desk: Desk) -> Reported:
            intent = _intent(desk, intent_id)
            if attempts.is_told(intent, ending):
                return Reported(intent, is_late=intent.is_late)
            desk.load([intent.plan_id])
            case = desk.cases[intent.plan_id]
            if intent.executing_at is None:
                intent = _begun_by_hand(desk, case, intent)
            counted = attempts.conclude(desk, case, intent, ending)
            if counted:
                attempts.advance(desk, case)
            return Reported(case.intents.get(intent_id, intent), is_late=not counted)

        return self.at_desk(tenant_id, deed)

    # -- how ----------------------------------------------------------------------------

    def _with(
        self,
        tenant_id: TenantId,
        plan_id: str,
        deed: Callable[[Desk, Case], None],
        once: Once | None = None,
    ) -> None:
        def found(desk: Desk) -> None:
            if is_uuid(plan_id):
                desk.load([plan_id])
            case = desk.cases.get(PlanId(plan_id))
            if case is None:
                raise NotFound(f"there is no plan {plan_id}", plan_id=plan_id)
            deed(desk, case)

        self.at_desk(tenant_id, found, once)

    def at_desk(
        self,
        tenant_id: TenantId,
        deed: Callable[[Desk], T],
        once: Once | None = None,
        *,
        makes_tenant: bool = False,
    ) -> T:
        """One transaction. While its COMMIT is in doubt it is tried again, and done once.

        With the key of a request it is done once for all its repeats: they raise AlreadyDone.
        """
        mark = new_id()
        answers: list[T] = []

        def move(is_first: bool) -> T:
            with batched(self.db, tenant_id, makes_tenant=is_first) as tx:
                waiting, asked = tenants.send_lock_and_time(tx), plan_context.send(tx)
                tenant = tenants.locked(tx, waiting)
                if answers and ledger.by_ids(tx, [mark]):
                    return answers[-1]
                take(tx, once)
                desk = self.desk(tx, tenant, plan_context.read(asked), mark=mark)
                answers.append(deed(desk))
                desk.write()
                return answers[-1]

        def known(is_first: bool) -> T:
            return until_known(self.db, lambda: move(is_first))

        self.look()
        return on_first_use(known, makes_tenant=makes_tenant)


def _intent(desk: Desk, intent_id: str) -> Intent:
    found = intents.read(desk.tx, [intent_id]) if is_uuid(intent_id) else {}
    if intent_id not in found:
        raise NotFound(f"there is no intent {intent_id}", intent_id=intent_id)
    return found[IntentId(intent_id)]


def _begun_by_hand(desk: Desk, case: Case, intent: Intent) -> Intent:
    """Somebody carried out what was approved before a worker came to it: its message is void."""
    is_asked = intent.state is IntentState.APPROVED and case.plan.status is PlanStatus.ACTIVE
    if not is_asked:
        raise Conflict(
            f"the intent is {intent.state}: nobody was asked to carry it out", state=intent.state
        )
    begun = intent._replace(state=IntentState.EXECUTING, executing_at=desk.now)
    intents.save(desk.tx, [begun])
    case.intents[begun.intent_id] = begun
    return begun


def _open_case(desk: Desk, intent_id: str) -> tuple[Case, Intent]:
    """An intent that waits for an answer, and its plan."""
    intent = _intent(desk, intent_id)
    if intent.state is not IntentState.PENDING_APPROVAL:
        raise Conflict(f"the intent is {intent.state}: no answer is waited for", state=intent.state)
    desk.load([intent.plan_id])
    return desk.cases[intent.plan_id], intent
