"""Database URLs: what is refused before a driver sees it.

A driver repeats in its errors what it takes for a host or a parameter. Where a password was
not escaped, that is a part of the password.
"""

from __future__ import annotations

from sqlalchemy import URL, Engine, make_url

from watchkeeper.errors import Invalid

PLACE = "database_url"
ESCAPE = "escape these in it: @ as %40, / as %2F, ? as %3F, & as %26, % as %25"
_AMBIGUOUS = "@/?#[]"


def parsed_url(url: str | Engine) -> URL:
    """The URL of a database of a kind that is supported, with its driver left to us.

    Raises Invalid, which repeats nothing of what it refuses.
    """
    parsed = url.url if isinstance(url, Engine) else _made(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        if isinstance(url, Engine) and parsed.database in (None, "", ":memory:"):
            raise Invalid.at(PLACE, "an engine in memory cannot be shared: use the URL sqlite://")
        return parsed.set(drivername="sqlite")
    if backend not in ("postgresql", "postgres"):
        raise Invalid.at(PLACE, "this kind of database is not supported: use sqlite or postgresql")
    _check_postgres(parsed)
    return parsed.set(drivername="postgresql+psycopg")


def _made(url: object) -> URL:
    if not isinstance(url, str | URL):
        kind = type(url).__name__
        if kind == "AsyncEngine":
            raise Invalid.at(PLACE, "an async engine is not supported: pass its sync_engine")
        raise Invalid.at(PLACE, f"{kind} is not supported: pass a URL or a SQLAlchemy engine")
    try:
        return make_url(url)
    except Exception:
        raise Invalid.at(PLACE, "it is not a database URL") from None


def _check_postgres(url: URL) -> None:
    """Each part is what its place allows; a password that was cut leaves one that is not."""
    host = (url.host or "").strip("[]")
    if any(sign in host for sign in _AMBIGUOUS) or "@" in (url.database or ""):
        raise Invalid.at(PLACE, f"its password is not escaped; {ESCAPE}")
    known = _parameters()
    if known and url.query.keys() - known:
        raise Invalid.at(
            PLACE, f"it has a parameter that PostgreSQL does not know, or a password: {ESCAPE}"
        )


def _parameters() -> set[str]:
    """The names of what libpq takes; empty where the driver is missing, which is told later."""
    try:
        from psycopg.pq import Conninfo
    except ImportError:
        return set()
    return {option.keyword.decode() for option in Conninfo.get_defaults()}
