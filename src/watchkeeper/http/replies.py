"""`Idempotency-Key`: a POST that is sent again changes nothing and gets the first answer again.

The key is scoped by tenant and route. The change writes the key in its own transaction; the
answer is kept afterwards, without a secret that it shows.
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

from watchkeeper.actions.answer_once import Once, find_reply, keep_reply
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

KEY_PATTERN = "^[!-~]([ -~]{0,253}[!-~])?$"
_KEY = re.compile(KEY_PATTERN)

log = structlog.get_logger(__name__)


async def answered_once(
    server: Server,
    request: Request,
    need: Need,
    value: object,
    respond: Callable[[], Awaitable[Response]],
) -> Response:
    """Answer the request from what is kept, or let it run under its key.

    A refusal is not kept. Its transaction was rolled back, and the key with it.
    """
    tenant_id = _tenant(request.state.caller.tenant_id, value)
    name = _name(request, value)
    once, found = await run_in_threadpool(find_reply, server.db, tenant_id, name)
    if found is not None and found.status is not None:
        return _replayed(found)
    request.state.once = once
    response = await respond()
    if response.status_code < 300:
        body = _without_secret(response.body) if need.answers_secret else bytes(response.body)
        await _keep(server, tenant_id, once, response, body)
    return response


async def _keep(
    server: Server, tenant_id: TenantId, once: Once, response: Response, body: bytes
) -> None:
    """An answer that cannot be kept is given all the same: a repeat is answered from the state."""
    headers = {k: response.headers[k] for k in KEPT_HEADERS if k in response.headers}

    def keep() -> None:
        keep_reply(
            server.db,
            tenant_id,
            once,
            status=response.status_code,
            headers=orjson.dumps(headers).decode(),
            body=body.decode(),
        )

    with anyio.CancelScope(shield=True):
        try:
            await run_in_threadpool(keep)
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
