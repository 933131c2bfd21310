"""What the tests of the senders have in common: receivers, and a message to send."""

from collections.abc import Iterator

import pytest

from tests.misbehaving import Receiver, receiving
from tests.nats_server import NatsServer, running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with running(tmp_path_factory.mktemp("nats")) as found:
        yield found
