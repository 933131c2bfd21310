"""Power cuts: the n-th statement of a deed fails, or its commit does."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from unittest.mock import patch

from tests.databases import Place
from watchkeeper.store.database import Database
from watchkeeper.store.tables import metadata
from watchkeeper.store.transaction import Session

STATEMENTS = ("rows", "run", "run_many", "send", "changed")
STEPS_MAX = 200


class PowerCut(Exception):
    """The light went out."""


@contextmanager
def power_cut_at(step: int) -> Iterator[list[str]]:
    """Fail the given step, before it is done. A statement is a step, and so is the commit."""
    steps = count(1)
    seen: list[str] = []

    def cutting(name: str, original: Any) -> Any:
        def wrapped(self: Any, *rest: Any, **more: Any) -> Any:
            seen.append(name)
            if next(steps) == step:
                raise PowerCut
            return original(self, *rest, **more)

        return wrapped

    with (
        patch.multiple(
            Session, **{name: cutting(name, getattr(Session, name)) for name in STATEMENTS}
        ),
        patch.object(Database, "_commit", cutting("commit", Database._commit)),
        patch.object(Database, "_send_commit", cutting("commit", Database._send_commit)),
    ):
        yield seen


def contents(place: Place) -> dict[str, list]:
    """Everything there is in every table."""
    names = [table.name for table in metadata.sorted_tables]
    if place.engine == "sqlite":
        return {name: sorted(map(str, place.execute(f"select * from {name}"))) for name in names}
    found: dict[str, list] = {name: [] for name in names}  # at one look: connecting takes longest
    looks = " union all ".join(f"select '{name}', r::text from {name} r" for name in names)
    for name, row in sorted(place.execute(looks)):
        found[name].append(row)
    return found
