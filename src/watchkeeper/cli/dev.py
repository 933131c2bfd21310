"""`dev`: everything in one process, on this machine only, without configuration."""

from __future__ import annotations

import ipaddress
import secrets
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from watchkeeper.cli.options import AppName, Db, Host, Port
from watchkeeper.cli.output import console, say_facts
from watchkeeper.cli.serve import metrics_beside
from watchkeeper.cli.starting import (
    app_for,
    built_in_decision,
    has_decision,
    hush_demo,
    settings_for,
    start_logging,
    warn_of_sqlite,
)

if TYPE_CHECKING:
    from watchkeeper.app import App
    from watchkeeper.demo.scene import Scene
    from watchkeeper.settings import Settings
    from watchkeeper.stopping import Stop

AUTHOR = "dev"
HINT = "Ctrl-C stops it. In another shell: watchkeeper ledger tail --follow"
KEYS_KEPT = 20
"""Admin keys of earlier starts that stay good: a script may still hold one."""


def dev(
    db: Db = None,
    host: Host = None,
    port: Port = None,
    virtual_clock: Annotated[
        bool,
        typer.Option("--virtual-clock", help="Use a clock that moves only by `clock advance`."),
    ] = False,
    demo: Annotated[
        bool,
        typer.Option("--demo/--no-demo", help="Play a demo of all stages for four tenants."),
    ] = False,
    app: AppName = None,
) -> None:
    """Run server and workers in one process, on loopback. Prints the address and an admin key.

    The database is migrated first. Without --app a built-in decision handler is called.
    """
    settings = settings_for(db=db, host=host, port=port)
    check_loopback(settings.host)
    start_logging(settings, quiet=True)
    if demo:
        hush_demo(settings)
    warn_of_sqlite(settings)
    working = app_for(settings, app, migrate=True)
    try:
        _start(working, settings, virtual_clock=virtual_clock, demo=demo)
    finally:
        working.close()


def check_loopback(host: str) -> None:
    """Development mode makes tenants by their first use: it is not for others to reach."""
    from watchkeeper.errors import Invalid

    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise Invalid.at("--host", "dev listens on loopback only; use `watchkeeper serve`")


def _start(app: App, settings: Settings, *, virtual_clock: bool, demo: bool) -> None:
    from watchkeeper.actions.advance_clock import start_virtual_clock
    from watchkeeper.http.server import app_of, serve
    from watchkeeper.stopping import Stop
    from watchkeeper.workers import WorkerSettings

    if virtual_clock:
        start_virtual_clock(app.db)
    stop = Stop()
    scene = _scene(app, stop) if demo else None
    if not has_decision(app):
        app.decision(built_in_decision)
    key = admin_key(app, settings)
    asgi = app_of(app, settings)
    playing: list[threading.Thread] = []

    def greet(address: str) -> None:
        _say_where(address, key, app)
        if scene is not None:
            playing.append(_play(app, scene, stop, address))

    with stop.on_signals(), metrics_beside(settings, app.db):
        app.start_workers(WorkerSettings(grace_seconds=settings.grace_seconds))
        serve(asgi, settings, stop, on_started=greet)
        for thread in playing:
            thread.join()


def admin_key(app: App, settings: Settings) -> str:
    """A new key for all tenants, shown once; the one of the settings is not shown."""
    if settings.admin_key is not None:
        return "the one in WATCHKEEPER_ADMIN_KEY"
    from watchkeeper.actions import views
    from watchkeeper.actions.create_api_key import LIVE_KEYS_MAX, create_api_key
    from watchkeeper.actions.revoke_api_key import revoke_api_key

    known = views.list_api_keys(app.db, None, "", LIVE_KEYS_MAX)
    own = [key for key in known if key.created_by == AUTHOR and key.revoked_at is None]
    own.sort(key=lambda key: key.created_at)
    for key in own[: max(0, len(own) - KEYS_KEPT)]:
        revoke_api_key(app.db, None, key.key_id, revoked_by=AUTHOR)
    return create_api_key(app.db, None, "admin", created_by=AUTHOR).key


def _say_where(address: str, key: str, app: App) -> None:
    from watchkeeper.actions import views
    from watchkeeper.core.time import to_iso
    from watchkeeper.settings import redacted_url

    standing = views.virtual_now(app.db)
    url = app.db.writer.url.render_as_string(hide_password=True)
    say_facts(
        {
            "dashboard": f"open {address} in a browser; you are logged in",
            "address": address,
            "admin key": key,
            "database": redacted_url(url),
            "clock": None if standing is None else f"virtual, at {to_iso(standing)}",
            "stop": "Ctrl-C",
        }
    )
    console().file.flush()


def _scene(app: App, stop: Stop) -> Scene:
    """The demo's handlers, which have to be there before a worker starts."""
    from watchkeeper.demo.scene import Scene
    from watchkeeper.demo.troupe import install

    scene = Scene(stop.asked)
    install(app, scene)
    return scene


def _play(app: App, scene: Scene, stop: Stop, address: str) -> threading.Thread:
    """The demo beside the server: everybody who plays, and the screen that shows it."""
    from watchkeeper.demo.cast import set_the_stage
    from watchkeeper.demo.play import Play
    from watchkeeper.demo.show import show
    from watchkeeper.demo.tally import Tally

    def perform() -> None:
        set_the_stage(app.db)
        # Another seed each time: on a database that was played on, the same signals are repeats.
        play = Play(app, scene, stop.asked, seed=secrets.randbits(32))
        tally = Tally(app.db)
        play.start()
        show(tally, stop.asked, console(), address=address, hint=HINT)
        play.join()

    thread = threading.Thread(target=perform, name="watchkeeper-screen", daemon=True)
    thread.start()
    return thread
