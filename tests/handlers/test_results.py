"""What a handler may say with `Retry`, and how ends that cannot be written are dealt with."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.databases import Place
from tests.messages import TOPIC, claim, letter, one, put, registry
from watchkeeper.actions.deliver_messages import finish
from watchkeeper.core import delivery
from watchkeeper.errors import Invalid
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.handlers.results import AFTER_SECONDS_MAX, Retry
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("S-10")


@pytest.mark.parametrize(
    ("after", "seconds"),
    [
        (None, None),
        (5, 5.0),
        (0.25, 0.25),
        (timedelta(minutes=2), 120.0),
        (timedelta(days=400), AFTER_SECONDS_MAX),
        (10**400, AFTER_SECONDS_MAX),
        (1e300, AFTER_SECONDS_MAX),
        (-5, 0.0),
        (timedelta(days=-1), 0.0),
        ("7", 7.0),
        ("soon", None),
    ],
)
def test_a_wait_is_seconds(after: Any, seconds: float | None) -> None:
    assert Retry("busy", after=after).after == seconds


@pytest.mark.parametrize(
    "after",
    [datetime(2030, 1, 1, tzinfo=UTC), b"5", [5], float("nan"), True, 5j, object()],
    ids=lambda after: type(after).__name__,
)
def test_what_is_no_wait_is_refused(after: Any) -> None:
    with pytest.raises(Invalid, match="after: must be"):
        Retry("busy", after=after)


def test_an_end_that_cannot_be_written_ends_alone(db: Database, place: Place) -> None:
    """Its neighbours are written, and it has failed."""
    handlers = registry(max_attempts=1)
    handlers.handle(TOPIC, lambda _message: None)
    put(db, *[letter() for _ in range(4)])
    messages = claim(db)
    odd: Any = delivery.Retry("odd", after_seconds=timedelta(seconds=5))
    ends = [DELIVERED, odd, delivery.Retry("plain"), DELIVERED]
    handlers.rule_for = registry(max_attempts=2).rule_for
    counts = finish(db, handlers, [Ended(m, m, end) for m, end in zip(messages, ends, strict=True)])
    assert counts == {"delivered": 2, "failed": 2}
    assert one(place, messages[1].id).status == "pending"
    assert "TypeError" in str(one(place, messages[1].id).last_error)
    assert one(place, messages[2].id).last_error == "plain"


def test_one_that_cannot_be_buried_keeps_nobody(db: Database, place: Place) -> None:
    handlers = registry(max_attempts=1)
    handlers.handle(TOPIC, lambda _message: None)
    ids = put(db, *[letter(tenant) for tenant in ("acme", "bolt")])

    def refuse(tx: Any, _lost: Any) -> None:
        if tx.tenant_id == "acme":
            raise RuntimeError("the hook fails")

    handlers.when_lost(TOPIC, refuse)
    messages = claim(db, max_attempts=1)
    finish(db, handlers, [Ended(m, m, delivery.Reject("no")) for m in messages])
    assert [one(place, id).status for id in ids] == ["processing", "dead"]
