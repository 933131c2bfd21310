"""A server is killed after the change and before the answer: the same request again is not done
again, and is answered."""

from collections.abc import Iterator

import pytest

from tests.databases import Databases
from tests.http import repeats
from tests.http.door import Door
from tests.http.serving import Servers, servers

pytestmark = [pytest.mark.req("U-10", "D-12"), pytest.mark.slow]


@pytest.fixture(scope="module")
def forked() -> Iterator[Servers]:
    with servers() as started:
        yield started


@pytest.mark.parametrize("name", repeats.POSTS)
def test_a_request_to_a_server_that_is_killed_is_done_once(
    door: Door, databases: Databases, forked: Servers, name: str
) -> None:
    expected = repeats.counts_of_one(databases, door.place.engine, name)
    request = repeats.request_of(name, repeats.prepared(door, name))
    forked.killed(door.place.url, request)
    response = forked.answered(door.place.url, request)
    assert repeats.is_answer(name, response), response.text
    assert repeats.counts(door.place) == expected
    again = forked.answered(door.place.url, request)
    assert (again.status_code, again.content) == (response.status_code, response.content)
