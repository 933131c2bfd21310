"""`bench`: measure, where the benchmarks are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from watchkeeper.cli.endings import UNREACHABLE, fail


def bench(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WHAT]…", help="Measurements to run. Default: all."),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", min=1, help="Rounds; each gives one ratio. Default: 5."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="Seconds for each side of a cell. Default: 0.8."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run a short, rough measurement.")] = False,
) -> None:
    """Run the benchmarks against the raw database and other tools. Needs a source checkout."""
    checkout = Path(__file__).parents[3]
    if not (checkout / "bench" / "__main__.py").is_file():
        fail(
            UNREACHABLE,
            "the benchmarks come with the source, not with the installed package: use `make bench`",
        )
    given = {"--rounds": rounds, "--seconds": seconds}
    options = [word for name, value in given.items() if value for word in (name, str(value))]
    command = [sys.executable, "-m", "bench", *(what or ["all"]), *options]
    command += ["--quick"] if quick else []
    raise typer.Exit(subprocess.run(command, cwd=checkout, check=False).returncode)
