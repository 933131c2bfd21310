"""The first sentence of what users read begins with a noun or a verb."""

import inspect
import re

import watchkeeper
from watchkeeper.app import App
from watchkeeper.plan_methods import IntentDoor, PlanDoor
from watchkeeper.tenant_methods import TenantDoor

RIDDLE = re.compile(r"(What|Who|Whoever|It|One)\b")


def begins_badly(text: str | None) -> bool:
    return RIDDLE.match(inspect.cleandoc(text or "")) is not None


def test_public_classes_and_calls_begin_with_a_noun_or_a_verb() -> None:
    classes = [getattr(watchkeeper, name) for name in watchkeeper.__all__]
    calls = [
        member
        for door in (App, TenantDoor, PlanDoor, IntentDoor)
        for name, member in inspect.getmembers(door, inspect.isfunction)
        if not name.startswith("_")
    ]
    assert [one.__qualname__ for one in [*classes, *calls] if begins_badly(one.__doc__)] == []
