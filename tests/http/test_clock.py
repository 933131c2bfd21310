"""The virtual clock over HTTP, while a worker elsewhere is in the middle of a claim."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import psycopg
import pytest

from tests.http.door import Door
from watchkeeper.actions import advance_clock

pytestmark = [pytest.mark.req("U-12"), pytest.mark.postgresql]

ADVANCE = {"url": "/v1/clock/advance", "json": {"seconds": 3600}}
KEY = {"Idempotency-Key": "an-hour"}


@pytest.fixture
def door(doors: dict[str, Door]) -> Door:
    return doors["postgresql"]


@contextmanager
def claiming(door: Door) -> Iterator[None]:
    """A worker has locked every message, and has not committed its claim."""
    with psycopg.connect(door.place.admin_url) as conn:
        conn.execute("select id from outbox for update")
        yield
        conn.rollback()


def defer_a_run(door: Door) -> None:
    client = door.client(door.tenant())
    events = [door.event(account_id="a"), door.event(account_id="a", trigger_type="POSTURE_CHANGE")]
    given = client.post("/v1/triggers", json={"events": events}).json()["verdicts"]
    assert [verdict["result"] for verdict in given] == ["ALLOW", "DEFER"]


def test_the_clock_waits_for_claims_that_are_not_committed(door: Door) -> None:
    defer_a_run(door)
    with ThreadPoolExecutor(1) as pool:
        with claiming(door):
            answer = pool.submit(door.admin.post, **ADVANCE)
            assert not wait([answer], timeout=0.5).done
        moved = answer.result()
    assert moved.status_code == 200, moved.json()
    assert moved.json()["now"] == "2030-01-01T01:00:00Z"
    assert moved.json()["ran"]["delivered"] == 3  # the run, the retry, and the run that it caused


def test_a_clock_that_stands_says_where_and_a_repeat_goes_on(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    defer_a_run(door)
    with monkeypatch.context() as patched, claiming(door):
        patched.setattr(advance_clock, "PATIENCE_SECONDS", 0.1)
        stopped = door.admin.post(**ADVANCE, headers=KEY)
    assert stopped.status_code == 503
    now = door.admin.get("/v1/clock").json()["now"]
    assert "2030-01-01T00:00:00Z" < now < "2030-01-01T01:00:00Z"
    assert f"the clock stands at {now}. Repeat the request" in stopped.json()["detail"]
    moved = door.admin.post(**ADVANCE, headers=KEY)
    assert (moved.status_code, moved.json()["now"]) == (200, "2030-01-01T01:00:00Z")
