"""A bar for what takes longer than a moment, on a terminal; nothing of it is left afterwards."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from watchkeeper.cli.output import console

PATIENCE_SECONDS = 1.0


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """What to tell how much of how much is done; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    began = time.monotonic()
    with Progress(console=console(err=True), transient=True, disable=False) as progress:
        line = progress.add_task(what, total=None, visible=False)

        def told(done: int, total: int) -> None:
            patient = time.monotonic() - began < PATIENCE_SECONDS
            progress.update(line, completed=done, total=total, visible=not patient)

        yield told
