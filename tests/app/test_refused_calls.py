"""A Python call that is refused changes no row and makes no tenant: every call, every argument."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.app.every_call import CALLS, EVENT, Call
from tests.databases import Place
from tests.stored import difference, stored_at
from tests.verify_clean import assert_verified
from watchkeeper import App, Proposal
from watchkeeper.errors import Conflict, Invalid

pytestmark = pytest.mark.req("U-10", "D-02")

KIND, MEET = "RENEWAL_DEFENSE", "REQUEST_RENEWAL_MEETING"
HOOK = "https://example.com/hook"

APART = {"drain", "run", "simulate", "start_workers"}
"""These work on what there is; they are given nothing that could be refused."""

WRONG: dict[str, object] = {
    "nothing": None,
    "no text": "",
    "U+0000": "a\0b",
    "a name that nobody knows": "NO_SUCH",
    "a long text": "x" * 20_000,
    "a number": 7,
    "a negative number": -1,
    "a huge number": 2**70,
    "a list": ["a"],
    "an object": {"no": "such"},
}


class Spoiled:
    """An app whose method is called with one argument replaced, for a tenant nobody knows."""

    def __init__(self, door: object, tenant: str, place: int, value: object) -> None:
        self._door, self._tenant, self._place, self._value = door, tenant, place, value

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._door, name)
        if callable(part):
            return partial(self._call, part)
        return Spoiled(part, self._tenant, self._place, self._value)

    def _call(self, method: Callable[..., object], *positional: Any, **named: Any) -> object:
        names = [*range(len(positional)), *named]
        if self._place >= len(names):
            raise AllSpoiled
        given = {**dict(enumerate(positional)), **named}
        told = {name: self._tenant if one == "acme" else one for name, one in given.items()}
        told[names[self._place]] = self._value
        ordered = [told.pop(place) for place in range(len(positional))]
        return method(*ordered, **told)


class AllSpoiled(Exception):
    """The call has no argument at this place."""


def spoiled(name: str, place: int) -> Iterator[tuple[str, Call]]:
    """Calls of a method with one argument wrong in each way, and what is wrong."""
    for number, (what, value) in enumerate(WRONG.items()):
        tenant = f"tenant-{place}-{number}"
        yield what, lambda app, t=tenant, v=value: CALLS[name](Spoiled(app, t, place, v))


@pytest.fixture
def app(place: Place) -> Iterator[App]:
    with App(place.url, migrate=False) as app:
        app.proposer()(lambda _asked: Proposal(steps("meet")))
        yield app


@pytest.mark.parametrize("name", sorted(CALLS.keys() - APART))
def test_a_wrong_argument_changes_nothing(app: App, place: Place, name: str) -> None:
    with stored_at(place) as stored, suppress(AllSpoiled):
        before = stored.rows()
        for argument in count():
            for what, call in spoiled(name, argument):
                error = refusal_of(call, app)
                after = stored.rows()
                if error is not None:
                    assert difference(before, after) == {}, (argument, what, error)
                before = after


def refusal_of(call: Call, app: App) -> Exception | None:
    try:
        call(app)
    except AllSpoiled:
        raise
    except Exception as error:
        return error
    return None


def steps(*names: str) -> list[dict[str, str]]:
    return [{"step_id": name, "action_type": MEET} for name in names]


def proposing(app: App, plan_type: str, *actions: str) -> object:
    app.proposer()(lambda _asked: Proposal([{"action_type": name} for name in actions]))
    return app.plans.propose("acme", "a", plan_type)


def reserving(app: App, **changes: Any) -> object:
    given = {"model": "standard", "estimated_input_tokens": 1, "max_output_tokens": 1}
    return app.reserve_turn("acme", **{"request_id": "r", **given, **changes})


def sinking(app: App, name: str = "billing", **changes: Any) -> object:
    return app.sink(name, **{"topic": "orders", "url": HOOK, "tenant_id": "acme", **changes})


def scheduling(app: App, **changes: Any) -> object:
    given = {"trigger_type": "SIGNAL_ARRIVED", "cron": "0 9 * * *"}
    return app.schedule("acme", "daily", **{**given, **changes})


REFUSED: dict[str, Call] = {
    "plan: unknown type": lambda app: app.plans.create("acme", "a", "NO_SUCH_TYPE", [MEET]),
    "plan: unknown action": lambda app: app.plans.create("acme", "a", KIND, ["NO_SUCH"]),
    "plan: no steps": lambda app: app.plans.create("acme", "a", KIND, []),
    "plan: one step id twice": lambda app: app.plans.create("acme", "a", KIND, steps("x", "x")),
    "plan: a past that it ends in": lambda app: app.plans.create(
        "acme", "a", KIND, [MEET], expires_at="2001-01-01T00:00:00Z"
    ),
    "plan: a step that waits for none": lambda app: app.plans.create(
        "acme", "a", KIND, [{"action_type": MEET, "after": ["nobody"]}]
    ),
    "proposal: unknown type": lambda app: proposing(app, "NO_SUCH_TYPE", MEET),
    "proposal: only unknown actions": lambda app: proposing(app, KIND, "NO_SUCH"),
    "proposal: no steps": lambda app: proposing(app, KIND),
    "turn: unknown model": lambda app: reserving(app, model="oracle"),
    "turn: negative tokens": lambda app: reserving(app, max_output_tokens=-1),
    "turn: bad id": lambda app: reserving(app, turn_id="a b"),
    "tenant: unknown tier": lambda app: app.tenants.set("acme", tier="golld"),
    "sink: a topic of ours that is none": lambda app: sinking(app, topic="decision.defered"),
    "sink: a URL of no kind": lambda app: sinking(app, url="ftp://example.com/"),
    "sink: an address inside": lambda app: sinking(app, url="http://127.0.0.1/"),
    "sink: a short secret": lambda app: sinking(app, secret="x"),
    "schedule: no hour": lambda app: scheduling(app, cron="0 25 * * *"),
    "schedule: no zone": lambda app: scheduling(app, timezone="Moon"),
    "schedule: no way to catch up": lambda app: scheduling(app, catch_up="never"),
    "budget: a negative cap": lambda app: app.set_pull_budget("acme", 5, {"crm": -1}),
    "pull: no depth": lambda app: app.pull("acme", "a", "crm", depth="ABYSS"),
    "signals: the second is wrong": lambda app: app.signal_many(
        "acme", [{"account_id": "a", "type": "mail"}, {"account_id": "a"}]
    ),
    "triggers: the second is wrong": lambda app: app.trigger_many(
        "acme", [EVENT, {**EVENT, "account_id": ""}]
    ),
    "report: of nobody": lambda app: app.generate_report("_system"),
    "switch: no scope": lambda app: app.kill("moon", reason="r", tenant_id="acme"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_a_refused_call_changes_nothing(app: App, place: Place, call: Call) -> None:
    """Also what only the policy, read under the tenant's lock, refuses."""
    with stored_at(place) as stored:
        before = stored.rows()
        with pytest.raises(Invalid):
            call(app)
        assert difference(before, stored.rows()) == {}


