"""The pages of the command line and of HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import typer.main

from tools.markdown import block, page, table, words
from watchkeeper.cli.main import app as commands_app
from watchkeeper.http.app import ROUTERS, create_app
from watchkeeper.http.openapi import describe
from watchkeeper.http.repeats import repeat_of
from watchkeeper.http.route import GuardedRoute
from watchkeeper.settings import Settings
from watchkeeper.store.database import open_database

CLI = """\
Every command that prints something has `--json`. Tables have colours on a terminal and are plain
in a pipe; `NO_COLOR` is honoured. Errors are printed on stderr, one line each.
`watchkeeper --install-completion` sets up completion for your shell.

Exit codes: 0 done; 1 a check found something; 2 wrong usage or input; 3 a database,
file or port is not available.

Commands that act on a database do so directly, with the rights of whoever can open it. Those that
only read open SQLite read-only."""

HTTP = """\
`Authorization: Bearer KEY`. The key of a tenant fixes the tenant; a key for all tenants names it,
as `tenant_id` in the body or, for GET and DELETE, in the query. Roles build on each other:
`ingest` may send signals and triggers and meter turns, `viewer` may read its tenant, `operator`
may also redrive messages, manage plans, approve intents, request pulls and set kill switches,
`admin` may also change keys, pull budgets, schedules and sinks and, for all tenants, tenants,
connectors and the policy.

`/healthz`, `/readyz`, `/metrics` and `/openapi.json` answer without a key.

Lists are `{"items": [...], "next_cursor": ...}` and take `limit` and `cursor`. Errors are
problem details (RFC 9457), see [errors](errors.md). The whole description, with schemas and
examples, is served at `/openapi.json`.

If the database fails, the answer is 503 with `Retry-After`: `unavailable` when it cannot be
reached or cannot serve, `busy` when other transactions held a row, the file or every connection for
too long. 504 `timed_out` is a statement that ran too long; a repeat may take as long. After
each of these nothing was done. After 503 `outcome_unknown` the change may be committed:
repeat the request under the same key.
`POST /v1/clock/advance` also answers 503 `unavailable` when due messages are not delivered within
five seconds: the clock may have moved part of the way, to the time in `detail`. A repeat under the
same key continues from there.

`POST /v1/signals` takes plain JSON (`application/json`) and CloudEvents 1.0: one event
(`application/cloudevents+json`), a batch (`application/cloudevents-batch+json`), or binary mode,
with `ce-` headers. `subject` or the extension `accountid` names the account, `tenantid` the
tenant."""

REPEATED = """\
A POST may carry an `Idempotency-Key`: 1 to 255 printable ASCII characters, of one tenant and one
route. For a day, the same request under the same key changes nothing more and gets the first
answer again, with `Idempotency-Replayed: true`. Another request under the same key is refused: 422
`idempotency_key_reused`. A request that was refused leaves its key free.

The key and the change are one transaction. A killed server, a lost answer or a 503
`outcome_unknown` does not free the key: send the same request again. If the first answer was not
kept, the repeat is answered from the stored data, as the table says. Two
requests at the same time under one key make one change; the second waits for the first.

PUT, PATCH and DELETE take no key. They are idempotent: a repeat changes nothing more."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it, in order."""
    waiting: list[tuple[str, Any]] = [("watchkeeper", typer.main.get_command(commands_app))]
    found = []
    while waiting:
        name, command = waiting.pop()
        if command.hidden:
            continue
        subcommands = getattr(command, "commands", None)
        if subcommands is None:
            found.append((name, command))
        else:
            waiting += [(f"{name} {sub}", inner) for sub, inner in subcommands.items()]
    yield from sorted(found)


def cli_page() -> str:
    return page("Commands", CLI, *(_command(name, command) for name, command in commands()))


def _command(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join([name, *(_placeholder(p) for p in arguments), *(_needed(options))])
    parts = [f"## {name}", block("text", usage), words_of(command)]
    if arguments:
        rows = [(f"`{_placeholder(p)}`", p.help or "") for p in arguments]
        parts.append(table(("argument", "meaning"), rows))
    shown = [p for p in options if "--help" not in p.opts]
    if shown:
        rows = [(_flags(p), p.help or "", _default(p)) for p in shown]
        parts.append(table(("option", "meaning", "default"), rows))
    return "\n\n".join(parts)


def words_of(command: Any) -> str:
    text = (command.help or "").strip()
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _placeholder(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _needed(options: list[Any]) -> Iterator[str]:
    for option in options:
        if option.required:
            yield f"{option.opts[0]} {option.metavar or option.name.upper()}"


def _flags(option: Any) -> str:
    names = [f"`{name}`" for name in (*option.opts, *option.secondary_opts)]
    return ", ".join(names)


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if option.default is None or option.default is False or callable(option.default):
        return ""
    return f"`{option.default}`"


def http_page() -> str:
    with contextlib.closing(open_database("sqlite://")) as db:
        described = describe(create_app(db, Settings()))
    rows = []
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            rows.append((path, method.upper(), _first_line(operation)))
    rows.sort()
    told = [(f"`{method} {path}`", what) for path, method, what in rows]
    calls = table(("call", "what it does"), told)
    return page("HTTP", HTTP, calls, "## Requests that are repeated", REPEATED, _repeats())


def _repeats() -> str:
    """How each POST is protected, and how a repeat without a kept answer is answered."""
    rows = []
    for routes in ROUTERS:
        for route in routes.routes:
            assert isinstance(route, GuardedRoute)
            if route.methods == {"POST"}:
                repeat = repeat_of(route.endpoint.__name__)
                rows.append((f"`POST {route.path}`", repeat.guard, repeat.answer))
    head = ("call", "protected by", "a repeat whose first answer was not kept")
    return table(head, sorted(rows))


def _first_line(operation: dict[str, Any]) -> str:
    text = operation.get("description") or operation.get("summary") or ""
    return str(text).strip().split("\n\n")[0].replace("\n", " ")


__all__ = ["cli_page", "commands", "http_page", "words"]
