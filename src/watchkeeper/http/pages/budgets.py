"""Budgets: runs, pull units and credits of a day, what is left and how long it lasts."""

from __future__ import annotations

from fastapi import Response
from pydantic import TypeAdapter

from watchkeeper.actions.set_pull_budget import set_pull_budget
from watchkeeper.actions.show_budgets import Budgets, Meter, show_budgets
from watchkeeper.core.pulls import EVERY, Budget
from watchkeeper.core.time import DAY, Instant, to_iso
from watchkeeper.errors import Invalid
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import Page, Shown, pages
from watchkeeper.http.pages.overview import daily_credits, drawn_line
from watchkeeper.inputs import parse_value
from watchkeeper.perceive_inputs import CAPS_MAX, PullBudgetIn, parse_day

PATH = "/budgets"
_BUDGET: TypeAdapter[PullBudgetIn] = TypeAdapter(PullBudgetIn)

routes = pages()


@routes.get("/budgets")
@needs(Access.READ)
def get_budgets(page: Shown) -> Response:
    asked = page.request.query_params.get("date") or None
    day = None if asked is None else parse_day(asked)
    found = show_budgets(page.server.db, page.tenant, day)
    return page.show(
        "budgets.html",
        found=found,
        date=_date(found.day),
        today=_date(found.today),
        before=_date(found.day - 1) if found.day else None,
        after=None if found.is_today else _date(found.day + 1),
        charts=_charts(found),
        caps=_caps_text(found.pull_budget),
    )


@routes.post("/budgets/pull")
@needs(Access.ADMINISTER)
def post_pull_budget(page: Shown) -> Response:
    """Set how many units may be pulled in a UTC day; what was pulled today counts."""
    wanted = {
        "max_pull_units_per_day": _whole(page, "max_pull_units_per_day"),
        "max_per_connector_per_day": _caps(page.form.get("max_per_connector_per_day", "")),
    }
    budget = parse_value(_BUDGET, wanted, "pull_budget").budget()
    set_pull_budget(page.server.db, page.tenant, budget, by=page.caller.name)
    return page.back(PATH, "set")


@routes.post("/budgets/pull/remove")
@needs(Access.ADMINISTER)
def post_no_pull_budget(page: Shown) -> Response:
    """Remove the budget: nothing is pulled for the tenant until it has one again."""
    set_pull_budget(page.server.db, page.tenant, None, by=page.caller.name)
    return page.back(PATH, "removed")


def _charts(found: Budgets) -> list[tuple[str, object]]:
    named: list[tuple[str, Meter | None]] = [
        ("Runs", found.runs),
        ("Pull units", found.pulls),
        ("Credits", daily_credits(found)),
    ]
    drawn = [(name, drawn_line(found, meter, f"{name} by the hour")) for name, meter in named]
    return [(name, chart) for name, chart in drawn if chart is not None]


def _date(day: int) -> str:
    return to_iso(Instant(day * DAY))[:10]


def _whole(page: Page, name: str) -> int:
    text = page.form.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > 13:
        raise Invalid.at(name, "must be a whole number, 0 or more")
    return int(text)


def _caps(text: str) -> dict[str, int] | None:
    """One cap a line: a connector, or * for all others, and its units."""
    caps: dict[str, int] = {}
    for line in text.splitlines():
        name, separator, units = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        if not separator or not units.isascii() or not units.isdigit() or len(units) > 13:
            wanted = "must have a line for each connector, such as crm = 100"
            raise Invalid.at("max_per_connector_per_day", wanted)
        if name in caps or len(caps) >= CAPS_MAX:
            said = "names a connector twice" if name in caps else "names too many connectors"
            raise Invalid.at("max_per_connector_per_day", said)
        caps[name] = int(units)
    return caps or None


def _caps_text(budget: Budget | None) -> str:
    caps = {} if budget is None else budget.connectors
    ordered = sorted(caps.items(), key=lambda one: (one[0] == EVERY, one[0]))
    return "\n".join(f"{name} = {units}" for name, units in ordered)
