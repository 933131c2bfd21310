"""A worker in a process of its own, for tests that kill, stop or starve it.

Run as `python -m tests.worker_process URL LEASE_SECONDS MAX_ATTEMPTS`. A message's payload says
what its handler does: "work", "die" (kill -9 of this process), or "wait" (until the file named by
the message exists). What it begins and ends is written to standard output, a line each.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from tests.messages import TOPIC, registry
from watchkeeper.core.time import SECOND
from watchkeeper.store.database import open_database
from watchkeeper.store.leases import Message
from watchkeeper.workers import Workers, WorkerSettings


def say(word: str, what: str) -> None:
    os.write(1, f"{word} {what}\n".encode())


def call(message: Message) -> None:
    say("begin", message.id)
    order = json.loads(message.payload)
    match order["do"]:
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "wait":
            while not Path(order["for"]).exists():
                time.sleep(0.01)
    say("end", message.id)


def main() -> None:
    url, lease, attempts = sys.argv[1:]
    handlers = registry(
        lease_us=int(float(lease) * SECOND), max_attempts=int(attempts), concurrency=4
    )
    handlers.handle(TOPIC, call)
    workers = Workers(open_database(url), handlers, WorkerSettings(poll_seconds=0.1))
    workers.start()
    say("ready", str(os.getpid()))
    reported = 0
    for line in sys.stdin:
        if line.strip() == "stop":
            break
        if line.strip() == "counts":
            reported += 1
            say("counts", json.dumps(dict(workers.counts)))
    workers.stop(5)


if __name__ == "__main__":
    main()
