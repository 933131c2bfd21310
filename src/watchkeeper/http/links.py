"""Where things are shown: addresses of pages, whatever characters a name holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from watchkeeper.core.ledger import Entry, Kind

_DOTS = (".", "..")
_MESSAGES = (Kind.MESSAGE_DEAD, Kind.MESSAGE_REDRIVEN)


def account_path(account_id: str) -> str:
    """The page of an account. A browser takes dots alone for a step up, however they are written:
    such a name goes into the query."""
    if account_id in _DOTS:
        return f"/accounts?account={account_id}"
    return f"/accounts/{quote(account_id, safe='')}"


def path_of(page: str, name: str) -> str:
    return f"/{page}/{quote(name, safe='')}"


def with_query(path: str, **given: object) -> str:
    """The same page with what is given added to its query."""
    told = {name: value for name, value in given.items() if value not in (None, "")}
    if not told:
        return path
    return f"{path}{'&' if '?' in path else '?'}{urlencode(told)}"


def link_of(entry: Entry, data: Mapping[str, Any]) -> tuple[str, str] | None:
    """Where more is told of what an entry records: a label and an address."""
    kind = entry.kind
    if kind == Kind.VERDICT:
        return "Decision", path_of("decisions", entry.entry_id)
    if kind in (Kind.RUN_ENDED, Kind.PROPOSAL_REFUSED) and data.get("decision_id"):
        return "Decision", path_of("decisions", str(data["decision_id"]))
    if kind == Kind.PULL_DECIDED and entry.result == "REFUSED":
        return "Why", path_of("pulls", entry.entry_id)
    if kind in (Kind.PULL_DECIDED, Kind.PULL_ENDED) and data.get("pull_job_id"):
        return "Pull", path_of("pulls", str(data["pull_job_id"]))
    if kind in (Kind.TURN_RESERVED, Kind.TURN_REFUSED, Kind.TURN_SETTLED):
        return "Turn", path_of("turns", entry.subject)
    if kind in _MESSAGES:
        return "Message", path_of("outbox", entry.subject)
    if kind == Kind.REPORT_GENERATED:
        return "Report", path_of("reports", entry.entry_id)
    if kind.isupper():
        return "Plan", path_of("plans", entry.subject)
    if kind in (Kind.TIER_CHANGED, Kind.ACCOUNT_CHANGED):
        return "Account", account_path(entry.subject)
    return None
