"""For programs that receive webhooks: is this delivery genuine, and which event is it?

Deliveries are signed after the Standard Webhooks convention, over the id, the time of the
attempt and the body. Nothing of a delivery is read before its signature is found right.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from standardwebhooks import Webhook, WebhookVerificationError

from watchkeeper.errors import Invalid, Unauthorized
from watchkeeper.handlers.secrets import key_of

SECRETS_MAX = 8
"""Secrets that are accepted at one time: the new one, the old one, and some to spare."""

_REQUIRED = ("id", "source", "type")


class Headers(Protocol):
    """A mapping, or what a framework has in its place."""

    def items(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True, slots=True)
class Received:
    """A genuine delivery: the event, and the names under which it is applied once."""

    key: str
    event: dict[str, Any]  # the CloudEvent

    @property
    def data(self) -> Any:
        return self.event.get("data")

    @property
    def scope(self) -> str:
        """Within what the key is one event's: its tenant, namespace and topic."""
        return str(self.event["source"])

    @property
    def fingerprint(self) -> str:
        """The same for each delivery of one event: of its data, not of this attempt's envelope."""
        text = json.dumps(self.data, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def verify(secrets: str | Sequence[str], headers: Headers, body: bytes | str) -> Received:
    """The event of a delivery that was signed with one of the secrets within five minutes.

    `body` is the request's body as it came. Headers are found in any case of letters. Raises
    `Unauthorized` for a delivery that nobody vouches for (answer 401: it is tried again), and
    `Invalid` for a genuine one that is no CloudEvent (answer 422: it is not). Secrets that
    cannot be any are a ValueError: a mistake of the receiver's must not reject an event.
    """
    if not isinstance(body, bytes | str):
        raise TypeError("the body must be the bytes that came, not what was read from them")
    given = {name.lower(): value for name, value in headers.items()}
    refusals = [_refusal(one, given, body) for one in _webhooks(secrets)]
    if None not in refusals:
        raise Unauthorized(f"the delivery is not genuine: {refusals[0]}")
    return Received(given["webhook-id"], _cloud_event(body))


def _webhooks(secrets: str | Sequence[str]) -> list[Webhook]:
    known = [secrets] if isinstance(secrets, str) else list(secrets or ())
    if not 1 <= len(known) <= SECRETS_MAX:
        raise ValueError(f"there must be 1 to {SECRETS_MAX} secrets, not {len(known)}")
    try:
        return [Webhook(key_of(secret)) for secret in known]
    except Invalid as error:
        raise ValueError(str(error)) from None


def _refusal(webhook: Webhook, headers: dict[str, str], body: bytes | str) -> str | None:
    try:
        webhook.verify(body, headers, json_parse=False)
    except WebhookVerificationError as error:
        return str(error)
    except ValueError:  # a signature that is not base64, a body that is not UTF-8
        return "Malformed signature or body"
    return None


def _cloud_event(body: bytes | str) -> dict[str, Any]:
    try:
        event = json.loads(body)
    except ValueError:
        raise Invalid.at("body", "is not JSON") from None
    if not isinstance(event, dict) or event.get("specversion") != "1.0":
        raise Invalid.at("body", "is not a CloudEvent of version 1.0")
    for name in _REQUIRED:
        if not isinstance(event.get(name), str) or not event[name]:
            raise Invalid.at(name, "is required of a CloudEvent")
    return event
