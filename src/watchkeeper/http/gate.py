"""Places of requests: who may begin one, decided before anything of it is read.

A request counts for its tenant if its key or session was accepted before, and otherwise for its
address, among places of their own: those where a key is looked up, or the few for senders without
one. So neither a tenant nor somebody without a key can take the places of others.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from starlette.requests import Request
from starlette.types import Scope

from watchkeeper.core.shares import NoPlace, Places
from watchkeeper.errors import Overloaded, TenantOverloaded
from watchkeeper.http.access import Caller
from watchkeeper.http.failed_logins import address_of

CREDENTIALS_MAX = 4096
READ_UNKNOWN = frozenset({"/login", "/logout"})
"""Read the body of a sender that is not known: a key in the head does not help there."""

_SENT_IN = (b"authorization", b"cookie")


class Gate:
    """The places of one server. For the thread of the event loop only."""

    def __init__(self, requests_max: int, anonymous_max: int) -> None:
        self.known = Places(requests_max)
        self.arriving = Places(requests_max)
        self.anonymous = Places(anonymous_max)
        self._parties: OrderedDict[bytes, str] = OrderedDict()

    @property
    def under_way(self) -> int:
        return self.known.taken + self.arriving.taken + self.anonymous.taken

    def enter(self, scope: Scope) -> Ticket | NoPlace:
        """Take a place for a request: of its tenant if its credential was accepted before."""
        credential = _credential(scope)
        party = None if credential is None else self._parties.get(credential)
        if party is not None:
            places = self.known
        elif credential is None or scope["path"] in READ_UNKNOWN:
            places, party = self.anonymous, address_of(Request(scope))
        else:
            places, party = self.arriving, address_of(Request(scope))
        return places.take(party) or Ticket(self, places, party, credential)

    def remember(self, credential: bytes, party: str) -> None:
        """Keep whose it is, without the credential itself. Nobody is let in by it."""
        self._parties[credential] = party
        self._parties.move_to_end(credential)
        if len(self._parties) > CREDENTIALS_MAX:
            self._parties.popitem(last=False)

    def forget(self, credential: bytes) -> None:
        self._parties.pop(credential, None)


class Ticket:
    """The place of one request."""

    __slots__ = ("_credential", "_gate", "_party", "_places", "is_identified")

    def __init__(self, gate: Gate, places: Places, party: str, credential: bytes | None) -> None:
        self._gate = gate
        self._places: Places | None = places
        self._party = party
        self._credential = credential
        self.is_identified = False

    def identify(self, caller: Caller) -> None:
        """The sender is known: from here on the place is one of its tenant, or there is none."""
        self.is_identified = True
        party = caller.party
        if self._credential is not None:
            self._gate.remember(self._credential, party)
        if self._places is self._gate.known and party == self._party:
            return
        self.leave()
        refusal = self._gate.known.take(party)
        if refusal is not None:
            raise error_of(refusal)
        self._places, self._party = self._gate.known, party

    def leave(self) -> None:
        """Give the place back; once."""
        if self._places is not None:
            self._places.leave(self._party)
            self._places = None

    def disown(self) -> None:
        """The credential was not accepted: it is nobody's."""
        if self._credential is not None:
            self._gate.forget(self._credential)


def error_of(refusal: NoPlace) -> Overloaded:
    match refusal:
        case NoPlace.FULL:
            return Overloaded("too many requests are under way")
        case NoPlace.SHARE:
            return TenantOverloaded("this sender has its share of requests under way")


def _credential(scope: Scope) -> bytes | None:
    """A digest of what the sender identifies itself with."""
    for name, value in scope["headers"]:
        if name in _SENT_IN:
            return hashlib.sha256(name + value).digest()
    return None
