"""`version`: what is installed."""

from __future__ import annotations

from watchkeeper.cli.options import AsJson
from watchkeeper.cli.output import say, say_json


def version(as_json: AsJson = False) -> None:
    """Print the version of watchkeeper, and of the SQLite and Python it runs on."""
    import platform
    from importlib.metadata import version as version_of

    from watchkeeper.store.sqlite import library_version

    found = {
        "watchkeeper": version_of("watchkeeper"),
        "python": platform.python_version(),
        "sqlite": ".".join(map(str, library_version())),
    }
    if as_json:
        say_json(found)
        return
    say(f"watchkeeper {found['watchkeeper']} (Python {found['python']}, SQLite {found['sqlite']})")
