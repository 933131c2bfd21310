"""Following the ledger: every entry once, in order, from where one left it, while others write."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.databases import Databases
from tests.http.door import ADMIN_KEY, Door, opened, places_of, problem_of
from watchkeeper.actions import follow_ledger
from watchkeeper.actions.follow_ledger import Feed, Follower
from watchkeeper.actions.revoke_api_key import revoke_api_key
from watchkeeper.core.ids import TenantId
from watchkeeper.errors import Overloaded, Unavailable
from watchkeeper.http import stream
from watchkeeper.http.views import rendered

pytestmark = pytest.mark.req("U-13")

PATIENCE_SECONDS = 60


class Client:
    """One follower over ASGI: reads events one at a time, and may go away."""

    def __init__(self, door: Door, query: str = "", key: str = ADMIN_KEY, last: str | None = None):
        headers = [(b"authorization", f"Bearer {key}".encode())]
        if last is not None:
            headers.append((b"last-event-id", last.encode()))
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "path": "/v1/stream",
            "raw_path": b"/v1/stream",
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "headers": headers,
        }
        self._app = door.app
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._text = ""
        self._asked = False
        self.last_id: str | None = last
        self.beats = 0
        self.ended = False

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def start(self) -> None:
        self._task = asyncio.create_task(self._app(self._scope, self._receive, self._sent.put))
        self.status = (await self._message())["status"]
        if self.status == 200:
            assert await self.block() == {}

    async def leave(self) -> None:
        self._gone.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._task

    async def _message(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._sent.get()

    async def block(self) -> dict[str, str]:
        """The fields of the next block; its id is remembered as a browser does."""
        while "\n\n" not in self._text:
            message = await self._message()
            self._text += message.get("body", b"").decode()
            if not message.get("more_body", False):
                self.ended = True
                return {"end": ""}
        block, _, self._text = self._text.partition("\n\n")
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        self.beats += block == ":"
        self.last_id = fields.pop("id", self.last_id)
        fields.pop("retry", None)
        return fields

    async def entries(self, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while len(found) < count:
            fields = await self.block()
            assert "end" not in fields, "the stream ended"
            if "data" in fields and "event" not in fields:
                found.append(json.loads(fields["data"]))
        return found


@asynccontextmanager
async def following(door: Door, *given: Any, **options: Any) -> AsyncIterator[Client]:
    client = Client(door, *given, **options)
    await client.start()
    try:
        yield client
    finally:
        await client.leave()


def write(door: Door, tenant: str, count: int, name: str = "w") -> None:
    client = door.client(tenant)
    for n in range(count):
        answer = client.post("/v1/triggers", json={"events": [door.event(account_id=f"{name}{n}")]})
        assert answer.status_code == 200


def places(found: list[dict[str, Any]]) -> list[int]:
    return [entry["seq"] for entry in found]


def ledger_of(door: Door, tenant: str, after: int = 0) -> list[dict[str, Any]]:
    path = f"/v1/ledger?tenant_id={tenant}&after={after}&limit=200"
    return door.admin.get(path).json()["items"]


def run(deed: Callable[[], Any]) -> Any:
    return asyncio.run(deed())


# -- one tenant -----------------------------------------------------------------------------


def test_what_is_committed_comes_as_it_is_listed(door: Door) -> None:
    door.tenant()

    async def deed() -> None:
        end = len(ledger_of(door, "acme"))
        async with following(door, "tenant_id=acme") as client:
            await asyncio.to_thread(write, door, "acme", 5)
            found = await client.entries(5)
            listed = ledger_of(door, "acme", end)
            assert [{k: v for k, v in one.items() if k != "tenant_id"} for one in found] == listed[
                :5
            ]
            assert {one["tenant_id"] for one in found} == {"acme"}
            assert client.last_id == str(found[-1]["seq"])

    run(deed)


def test_nothing_is_missed_or_told_twice_while_writers_commit(door: Door) -> None:
    """A follower that leaves every few entries and comes back with the last id it saw."""
    door.tenant()
    writers = [
        threading.Thread(target=write, args=(door, "acme", 15, f"w{n}-"), daemon=True)
        for n in range(3)
    ]

    async def deed() -> list[int]:
        seen: list[int] = []
        first = Client(door, "tenant_id=acme&after=0")
        await first.start()
        last = first.last_id
        await first.leave()
        for writer in writers:
            writer.start()
        for round_ in range(12):
            async with following(door, "tenant_id=acme", last=last) as client:
                seen += places(await client.entries(1 + round_ % 5))
                last = client.last_id
        for writer in writers:
            await asyncio.to_thread(writer.join)
        total = len(ledger_of(door, "acme"))
        async with following(door, "tenant_id=acme", last=last) as client:
            seen += places(await client.entries(total - len(seen)))
        return seen

    seen = run(deed)
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) >= 45


def test_it_begins_now_or_after_a_place_or_where_it_was_left(door: Door) -> None:
    door.tenant()
    write(door, "acme", 4)
    end = ledger_of(door, "acme")[-1]["seq"]

    async def deed() -> None:
        async with following(door, "tenant_id=acme&after=1") as client:
            assert places(await client.entries(end - 1)) == list(range(2, end + 1))
        async with following(door, "tenant_id=acme&after=1", last=str(end - 1)) as client:
            assert places(await client.entries(1)) == [end]
        async with following(door, "tenant_id=acme") as client:
            assert client.last_id == str(end)
            await asyncio.to_thread(write, door, "acme", 1, "x")
            assert places(await client.entries(1)) == [end + 1]

    run(deed)


def test_a_follower_far_behind_catches_up_from_the_database(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept in memory is little: whoever needs more reads it, and misses nothing."""
    door.tenant()
    door.server.feed = Feed(door.db, rendered, door.server.stopping, kept_max=3)
    monkeypatch.setattr(follow_ledger, "PAGE", 2)

    async def deed() -> None:
        async with (
            following(door, "tenant_id=acme") as slow,
            following(door, "tenant_id=acme&after=0") as quick,
        ):
            await asyncio.to_thread(write, door, "acme", 12)
            end = ledger_of(door, "acme")[-1]["seq"]
            assert places(await quick.entries(end)) == list(range(1, end + 1))
            begun = int(slow.last_id or 0)
            assert places(await slow.entries(end - begun)) == list(range(begun + 1, end + 1))
            kept = door.server.feed._order
            assert len(kept) <= 3

    run(deed)


