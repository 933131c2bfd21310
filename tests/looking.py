"""A tenant that is looked at: connectors, budgets, signals, ticks and sweeps, step by step."""

import json
from collections import Counter
from itertools import count

from tests.databases import Clock, Place
from tests.play import ACME, Player
from watchkeeper.actions.change_account import AccountChange, change_account
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.ingest_signals import NewSignal, ingest_signals
from watchkeeper.actions.request_pull import pull_on_signal, request_pull
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.set_pull_budget import set_pull_budget
from watchkeeper.actions.sweep_heat import SLICE, sweep_slice
from watchkeeper.actions.tick_pulls import tick_pulls
from watchkeeper.core.heat import Depth, Tier
from watchkeeper.core.ids import AccountId, SignalId, TenantId
from watchkeeper.core.pulls import Budget
from watchkeeper.core.time import Instant
from watchkeeper.moves.heat import ON_SIGNAL, SWEEP, TICK
from watchkeeper.moves.pulls import Scheduled
from watchkeeper.store import heats, next_pulls
from watchkeeper.store.connectors import Connector
from watchkeeper.store.database import Database
from watchkeeper.store.heats import Heat
from watchkeeper.store.leases import Message
from watchkeeper.store.next_pulls import NextPull

INTERNAL = (SWEEP, TICK, ON_SIGNAL)
SHALLOW, DEEP = Depth.SHALLOW, Depth.DEEP

_numbers = count(1)


class Lookout(Player):
    """One tenant, looked at by hand: nothing comes unless it is called or its message delivered."""

    def __init__(self, db: Database, clock: Clock, tenant_id: TenantId = ACME) -> None:
        super().__init__(db, clock, tenant_id)
        create_tenant(db, tenant_id)

    def connector(self, name: str = "crm", *, has_cadence: bool = True, **limits: object) -> None:
        register_connector(self.db, Connector(name, has_cadence=has_cadence, **limits))

    def budget(self, total: int | None, **caps: int) -> None:
        budget = None if total is None else Budget(total, caps)
        set_pull_budget(self.db, self.tenant_id, budget, by="test")

    def signal(self, *accounts: str, at: Instant | None = None, id: str | None = None) -> None:
        told = [
            NewSignal(
                AccountId(account),
                "mail",
                SignalId(id or f"signal-{next(_numbers)}"),
                occurred_at=at,
            )
            for account in accounts
        ]
        ingest_signals(self.admission, self.tenant_id, told)

    def posture(self, account: str, posture: str) -> None:
        change_account(
            self.admission, self.tenant_id, AccountId(account), AccountChange(posture=posture)
        )

    def heat_up(self, account: str) -> None:
        self.posture(account, "EXPAND")
        self.signal(account, account)

    def kill(self, scope: str, id: str | None = None, *, on: bool = True) -> None:
        set_kill_switch(self.db, self.tenant_id, scope, id, on=on, reason="test", set_by="test")

    def ask(
        self, account: str = "ann", connector: str = "crm", depth: Depth = SHALLOW, **more: object
    ) -> Scheduled:
        return request_pull(self.db, self.tenant_id, AccountId(account), connector, depth, **more)

    def tick(self) -> list[Scheduled]:
        return tick_pulls(self.db, self.tenant_id)

    def handle(self, message: Message) -> None:
        match message.topic:
            case "heat.sweep":
                sweep_slice(self.db, message.tenant_id, message.payload, SLICE)
            case "pull.tick":
                due_at = Instant(json.loads(message.payload)["due_at"])
                tick_pulls(self.db, message.tenant_id, due_at)
            case "pull.on_signal":
                pull_on_signal(self.db, message.tenant_id, message.payload)
            case _:
                super().handle(message)

    def pass_on(self, *topics: str) -> int:
        """Deliver what is due of these topics until there is none; how many there were."""
        done = 0
        for _ in range(1000):
            delivered = self.deliver(topics or INTERNAL)
            if not delivered:
                return done
            done += len(delivered)
        raise AssertionError("it does not come to rest")

    def heat(self, account: str) -> Heat | None:
        with self.db.read(self.tenant_id) as tx:
            return heats.read(tx, [account]).get(account)

    def tier(self, account: str) -> Tier | None:
        found = self.heat(account)
        return None if found is None else found.state.tier

    def next_pulls(self, *accounts: str) -> dict[tuple[str, str], NextPull]:
        with self.db.read(self.tenant_id) as tx:
            found = next_pulls.of_accounts(tx, accounts)
        return {(one.account_id, one.connector_id): one for one in found}

    def make_due(self, place: Place, where: str = "true", ago: int = 0) -> None:
        """The slot of these has come."""
        at = self.clock.at - ago
        place.execute(f"update next_pulls set slot_at = {at}, due_at = {at} where {where}")


def spent(place: Place, tenant: str = ACME) -> dict[str, tuple[int, int]]:
    """Units and pulls by connector, over all days; the total is under the empty name."""
    rows = place.execute(
        "select connector_id, cast(sum(units) as bigint), cast(sum(pulls) as bigint)"
        f" from pull_days where tenant_id = '{tenant}' group by 1"
    )
    return {name: (int(units), int(pulls)) for name, units, pulls in rows}


def reasons(answers: list[Scheduled]) -> Counter[str]:
    return Counter(str(one.reason or "SCHEDULED") for one in answers)


def messages(place: Place, topic: str, tenant: str = ACME) -> list[dict]:
    rows = place.execute(
        f"select cast(payload as text) from outbox where topic = '{topic}'"
        f" and tenant_id = '{tenant}' and done_at is null order by next_attempt_at, id"
    )
    return [json.loads(payload) for (payload,) in rows]


def decisions(place: Place, tenant: str = ACME) -> Counter[tuple[str, str | None]]:
    """What the ledger says of pulls that were wanted: the result, and why not."""
    rows = place.execute(
        f"select result, reason from ledger where tenant_id = '{tenant}' and kind = 'pull.decided'"
    )
    return Counter((result, reason) for result, reason in rows)
