"""`python -m bench [WHAT …] [--rounds N] [--quick]`: measure, and print tables in Markdown."""

import argparse
import dataclasses
import importlib
import os
import platform
import sqlite3
from datetime import UTC, datetime

from bench.settings import QUICK, Settings

BENCHMARKS = {
    "admission-postgres": ("bench.admission", "postgresql"),
    "admission-sqlite": ("bench.admission", "sqlite"),
    "callers": ("bench.callers", "callers"),
    "drain": ("bench.drain", "drain"),
    "drain-history": ("bench.drain", "drain_history"),
    "procrastinate": ("bench.drain", "procrastinate"),
    "enqueue": ("bench.drain", "enqueue"),
    "deep-claim": ("bench.depth", "deep_claim"),
    "bloat": ("bench.depth", "bloat"),
    "latency": ("bench.latency", "latency"),
    "turns": ("bench.turns", "turns"),
    "seal": ("bench.seal", "seal"),
    "sweep": ("bench.perceive", "sweep"),
    "pulls": ("bench.perceive", "pulls"),
    "plans": ("bench.plans", "plans"),
    "report": ("bench.report", "report"),
    "replay": ("bench.replay", "replay"),
    "pages": ("bench.pages", "pages"),
    "dashboards": ("bench.dashboards", "dashboards"),
    "overload": ("bench.overload", "overload"),
    "ten-million": ("bench.replay_many", "ten_million"),
}


def main() -> None:
    asked = _parser().parse_args()
    settings = QUICK if asked.quick else Settings()
    changes = {"rounds": asked.rounds, "seconds": asked.seconds, "seed": asked.seed}
    given = {name: value for name, value in changes.items() if value is not None}
    settings = dataclasses.replace(settings, **given)
    names = list(BENCHMARKS) if "all" in asked.what else asked.what
    print(f"{_machine()}; {settings.rounds} rounds.\n", flush=True)
    for name in names:
        module, function = BENCHMARKS[name]
        print(getattr(importlib.import_module(module), function)(settings), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", nargs="*", default=["all"], choices=[*BENCHMARKS, "all"])
    parser.add_argument("--rounds", type=int, help="rounds, each a ratio (5)")
    parser.add_argument("--seconds", type=float, help="time per variant and batch size (0.8)")
    parser.add_argument("--seed", type=int, help="of the events and of the order (1)")
    parser.add_argument("--quick", action="store_true", help="short and rough")
    return parser


def _machine() -> str:
    today = datetime.now(UTC).date()
    return (
        f"{today}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start"
    )


if __name__ == "__main__":
    main()