def test_only_what_was_asked_for_is_sent(door: Door) -> None:
    door.tenant()
    write(door, "acme", 2)
    answer = door.admin.get("/v1/stream?tenant_id=acme&after=0&follow=false&kind=tenant.created")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.count("data: ") == 1
    assert '"kind":"tenant.created"' in answer.text
    staged = door.admin.get("/v1/stream?tenant_id=acme&after=0&follow=false&stage=decide")
    assert staged.text.count("data: ") == 2


def test_what_was_pruned_is_said_so(door: Door) -> None:
    door.tenant()
    write(door, "acme", 3)
    door.place.execute(
        "alter table ledger disable trigger user"
        if door.place.engine == "postgresql"
        else "drop trigger ledger_is_never_cut"
    )
    door.place.execute("delete from ledger where tenant_id = 'acme' and seq <= 2")
    answer = door.admin.get("/v1/stream?tenant_id=acme&after=0&follow=false").text
    assert 'event: pruned\ndata: {"tenant_id":"acme","pruned_to":2}' in answer
    assert answer.index("pruned_to") < answer.index('"seq":3')
    door.place.execute("delete from ledger where tenant_id = 'acme'")
    assert "data" not in door.admin.get("/v1/stream?tenant_id=acme&after=0&follow=false").text


# -- whose ----------------------------------------------------------------------------------


@pytest.mark.req("O-21")
def test_a_tenants_key_follows_its_tenant_only(door: Door) -> None:
    mine, theirs = door.tenant("mine"), door.tenant("theirs")
    key = door.key(mine, "viewer")
    problem_of(door.with_key(key).get("/v1/stream?tenant_id=theirs&follow=false"), 404)
    problem_of(door.with_key(key).get("/v1/stream?tenant_id=_system&follow=false"), 422)

    async def deed() -> None:
        async with following(door) as everybody, following(door, key=key) as client:
            await asyncio.to_thread(write, door, theirs, 2)
            assert {one["tenant_id"] for one in await everybody.entries(3)} == {"theirs"}
            await asyncio.to_thread(write, door, mine, 2)
            found = await client.entries(3)
            assert {one["tenant_id"] for one in found} == {"mine"}

    run(deed)


