"""The options that many commands share, each said once."""

from __future__ import annotations

from typing import Annotated

import typer

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="URL",
        help="Database: sqlite:///FILE or postgresql://… Default: WATCHKEEPER_DATABASE_URL.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text and tables.")]
Tenant = Annotated[
    str, typer.Option("--tenant", metavar="TENANT", help="The tenant.", show_default=False)
]
AnyTenant = Annotated[
    str | None,
    typer.Option(
        "--tenant", metavar="TENANT", help="The tenant. Default: all tenants.", show_default=False
    ),
]
OwnerTenant = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        metavar="TENANT",
        help="The tenant. Default: looked up by the id.",
        show_default=False,
    ),
]
Reason = Annotated[
    str, typer.Option("--reason", help="Reason, for the ledger.", show_default=False)
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of rows.")]
AppName = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:NAME",
        help="The App whose handlers are called, such as agents:app.",
        show_default=False,
    ),
]
Host = Annotated[
    str | None,
    typer.Option("--host", help="The address to listen on.", show_default=False),
]
Port = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65_535, help="The port to listen on.", show_default="8484"),
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        min=0,
        max=65_535,
        help="Port for /metrics; 0 takes any free port.",
        show_default="the first free one of 9484 to 9499",
    ),
]
