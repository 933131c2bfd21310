"""The App that `--app MODULE:NAME` names, or one clear line that says why there is none."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from watchkeeper.cli.endings import ending_of

if TYPE_CHECKING:
    from watchkeeper.app import App
    from watchkeeper.errors import Invalid

FLAG = "--app"


def load_app(named: str, *, migrate: bool = True) -> App:
    """Import MODULE:NAME, from the present folder too. Raises Invalid with what is wrong.

    Without `migrate` no app of the module changes the schema of its database.
    """
    from watchkeeper.app import App
    from watchkeeper.errors import Invalid

    module, colon, name = named.partition(":")
    if not (module and colon and name):
        raise Invalid.at(FLAG, "must be MODULE:NAME, such as agents:app")
    value: Any = _imported(module, migrate=migrate)
    for part in name.split("."):
        if not hasattr(value, part):
            raise Invalid.at(FLAG, f"{module} has no {name}{_others(sys.modules[module])}")
        value = getattr(value, part)
    if not isinstance(value, App):
        kind = type(value).__name__
        raise Invalid.at(FLAG, f"{named} is of type {kind}, not a watchkeeper.App")
    if value.is_closed:
        raise Invalid.at(FLAG, f"{named} was closed while it was imported: remove its close()")
    return value


def _imported(module: str, *, migrate: bool) -> ModuleType:
    from watchkeeper.app import MAY_MIGRATE
    from watchkeeper.errors import Invalid

    sys.path.insert(0, os.getcwd())
    before = MAY_MIGRATE.set(migrate)
    try:
        return importlib.import_module(module)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            told = f"there is no module {module} in {os.getcwd()} or on the Python path"
            raise Invalid.at(FLAG, told) from None
        _, lines = ending_of(error)
        if lines:
            raise
        raise _failed(module, error) from None
    finally:
        MAY_MIGRATE.reset(before)


def _failed(module: str, error: Exception) -> Invalid:
    """The error in one line, and below it the lines of the user's own code that led to it."""
    from watchkeeper.errors import Invalid

    own = [place for place in traceback.extract_tb(error.__traceback__) if _is_own(place.filename)]
    *where, what = traceback.format_exception_only(error)
    trace = "".join([*traceback.format_list(own), *where]).rstrip()
    return Invalid.at(FLAG, f"importing {module} raised {what.strip()}\n{trace}")


def _is_own(filename: str) -> bool:
    """Whether a line is neither Python's nor installed."""
    if filename.startswith("<"):
        return False
    paths = sysconfig.get_paths()
    others = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    others.add(str(Path(__file__).parents[1]))
    return not any(Path(filename).is_relative_to(folder) for folder in others)


def _others(module: ModuleType) -> str:
    """The apps that the module does have, for who mistyped the name."""
    from watchkeeper.app import App

    apps = [name for name, value in vars(module).items() if isinstance(value, App)]
    return f"; it has {', '.join(apps)}" if apps else ", and no watchkeeper.App at all"
