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
EVERYTHING = 1_000
COMPLETED = """select count(*) from plans
    where tenant_id = %s and plan_id = any(%s::uuid[]) and status = 'COMPLETED'"""
PLAN_POLICY = """
[autonomy]
mode = "auto_low_risk"

[plans]
per_cycle_max = {per_cycle_max}

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
        self.per_cycle_max = 0
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
        """Steps a second of so many approved plans, of which a cycle takes so many."""
        self._take(width)
        ids = self._drafts(count)
        self._approve(ids)
        started = time.perf_counter()
        self._await(ids)
        return count * STEPS / (time.perf_counter() - started)

    def carry_groups(self, count: int, width: int) -> float:
        """The same where so many are approved together, and the next when those are completed."""
        self._take(EVERYTHING)
        elapsed = 0.0
        for _ in range(count // width):
            ids = self._drafts(width)
            started = time.perf_counter()
            self._approve(ids)
            self._await(ids)
            elapsed += time.perf_counter() - started
        return count * STEPS / elapsed

    def _take(self, per_cycle_max: int) -> None:
        if self.per_cycle_max != per_cycle_max:
            self.per_cycle_max = per_cycle_max
            text = PLAN_POLICY.format(per_cycle_max=per_cycle_max)
            self.app.apply_policy(text, reason="bench")

    def _drafts(self, count: int) -> list[PlanId]:
        ids = [self._draft() for _ in range(count)]
        self.left = count * STEPS
        self.were_called.clear()
        return ids

    def _await(self, ids: Sequence[PlanId]) -> None:
        """The database is asked once the last action was called: whoever asks all the time takes
        the processor from those who work."""
        assert self.were_called.wait(120), "some action was never called"
        while not self._are_over(ids):
            time.sleep(0.0005)

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
