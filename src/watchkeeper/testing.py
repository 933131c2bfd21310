"""For tests of your own: an app in memory, on a clock that moves when you say so.

Installed as a pytest plugin: ask for the fixture `watchkeeper_app`, or make one with
`memory_app()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from watchkeeper.app import App


def memory_app() -> App:
    """An app whose database lives in this process and whose time stands still."""
    from watchkeeper.app import App

    return App("sqlite://", virtual_clock=True)


@pytest.fixture
def watchkeeper_app() -> Iterator[App]:
    """An empty app in memory with a virtual clock: `app.clock.advance(hours=12)`."""
    app = memory_app()
    yield app
    app.close()
