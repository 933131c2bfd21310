"""Sinks: which topics may leave the process, where to, and what may be shown of that.

A sink takes one topic of a tenant, or of all tenants, to a receiver outside. A tenant's
own comes before the one for all, and either before a handler of the process.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

from watchkeeper.core import envelope
from watchkeeper.core.redaction import HIDDEN, redacted
from watchkeeper.core.time import DAY, SECOND
from watchkeeper.core.turns import USAGE_SNAPSHOT

NAMESPACE = "watchkeeper"
ROTATION_US = DAY
"""For how long an old secret signs beside the one that replaced it."""

UNHANDLED = "unhandled: no sink and no handler takes it"
UNHANDLED_US = 60 * SECOND
"""How long a message that nobody takes is left alone before it is looked at again."""

NOTIFICATIONS = frozenset(
    {
        envelope.DEFERRED,
        envelope.REPORT_GENERATED,
        envelope.PLAN_CHANGED,
        envelope.MESSAGE_DEAD,
    }
)
"""News that nobody waits for: what nobody listens to is not written at all."""

_OWN = ("decision.", "schedule.", "pull.", "action.", "report.", "plan.", "message.", "milestone.")
_OPEN = NOTIFICATIONS | {envelope.EVALUATION_REQUESTED, "action.requested"}


class SinkKind(StrEnum):
    WEBHOOK = "webhook"
    NATS = "nats"


class Reach(StrEnum):
    """How near to this machine a receiver may be."""

    PUBLIC = "public"
    LOOPBACK = "loopback"  # in development: this machine too
    PRIVATE = "private"

    def widened(self, *, private: bool, dev: bool) -> Reach:
        """This much, or as much as settings and development mode allow."""
        if private or self is Reach.PRIVATE:
            return Reach.PRIVATE
        return Reach.LOOPBACK if dev else self


def refusal(namespace: str, topic: str) -> str | None:
    """Why a topic cannot have a sink; None if it can. Our own timers end in this program."""
    if namespace != NAMESPACE or not topic.startswith(_OWN) or topic in _OPEN:
        return None
    return "is delivered by Watchkeeper itself and cannot have a sink"


def namespace_for(topic: str, named: str | None, usage_namespace: str) -> str:
    """Where the messages of a topic lie, if nobody says otherwise."""
    if named is not None:
        return named
    return usage_namespace if topic == USAGE_SNAPSHOT else NAMESPACE


def is_private_ok(reach: Reach, url: str) -> bool:
    """Whether a receiver at this URL may be near. The address itself is checked elsewhere."""
    match reach:
        case Reach.PUBLIC:
            return False
        case Reach.PRIVATE:
            return True
        case Reach.LOOPBACK:
            return _is_loopback(url)


def shown_url(url: str) -> str:
    """The URL without what may be a secret: no user, no password, nothing of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    place = parts.netloc.rpartition("@")[2]
    query = HIDDEN if parts.query else ""
    return redacted(urlunsplit((parts.scheme, place, parts.path, query, "")))


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
