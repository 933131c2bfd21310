"""Entries of the ledger as pages show them: in words, with a link, and whole for who asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from watchkeeper.actions.show_timeline import OWN
from watchkeeper.core.admission import Result
from watchkeeper.core.entry_phrases import words_of
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.time import Instant, to_iso
from watchkeeper.http.links import link_of
from watchkeeper.store.json import loads


@dataclass(frozen=True, slots=True)
class Told:
    """One entry. `raw` is all of it."""

    seq: int
    at: Instant
    stage: str
    kind: str
    subject: str
    result: str | None
    title: str
    detail: str
    link: tuple[str, str] | None  # a label, and where it leads
    account_id: str | None  # that it is about
    likeness: str | None  # others that have the same say the same
    raw: str


def grouped(entries: Sequence[Told]) -> list[list[Told]]:
    """Skips for the same reason, one after the other, as one: a storm is one line."""
    groups: list[list[Told]] = []
    for one in entries:
        last = groups[-1][0] if groups else None
        if last is not None and one.likeness is not None and one.likeness == last.likeness:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def told_of(found: Recorded, signal_type: str | None = None) -> Told:
    it = found.entry
    data = loads(it.data)
    words = words_of(it, data, signal_type)
    whole = {"seq": found.seq, **it._asdict(), "at": to_iso(it.at), "data": data}
    return Told(
        found.seq,
        it.at,
        str(it.stage),
        str(it.kind),
        it.subject,
        it.result,
        words.title,
        words.detail,
        link_of(it, data),
        it.subject if it.kind in OWN else data.get("account_id"),
        f"{it.trigger_type} {it.reason}" if it.result == Result.SKIP else None,
        orjson.dumps(whole, option=orjson.OPT_INDENT_2).decode(),
    )
