"""`reports`: what was done for a tenant, counted, read and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.options import AnyTenant, AsJson, Db, OwnerTenant, Tenant
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import as_id, opened

if TYPE_CHECKING:
    from watchkeeper.core.reports import Line, Report

TENANTS_MAX = 1000
COLUMNS = ("report_id", "tenant_id", "trigger", "generated_at")
STATES = ("milestone", "outcome", "due_at", "attempts", "failure_count", "backoff_until")

app = typer.Typer(
    help="Generate, list and export reports, and list milestones.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(metavar="REPORT", help="The report_id.")]


@app.command("list")
def list_some(
    tenant: AnyTenant = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=200, help="Maximum number of rows.")
    ] = 50,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """List reports, newest first."""
    from watchkeeper.actions import views
    from watchkeeper.actions.show_reports import list_reports
    from watchkeeper.core.ids import TenantId
    from watchkeeper.report_results import summary_of

    with opened(db) as database:
        known = views.list_tenants(database, "", TENANTS_MAX)
        names = [TenantId(tenant)] if tenant else [facts.tenant_id for facts in known]
        found = [
            summary_of(one, name)
            for name in names
            for one in list_reports(database, name, limit=limit)
        ]
    found.sort(key=lambda one: (one.generated_at, one.report_id), reverse=True)
    rows = [one.to_json() for one in found[:limit]]
    if as_json:
        say_json({"items": rows})
        return
    say_table(COLUMNS, [[row[c] for c in COLUMNS] for row in rows], empty="There are no reports.")


@app.command()
def milestones(tenant: Tenant, db: Db = None, as_json: AsJson = False) -> None:
    """Show the scheduled reports of a tenant."""
    from watchkeeper.actions.show_reports import list_milestones
    from watchkeeper.core.ids import TenantId

    with opened(db) as database:
        rows = [one.to_json() for one in list_milestones(database, TenantId(tenant))]
    if as_json:
        say_json({"items": rows})
        return
    say_table(STATES, [[row[c] for c in STATES] for row in rows], empty="There are no milestones.")


@app.command()
def generate(tenant: Tenant, db: Db = None, as_json: AsJson = False) -> None:
    """Generate and store a report on a tenant until now."""
    from watchkeeper.actions.generate_report import generate_report, heard_by
    from watchkeeper.actions.views import view_tenant
    from watchkeeper.core.ids import TenantId
    from watchkeeper.core.report_json import to_json
    from watchkeeper.handlers.registry import Registry

    with opened(db) as database:
        owner = view_tenant(database, TenantId(tenant)).tenant_id
        nobody = Registry(database.policies.delivery)
        made = generate_report(database, owner, hears=heard_by(database, nobody))
    assert made is not None
    if as_json:
        say(to_json(made))
    else:
        _say(made)


@app.command()
def show(report: Name, tenant: OwnerTenant = None, db: Db = None, as_json: AsJson = False) -> None:
    """Print a report as it was stored."""
    text = _text(report, tenant, db)
    if as_json:
        say(text)
        return
    from watchkeeper.core.report_json import from_json

    _say(from_json(text))


@app.command()
def export(
    report: Name,
    to: Annotated[
        Path, typer.Option("--to", metavar="FILE", help="The file to write; .pdf or .json.")
    ],
    tenant: OwnerTenant = None,
    db: Db = None,
) -> None:
    """Write a report to a file: canonical JSON, or a PDF with plots, by the file suffix."""
    from watchkeeper.core.report_json import from_json
    from watchkeeper.errors import Invalid

    kind = to.suffix.lower()
    if kind not in (".json", ".pdf"):
        raise Invalid.at("--to", "must end in .json or .pdf")
    text = _text(report, tenant, db)
    if kind == ".json":
        content = text.encode()
    else:
        from watchkeeper.render_report import pdf

        content = pdf(from_json(text))
    try:
        to.write_bytes(content)
    except OSError as error:
        raise Invalid.at("--to", f"cannot be written: {error.strerror}") from None
    say(f"{to}: {len(content)} bytes")


def _text(report: str, tenant: str | None, db: str | None) -> str:
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant
    from watchkeeper.actions.show_reports import report_text

    report_id = as_id(report, "report")
    with opened(db) as database:
        owner = locate_tenant(database, Thing.REPORT, report_id, tenant)
        return report_text(database, owner, report_id)


def _say(report: Report) -> None:
    """The sections, a line for each number; how each was counted is in the JSON and the PDF."""
    from watchkeeper.core.report_json import to_plain

    header: dict[str, Any] = to_plain(report.header)
    window = header.pop("window")
    entries, last = header.pop("entries")["value"], header.pop("last_entry")["value"]
    say_facts({**header, "since": window["since"], "until": window["until"]})
    say_facts({"entries counted": entries, "last entry": last})
    _section("A  Collected")
    collected = report.collected
    facts = {one: getattr(collected, one).value for one in ("signals", "pulls", "units")}
    say_facts(facts)
    if collected.connectors:
        columns = ("connector_id", "pulls", "units", "signals")
        rows = [
            [repr(one.connector_id), one.pulls.value, one.units.value, one.signals.value]
            for one in collected.connectors
        ]
        say_table(columns, rows)
    _section("B  Coverage")
    say_table(
        ("connector_id", "state", "reason"),
        [[repr(one.connector_id), one.state, one.reason] for one in report.coverage],
        empty="There are no connectors.",
    )
    _say_observed(report)
    _say_outlook(report)


def _say_observed(report: Report) -> None:
    _section("C  Observations")
    seen = report.observations
    kinds = ("decisions", "runs", "plans", "steps", "turns", "events_delivered", "events_dead")
    rows = [[kind, *_cells(line)] for kind in kinds for line in getattr(seen, kind)]
    say_table(("of", "label", "detail", "name", "value"), rows, empty="Nothing was observed.")
    say_facts({"credits settled": f"{seen.credits_settled.value} {seen.credits_settled.unit}"})


def _cells(line: Line) -> list[object]:
    name = None if line.name is None else repr(line.name)
    return [line.label, line.detail, name, line.count.value]


def _say_outlook(report: Report) -> None:
    from watchkeeper.core.reports import Forecast

    _section("D  Forecast")
    if not isinstance(report.forecast, Forecast):
        say(report.forecast.statement)
        return
    say(f"{report.forecast.is_estimate}; {report.forecast.method}")
    rows = [[one.of, one.value, one.unit] for one in report.forecast.estimates]
    say_table(("of", "in the next day", "unit"), rows)


def _section(title: str) -> None:
    say()
    say(title)
