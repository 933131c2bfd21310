"""What the demo shows: one sentence, a row for each tenant, and the reasons."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from watchkeeper.core.ledger import Recorded
from watchkeeper.core.time import to_datetime
from watchkeeper.demo.tally import Answer, Count, Tally

BLOCKS = "▁▂▃▄▅▆▇█"
BAR_WIDTH = 28
WIDE = 124
"""Columns from which everything fits; on a narrower terminal the least needed is left out."""

STYLES = {"ALLOW": "green", "DEFER": "yellow", "SKIP": "bright_black"}
ORDER = {"ALLOW": 0, "DEFER": 1, "SKIP": 2}

MEANINGS = {
    "": "a run starts",
    "COOLDOWN": "the account ran a moment ago; one retry later",
    "ACCOUNT_HOURLY_CAP": "hourly cap of the account reached; retried next hour",
    "TENANT_HOURLY_CAP": "hourly cap of the tenant reached; retried next hour",
    "DEBOUNCED": "another signal within a minute; the next run gets it",
    "COALESCED": "a run is already waiting; it gets this signal too",
    "DUPLICATE_IDEMPOTENCY_KEY": "the same webhook, sent twice",
    "BUDGET_EXHAUSTED": "run budget of today is used up",
    "RETRY_EXHAUSTED": "the one retry was refused too",
    "KILL_SWITCH": "a kill switch is on",
}


def sentence(count: Count) -> str:
    """`1,284 signals → 61 runs; 95 % held back`."""
    held = count.held_back
    told = f"{count.asked:,} signals → {count.runs:,} runs"
    return told if held is None else f"{told}; {held:.0%} held back".replace("%", " %")


def line(tally: Tally, seconds: int) -> str:
    """The same in one line, for where there is no terminal."""
    total = tally.total
    reasons = [f"{reason or result} {n:,}" for (result, reason), n in _ranked(total)]
    return f"{seconds:>4} s  {sentence(total)}  ({', '.join(reasons)})"


def picture(
    tally: Tally, address: str | None, seconds: int, hint: str, *, width: int = WIDE
) -> RenderableType:
    """The whole screen at one moment."""
    title = Text()
    title.append(" watchkeeper ", style="bold white on blue")
    title.append(f"  {seconds // 60:02d}:{seconds % 60:02d}", style="dim")
    if address is not None:
        title.append("   dashboard: ", style="dim")
        title.append(address, style="cyan underline")
    return Group(
        title,
        Text(),
        _headline(tally.total),
        Text(),
        _tenants(tally, is_wide=width >= WIDE),
        _reasons(tally.total, is_wide=width >= WIDE),
        _newest(list(tally.newest)),
        Text(),
        _asked(tally.asked_of_people, address),
        Text(hint, style="dim"),
    )


def sparkline(values: Sequence[int], width: int) -> str:
    """The newest values as blocks, the highest of them full."""
    shown = list(values)[-width:]
    top = max(shown, default=0) or 1
    return "".join(BLOCKS[min(7, value * 8 // (top + 1))] for value in shown).rjust(width)


def _headline(total: Count) -> Text:
    text = Text("  ")
    text.append(f"{total.asked:,}", style="bold")
    text.append(" signals  →  ")
    text.append(f"{total.runs:,}", style="bold green")
    text.append(" runs")
    if total.held_back is not None:
        text.append("      ")
        text.append(f" {total.held_back:.0%} held back ".replace("%", " %"), style="bold reverse")
    return text


def _tenants(tally: Tally, *, is_wide: bool) -> Table:
    seconds = 30 if is_wide else 12
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", expand=False)
    table.add_column("  tenant", no_wrap=True)
    table.add_column(f"last {seconds} s", width=seconds)
    numbers = ["signals", "runs", "held back", "done", "failed"]
    for name in numbers + ["deferred", "waiting"] * is_wide:
        table.add_column(name, justify="right", no_wrap=True)
    for tenant_id, count in tally.tenants.items():
        who = Text(f"  {tenant_id}")
        if is_wide:
            who.append(f" {tally.tiers[tenant_id].removeprefix('demo-')}", style="dim")
        spark = Text(sparkline(count.per_second, seconds), style="cyan")
        table.add_row(who, spark, *_numbers(count, is_wide=is_wide))
    return table


def _numbers(count: Count, *, is_wide: bool) -> list[Text]:
    failed = sum(count.ended.values()) - count.ended["SUCCEEDED"]
    deferred = sum(n for (result, _), n in count.answers.items() if result == "DEFER")
    held = "" if count.held_back is None else f"{count.held_back:.0%}".replace("%", " %")
    cells = [
        Text(f"{count.asked:,}"),
        Text(f"{count.runs:,}", style="green"),
        Text(held, style="bold"),
        Text(f"{count.ended['SUCCEEDED']:,}"),
        Text(f"{failed:,}", style="red" if failed else "dim"),
    ]
    if is_wide:
        cells += [Text(f"{deferred:,}", style="yellow"), Text(f"{count.waiting:,}")]
    return cells


def _reasons(total: Count, *, is_wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, expand=False)
    for is_number in (False, False, False, True, False):
        table.add_column(justify="right" if is_number else "left", no_wrap=True)
    answers = _ranked(total)
    most = max((n for _, n in answers), default=1)
    for (result, reason), n in answers:
        style = STYLES.get(result, "")
        bar = "━" * max(1, round(BAR_WIDTH * n / most))
        table.add_row(
            Text(f"  {result}", style=f"bold {style}"),
            Text(reason.lower().replace("_", " ")),
            Text(f"{bar:<{BAR_WIDTH}}", style=style),
            f"{n:,}",
            Text(MEANINGS.get(reason, "") if is_wide else "", style="dim"),
        )
    return table


def _newest(newest: Sequence[Recorded]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1))
    table.add_row()
    for found in reversed(newest):
        entry = found.entry
        result = entry.result or ""
        table.add_row(
            Text(f"  {to_datetime(entry.at):%H:%M:%S}", style="dim"),
            Text(found.tenant_id),
            Text(entry.subject),
            Text(result, style=STYLES.get(result, "")),
            Text((entry.reason or "").lower().replace("_", " "), style="dim"),
        )
    return table


def _asked(count: int, address: str | None) -> Text:
    """What waits for a person, and where to answer it."""
    text = Text("  ")
    text.append(f"{count:,}", style="bold yellow" if count else "dim")
    text.append(" plans and actions wait for approval")
    if count and address is not None:
        text.append(f": {address}/plans", style="cyan")
    return text


def _ranked(count: Count) -> list[tuple[Answer, int]]:
    """ALLOW first, then DEFER, then SKIP; within each the most frequent first."""
    return sorted(count.answers.items(), key=lambda pair: (ORDER.get(pair[0][0], 3), -pair[1]))
