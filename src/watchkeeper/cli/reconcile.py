"""`reconcile`: prove that every debit has its usage event, and every event its debit."""

from __future__ import annotations

from typing import Annotated

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db
from watchkeeper.cli.output import progress, say_json
from watchkeeper.cli.place import opened
from watchkeeper.cli.verify import as_data, end_with, say_finding, say_findings

ATTENTION = "[yellow]![/]"


def reconcile(
    tenant: AnyTenant = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Check every turn, not only the newest million of a tenant."),
    ] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Compare turns, quota, usage events and ledger. Exit code 1 and the rows that differ.

    Dead or late usage events, stuck leases and turns without progress are listed as notices:
    they need attention, but are no failure. The command only reads; it can run beside servers
    and workers.
    """
    from watchkeeper.actions.reconcile import ALL
    from watchkeeper.actions.reconcile import reconcile as compare
    from watchkeeper.actions.verify import ENTRIES_MAX
    from watchkeeper.core.ids import TenantId

    names = None if tenant is None else [TenantId(tenant)]
    with opened(db) as database, progress("comparing turns and events"):
        found = compare(database, names, newest=ALL if everything else ENTRIES_MAX)
    if as_json:
        say_json(
            {
                "clean": found.is_clean,
                "invariants": [as_data(finding) for finding in found.findings],
                "attention": [as_data(finding) for finding in found.attention],
            }
        )
    else:
        say_findings(found.findings)
        for finding in found.attention:
            say_finding(finding, ATTENTION)
    end_with([finding for finding in found.findings if not finding.is_clean])
