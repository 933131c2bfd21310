"""/v1/accounts"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Response

from watchkeeper.actions.change_account import AccountChange, change_account
from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.actions.show_heat import list_accounts, show_account
from watchkeeper.actions.why_not import why_not
from watchkeeper.core.heat import Tier
from watchkeeper.core.ids import AccountId
from watchkeeper.http import views_perceive as views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, TenantQuery, answer, page, position
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page
from watchkeeper.http.shapes_perceive import ChangedAccountOut, ShownAccountOut, WarmAccountOut
from watchkeeper.http.shapes_trust import WhyNotOut
from watchkeeper.input_types import AccountName
from watchkeeper.inputs import AccountIn
from watchkeeper.results import verdict_of

routes = router("accounts")

TierQuery = Annotated[
    Literal["HOT", "WARM", "COLD"] | None, Query(description="Only accounts in this heat tier.")
]


@routes.get("/v1/accounts", response_model=Page[WarmAccountOut])
@needs(Access.READ)
def get_accounts(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    tier: TierQuery = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List accounts by name, each with its heat now."""
    after = position(cursor, "accounts", "")
    wanted = None if tier is None else Tier[tier]
    found = list_accounts(ctx.db, ctx.tenant(tenant_id), after, limit, wanted)
    rows = [views.warm_account(one) for one in found.accounts]
    return page("accounts", rows, limit, found.last, is_cut=found.is_cut)


@routes.put("/v1/accounts/{account_id:path}", response_model=ChangedAccountOut)
@needs(Access.OPERATE)
def put_account(account_id: AccountName, body: AccountIn, ctx: Ctx) -> Response:
    """Change an account. A change of its posture or lifecycle state fires a trigger."""
    tenant_id = ctx.tenant_to_write(body.tenant_id)
    name = AccountId(account_id)
    change = AccountChange(body.posture, body.lifecycle_state, body.attributes)
    decided = change_account(ctx.server.admission, tenant_id, name, change)
    account = views.shown_account(show_account(ctx.db, tenant_id, name), tenant_id)
    return answer({**account, "verdicts": [verdict_of(one).to_json() for one in decided]})


@routes.get("/v1/accounts/{account_id:path}/why-not", response_model=WhyNotOut)
@needs(Access.READ)
def get_why_not(account_id: AccountName, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Explain the verdict that a trigger of each type would get now. Changes nothing."""
    name = AccountId(account_id)
    return answer(why_not(ctx.db, ctx.tenant_of(Thing.ACCOUNT, name, tenant_id), name).to_json())


@routes.get("/v1/accounts/{account_id:path}", response_model=ShownAccountOut)
@needs(Access.READ)
def get_account(account_id: AccountName, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show an account: its heat now, its next pulls, the heat tiers it had, and its plans."""
    name = AccountId(account_id)
    whose = ctx.tenant_of(Thing.ACCOUNT, name, tenant_id)
    return answer(views.shown_account(show_account(ctx.db, whose, name), whose))
