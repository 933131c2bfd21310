"""Accounts: searched by name and tier; one account with its heat, what would happen to a trigger
now, and everything that happened to it."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from fastapi import Response
from markupsafe import Markup

from watchkeeper.actions.search_accounts import search_accounts
from watchkeeper.actions.show_heat import ShownAccount, show_account
from watchkeeper.actions.show_timeline import show_timeline
from watchkeeper.actions.why_not import why_not
from watchkeeper.charts import Lane, Span, Tone, budget_line, step_timeline, svg
from watchkeeper.core.heat import ONE, Tier
from watchkeeper.core.ids import AccountId
from watchkeeper.core.ledger import Stage
from watchkeeper.core.time import DAY, SECOND, Instant, from_datetime, hour_of
from watchkeeper.http import asked
from watchkeeper.http.access import Access, needs
from watchkeeper.http.links import account_path, with_query
from watchkeeper.http.page import Page, Shown, pages
from watchkeeper.http.told import grouped, told_of
from watchkeeper.store.json import loads

LISTED = 50
ENTRIES = 50
TIERS = ("HOT", "WARM", "COLD")
TONES = {"HOT": Tone.RED, "WARM": Tone.AMBER, "COLD": Tone.BLUE}
STAGES = (Stage.PERCEIVE, Stage.DECIDE, Stage.SETTLE, Stage.ACT)
"""Stages in which something happens to an account; reports are about a whole tenant."""

routes = pages()


@routes.get("/accounts")
@needs(Access.READ)
def get_accounts(page: Shown) -> Response:
    one = asked.exact(page, "account")
    if one is not None:
        return _account(page, AccountId(one))
    prefix, tier = asked.text(page, "q") or "", asked.one_of(page, "tier", TIERS)
    found = search_accounts(
        page.server.db,
        page.tenant,
        prefix=prefix,
        tier=None if tier is None else Tier[tier],
        after=asked.exact(page, "cursor") or "",
        limit=LISTED,
    )
    return page.show(
        "accounts.html",
        found=found.accounts,
        q=prefix,
        tier=tier,
        tiers=TIERS,
        is_first="cursor" not in page.request.query_params,
        here=with_query("/accounts", q=prefix, tier=tier),
        older=found.next_after,
    )


@routes.get("/accounts/{account_id:path}")
@needs(Access.READ)
def get_account(account_id: str, page: Shown) -> Response:
    return _account(page, AccountId(asked.checked("account_id", account_id) or ""))


def _account(page: Page, account_id: AccountId) -> Response:
    db, tenant = page.server.db, page.tenant
    before, stage = asked.place(page), asked.one_of(page, "stage", STAGES)
    found = show_account(db, tenant, account_id)
    happened = show_timeline(db, tenant, account_id, before=before, stage=stage, limit=ENTRIES)
    now = from_datetime(found.heat.computed_at)
    entries = [
        told_of(one.found, None if one.signal is None else one.signal.type)
        for one in happened.entries
    ]
    return page.show(
        "account.html",
        found=found,
        account=found.account,
        heat=found.heat,
        runs=_runs(found, now),
        attributes=_pretty(found.account.attributes),
        charts=_charts(found, now),
        prospects=why_not(db, tenant, account_id),
        groups=grouped(entries),
        older=happened.next_before,
        has_older_plans=happened.has_older_plans,
        stage=stage,
        stages=STAGES,
        here=account_path(account_id),
        stage_here=with_query(account_path(account_id), stage=stage),
        is_newest="cursor" not in page.request.query_params,
    )


def _pretty(text: str) -> str:
    data = loads(text)
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() if data else ""


def _runs(found: ShownAccount, now: Instant) -> list[dict[str, object]]:
    """What the account remembers of each trigger type."""
    state = found.account.run_state
    names = sorted(state.triggers.keys() | state.pending.keys())
    told: list[dict[str, object]] = []
    for name in names:
        trigger, pending = state.triggers.get(name), state.pending.get(name)
        told.append(
            {
                "trigger_type": name,
                "last_trigger_at": None if trigger is None else trigger.last_trigger_at,
                "last_deferred_at": None if trigger is None else trigger.last_deferred_at,
                "in_hour": 0 if trigger is None else trigger.runs_in(hour_of(now)),
                "retry_at": None if pending is None else pending.due_at,
                "retry_of": None if pending is None else pending.decision_id,
            }
        )
    return told


# -- the history of heat -----------------------------------------------------------------------


def _charts(found: ShownAccount, now: Instant) -> list[Markup]:
    """The tiers it had as bars, and below them its score, over the same time."""
    changes = [(one.entry, loads(one.entry.data)) for one in reversed(found.tier_history)]
    starts = [
        (Instant(data["entered_at"]), str(entry.result), data["heat_micro"] / ONE)
        for entry, data in changes
    ]
    created = found.account.created_at
    first = changes[0][1]["was"] if changes else found.heat.heat_tier
    if first is not None and (not starts or created < starts[0][0]):
        starts.insert(0, (created, first, 0.0))
    since = starts[0][0]
    until = Instant(max(now, since + SECOND))
    tiers = step_timeline("Tiers of this account", _lanes(starts), since=since, until=until)
    points = [(at, score) for at, _, score in starts[1 if first is not None else 0 :]]
    points += [(Instant((day.day + 1) * DAY), day.heat_micro / ONE) for day in found.days]
    points = sorted((at, score) for at, score in points if since <= at <= now)
    points.append((now, found.heat.heat_score))
    line = budget_line("Heat score", points, since=since, until=until, height=130)
    return [Markup(svg(tiers)), Markup(svg(line))]


def _lanes(starts: Sequence[tuple[Instant, str, float]]) -> list[Lane]:
    ends = [at for at, _, _ in starts[1:]] + [None]
    spans: dict[str, list[Span]] = {name: [] for name in TIERS}
    for (at, tier, _), end in zip(starts, ends, strict=True):
        spans[tier].append(Span(at, end, "", TONES[tier]))
    return [Lane(name, spans[name]) for name in TIERS]
