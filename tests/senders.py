"""A sender that only notes what it was given: for tests of who is sent what, and when."""

from collections.abc import Callable

from watchkeeper.handlers.endpoint import Endpoint, Kind
from watchkeeper.store.leases import Message


class Post:
    """Give it to a registry as `make_sender`. `answers` are raised, by URL."""

    def __init__(self) -> None:
        self.sent: list[tuple[Endpoint, Message]] = []
        self.answers: dict[str, Exception] = {}
        self.before: Callable[[Endpoint], None] = lambda _: None
        self.closed = 0

    def __call__(self, _kind: Kind) -> "Post":
        return self

    async def send(self, endpoint: Endpoint, message: Message) -> None:
        self.before(endpoint)
        self.sent.append((endpoint, message))
        if endpoint.url in self.answers:
            raise self.answers[endpoint.url]

    async def close(self) -> None:
        self.closed += 1

    @property
    def places(self) -> dict[str, str]:
        """By message id, where it was sent last."""
        return {message.id: endpoint.url for endpoint, message in self.sent}
