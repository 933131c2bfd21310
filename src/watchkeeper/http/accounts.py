"""/v1/accounts"""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.change_account import AccountChange, change_account
from watchkeeper.actions.views import list_accounts, view_account
from watchkeeper.core.ids import AccountId
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, TenantQuery, answer, page, position
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import AccountOut, ChangedAccountOut, Page
from watchkeeper.input_types import AccountName
from watchkeeper.inputs import AccountIn
from watchkeeper.results import verdict_of

routes = router("accounts")


@routes.get("/v1/accounts", response_model=Page[AccountOut])
@needs(Access.READ)
def get_accounts(
    ctx: Ctx, tenant_id: TenantQuery = None, limit: Limit = LIMIT, cursor: Cursor = None
) -> Response:
    found = list_accounts(ctx.db, ctx.tenant(tenant_id), position(cursor, "accounts", ""), limit)
    last = found[-1].account_id if found else None
    return page("accounts", [views.account(one) for one in found], limit, last)


@routes.put("/v1/accounts/{account_id:path}", response_model=ChangedAccountOut)
@needs(Access.OPERATE)
def put_account(account_id: AccountName, body: AccountIn, ctx: Ctx) -> Response:
    """Tell an account something new. A change of posture or lifecycle state is a trigger."""
    tenant_id = ctx.tenant_to_write(body.tenant_id)
    name = AccountId(account_id)
    change = AccountChange(body.posture, body.lifecycle_state, body.attributes)
    decided = change_account(ctx.server.admission, tenant_id, name, change)
    account = views.account(view_account(ctx.db, tenant_id, name))
    return answer({**account, "verdicts": [verdict_of(one).to_json() for one in decided]})


@routes.get("/v1/accounts/{account_id:path}", response_model=AccountOut)
@needs(Access.READ)
def get_account(account_id: AccountName, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    name = AccountId(account_id)
    whose = ctx.tenant_of_account(name, tenant_id)
    return answer(views.account(view_account(ctx.db, whose, name)))
