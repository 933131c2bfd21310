"""The `watchkeeper` command: which commands there are, and how they end.

Nothing heavy is imported until a command needs it, so that `--help` and completion
answer at once.
"""

from __future__ import annotations

import typer

from watchkeeper.cli import (
    accounts,
    bench,
    budgets,
    bundle,
    clock,
    config,
    connectors,
    decide,
    demo,
    dev,
    intents,
    keys,
    kill,
    ledger,
    outbox,
    plans,
    policy,
    pulls,
    quota,
    reconcile,
    reports,
    schedules,
    secrets,
    serve,
    simulate,
    sinks,
    tenants,
    turns,
    verify,
    version,
    why_not,
)
from watchkeeper.cli.endings import Commands

app = typer.Typer(
    name="watchkeeper",
    cls=Commands,
    help="Control plane for always-on agents: decides when an agent may run, and explains why.",
    epilog="Exit codes: 0 done, 1 a check found something, 2 wrong usage or input,"
    " 3 a database, file or port is not available.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

START = "Start"
ASK = "Send, show and explain"
ORDERS = "Configure"
OPERATE = "Operate"

app.command("dev", rich_help_panel=START)(dev.dev)
app.command("serve", rich_help_panel=START)(serve.serve)
app.command("worker", rich_help_panel=START)(serve.worker)
app.command("migrate", rich_help_panel=START)(serve.migrate)
app.command("demo", rich_help_panel=START)(demo.demo)

app.command("trigger", rich_help_panel=ASK)(decide.trigger)
app.command("signal", rich_help_panel=ASK)(decide.signal)
app.command("explain", rich_help_panel=ASK)(decide.explain)
app.command("why-not", rich_help_panel=ASK)(why_not.why_not)
app.command("simulate", rich_help_panel=ASK)(simulate.simulate)
app.add_typer(bundle.app, name="bundle", rich_help_panel=ASK)
app.add_typer(ledger.app, name="ledger", rich_help_panel=ASK)
app.add_typer(turns.app, name="turns", rich_help_panel=ASK)
app.command("quota", rich_help_panel=ASK)(quota.quota)
app.add_typer(accounts.app, name="accounts", rich_help_panel=ASK)
app.add_typer(pulls.app, name="pulls", rich_help_panel=ASK)
app.add_typer(reports.app, name="reports", rich_help_panel=ASK)
app.add_typer(plans.app, name="plans", rich_help_panel=ASK)
app.add_typer(intents.app, name="intents", rich_help_panel=ASK)

app.add_typer(policy.app, name="policy", rich_help_panel=ORDERS)
app.add_typer(schedules.app, name="schedules", rich_help_panel=ORDERS)
app.add_typer(sinks.app, name="sinks", rich_help_panel=ORDERS)
app.add_typer(budgets.app, name="budgets", rich_help_panel=ORDERS)
app.add_typer(connectors.app, name="connectors", rich_help_panel=ORDERS)
app.add_typer(kill.app, name="kill", rich_help_panel=ORDERS)
app.add_typer(tenants.app, name="tenants", rich_help_panel=ORDERS)

app.command("verify", rich_help_panel=OPERATE)(verify.verify)
app.command("reconcile", rich_help_panel=OPERATE)(reconcile.reconcile)
app.add_typer(outbox.app, name="outbox", rich_help_panel=OPERATE)
app.add_typer(keys.app, name="keys", rich_help_panel=OPERATE)
app.add_typer(secrets.app, name="secrets", rich_help_panel=OPERATE)
app.add_typer(clock.app, name="clock", rich_help_panel=OPERATE)
app.add_typer(config.app, name="config", rich_help_panel=OPERATE)
app.command("bench", rich_help_panel=OPERATE)(bench.bench)
app.command("version", rich_help_panel=OPERATE)(version.version)


def main() -> None:
    app()
