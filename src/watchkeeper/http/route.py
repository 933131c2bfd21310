"""Every route of the API: key, role, body, idempotency, then the endpoint.

The order is the point: nothing is read from a caller who is not known, nothing is parsed
for one who may not, and nothing runs twice under one Idempotency-Key.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from watchkeeper.errors import Invalid
from watchkeeper.http.access import JSON, need_of
from watchkeeper.http.body import read_json, read_text
from watchkeeper.http.context import Server
from watchkeeper.http.keys import refuse_keys_in_query
from watchkeeper.http.operations import operation_id
from watchkeeper.http.problems import Refused
from watchkeeper.http.repeats import repeat_of
from watchkeeper.http.replies import HEADER, answered_once
from watchkeeper.inputs import place

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True, slots=True)
class Body:
    """A body that was checked. `value` is its JSON, or its text where it is not JSON."""

    media: str
    value: Any


class CheckedRequest(Request):
    """A request whose body was read and checked already."""

    async def json(self) -> Any:
        body: Body = self.state.body
        return body.value


class GuardedRoute(APIRoute):
    """A route that says what it needs, and gets nothing else."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.need = need_of(endpoint)
        super().__init__(path, endpoint, **options)
        if self.methods == {"POST"}:
            repeat_of(endpoint.__name__)
        self.parameters = frozenset(field.alias for field in self.dependant.query_params)

    def get_route_handler(self) -> Handler:
        respond = super().get_route_handler()

        async def handle(request: Request) -> Response:
            server: Server = request.app.state.server
            refuse_keys_in_query(list(request.query_params))
            header = request.headers.get("authorization")
            caller = await run_in_threadpool(server.keyring.caller, header)
            request.state.caller = caller
            request.state.ticket.identify(caller)
            self.need.check(caller)
            self._refuse_unknown_parameters(request)
            raw = await request.body()
            media = _media(request, self.need.media) if raw else ""
            value = await _parsed(raw, media)
            request.state.body = Body(media, value)
            checked = CheckedRequest(request.scope, request.receive)
            checked._body = raw
            if request.method != "POST" or HEADER not in request.headers:
                return await respond(checked)
            return await answered_once(server, request, self.need, value, lambda: respond(checked))

        return handle

    def _refuse_unknown_parameters(self, request: Request) -> None:
        for name in request.query_params:
            if name not in self.parameters:
                raise Invalid.at(place([name]), "is not a known parameter")


def router(tag: str) -> APIRouter:
    return APIRouter(route_class=GuardedRoute, tags=[tag], generate_unique_id_function=operation_id)


def _media(request: Request, accepted: tuple[str, ...]) -> str:
    header = request.headers.get("content-type", "")
    media, _, options = header.partition(";")
    media = media.strip().lower()
    charset = options.strip().lower().replace('"', "").replace(" ", "")
    if media not in accepted or charset not in ("", "charset=utf-8", "charset=utf8"):
        raise Refused(
            415, "media_type", f"send {' or '.join(accepted)} in UTF-8, and say so in Content-Type"
        )
    return media


INLINE_BYTES_MAX = 16 * 1024


async def _parsed(raw: bytes, media: str) -> Any:
    if not raw:
        return None
    read = read_json if media == JSON or media.endswith("+json") else read_text
    if len(raw) <= INLINE_BYTES_MAX:
        return read(raw)
    return await run_in_threadpool(read, raw)
