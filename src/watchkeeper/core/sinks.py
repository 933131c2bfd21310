"""Sinks: which topics may leave the process, where to, and what may be shown of that.

A sink takes one topic of a tenant, or of all tenants, to a receiver outside. A tenant's
own comes before the one for all, and either before a handler of the process.
"""

from __future__ import annotations

from difflib import get_close_matches
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

_OWN = (
    "decision.",
    "schedule.",
    "pull.",
    "heat.sweep",
    "action.",
    "report.",
    "plan.",
    "message.",
    "milestone.",
)
_OPEN = NOTIFICATIONS | {envelope.EVALUATION_REQUESTED, "action.requested"}
NEAR = 0.85
"""How alike two topics are, from 0 to 1, where one is likely a misspelling of the other."""


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
    is_own = topic.startswith(_OWN) or topic == envelope.SIGNAL_HANDED_IN
    if namespace != NAMESPACE or not is_own or topic in _OPEN:
        return None
    meant = nearest(topic)
    if meant is not None:
        return f"Watchkeeper has no topic {topic}: did you mean {meant}?"
    return "is delivered by Watchkeeper itself and cannot have a sink"


def nearest(topic: str) -> str | None:
    """The topic of Watchkeeper that a sink may take and that this is likely a misspelling of."""
    known = _OPEN | {USAGE_SNAPSHOT}
    if topic in known:
        return None
    return next(iter(get_close_matches(topic.lower(), sorted(known), 1, NEAR)), None)


def warning(topic: str) -> str | None:
    """Doubt about a topic that may be the user's own, or a misspelling of one of ours."""
    meant = nearest(topic)
    if meant is None:
        return None
    return (
        f"Watchkeeper has no topic {topic}: did you mean {meant}?"
        f" This sink takes only messages that your program enqueues as {topic}."
    )


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