def test_a_key_for_all_tenants_may_follow_all_and_resume(door: Door) -> None:
    for name in ("acme", "bolt"):
        door.tenant(name)

    async def deed() -> None:
        seen: dict[str, list[int]] = {}
        async with following(door) as client:
            assert client.last_id is not None
            begun = dict(pair.split("=") for pair in client.last_id.split(","))
            for name in ("acme", "bolt"):
                await asyncio.to_thread(write, door, name, 3)
            for one in await client.entries(4):
                seen.setdefault(one["tenant_id"], []).append(one["seq"])
            last = client.last_id
        door.tenant("cart")  # a tenant that nobody knew when this began
        ends = {name: ledger_of(door, name)[-1]["seq"] for name in ("acme", "bolt", "cart")}
        async with following(door, last=last) as client:
            while any(ends[name] not in seen.get(name, []) for name in ends):
                for one in await client.entries(1):
                    seen.setdefault(one["tenant_id"], []).append(one["seq"])
        for name, end in ends.items():
            assert seen[name] == list(range(int(begun.get(name, 0)) + 1, end + 1))

    run(deed)


def test_with_many_tenants_an_id_would_be_too_long(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "TENANTS_IN_ID_MAX", 1)
    for name in ("acme", "bolt"):
        door.tenant(name)

    async def deed() -> None:
        async with following(door) as client:
            await asyncio.to_thread(write, door, "bolt", 1)
            [found] = [e for e in await client.entries(2) if e["kind"] == "verdict"]
            assert (found["tenant_id"], client.last_id) == ("bolt", None)

    run(deed)


@pytest.mark.parametrize(
    ("query", "last", "wrong"),
    [
        ("tenant_id=acme&after=-1", None, "after"),
        ("tenant_id=acme&after=999", None, "after"),
        ("after=1", None, "after"),
        ("tenant_id=acme", "nonsense", "Last-Event-ID"),
        ("tenant_id=acme", "acme=1", "Last-Event-ID"),
        ("tenant_id=acme", "999", "Last-Event-ID"),
        ("", "1", "Last-Event-ID"),
        ("", "acme=1,bolt=x", "Last-Event-ID"),
        ("", "nobody=4", "Last-Event-ID"),
        ("tenant_id=acme&stage=nonsense", None, "stage"),
        ("tenant_id=acme&follow=perhaps", None, "follow"),
        ("tenant_id=acme&since=1", None, "since"),
    ],
)
def test_a_wrong_place_is_named(
    door_sqlite: Door, query: str, last: str | None, wrong: str
) -> None:
    door_sqlite.tenant()
    headers = {} if last is None else {"Last-Event-ID": last}
    response = door_sqlite.admin.get(f"/v1/stream?{query}", headers=headers)
    problem_of(response, 422, "invalid")
    assert places_of(response) == {wrong}


# -- bounds and ends --------------------------------------------------------------------------


def test_silence_has_a_sign_of_life_and_a_revoked_key_ends_it(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.02)
    key = door.key(door.tenant(), "viewer")

    async def deed() -> None:
        client = Client(door, key=key)
        await client.start()
        while client.beats < 3:
            await client.block()
        await asyncio.to_thread(
            revoke_api_key, door.db, TenantId("acme"), key.split("_")[1], revoked_by="test"
        )
        while not client.ended:
            await client.block()
            assert client.beats < 500, "the key was revoked, and it goes on"
        await client.leave()
        assert not door.server.feed._followers

    run(deed)


def test_a_stop_ends_every_stream(door: Door) -> None:
    door.tenant()

    async def deed() -> None:
        clients = [Client(door, "tenant_id=acme"), Client(door)]
        for client in clients:
            await client.start()
        door.server.stopping.set()
        for client in clients:
            while not client.ended:
                await client.block()
            await client.leave()

    run(deed)
    problem_of(door.admin.get("/v1/stream?tenant_id=acme"), 503)


