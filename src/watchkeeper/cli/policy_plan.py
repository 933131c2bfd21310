"""`policy plan`: try a document on what was recorded, before it costs anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.bars import bar
from watchkeeper.cli.options import AsJson, Db
from watchkeeper.cli.output import say, say_facts, say_json, say_table
from watchkeeper.cli.place import opened

if TYPE_CHECKING:
    from watchkeeper.actions.plan_policy import Plan

SHOWN = 20


New = Annotated[Path, typer.Argument(metavar="NEW", help="A TOML document; - for stdin.")]
Since = Annotated[
    str, typer.Option("--since", help="How far back to replay: 90s, 45m, 12h, 30d, 4w.")
]
Only = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        metavar="TENANT",
        help="Only this tenant. Default: all tenants.",
        show_default=False,
    ),
]
MaxFlips = Annotated[
    int | None,
    typer.Option("--max-flips", min=0, help="Exit code 1 above this.", show_default=False),
]
MaxExtraRuns = Annotated[
    int | None,
    typer.Option("--max-extra-runs", min=0, help="Exit code 1 above this.", show_default=False),
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--processes",
        min=1,
        max=64,
        help="Processes that replay tenants in parallel. Default: by their number.",
        show_default=False,
    ),
]


def plan(
    file: New,
    since: Since = "30d",
    tenant: Only = None,
    max_flips: MaxFlips = None,
    max_extra_runs: MaxExtraRuns = None,
    processes: Processes = None,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Replay recorded events under a new policy and show the verdicts that differ.

    Nothing is changed. State evolves during the replay as it would have. The exit code is 1
    above --max-flips or --max-extra-runs, so that CI can check a change of policy.
    """
    from watchkeeper.actions.apply_policy import read_policy
    from watchkeeper.actions.plan_policy import plan_policy
    from watchkeeper.actions.tenant_tiers import why_refused
    from watchkeeper.cli.policy import text_of
    from watchkeeper.core.ids import TenantId
    from watchkeeper.trust_inputs import parse_span

    span, document = parse_span(since, "--since"), text_of(file)
    with opened(db) as database, bar("replaying") as on_progress:
        found = plan_policy(
            database,
            document,
            since_us=span,
            tenant_ids=None if tenant is None else [TenantId(tenant)],
            processes=processes,
            on_progress=on_progress,
        )
        refused = why_refused(database, read_policy(document))
    exceeded = _exceeded(found, max_flips, max_extra_runs)
    if as_json:
        say_json({**found.to_json(), "exceeded": exceeded, "refused_because": refused})
    else:
        _say(found)
        if refused is not None:
            typer.echo(f"watchkeeper: policy apply would refuse this policy: {refused}", err=True)
        for line in exceeded:
            typer.echo(f"watchkeeper: {line}", err=True)
    if exceeded:
        from watchkeeper.cli.endings import FOUND

        raise typer.Exit(FOUND)


def _exceeded(found: Plan, max_flips: int | None, max_extra_runs: int | None) -> list[str]:
    lines = []
    if max_flips is not None and found.flips > max_flips:
        lines.append(f"{found.flips} flips are more than {max_flips}")
    if max_extra_runs is not None and found.extra_runs > max_extra_runs:
        lines.append(f"{found.extra_runs} extra runs are more than {max_extra_runs}")
    return lines


def _say(found: Plan) -> None:
    told = found.to_json()
    runs, credits = told["runs"], told["credits_micro"]
    say_facts(
        {
            "events": told["events"],
            "since": told["since"],
            "against": f"version {told['against']['version']}",
            "tenant tiers": "as they were when each verdict was given",
            **{c["path"]: f"{_value(c['before'])} → {_value(c['after'])}" for c in told["changes"]},
            "flips": told["flips"],
            "retimed": told["retimed"] or None,
            "runs": f"{runs['before']} → {runs['after']}"
            f" ({runs['saved']} saved, {runs['added']} added)",
            "credits": _credits(credits) if credits["metered_runs"] else None,
            "signals waited": _waited(told["signal_delay"]),
            "hot signals waited": _waited(told["hot_signal_delay"]),
        }
    )
    if not told["flips"] and not told["retimed"]:
        say("No verdict would change.")
        return
    say()
    say_table(("was", "would be", "count"), [tuple(one.values()) for one in told["by_change"]])
    say()
    names = ("tenant_id", "events", "flips", "runs_before", "runs_after", "accounts_flipped")
    say_table(names, [[one[n] for n in names] for one in told["tenants"][:SHOWN]])
    say()
    rows = [
        (a["tenant_id"], a["account_id"], a["flips"], f"{a['runs']:+d}", a["inferred_from"]["at"])
        for a in told["accounts"][:SHOWN]
    ]
    say_table(("tenant", "account", "flips", "runs", "inferred from"), rows)
    concerned = sum(one["accounts_flipped"] for one in told["tenants"])
    if concerned > len(rows):
        say(f"and {concerned - len(rows)} more accounts")


def _value(value: object) -> str:
    return "absent" if value is None else str(value)


def _credits(credits: dict[str, int]) -> str:
    return f"{credits['saved']:,} micro-credits saved, about {credits['added']:,} added"


def _waited(delay: dict[str, Any]) -> str | None:
    before, after = delay["mean_seconds_before"], delay["mean_seconds_after"]
    if before is None and after is None:
        return None
    return f"{_seconds(before)} → {_seconds(after)}"


def _seconds(value: float | None) -> str:
    return "no run included them" if value is None else f"{value:g} s on average until a run"
