"""`ledger verify`, `checkpoint`, `export` and `prune`: the log is provable, and need not grow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from watchkeeper.cli.endings import FOUND, fail
from watchkeeper.cli.options import AnyTenant, AsJson, Db, Tenant
from watchkeeper.cli.output import console, progress, say, say_facts, say_json
from watchkeeper.cli.place import AUTHOR, opened

if TYPE_CHECKING:
    from watchkeeper.actions.verify_ledger import ChainReport
    from watchkeeper.core.chain import Checkpoint
    from watchkeeper.core.time import Instant

CheckpointFile = Annotated[
    Path,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="File that `ledger checkpoint` or `ledger export` wrote.",
        show_default=False,
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", metavar="FILE", help="The file to write.", show_default=False),
]


def verify(
    tenant: AnyTenant = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Checkpoint to compare with. Default: the newest.",
            show_default=False,
        ),
    ] = None,
    since_checkpoint: Annotated[
        bool, typer.Option("--since-checkpoint", help="Trust entries before the checkpoint.")
    ] = False,
    newest: Annotated[
        int | None,
        typer.Option(
            "--newest", min=1, help="Verify only the newest N entries.", show_default=False
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Verify the hash chain of the ledger. Exit code 1 and the first broken entry if it fails.

    The command only reads; it can run beside servers and workers.
    """
    from watchkeeper.actions.verify import every_tenant
    from watchkeeper.actions.verify_ledger import verify_ledger
    from watchkeeper.core.ids import TenantId

    known = None if checkpoint is None else read(checkpoint)
    if tenant is None and known is not None:
        tenant = known.tenant_id
    with opened(db) as database, progress("computing the chain again"):
        names = every_tenant(database) if tenant is None else [TenantId(tenant)]
        reports = [
            verify_ledger(
                database,
                name,
                checkpoint=known,
                since_checkpoint=since_checkpoint,
                newest=newest,
            )
            for name in names
        ]
    if as_json:
        clean = all(report.is_clean for report in reports)
        say_json({"clean": clean, "tenants": [report.to_json() for report in reports]})
    else:
        for report in reports:
            _say_report(report)
    sys.stdout.flush()
    if not all(report.is_clean for report in reports):
        raise typer.Exit(FOUND)


def _say_report(report: ChainReport) -> None:
    printer = console()
    mark = "[green]✓[/]" if report.is_clean else "[bold red]✗[/]"
    told = f"{report.tenant_id}: {report.entries} entries from {report.after_seq + 1} on"
    told += f" to {report.sealed.seq}, {report.unsealed} not sealed yet"
    if report.pruned_to:
        told += f", pruned to {report.pruned_to}"
    printer.print(f"{mark} {told}")
    for one in report.breaks:
        named = "" if one.entry_id is None else f" ({one.entry_id})"
        printer.print(f"    entry {one.seq}{named} {one.what}: {one.why}", markup=False)


def checkpoint(
    tenant: Tenant,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="File to write. Default: stdout.", show_default=False
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Write a checkpoint of a tenant's hash chain as JSON, to verify against it later."""
    import json

    from watchkeeper.actions.keep_ledger import make_checkpoint
    from watchkeeper.actions.verify_ledger import checkpoint_data
    from watchkeeper.core.ids import TenantId

    with opened(db) as database:
        made = make_checkpoint(database, TenantId(tenant), made_by=AUTHOR)
    told = checkpoint_data(made)
    if out is not None:
        _write(out, json.dumps(told) + "\n")
    if out is None or as_json:
        say_json(told)
    else:
        say(f"The chain of {tenant} stands at entry {made.seq}: {out}")


def export(
    tenant: Tenant,
    out: Out,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="TIME",
            help="Stop at the first entry of this time or later, such as 2030-01-01T00:00:00Z.",
            show_default=False,
        ),
    ] = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Write a tenant's sealed entries and hashes as JSON Lines. The last line is a checkpoint.

    Exit code 1, and no file, when an entry does not match its hash.
    """
    from watchkeeper.actions.keep_ledger import export_ledger
    from watchkeeper.actions.verify_ledger import checkpoint_data
    from watchkeeper.core.ids import TenantId
    from watchkeeper.errors import Conflict

    moment = None if before is None else _moment(before)
    with opened(db) as database, progress("exporting"):
        try:
            done = export_ledger(database, TenantId(tenant), out, made_by=AUTHOR, before=moment)
        except Conflict as error:
            if "seq" not in error.detail:
                raise
            fail(FOUND, str(error))
    if as_json:
        told = checkpoint_data(done.checkpoint)
        say_json({"file": str(out), "entries": done.entries, "checkpoint": told})
    else:
        say(f"{done.entries} entries of {tenant}, up to {done.checkpoint.seq}: {out}")


def prune(
    tenant: Tenant, checkpoint: CheckpointFile, db: Db = None, as_json: AsJson = False
) -> None:
    """Remove entries that are exported up to the checkpoint and past the policy's retention.

    [retention] ledger_days is the retention. The hash chain continues after the removed
    entries and still verifies.
    """
    from watchkeeper.actions.keep_ledger import prune_ledger
    from watchkeeper.core.ids import TenantId
    from watchkeeper.core.time import to_iso

    known = read(checkpoint)
    with opened(db) as database, progress("pruning"):
        done = prune_ledger(database, TenantId(tenant), known, pruned_by=AUTHOR)
    told = {
        "tenant_id": tenant,
        "pruned_to": done.pruned_to,
        "removed": done.removed,
        "kept_since": to_iso(done.kept_since),
    }
    if as_json:
        say_json(told)
    else:
        say_facts(told)


def read(path: Path) -> Checkpoint:
    """The checkpoint in a file, or Invalid with what is wrong with it."""
    from watchkeeper.actions.keep_ledger import read_checkpoint
    from watchkeeper.errors import Invalid

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Invalid.at(str(path), error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise Invalid.at(str(path), "it is not a checkpoint of a ledger") from None
    return read_checkpoint(text, str(path))


def _write(path: Path, text: str) -> None:
    from watchkeeper.errors import Invalid

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Invalid.at(str(path), error.strerror or "it cannot be written") from None


def _moment(text: str) -> Instant:
    from watchkeeper.core.time import from_iso
    from watchkeeper.errors import Invalid

    try:
        return from_iso(text)
    except ValueError:
        raise Invalid.at("--before", "must be a time such as 2030-01-01T00:00:00Z") from None