def test_who_goes_away_is_forgotten_and_so_is_what_was_kept(door: Door) -> None:
    door.tenant()
    feed = door.server.feed

    async def deed() -> None:
        async with following(door, "tenant_id=acme") as client:
            await asyncio.to_thread(write, door, "acme", 2)
            await client.entries(2)
            assert len(feed._followers) == 1
            thread = feed._thread
        assert not feed._followers
        assert thread is not None
        await asyncio.to_thread(thread.join, PATIENCE_SECONDS)
        assert (feed._thread, feed._kept, feed._heads) == (None, {}, {})

    run(deed)


def test_there_are_so_many_and_no_more(databases: Databases) -> None:
    flags = {"followers_max": 4, "requests_max": 1}
    with databases.opened("sqlite") as (db, clock), opened(db, clock, **flags) as door:
        door.tenant()

        async def deed() -> None:
            async with following(door, "tenant_id=acme"), following(door, "tenant_id=acme"):
                third = Client(door, "tenant_id=acme")
                await third.start()
                assert third.status == 429
                await third.leave()
                assert door.server.feed.followers == 2
                answer = await asyncio.to_thread(door.admin.get, "/v1/tenants")
                assert answer.status_code == 200, "followers do not count as requests"

        run(deed)


def test_a_hundred_followers_cost_one_look(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many follow a tenant, its new entries are read from the database once."""
    door.tenant()
    reads: list[int] = []
    read = Feed.read

    def counted(feed: Feed, tenant_id: TenantId, place: int, limit: int = 200) -> Any:
        reads.append(place)
        return read(feed, tenant_id, place, limit)

    monkeypatch.setattr(Feed, "read", counted)
    feed = Feed(door.db, rendered, threading.Event())
    monkeypatch.setattr(feed, "_repeat", lambda: None)
    woken: list[int] = []
    for n in range(100):
        feed.join(Follower(TenantId("acme"), lambda n=n: woken.append(n)))
    feed.look()
    woken.clear()
    begun = feed.head(TenantId("acme"))
    write(door, "acme", 7)
    feed.look()
    assert len(reads) == 1
    assert sorted(woken) == list(range(100))
    lines = feed.lines(TenantId("acme"), begun)
    assert lines is not None
    assert [line.seq for line in lines] == list(range(begun + 1, begun + len(lines) + 1))
    assert len(lines) >= 7
    feed.look()
    assert len(reads) == 1


def test_who_wants_to_know_that_it_grew_reads_no_entry(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open pages cost a look at one place; whoever reads beside them misses nothing by it."""
    acme = door.tenant()
    feed = Feed(door.db, rendered, threading.Event())
    monkeypatch.setattr(feed, "_repeat", lambda: None)
    reads: list[int] = []
    monkeypatch.setattr(feed, "read", lambda *asked: [reads.append(1), Feed.read(feed, *asked)][1])
    woken: list[str] = []
    page = Follower(acme, lambda: woken.append("page"), wants_lines=False)
    reader = Follower(acme, lambda: woken.append("reader"))
    feed.join(page)
    feed.look()
    woken.clear()
    write(door, "acme", 3)
    feed.look()
    feed.look()
    assert (woken, reads) == (["page"], [])
    head = feed.head(acme)
    feed.join(reader)
    write(door, "acme", 2)
    feed.look()
    assert (sorted(woken[1:]), len(reads)) == (["page", "reader"], 1)
    assert [line.seq for line in feed.lines(acme, head)] == list(
        range(head + 1, feed.head(acme) + 1)
    )
    feed.leave(reader)
    write(door, "acme", 1)
    feed.look()
    assert feed.lines(acme, head) is None, "what is kept would end before the ledger does"
    assert len(reads) == 1
    feed._followers.clear()


def test_a_feed_refuses_what_it_cannot_serve(door: Door) -> None:
    stopping = threading.Event()
    feed = Feed(door.db, rendered, stopping, followers_max=1)
    feed.join(Follower(None, lambda: None))
    with pytest.raises(Overloaded):
        feed.join(Follower(None, lambda: None))
    stopping.set()
    with pytest.raises(Unavailable):
        feed.join(Follower(None, lambda: None))
    feed.close()
    assert feed._thread is None
