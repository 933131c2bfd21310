"""The page of the Python interface: every call with its types, and what it raises."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_overloads

import watchkeeper
from tools.markdown import page, table, words
from watchkeeper import handler_types, perceive_results, plan_methods
from watchkeeper.actions import show_plan
from watchkeeper.app import App
from watchkeeper.drain_methods import Clock
from watchkeeper.tenant_methods import TenantDoor

PYTHON = """\
`import watchkeeper` offers the names below and no others. Everything is annotated: a type checker
refuses a mistyped `outcome`, `scope` or `depth`, and a handler that takes or returns another type.
Refusals are values: a verdict that is not ALLOW is still a verdict.

Every call may raise `Invalid` for a wrong argument, `Unavailable` where the database fails, and
`Closed` after `close`. The column *raises* names the other errors. All are in
`watchkeeper.errors`."""

HANDLERS = """\
## Handlers

A handler is a function of yours, sync or async. These are its types, in
`watchkeeper.handler_types`."""

_NOT_FOUND = """bundle explain explain_refusal finalize_turn heat progress_turn remove_sink
report report_json report_pdf turn unschedule why_not checkpoint_ledger
export_ledger verify_ledger prune_ledger remove_pull_budget milestones
plan_policy tenants.get plans.abort plans.approve plans.edit plans.explain
plans.get plans.pause plans.resume plans.skip plans.tell plans.why
intents.approve intents.explain intents.get intents.reject intents.report
intents.reported"""
_CONFLICT = """apply_policy checkpoint_ledger export_ledger finalize_turn progress_turn
prune_ledger reserve_turn sink verify_ledger clock.advance plans.abort
plans.approve plans.edit plans.pause plans.propose plans.resume plans.skip
plans.tell intents.approve intents.reject intents.report intents.reported"""
_QUOTA = "reserve_turn"

RAISES: Mapping[str, frozenset[str]] = {
    "NotFound": frozenset(_NOT_FOUND.split()),
    "Conflict": frozenset(_CONFLICT.split()),
    "QuotaExceeded": frozenset(_QUOTA.split()),
}
"""Errors, and the calls that raise them, as tests/app/test_every_call.py names the calls."""


def python_page() -> str:
    parts = [PYTHON]
    for name in sorted(watchkeeper.__all__):
        parts.append(_class(name, getattr(watchkeeper, name)))
        if name == "App":
            parts += [_class("app.clock", Clock)]
            parts += [_class("app.tenants", TenantDoor)]
            parts += [_class("app.plans", plan_methods.PlanDoor)]
            parts += [_class("app.intents", plan_methods.IntentDoor)]
            parts += [HANDLERS, table(("type", "is"), _handlers())]
    parts.append(_class("ScheduledPull (its `job`)", perceive_results.ScheduledPull))
    parts.append(_class("Why (from `app.plans.why`)", show_plan.Why))
    return page("Python", *parts)


def _handlers() -> Iterator[tuple[str, str]]:
    source = inspect.getsource(handler_types)
    for name, kind in re.findall(r"^(\w+): TypeAlias = (.+)$", source, re.MULTILINE):
        yield f"`{name}`", f"`{kind}`"


def _class(name: str, kind: type[Any]) -> str:
    parts = [f"## {name}", words(kind)]
    if hasattr(kind, "__dataclass_fields__"):
        fields = [
            (f"`{field.name}`", f"`{field.type}`") for field in kind.__dataclass_fields__.values()
        ]
        parts.append(table(("field", "type"), fields))
    elif kind is App:
        parts.append(f"`App{_signature(kind.__init__)}`")
    calls = [
        (method, member)
        for part in kind.__mro__
        for method, member in vars(part).items()
        if inspect.isfunction(member) and not method.startswith("_")
    ]
    if calls and (name == "App" or name.startswith("app.")):
        prefix = name.removeprefix("App").removeprefix("app.")
        rows = [
            (_calls(method, member), words(member), _raised(f"{prefix}.{method}".lstrip(".")))
            for method, member in calls
        ]
        parts.append(table(("call", "what it does", "raises"), rows))
    elif calls:
        shown = [(_calls(method, member), words(member)) for method, member in calls]
        parts.append(table(("call", "what it does"), shown))
    return "\n\n".join(parts)


def _raised(call: str) -> str:
    return ", ".join(f"`{error}`" for error, calls in RAISES.items() if call in calls)


def _calls(name: str, member: Callable[..., Any]) -> str:
    """Each form of a call: a function with overloads has several."""
    forms = get_overloads(member) or [member]
    return "<br>".join(f"`{name}{_signature(form)}`" for form in forms)


def _signature(member: Callable[..., Any]) -> str:
    """The parameters with their types and defaults, and the type of the result."""
    shown = []
    starred = False
    signature = inspect.signature(member)
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        prefix = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        given = parameter.default
        value = given.__name__ if inspect.isfunction(given) else repr(given)  # no address
        default = "" if given is parameter.empty else f" = {value}"
        kind = _spelled(parameter.annotation, member)
        shown.append(f"{prefix}{parameter.name}: {kind}{default}")
    return f"({', '.join(shown)}) -> {_spelled(signature.return_annotation, member)}"


def _spelled(annotation: str, member: Callable[..., Any]) -> str:
    """The annotation as it is written, with the values of a closed set in place of its name.

    A handler is returned as it is: its type stands for that of the very function.
    """
    names = vars(sys.modules[member.__module__])

    def spelled(found: re.Match[str]) -> str:
        kind = names.get(found[0])
        if isinstance(kind, TypeVar):
            return found[0].removesuffix("T") + "Handler"
        if get_origin(kind) is not Literal:
            return found[0]
        return f"Literal[{', '.join(map(repr, get_args(kind)))}]"

    return re.sub(r"\w+", spelled, annotation)
