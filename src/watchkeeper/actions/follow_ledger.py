"""Following the ledger: read once in a process, and handed to everybody who follows.

One thread looks for new entries, when there is news and now and then, in read transactions.
What it finds is kept for a while, in a bounded space; a follower that has fallen further behind
reads by itself, and none of them is waited for. Where nobody wants the entries themselves, only
the place is looked at at which the ledger ends: a hundred open pages cost as much as one.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.shares import NoPlace, Places
from watchkeeper.errors import Overloaded, TenantOverloaded, Unavailable
from watchkeeper.store import ledger, tenants
from watchkeeper.store.database import Database

LOOK_SECONDS = 0.5
GAP_SECONDS = 0.05
"""Between two looks, however much news there is: who writes must not feel who looks."""

HEADS_GAP_SECONDS = 0.25
"""The same where only places are looked at."""

KEPT_MAX = 4_000
PAGE = 200
PAGES_MAX = 10
"""Of one tenant in one look; the rest is for the next."""

FOLLOWERS_MAX = 256
JOIN_SECONDS_MAX = 5.0

_log = logging.getLogger("watchkeeper.follow")


class Line(NamedTuple):
    """An entry as followers get it: made once for all of them."""

    tenant_id: TenantId
    seq: int
    stage: str
    kind: str
    body: bytes


class Follower:
    """Somebody who is told that there may be something new: of one tenant, or of all.

    Without `wants_lines` all it wants to know is that a ledger has grown. `party` is whose share
    of the places it takes.
    """

    __slots__ = ("party", "tenant_id", "wake", "wants_lines")

    def __init__(
        self,
        tenant_id: TenantId | None,
        wake: Callable[[], None],
        *,
        party: str = "",
        wants_lines: bool = True,
    ) -> None:
        self.tenant_id = tenant_id
        self.party = party
        self.wake = wake
        self.wants_lines = wants_lines


class Feed:
    """What is new in the ledger of every tenant that somebody follows."""

    def __init__(
        self,
        db: Database,
        render: Callable[[Recorded], bytes],
        stopping: threading.Event,
        *,
        kept_max: int = KEPT_MAX,
        followers_max: int = FOLLOWERS_MAX,
    ) -> None:
        self.db = db
        self._render = render
        self._stopping = stopping
        self._kept_max = kept_max
        self._places = Places(followers_max)
        self._lock = threading.Lock()
        self._followers: set[Follower] = set()
        self._heads: dict[TenantId, int] = {}
        self._kept: dict[TenantId, deque[Line]] = {}
        self._order: deque[TenantId] = deque()
        self._thread: threading.Thread | None = None

    @property
    def is_ended(self) -> bool:
        return self._stopping.is_set()

    # -- followers ----------------------------------------------------------------------

    def join(self, follower: Follower) -> None:
        """From now on it is woken. Too many of them, or a stop under way, is an error."""
        if self.is_ended:
            raise Unavailable("the server is stopping")
        with self._lock:
            match self._places.take(follower.party):
                case NoPlace.FULL:
                    raise Overloaded(f"{self._places.total} follow the ledger already")
                case NoPlace.SHARE:
                    raise TenantOverloaded("this tenant's share of the followers is used up")
                case None:
                    self._followers.add(follower)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._repeat, name="watchkeeper follow", daemon=True
                )
                self._thread.start()

    def leave(self, follower: Follower) -> None:
        with self._lock:
            if follower in self._followers:
                self._followers.remove(follower)
                self._places.leave(follower.party)

    @property
    def followers(self) -> int:
        return len(self._followers)

    def close(self) -> None:
        """After a stop: wait until nobody looks any more, so that the database can be let go."""
        thread = self._thread
        if thread is not None:
            self.db.wake()
            thread.join(JOIN_SECONDS_MAX)

    def heads(self, tenant_id: TenantId | None) -> dict[TenantId, int]:
        """Where the ledgers end that such a follower sees, as the database says it now."""
        with self.db.read_system() as tx:
            return tenants.ledger_ends(tx, None if tenant_id is None else [tenant_id])

    def news(self, places: dict[TenantId, int], tenant_id: TenantId | None) -> list[TenantId]:
        """Those of the tenants followed whose ledger is known to go beyond these places."""
        if tenant_id is not None:
            return [tenant_id] if self.head(tenant_id) > places.get(tenant_id, 0) else []
        heads = dict(self._heads)
        return sorted(one for one, head in heads.items() if head > places.get(one, 0))

    def head(self, tenant_id: TenantId) -> int:
        """Up to where its ledger was taken in."""
        return self._heads.get(tenant_id, 0)

    def lines(self, tenant_id: TenantId, place: int, limit: int = PAGE) -> list[Line] | None:
        """What follows a place, of what is kept; None when it is not: then `read` it."""
        with self._lock:
            kept = self._kept.get(tenant_id)
            if not kept or kept[0].seq > place + 1:
                return None
            first = place + 1 - kept[0].seq
            return [kept[at] for at in range(first, min(len(kept), first + limit))]

    def read(self, tenant_id: TenantId, place: int, limit: int = PAGE) -> list[Line]:
        """The same from the database. It blocks: not for the thread that serves everybody."""
        with self.db.read(tenant_id) as tx:
            entries = ledger.after(tx, place, limit)
        return self._lines(entries)

    # -- looking ------------------------------------------------------------------------

    def look(self) -> None:
        """Take in what is new, and wake those it is for."""
        with self._lock:
            named = {follower.tenant_id for follower in self._followers}
            read = {one.tenant_id for one in self._followers if one.wants_lines}
        wanted = None if None in named else sorted(one for one in named if one is not None)
        with self.db.read_system() as tx:
            ends = tenants.ledger_ends(tx, wanted)
        self._forget(ends)
        moved = set()
        for tenant_id, end in ends.items():
            take = self._take_in if read & {None, tenant_id} else self._take_head
            if take(tenant_id, end):
                moved.add(tenant_id)
        with self._lock:
            told = [one for one in self._followers if one.tenant_id in moved]
            told += [one for one in self._followers if moved and one.tenant_id is None]
        _wake(told)

    def _take_in(self, tenant_id: TenantId, end: int) -> bool:
        """Up to where its ledger ended when we asked; whether that is news."""
        place = self._heads.setdefault(tenant_id, end)
        if place >= end:
            return tenant_id not in self._kept and self._begin(tenant_id)
        for _ in range(PAGES_MAX):
            lines = self.read(tenant_id, place)
            if not lines:
                break
            self._keep(tenant_id, lines)
            place = lines[-1].seq
            if place >= end:
                break
        self._heads[tenant_id] = place
        return True

    def _take_head(self, tenant_id: TenantId, end: int) -> bool:
        """The place alone. What was kept would end before it, and is let go."""
        known = self._heads.get(tenant_id)
        if known is not None and known >= end:
            return False
        with self._lock:
            if self._kept.get(tenant_id):
                self._order = deque(one for one in self._order if one != tenant_id)
            self._kept[tenant_id] = deque()
        self._heads[tenant_id] = end
        return True

    def _begin(self, tenant_id: TenantId) -> bool:
        """Seen for the first time: its followers may be behind it."""
        with self._lock:
            self._kept[tenant_id] = deque()
        return True

    def _keep(self, tenant_id: TenantId, lines: Sequence[Line]) -> None:
        with self._lock:
            kept = self._kept.setdefault(tenant_id, deque())
            if kept and kept[-1].seq + 1 != lines[0].seq:  # what lay between was pruned
                kept.clear()
            kept.extend(lines)
            self._order.extend([tenant_id] * len(lines))
            while len(self._order) > self._kept_max:
                oldest = self._kept.get(self._order.popleft())
                if oldest:
                    oldest.popleft()

    def _forget(self, followed: Iterable[TenantId]) -> None:
        """What nobody follows any more."""
        gone = self._heads.keys() - set(followed)
        if not gone:
            return
        with self._lock:
            for tenant_id in gone:
                del self._heads[tenant_id]
                self._kept.pop(tenant_id, None)
            self._order = deque(one for one in self._order if one not in gone)

    def _lines(self, entries: Sequence[Recorded]) -> list[Line]:
        return [
            Line(
                TenantId(found.tenant_id),
                found.seq,
                found.entry.stage,
                found.entry.kind,
                self._render(found),
            )
            for found in entries
        ]

    def _repeat(self) -> None:
        while not self._is_over():
            seen = self.db.news_count
            try:
                self.look()
            except Exception as error:
                _log.warning("following: %s: %s", type(error).__name__, error)
            self._stopping.wait(self._gap_seconds)
            self.db.wait_for_news(seen, 0 if self.is_ended else LOOK_SECONDS)

    @property
    def _gap_seconds(self) -> float:
        with self._lock:
            reads = any(one.wants_lines for one in self._followers)
        return GAP_SECONDS if reads else HEADS_GAP_SECONDS

    def _is_over(self) -> bool:
        with self._lock:
            if self._followers and not self.is_ended:
                return False
            self._thread = None
            told = list(self._followers)
            self._heads.clear()
            self._kept.clear()
            self._order.clear()
        _wake(told)
        return True


def _wake(followers: Iterable[Follower]) -> None:
    for follower in followers:
        follower.wake()
