"""How the product carries plans for the benchmark: so many at once, of steps that do nothing."""

import threading
import time
from collections.abc import Sequence

from bench.product import TENANT
from watchkeeper.act_results import Outcome
from watchkeeper.app import App
from watchkeeper.core.ids import AccountId, PlanId
from watchkeeper.core.plans import Step
from watchkeeper.moves import plans as plan_moves
from watchkeeper.moves.plan_desk import Desk
from watchkeeper.moves.plans import NewPlan
from watchkeeper.store.statement import same

STEPS = 5
COMPLETED = """select count(*) from plans
    where tenant_id = %s and plan_id = any(%s::uuid[]) and status = 'COMPLETED'"""
PLAN_POLICY = """
[autonomy]
mode = "auto_low_risk"

[plans]
per_cycle_max = 1000

[plan_types.BENCH]
max_retries_per_step = 3
expiry_hours = 24

[plan_types.BENCH.actions]
NOOP = 0

[delivery.topics."action.requested"]
concurrency = 1000
"""


class Carrier:
    """Plans of five steps that do nothing, so many at once."""

    def __init__(self, url: str) -> None:
        self.app = App(url, migrate=False)
        self.app.apply_policy(PLAN_POLICY, reason="bench")
        self.made = 0
        self.left = 0  # actions that were not called yet
        self.were_called = threading.Event()

        @self.app.action("NOOP", risk="low")
        async def noop(_action: object) -> Outcome:
            self.left -= 1
            if self.left == 0:
                self.were_called.set()
            return Outcome.success()

        self.workers = self.app.start_workers()

    def carry(self, count: int, width: int) -> float:
        """Steps a second of so many plans, so many of them under way together.

        The database is asked whether they are over once their last action was called: whoever asks
        all the time takes the processor from those who work.
        """
        elapsed = 0.0
        for _ in range(count // width):
            ids = [self._draft() for _ in range(width)]
            self.left = width * STEPS
            self.were_called.clear()
            started = time.perf_counter()
            self._approve(ids)
            assert self.were_called.wait(60), "some action was never called"
            while not self._are_over(ids):
                time.sleep(0.0005)
            elapsed += time.perf_counter() - started
        return count * STEPS / elapsed

    def _approve(self, ids: Sequence[PlanId]) -> None:
        def deed(desk: Desk) -> None:
            desk.load(ids)
            for id in ids:
                plan_moves.approve(desk, desk.cases[id], by="bench")

        self.app.carrier.at_desk(TENANT, deed)

    def _draft(self) -> PlanId:
        self.made += 1
        steps = tuple(Step(f"s{n}", "NOOP", n, n) for n in range(STEPS))
        new = NewPlan(AccountId(f"account-{self.made}"), "BENCH", steps)
        return self.app.carrier.create(TENANT, new, by="bench")

    def _are_over(self, ids: Sequence[str]) -> bool:
        with self.app.db.read(TENANT) as tx:
            [(count,)] = tx.rows(same(COMPLETED), (TENANT, list(ids)))
            return bool(count == len(ids))

    def close(self) -> None:
        self.app.close()
