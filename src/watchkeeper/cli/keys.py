"""`keys`: who may call the server, and as what."""

from __future__ import annotations

from typing import Annotated

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db, Limit
from watchkeeper.cli.output import say, say_json, say_table
from watchkeeper.cli.place import AUTHOR, opened

app = typer.Typer(help="Create, list and revoke API keys.", no_args_is_help=True)


@app.command()
def create(
    role: Annotated[
        str,
        typer.Option("--role", help="Role: ingest, viewer, operator or admin.", show_default=False),
    ],
    tenant: AnyTenant = None,
    expires_at: Annotated[
        str | None,
        typer.Option(
            "--expires-at", metavar="TIME", help="Time of expiry, ISO 8601. Default: never."
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Create an API key and print it. It is not shown again."""
    from watchkeeper import inputs
    from watchkeeper.actions.create_api_key import create_api_key
    from watchkeeper.core.ids import TenantId

    given = {"role": role, "tenant_id": tenant, "expires_at": expires_at}
    asked = inputs.parse(inputs.ApiKeyIn, given)
    owner = None if asked.tenant_id is None else TenantId(asked.tenant_id)
    with opened(db) as database:
        made = create_api_key(
            database, owner, asked.role, expires_at=asked.expires_at, created_by=AUTHOR
        )
    if as_json:
        say_json({"key_id": made.stored.key_id, "key": made.key})
    else:
        say(made.key)


@app.command("list")
def list_keys(
    tenant: AnyTenant = None, limit: Limit = 100, db: Db = None, as_json: AsJson = False
) -> None:
    """List API keys, without their secrets."""
    from watchkeeper.actions import views
    from watchkeeper.core.ids import SYSTEM, TenantId
    from watchkeeper.core.time import Instant, to_iso

    def shown(at: Instant | None) -> str | None:
        return None if at is None else to_iso(at)

    owner = None if tenant is None else TenantId(tenant)
    with opened(db) as database:
        found = views.list_api_keys(database, owner, "", limit)
    rows = [
        {
            "key_id": key.key_id,
            "tenant_id": None if key.tenant_id == SYSTEM else key.tenant_id,
            "role": key.role,
            "created_at": shown(key.created_at),
            "expires_at": shown(key.expires_at),
            "revoked_at": shown(key.revoked_at),
        }
        for key in found
    ]
    if as_json:
        say_json({"items": rows})
        return
    columns = ("key_id", "tenant_id", "role", "created_at", "expires_at", "revoked_at")
    say_table(columns, [[row[c] for c in columns] for row in rows], empty="There are no keys.")


@app.command()
def revoke(
    key_id: Annotated[
        str, typer.Argument(metavar="KEY_ID", help="Id of the API key, not the key itself.")
    ],
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Revoke an API key. Every later request with it is refused."""
    from watchkeeper.actions.revoke_api_key import revoke_api_key

    with opened(db) as database:
        revoke_api_key(database, None, key_id, revoked_by=AUTHOR)
    if as_json:
        say_json({"key_id": key_id, "revoked": True})
    else:
        say(f"Key {key_id} is revoked.")
