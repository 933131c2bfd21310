"""`simulate`: see what a policy would do to arrivals that have not come yet."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.bars import bar
from watchkeeper.cli.options import AsJson, Db
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import opened

if TYPE_CHECKING:
    from watchkeeper.actions.simulated import Simulation

HOURS_SHOWN = 24
BUDGETS_SHOWN = 12
PLOTS_SHOWN = 4
PLOT_WIDTH = 72

ARRIVALS = "Events"
COSTS = "Costs"
PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="TOML document. Default: the policy of --db, or the shipped one.",
    ),
]
Length = Annotated[
    str, typer.Option("--for", metavar="SPAN", help="Length of the simulation: 12h, 7d, 4w.")
]
Start = Annotated[
    str | None,
    typer.Option(
        "--start", metavar="TIME", help="Start time, ISO 8601.", show_default="2030-01-07, a Monday"
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed: the same seed gives the same result.")]
Step = Annotated[str, typer.Option("--step", metavar="SPAN", help="Shortest step of the clock.")]
StarvedAfter = Annotated[
    str,
    typer.Option(
        "--starved-after", metavar="SPAN", help="Signals without a run for longer count as starved."
    ),
]
Tenants = Annotated[
    int, typer.Option("--tenants", help="Number of tenants.", rich_help_panel=ARRIVALS)
]
Only = Annotated[
    str | None,
    typer.Option(
        "--tenant", metavar="TENANT", help="Id of a single tenant.", rich_help_panel=ARRIVALS
    ),
]
Tier = Annotated[
    str | None, typer.Option("--tier", help="Tenant tier of each tenant.", rich_help_panel=ARRIVALS)
]
Accounts = Annotated[
    int, typer.Option("--accounts", help="Accounts of each tenant.", rich_help_panel=ARRIVALS)
]
PerAccount = Annotated[
    float | None,
    typer.Option(
        "--per-account",
        help="Events per day and account.",
        rich_help_panel=ARRIVALS,
        show_default="12",
    ),
]
PerTenant = Annotated[
    float | None,
    typer.Option(
        "--per-tenant", help="Events per day and tenant, instead.", rich_help_panel=ARRIVALS
    ),
]
DayShape = Annotated[
    str,
    typer.Option(
        "--shape",
        help="Shape of a day: flat, office or double (two peaks).",
        rich_help_panel=ARRIVALS,
    ),
]
Bursts = Annotated[
    float,
    typer.Option("--bursts", help="Bursts per day, each on one account.", rich_help_panel=ARRIVALS),
]
BurstEvents = Annotated[
    int, typer.Option("--burst-events", help="Events of one burst.", rich_help_panel=ARRIVALS)
]
BurstLength = Annotated[
    str,
    typer.Option(
        "--burst-length", metavar="SPAN", help="Length of one burst.", rich_help_panel=ARRIVALS
    ),
]
TriggerType = Annotated[
    str,
    typer.Option(
        "--trigger-type",
        metavar="TYPE",
        help="Trigger type of each event.",
        rich_help_panel=ARRIVALS,
    ),
]
Recorded = Annotated[
    bool,
    typer.Option(
        "--recorded", help="Replay the events of the ledger instead.", rich_help_panel=ARRIVALS
    ),
]
Since = Annotated[
    str,
    typer.Option(
        "--since", metavar="SPAN", help="How far back to replay.", rich_help_panel=ARRIVALS
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Model that meters the runs.", rich_help_panel=COSTS),
]
InputTokens = Annotated[
    int, typer.Option("--input-tokens", help="Input tokens of each run.", rich_help_panel=COSTS)
]
OutputTokens = Annotated[
    int, typer.Option("--output-tokens", help="Output tokens of each run.", rich_help_panel=COSTS)
]
Connectors = Annotated[
    list[str] | None,
    typer.Option(
        "--connector",
        metavar="NAME[=S,D]",
        help="Connector that pulls every account; S and D: units of a shallow and a deep pull.",
        rich_help_panel=COSTS,
    ),
]
PullUnits = Annotated[
    int | None,
    typer.Option(
        "--pull-units", help="Pull budget in units per tenant and day.", rich_help_panel=COSTS
    ),
]
PullUnitsEach = Annotated[
    int | None,
    typer.Option(
        "--pull-units-each", help="Cap in units per connector and day.", rich_help_panel=COSTS
    ),
]
Svg = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Also write the plots to this SVG file."),
]


def simulate(
    policy: PolicyFile = None,
    length: Length = "7d",
    start: Start = None,
    seed: Seed = 1,
    step: Step = "1m",
    starved_after: StarvedAfter = "4h",
    tenants: Tenants = 1,
    tenant: Only = None,
    tier: Tier = None,
    accounts: Accounts = 50,
    per_account: PerAccount = None,
    per_tenant: PerTenant = None,
    shape: DayShape = "flat",
    bursts: Bursts = 0,
    burst_events: BurstEvents = 50,
    burst_length: BurstLength = "10m",
    trigger_type: TriggerType = "SIGNAL_ARRIVED",
    recorded: Recorded = False,
    since: Since = "30d",
    model: Model = None,
    input_tokens: InputTokens = 0,
    output_tokens: OutputTokens = 0,
    connectors: Connectors = None,
    pull_units: PullUnits = None,
    pull_units_each: PullUnitsEach = None,
    svg: Svg = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a policy: play events through the production code, in memory, on a virtual clock.

    Shows how budgets burn down, which account is starved first, and the work of each hour.
    A database is only read: for --recorded, and for its policy with --db.
    """
    given = {**locals()}
    file, target, place = (given.pop(name) for name in ("policy", "svg", "db"))
    given.pop("as_json")
    found = _played(given, file, place)
    if target is not None:
        _write(target, found)
    if as_json:
        say_json(found.to_json())
        return
    _say(found)


