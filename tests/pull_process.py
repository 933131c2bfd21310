"""A worker of pulls in a process of its own, for a test that kills it.

Run as `python -m tests.pull_process URL HOW`, where HOW is "die" (kill -9 of this process as soon
as the connector is called) or "work". What it begins is written to standard output, a line each.
"""

import os
import signal
import sys

from watchkeeper import App
from watchkeeper.results import Pull
from watchkeeper.workers import WorkerSettings


def say(word: str, what: str) -> None:
    os.write(1, f"{word} {what}\n".encode())


def main() -> None:
    url, how = sys.argv[1:]
    app = App(url, migrate=False)

    @app.connector("crm", cadence=False)
    def look(pull: Pull) -> None:
        say("begin", pull.pull_job_id)
        if how == "die":
            os.kill(os.getpid(), signal.SIGKILL)

    app.start_workers(WorkerSettings(poll_seconds=0.1))
    say("ready", str(os.getpid()))
    sys.stdin.read()
    app.close()


if __name__ == "__main__":
    main()
