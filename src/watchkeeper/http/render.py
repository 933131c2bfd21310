"""Templates into pages: everything is escaped, and what is not a known value is a mistake."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from watchkeeper.core.time import Instant, to_datetime
from watchkeeper.http.links import account_path, path_of

_NAMED = re.compile(  # moments and decisions, as our sentences name them
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z)"
    r"|(?<=decision )([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    re.ASCII,
)
HERE = Path(__file__).parent
MICRO = 1_000_000
NONE = "\N{EN DASH}"


@functools.cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        account_path=account_path,
        count=count,
        credits=credits,
        laid_out=laid_out,
        lasting=lasting,
        plural=plural,
        told=told,
        when=when,
        words=words,
    )
    made.globals.update(path_of=path_of, version=version("watchkeeper"))
    return made


def rendered(template: str, values: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(values)


def when(moment: Instant | datetime | str | None) -> Markup:
    """A moment: in UTC as it is sent, in the viewer's zone and relative to now by the script."""
    if moment is None:
        return Markup('<span class="none">{}</span>').format(NONE)
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    at = moment if isinstance(moment, datetime) else to_datetime(Instant(moment))
    at = at.astimezone(UTC)
    iso = at.isoformat(timespec="seconds").replace("+00:00", "Z")
    shown = at.strftime("%Y-%m-%d %H:%M:%S UTC")
    return Markup('<time datetime="{}">{}</time>').format(iso, shown)


def count(number: int | float | None) -> str:
    return NONE if number is None else f"{number:,}"


def credits(micro: int | None) -> str:
    """Micro-credits as credits."""
    return NONE if micro is None else f"{micro / MICRO:,.2f}"


def plural(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_LENGTHS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def lasting(us: int) -> str:
    """A length of time, as short as it can be said: 3 h, 12 s; nothing is 0 s."""
    for seconds, unit in _LENGTHS:
        if us >= seconds * MICRO:
            return f"{us // (seconds * MICRO):,} {unit}"
    return "0 s"


def laid_out(document: object) -> str:
    """JSON for people: a line for each part of it."""
    found = json.loads(document) if isinstance(document, str) else document
    return json.dumps(found, indent=2, ensure_ascii=False, default=str)


def words(code: str) -> str:
    """A code as words."""
    return code.replace("_", " ").lower()


def told(text: str) -> Markup:
    """A sentence of ours: moments in it are shown as such, decisions are links; all is escaped."""
    parts, last = [], 0
    for match in _NAMED.finditer(text):
        parts.append(escape(text[last : match.start()]))
        parts.append(_shown(match))
        last = match.end()
    return Markup("").join([*parts, escape(text[last:])])


def _shown(match: re.Match[str]) -> Markup:
    moment, decision = match.groups()
    if decision is not None:
        return Markup('<a href="{}">{}…</a>').format(path_of("decisions", decision), decision[:8])
    try:
        return when(moment)
    except ValueError:  # it only looked like one
        return escape(moment)