def _played(given: dict[str, Any], file: Path | None, db: str | None) -> Simulation:
    from watchkeeper import inputs
    from watchkeeper.actions.simulate import simulate
    from watchkeeper.cli.policy import text_of
    from watchkeeper.trust_inputs import SimulationIn, scene_of

    said = {name: value for name, value in given.items() if value is not None}
    asked = inputs.parse(SimulationIn, said)
    document = None if file is None else text_of(file)
    needs_database = asked.recorded or db is not None
    with opened(db) if needs_database else nullcontext() as database:
        scene = scene_of(asked, database, document)
    with bar("simulating") as on_progress:
        return simulate(scene, on_progress)


def _write(target: Path, found: Simulation) -> None:
    from watchkeeper.actions.draw_simulation import drawn
    from watchkeeper.errors import Invalid

    try:
        target.write_text(drawn(found), encoding="utf-8")
    except OSError as error:
        raise Invalid.at("--svg", f"{target} cannot be written: {error.strerror}") from None


def _say(found: Simulation) -> None:
    told = found.to_json()
    first = told["first_starved"]
    say_facts(
        {
            "arrivals": f"{told['source']}, {told['totals']['events']:,} events of"
            f" {told['accounts']:,} accounts",
            "from": f"{told['since']} to {told['until']}",
            "policy": f"{told['policy']['from']} ({told['policy']['hash'][:12]})",
            "runs": f"{told['totals']['runs']:,}",
            **{name: f"{count:,}" for name, count in told["verdicts"].items()},
            "pulls": f"{told['totals']['pulls']:,}" if told["totals"]["pulls"] else None,
            "starved": _starved(told),
            "first starved": None
            if first is None
            else f"{first['account_id']} of {first['tenant_id']} at {first['at']}: news since"
            f" {first['since']}, {first['kept_by']}",
        }
    )
    say()
    _say_budgets(found)
    say()
    _say_plots(found)
    say()
    _say_hours(found)


def _starved(told: dict[str, Any]) -> str:
    count = told["starved_accounts"]
    if not count:
        return f"nobody for longer than {told['starved_after_seconds']} s"
    by = ", ".join(f"{name} {n:,}" for name, n in told["starved_by"].items())
    return f"{count:,} accounts for longer than {told['starved_after_seconds']} s ({by})"


def _say_budgets(found: Simulation) -> None:
    rows = [one.to_json() for one in found.budgets]
    rows.sort(key=lambda one: one["exhausted_at"] or "~")
    say_table(
        ("tenant", "budget", "limit", "most used", "exhausted in the hour of"),
        [
            (
                one["tenant_id"],
                one["budget"],
                "unlimited" if one["limit"] is None else f"{one['limit']:,}",
                f"{one['peak']:,}",
                one["exhausted_at"],
            )
            for one in rows[:BUDGETS_SHOWN]
        ],
    )


def _say_plots(found: Simulation) -> None:
    """Events and runs by the hour, and the budgets that were used most of."""
    from watchkeeper.actions.draw_simulation import tightest
    from watchkeeper.cli.plot import plot

    drawings: list[tuple[str, list[int], int | None]] = [
        ("events an hour", [hour.events for hour in found.hours], None),
        ("runs an hour", [hour.runs for hour in found.hours], None),
    ]
    for one in tightest(found, PLOTS_SHOWN):
        limit = "" if one.limit is None else f", of {one.limit:,}"
        title = f"{one.budget} of {one.tenant_id}, used{limit}"
        drawings.append((title, [used for _, used in one.points], one.limit))
    for title, values, top in drawings:
        _say_plot(title, plot(values, width=PLOT_WIDTH, top=top))


def _say_plot(title: str, lines: list[str]) -> None:
    if not sys.stdout.isatty():
        say(title)
        for line in lines:
            say(line)
        return
    from rich.text import Text

    from watchkeeper.cli.output import console

    printer = console()
    printer.print(Text(title, style="bold"))
    for line in lines:
        name, mark, cells = line.partition("┤")
        printer.print(Text(name + mark, style="dim").append(cells, style="not dim cyan"))


def _say_hours(found: Simulation) -> None:
    """The busiest hours, in order of time; all of them are in the JSON."""
    names = ("at", "events", "retries", "allowed", "deferred", "skipped", "runs", "pulls")
    busiest = sorted(found.hours, key=lambda hour: (-hour.events, hour.at))[:HOURS_SHOWN]
    rows = [one.to_json() for one in sorted(busiest, key=lambda hour: hour.at)]
    if len(found.hours) > HOURS_SHOWN:
        say(f"The {HOURS_SHOWN} busiest of {len(found.hours):,} hours:")
    say_table(names, [[row[name] for name in names] for row in rows])
