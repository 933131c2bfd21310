"""Procrastinate in a process of its own, told by lines on standard input what to do.

`enqueue N SIZE` and `drain CONCURRENCY`; each answers with a line `= COUNT SECONDS`.
"""

import asyncio
import json
import logging
import sys
import time

import procrastinate
import psycopg

QUEUE = "bench"


async def main(url: str, payload: dict[str, str]) -> None:
    connector = procrastinate.PsycopgConnector(conninfo=url, min_size=1, max_size=20)
    app = procrastinate.App(connector=connector)
    count = 0

    @app.task(name="noop", queue=QUEUE)
    async def noop(payload: dict[str, str]) -> None:  # noqa: ARG001
        nonlocal count
        count += 1

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        _answer(0, 0.0)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            what, *numbers = line.split()
            count, started = 0, time.perf_counter()
            if what == "enqueue":
                total, size = map(int, numbers)
                for _ in range(total // size):
                    await noop.batch_defer_async(*[{"payload": payload}] * size)
                count = total
            else:
                await app.run_worker_async(
                    queues=[QUEUE],
                    wait=False,
                    concurrency=int(numbers[0]),
                    install_signal_handlers=False,
                    delete_jobs="never",
                )
            elapsed = time.perf_counter() - started
            async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
                await conn.execute("vacuum analyze")
            _answer(count, elapsed)


def _answer(count: int, seconds: float) -> None:
    print("=", count, seconds, flush=True)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
