"""Letting the login of servers and workers take the two roles, and nothing more."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from watchkeeper.errors import Invalid
from watchkeeper.store.postgres import APP_ROLE, WORKER_ROLE

ROLES = f"{APP_ROLE}, {WORKER_ROLE}"
GRANTS_WITH_OPTIONS = 160000
"""Since this version of PostgreSQL one membership says whether its rights are inherited."""

_INHERITS = """select exists (select 1 from pg_roles r, pg_roles login
    where r.rolname in (%s, %s) and login.rolname = %s and not login.rolsuper
    and pg_has_role(login.oid, r.oid, 'usage'))"""


def grant_roles(conn: Connection, grant_to: str | None) -> str | None:
    """Let a user take both roles for a transaction, without their rights outside of one.

    A statement that forgot its role is then refused, rather than shown every tenant's rows.
    Raises Invalid where there is no such user.
    Returns what an administrator has left to do where the user has the rights all the same.
    """
    from psycopg import sql

    driver: Any = conn.connection.driver_connection
    user = driver.execute("select current_user").fetchone()[0] if grant_to is None else grant_to
    if driver.execute("select 1 from pg_roles where rolname = %s", (user,)).fetchone() is None:
        raise Invalid.at(
            "grant_to", f"there is no role {user}: make it first (CREATE ROLE … LOGIN)"
        )
    login = sql.Identifier(user)
    has_options = driver.info.server_version >= GRANTS_WITH_OPTIONS
    options = " with inherit false, set true" if has_options else ""
    driver.execute(f"grant select on alembic_version to {ROLES}")
    # A transaction takes its role and reads the clock in one statement, judged by the login.
    driver.execute(sql.SQL("grant select on clock to {}").format(login))
    driver.execute(sql.SQL(f"grant {ROLES} to {{}}{options}").format(login))
    inherits = driver.execute(_INHERITS, (APP_ROLE, WORKER_ROLE, user)).fetchone()[0]
    if not inherits:
        return None
    name = login.as_string(driver)
    command = (
        f"REVOKE {ROLES} FROM {name} as a superuser, then migrate again"
        if has_options
        else f"ALTER ROLE {name} NOINHERIT"
    )
    return f"{user} has the rights of {ROLES} without taking them: run {command}"
