"""What PostgreSQL read for an answer: rows and index entries, by its own counters."""

from collections.abc import Callable, Sequence

from tests.databases import Place
from watchkeeper.store.database import Database

Ask = Callable[[Database], object]
Read = Callable[[Ask], int]


def reading(place: Place, tables: Sequence[str]) -> Read:
    """How many rows and index entries of these tables are read for an answer.

    The database has to be brand_new: one that served before has counted already.
    """
    names = tuple(tables)

    def total() -> int:
        [(by_index,)] = place.execute(
            "select sum(coalesce(idx_tup_read, 0)) from pg_stat_user_indexes"
            f" where relname in {names}"
        )
        [(by_scan,)] = place.execute(
            "select sum(coalesce(seq_tup_read, 0)) from pg_stat_user_tables"
            f" where relname in {names}"
        )
        return int(by_index) + int(by_scan)

    def found(ask: Ask) -> int:
        before = total()
        opened = place.open()
        assert ask(opened)
        opened.close()  # a connection reports what it did when it ends
        return total() - before

    return found
