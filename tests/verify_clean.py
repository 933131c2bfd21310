"""After every stress: the audit must find nothing."""

from watchkeeper.actions.verify import verify
from watchkeeper.store.database import Database


def broken(db: Database, **options: object) -> dict[str, list[dict]]:
    """The invariants that do not hold, with the rows that break them."""
    findings = verify(db, recompute_max=None, **options)
    return {found.invariant: list(found.rows) for found in findings if not found.is_clean}


def assert_verified(db: Database) -> None:
    assert broken(db) == {}
