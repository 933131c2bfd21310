"""PgQueuer in a process of its own, told by lines on standard input what to do.

`enqueue N SIZE` and `drain SIZE`; each answers with a line `= COUNT SECONDS`.
"""

import asyncio
import logging
import sys
import time
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.domain.types import QueueExecutionMode
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

ENTRYPOINT = "noop"


async def main(url: str, payload: bytes) -> None:
    conn = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(conn))
    await queries.install()
    async with asyncpg.create_pool(url, min_size=2, max_size=10) as pool:
        _answer(0, 0.0)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            what, *numbers = line.split()
            started = time.perf_counter()
            if what == "enqueue":
                count = await _enqueue(queries, payload, *map(int, numbers))
            else:
                count = await _drain(pool, *map(int, numbers))
            elapsed = time.perf_counter() - started
            await conn.execute("vacuum analyze")  # before the answer: the other side comes next
            _answer(count, elapsed)
    await conn.close()


async def _enqueue(queries: Queries, payload: bytes, count: int, size: int) -> int:
    for _ in range(count // size):
        await queries.enqueue([ENTRYPOINT] * size, [payload] * size, [0] * size)
    return count


async def _drain(pool: asyncpg.Pool, size: int) -> int:
    manager = QueueManager(Queries(AsyncpgPoolDriver(pool)))
    count = 0

    @manager.entrypoint(ENTRYPOINT)
    async def noop(_job: object) -> None:
        nonlocal count
        count += 1

    await manager.run(
        mode=QueueExecutionMode.drain, batch_size=size, dequeue_timeout=timedelta(seconds=1)
    )
    return count


def _answer(count: int, seconds: float) -> None:
    print("=", count, seconds, flush=True)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    uvloop.run(main(sys.argv[1], sys.argv[2].encode()))
