"""`ledger`: the log, as it is written; what proves and keeps it is in `ledger_keep`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli import ledger_keep
from watchkeeper.cli.options import AnyTenant, AsJson, Db, Limit
from watchkeeper.cli.output import console, say_json_line
from watchkeeper.cli.place import opened

if TYPE_CHECKING:
    from rich.console import Console

    from watchkeeper.core.ledger import Recorded
    from watchkeeper.store.database import Database

LOOK_SECONDS = 0.5
PAGE = 500
SUBJECT_WIDTH = 20
"""A longer subject, such as the id of a plan, moves what follows it to the right."""
TENANTS_MAX = 1000

app = typer.Typer(help="Read, verify, export and prune the ledger.", no_args_is_help=True)
app.command("verify")(ledger_keep.verify)
app.command("checkpoint")(ledger_keep.checkpoint)
app.command("export")(ledger_keep.export)
app.command("prune")(ledger_keep.prune)


@app.command()
def tail(
    tenant: AnyTenant = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Only entries of this kind, such as verdict.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing new entries.")
    ] = False,
    limit: Limit = 20,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print the newest entries in order of time; with --json one object per line."""
    printer = None if as_json else console()
    _check_kind(kind)
    with opened(db) as database:
        places = {name: 0 for name in _tenants(database, tenant)}
        newest = _merged([_newest(database, name, kind, limit) for name in places])
        places = {name: _last_place(database, name) for name in places} if follow else places
        for found in newest[-limit:]:
            _say(found, printer)
            places[found.tenant_id] = max(places[found.tenant_id], found.seq)
        if follow:
            _follow(database, tenant, kind, places, printer)


def _check_kind(kind: str | None) -> None:
    from watchkeeper.core.ledger import Kind
    from watchkeeper.errors import Invalid

    if kind is not None and kind not in list(Kind):
        raise Invalid.at("--kind", f"there is no kind {kind}; kinds are {', '.join(sorted(Kind))}")


def _follow(
    database: Database,
    tenant: str | None,
    kind: str | None,
    places: dict[str, int],
    printer: Console | None,
) -> None:
    """Until interrupted. Places are dense and in the order of commits: nothing is missed."""
    pause = threading.Event()
    try:
        while True:
            for name in _tenants(database, tenant):
                for found in _after(database, name, places.setdefault(name, 0)):
                    places[name] = found.seq
                    if kind is None or found.entry.kind == kind:
                        _say(found, printer)
            pause.wait(LOOK_SECONDS)
    except KeyboardInterrupt:
        return


def _tenants(database: Database, tenant: str | None) -> list[str]:
    from watchkeeper.actions import views
    from watchkeeper.core.ids import SYSTEM, TenantId
    from watchkeeper.errors import NotFound

    if tenant is not None:
        if tenant != SYSTEM and not views.tenant_exists(database, TenantId(tenant)):
            raise NotFound(f"there is no tenant {tenant}")
        return [tenant]
    return [SYSTEM, *(t.tenant_id for t in views.list_tenants(database, "", TENANTS_MAX))]


def _newest(database: Database, name: str, kind: str | None, limit: int) -> list[Recorded]:
    from watchkeeper.actions.scan_ledger import newest_entries
    from watchkeeper.core.ids import TenantId

    wanted = {} if kind is None else {"kind": kind}
    return newest_entries(database, TenantId(name), wanted, limit=limit)


def _merged(parts: Iterable[list[Recorded]]) -> list[Recorded]:
    """Entries of many tenants by time, each tenant's in the order of its commits.

    A verdict's time is rounded up, so an entry after it may have an earlier one.
    """
    placed = []
    for entries in parts:
        reached = 0
        for found in sorted(entries, key=lambda one: one.seq):
            reached = max(reached, found.entry.at)
            placed.append((reached, found.tenant_id, found.seq, found))
    return [found for *_, found in sorted(placed, key=lambda one: one[:3])]


def _last_place(database: Database, name: str) -> int:
    return max((found.seq for found in _newest(database, name, None, 1)), default=0)


def _after(database: Database, name: str, place: int) -> list[Recorded]:
    from watchkeeper.actions import views
    from watchkeeper.core.ids import TenantId

    return views.list_ledger(database, TenantId(name), {}, after=place, limit=PAGE)


def _say(found: Recorded, printer: Console | None) -> None:
    if printer is None:
        say_json_line(as_data(found))
        sys.stdout.flush()
        return
    from rich.text import Text

    from watchkeeper.cli.output import STYLES
    from watchkeeper.core.ledger import Kind
    from watchkeeper.core.time import to_iso

    entry = found.entry
    line = Text(f"{to_iso(entry.at)[:19]}Z ", style="dim")
    line.append(f"{found.tenant_id:<12} {found.seq:>6}  ", style="not dim")
    line.append(f"{entry.kind:<{max(map(len, Kind))}}  ", style="not dim bold")
    line.append(f"{entry.subject:<{SUBJECT_WIDTH}}  ", style="not dim")
    if entry.result is not None:
        line.append(f"{entry.result} ", style=STYLES.get(entry.result, "not dim"))
    if entry.reason is not None:
        line.append(f"{entry.reason} ", style="not dim")
    if entry.trigger_type is not None:
        line.append(f"{entry.trigger_type} ", style="dim")
    if entry.kind is Kind.VERDICT:
        line.append(entry.entry_id, style="dim")
    line.rstrip()
    printer.print(line)


def as_data(found: Recorded) -> dict[str, Any]:
    """An entry as the HTTP API shows it; that of a verdict also under the name of its id."""
    import orjson

    from watchkeeper.core.ledger import Kind
    from watchkeeper.core.time import to_iso

    entry = found.entry
    named = {"decision_id": entry.entry_id} if entry.kind is Kind.VERDICT else {}
    return {
        "tenant_id": found.tenant_id,
        "seq": found.seq,
        "entry_id": entry.entry_id,
        **named,
        "at": to_iso(entry.at),
        "stage": entry.stage,
        "kind": entry.kind,
        "subject": entry.subject,
        "correlation_id": entry.correlation_id,
        "policy_version": entry.policy_version,
        "trigger_type": entry.trigger_type,
        "result": entry.result,
        "reason": entry.reason,
        "data": orjson.loads(entry.data),
    }
