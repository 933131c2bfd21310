"""Events that waited in the outbox for their time: retries of deferrals, scheduled ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from watchkeeper.actions.admit import Admission
from watchkeeper.core.delivery import AttemptResult, Delivered
from watchkeeper.core.envelope import read_run_decision
from watchkeeper.core.ids import AccountId, DecisionId, TenantId
from watchkeeper.ids import turned
from watchkeeper.moves.admission import Asked, end_pending
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message
from watchkeeper.store.transaction import Tx


def admit_messages(admission: Admission, messages: Sequence[Message]) -> list[AttemptResult]:
    """Admit what each message carries, once, however often it is delivered.

    The decision's id follows from the message's: a second delivery finds the first one's
    verdict. It is another id, because an ALLOW gives its own to the message of its run.
    """
    by_tenant: dict[TenantId, list[Asked]] = defaultdict(list)
    for message in messages:
        event = read_run_decision(loads(message.payload)["detail"])
        by_tenant[message.tenant_id].append(Asked(DecisionId(turned(message.id)), event))
    for tenant_id, asked in by_tenant.items():
        admission.admit_alone(tenant_id, asked, seen_before=True)
    return [Delivered()] * len(messages)


def lose_retries(tx: Tx, lost: Sequence[Lost]) -> None:
    """These retries will never come: nobody waits for them any more."""
    for one in lost:
        detail = loads(one.payload)["detail"]
        end_pending(
            tx,
            AccountId(detail["account_id"]),
            detail["trigger_type"],
            DecisionId(detail["retry_of"]),
        )
