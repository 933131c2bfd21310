"""Stops of a process, whatever the main thread does when the signal comes."""

import subprocess
import sys

import pytest

from watchkeeper.stopping import Stop

SIGNALLED_WHILE_IT_BEGINS_TO_WAIT = """
import signal
from watchkeeper.stopping import Stop

stop = Stop()
with stop.on_signals():
    with stop.asked._cond:  # as `wait` holds it for a moment
        signal.raise_signal(signal.{name})
    assert stop.wait(30)
"""
SECONDS_MAX = 60


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_is_heard_while_the_main_thread_begins_to_wait(name: str) -> None:
    code = SIGNALLED_WHILE_IT_BEGINS_TO_WAIT.format(name=name)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=SECONDS_MAX)


def test_who_listens_after_the_stop_was_asked_for_is_told_at_once() -> None:
    stop, heard = Stop(), []
    stop.when_asked(lambda: heard.append("before"))
    stop.ask()
    stop.when_asked(lambda: heard.append("after"))
    stop.ask()
    assert heard == ["before", "after"]
