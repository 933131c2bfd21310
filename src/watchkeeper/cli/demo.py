"""`demo`: the same play as `dev --demo`, on a database that is thrown away afterwards."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from watchkeeper.cli.endings import FOUND
from watchkeeper.cli.options import AsJson
from watchkeeper.cli.output import console, say, say_json

if TYPE_CHECKING:
    from watchkeeper.app import App
    from watchkeeper.demo.scene import Scene
    from watchkeeper.stopping import Stop


def demo(
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=1, help="Seconds to play. Default: until Ctrl-C."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", help="Seed of the traffic: the same seed gives the same traffic."),
    ] = 7,
    as_json: AsJson = False,
) -> None:
    """Play storms of signals for four tenants, then verify every guarantee.

    The traffic goes through the real admission, outbox and workers. Nothing is kept.
    """
    from watchkeeper.app import App
    from watchkeeper.demo.scene import Scene
    from watchkeeper.demo.troupe import install
    from watchkeeper.stopping import Stop
    from watchkeeper.telemetry import configure_logging

    configure_logging("error", "console")
    logging.getLogger("watchkeeper.handlers").setLevel(logging.CRITICAL)  # it plays failures
    stop = Stop()
    with tempfile.TemporaryDirectory(prefix="watchkeeper-demo-") as folder, stop.on_signals():
        app = App(f"sqlite:///{Path(folder) / 'demo.db'}")
        scene = Scene(stop.asked)
        install(app, scene, seed)
        app.start_workers()
        try:
            found = _perform(app, scene, stop, seconds, seed, quiet=as_json)
        finally:
            app.close()
    if as_json:
        say_json(found)
    else:
        broken = found["invariants_broken"]
        say(
            f"{found['invariants']} invariants hold."
            if not broken
            else f"These invariants do not hold: {', '.join(broken)}."
        )
    if found["invariants_broken"]:
        raise typer.Exit(FOUND)


def _perform(
    app: App, scene: Scene, stop: Stop, seconds: float | None, seed: int, *, quiet: bool
) -> dict[str, Any]:
    from rich.console import Console

    from watchkeeper.actions.verify import verify
    from watchkeeper.demo.cast import set_the_stage
    from watchkeeper.demo.play import Play
    from watchkeeper.demo.show import show
    from watchkeeper.demo.tally import Tally

    set_the_stage(app.db)
    play = Play(app, scene, stop.asked, seed=seed)
    tally = Tally(app.db)
    play.start()
    screen = Console(quiet=True) if quiet else console()
    show(tally, stop.asked, screen, seconds_max=seconds)
    stop.asked.set()
    play.join()
    total = tally.total
    findings = verify(app.db)
    return {
        "signals": total.asked,
        "runs": total.runs,
        "held_back": total.held_back,
        "verdicts": {" ".join(filter(None, answer)): n for answer, n in total.answers.items()},
        "invariants": len(findings),
        "invariants_broken": [f.invariant for f in findings if not (f.is_clean or f.is_notice)],
    }
