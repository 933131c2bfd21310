"""`verify`: ask the live database every invariant that must hold."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.endings import FOUND
from watchkeeper.cli.options import AnyTenant, AsJson, Db
from watchkeeper.cli.output import console, progress, say_json
from watchkeeper.cli.place import opened

if TYPE_CHECKING:
    from watchkeeper.actions.verify import Finding


def verify(
    tenant: AnyTenant = None,
    recompute_all: Annotated[
        bool, typer.Option("--recompute-all", help="Recompute every verdict, not only the newest.")
    ] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Check every guarantee against the database. Exit code 1 and the rows that break one.

    The command only reads; it can run beside servers and workers.
    """
    from watchkeeper.actions.verify import RECOMPUTE_MAX
    from watchkeeper.actions.verify import verify as audit
    from watchkeeper.core.ids import TenantId

    names = None if tenant is None else [TenantId(tenant)]
    with opened(db) as database, progress("checking invariants"):
        findings = audit(database, names, recompute_max=None if recompute_all else RECOMPUTE_MAX)
    broken = [found for found in findings if not (found.is_clean or found.is_notice)]
    if as_json:
        told = [as_data(f) for f in findings if not f.is_notice]
        noticed = [as_data(f) for f in findings if f.is_notice]
        say_json({"clean": not broken, "invariants": told, "notices": noticed})
    else:
        say_findings(findings)
    end_with(broken)


def as_data(f: Finding) -> dict[str, Any]:
    return {
        "invariant": f.invariant,
        "holds": f.holds,
        "clean": f.is_clean,
        "rows": [dict(row) for row in f.rows],
    }


def say_findings(findings: Sequence[Finding]) -> None:
    """Each in a sentence, with the rows that break it, and how many hold."""
    asked = [finding for finding in findings if not finding.is_notice]
    for finding in asked:
        say_finding(finding, "[bold red]✗[/]")
    for finding in findings:
        if finding.is_notice and not finding.is_clean:
            say_finding(finding, "[yellow]![/] notice (not a failure):")
    broken = sum(not finding.is_clean for finding in asked)
    console().print(
        f"{broken} of {len(asked)} invariants do not hold."
        if broken
        else f"{len(asked)} invariants hold."
    )


def say_finding(finding: Finding, mark: str) -> None:
    printer = console()
    printer.print(f"{'[green]✓[/]' if finding.is_clean else mark} {finding.holds}")
    for row in finding.rows:
        told = ", ".join(f"{name} {value}" for name, value in row.items())
        printer.print(f"    {finding.invariant}: {told}", markup=False)


def end_with(broken: Sequence[Finding]) -> None:
    sys.stdout.flush()
    if broken:
        raise typer.Exit(FOUND)