RIGHT: dict[str, Call] = {
    "plan": lambda app: app.plans.create("acme", "a", KIND, [MEET]),
    "proposal": lambda app: app.plans.propose("acme", "a", KIND),
    "turn": reserving,
    "sink": sinking,
    "schedule": scheduling,
    "tenant": lambda app: app.tenants.set("acme", name="Acme"),
    "budget": lambda app: app.set_pull_budget("acme", 5),
    "pull": lambda app: app.pull("acme", "a", "crm"),
    "signal": lambda app: app.signal("acme", "a", "mail"),
    "trigger": lambda app: app.trigger_many("acme", [EVENT]),
    "account": lambda app: app.account("acme", "a", posture="warm"),
    "report": lambda app: app.generate_report("acme"),
}


@pytest.mark.parametrize("call", RIGHT.values(), ids=RIGHT)
def test_the_first_use_makes_the_tenant(app: App, call: Call) -> None:
    """Many at once make one."""
    with ThreadPoolExecutor(4) as threads:
        done = [threads.submit(refusal_of, call, app) for _ in range(4)]
    assert all(one.result() is None or isinstance(one.result(), Conflict) for one in done)
    assert [tenant.tenant_id for tenant in app.tenants.list()] == ["acme"]
    assert_verified(app.db)
