"""`Idempotency-Key`: a POST that is sent again gets the first answer again.

The key is scoped by tenant and route. What was refused did not happen, so its key is
free; an answer that holds a secret is kept without it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable

import anyio
import orjson
import structlog
from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from watchkeeper.actions.answer_once import claim_reply, keep_reply, release_reply
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.redaction import redacted
from watchkeeper.errors import Invalid
from watchkeeper.http.access import Need
from watchkeeper.http.context import Server
from watchkeeper.inputs import parse_tenant_id
from watchkeeper.store.http_replies import Name, Reply

HEADER = "idempotency-key"
REPLAYED = "Idempotency-Replayed"
KEPT_HEADERS = ("content-type", "retry-after", "location")

_KEY = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?")

log = structlog.get_logger(__name__)


async def answered_once(
    server: Server,
    request: Request,
    need: Need,
    value: object,
    respond: Callable[[], Awaitable[Response]],
) -> Response:
    """Run `respond` unless this request was answered before."""
    tenant_id = _tenant(request.state.caller.tenant_id, value)
    name = _name(request, value)
    found = await run_in_threadpool(claim_reply, server.db, tenant_id, name)
    if found is not None:
        return _replayed(found)
    try:
        response = await respond()
    except BaseException:
        await _settle(lambda: release_reply(server.db, tenant_id, name))
        raise
    if response.status_code >= 300:
        await _settle(lambda: release_reply(server.db, tenant_id, name))
        return response
    headers = {k: response.headers[k] for k in KEPT_HEADERS if k in response.headers}
    body = _without_secret(response.body) if need.answers_secret else bytes(response.body)
    await _settle(
        lambda: keep_reply(
            server.db,
            tenant_id,
            name,
            status=response.status_code,
            headers=orjson.dumps(headers).decode(),
            body=body.decode(),
        )
    )
    return response


async def _settle(deed: Callable[[], None]) -> None:
    """The answer stands, whether or not it can be kept: a key left behind frees itself."""
    with anyio.CancelScope(shield=True):
        try:
            await run_in_threadpool(deed)
        except Exception as error:
            log.warning("reply_not_kept", error=redacted(repr(error)))


def _name(request: Request, value: object) -> Name:
    key = request.headers[HEADER]
    if not _KEY.fullmatch(key):
        raise Invalid.at("Idempotency-Key", "must be 1 to 255 printable ASCII characters")
    content = [request.url.path, request.url.query, request.headers.get("content-type"), value]
    digest = hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return Name(f"{request.method} {request.scope['route'].path}", key, digest)


def _tenant(own: TenantId | None, value: object) -> TenantId:
    """The key's tenant, or the one that the body names; else the system's."""
    if own is not None:
        return own
    named = value.get("tenant_id") if isinstance(value, dict) else None
    return SYSTEM if named is None else TenantId(parse_tenant_id(named))


def _replayed(reply: Reply) -> Response:
    assert reply.status is not None
    headers: dict[str, str] = orjson.loads(reply.headers or "{}")
    return Response(reply.body, reply.status, {**headers, REPLAYED: "true"})


def _without_secret(body: bytes | memoryview) -> bytes:
    answer = orjson.loads(body)
    return orjson.dumps(
        {**answer, "key": None, "secret": None}
        if "secret" in answer
        else {
            **answer,
            "key": None,
        }
    )
