"""DBOS in a process of its own: workflows of five steps that do nothing.

A line `run N` starts so many workflows, each in a thread of its pool, and waits for them; `one N`
runs them one after the other. Each answers with a line `= STEPS SECONDS`.
"""

import logging
import sys
import time

from dbos import DBOS

STEPS = 5


def main(url: str) -> None:
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})

    @DBOS.step()
    def step(place: int) -> int:
        return place

    @DBOS.workflow()
    def workflow() -> None:
        for place in range(STEPS):
            step(place)

    DBOS.launch()
    _answer(0, 0.0)
    for line in sys.stdin:
        what, number = line.split()
        count, started = int(number), time.perf_counter()
        if what == "run":
            for handle in [DBOS.start_workflow(workflow) for _ in range(count)]:
                handle.get_result()
        else:
            for _ in range(count):
                workflow()
        _answer(count * STEPS, time.perf_counter() - started)
    DBOS.destroy()


def _answer(count: int, seconds: float) -> None:
    print("=", count, seconds, flush=True)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    main(sys.argv[1])
