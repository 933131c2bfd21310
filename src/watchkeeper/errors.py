"""Every error this package raises on purpose.

    WatchkeeperError
    ├── NotFound          the caller named something that does not exist
    ├── Conflict          the request is valid, but the current state does not allow it
    │   ├── IllegalTransition
    │   └── LeaseLost
    ├── Invalid           the request itself is wrong; `problems` name each place
    ├── QuotaExceeded     no model of the cascade has room; `retry_at` says when one may
    ├── Unauthorized      no key, or one that is not accepted
    ├── Forbidden         the role or tenant of the key does not allow it
    └── Unavailable       nothing is wrong with the request: try again
        ├── Overloaded    too much is under way
        │   └── TenantOverloaded  of this tenant
        ├── Busy          others held what is needed; nothing was done
        ├── TimedOut      the database ended what took too long; nothing was done
        ├── Closed        the app was closed
        └── CommitUnknown the connection broke while committing

The branches are what a caller can do about it: look elsewhere, read again, fix
the request, use another key, wait. Anything that is not a WatchkeeperError is a bug.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a request: where it is, and what is wrong there."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class WatchkeeperError(Exception):
    """Base class. `code` is public contract and never changes; the sentence may."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, **detail: str | int | bool | None) -> None:
        super().__init__(message)
        self.detail = detail


class NotFound(WatchkeeperError):
    code = "not_found"


class Conflict(WatchkeeperError):
    code = "conflict"


class Invalid(WatchkeeperError):
    code = "invalid"

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    @classmethod
    def at(cls, place: str, message: str) -> Invalid:
        return cls(f"{place}: {message}", [Problem(place, message)])


class QuotaExceeded(WatchkeeperError):
    """No quota is left; no work was started. `retry_at` is the next reset that may help."""

    code = "quota_exceeded"

    def __init__(
        self,
        message: str,
        *,
        retry_at: int | None = None,
        retry_after_seconds: int | None = None,
        **detail: str | int | None,
    ) -> None:
        super().__init__(message, **detail)
        self.retry_at = retry_at
        self.retry_after_seconds = retry_after_seconds


class Unauthorized(WatchkeeperError):
    code = "unauthorized"


class Forbidden(WatchkeeperError):
    code = "forbidden"


class Unavailable(WatchkeeperError):
    code = "unavailable"


class IllegalTransition(Conflict):
    code = "illegal_transition"

    def __init__(self, machine: str, status: str, event: str) -> None:
        super().__init__(
            f"{machine} is {status}: it cannot {event}", machine=machine, status=status, event=event
        )


class LeaseLost(Conflict):
    """Another worker has the lease, or the message has ended; this result is dropped."""

    code = "lease_lost"

    def __init__(self, message_id: str) -> None:
        super().__init__(f"the lease on message {message_id} is lost", message_id=message_id)


class Overloaded(Unavailable):
    """Too many requests are under way; nothing was done."""

    code = "overloaded"


class TenantOverloaded(Overloaded):
    """The tenant, or the key for all tenants, has too many requests under way."""

    code = "tenant_overloaded"


class Busy(Unavailable):
    """Other transactions held a row, the file or every connection for too long."""

    code = "busy"


class TimedOut(Unavailable):
    """The database ended a statement that ran for too long. A repeat may take as long."""

    code = "timed_out"


class Closed(Unavailable):
    """The app, or the database under it, was closed; open another."""

    code = "closed"

    def __init__(self, message: str = "the app is closed: open another one") -> None:
        super().__init__(message)


class CommitUnknown(Unavailable):
    """The connection was lost during COMMIT: the change may or may not be committed."""

    code = "outcome_unknown"
