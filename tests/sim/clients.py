"""What clients want: deeds by name, and the lists of wants that a seed draws for each feature."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.sim.places import ACTIONS, CONNECTOR, COOLDOWN_SECONDS, KIND
from tests.sim.world import World
from watchkeeper import App
from watchkeeper.actions import claim_messages
from watchkeeper.actions.keep_desk import redrive_messages
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY, SECOND
from watchkeeper.errors import LeaseLost
from watchkeeper.store import outbox
from watchkeeper.store.connectors import Connector
from watchkeeper.store.outbox import NAMESPACE, NewMessage
from watchkeeper.store.outbox_desk import Filter

Wants = list[tuple[Any, ...]]

SIGNAL = "SIGNAL_ARRIVED"
LEADS = (1.5, 1.5, 1.0, 0.5, 0.0)
"""Seconds before a cooldown ends. The gate goes by whole seconds, so one of them is the last."""

OFFSETS = (-0.3, 0.0, 0.2, 0.9)
"""Seconds after midnight."""


def _pause(world: World, _app: App, seconds: float) -> None:
    world.baton.sleep(seconds, "pause")


def _trigger(world: World, app: App, tenant: str, account: str, key: str) -> None:
    found = app.trigger(tenant, account, SIGNAL, idempotency_key=key)
    world.seen.verdicts.append((f"{tenant}/{key}", found))


def _edge(world: World, app: App, tenant: str, account: str, key: str, lead: float) -> None:
    """A trigger so many seconds before the account's cooldown ends, or right then."""
    rows = world.site.ask(
        "select max(at) from ledger where result = 'ALLOW'"
        f" and tenant_id = '{tenant}' and subject = '{account}'"
    )
    ends_at = (rows[0][0] or 0) + COOLDOWN_SECONDS * SECOND
    wait = (ends_at - world.baton.now) / SECOND - lead
    if wait > 0:
        world.seen.counts["edge of a cooldown"] += 1
        world.baton.sleep(wait, "edge")
    _trigger(world, app, tenant, account, key)


def _midnight(world: World, _app: App, offset: float) -> None:
    """Until so many seconds after the next midnight, or before it."""
    left = (DAY - world.baton.now % DAY) / SECOND + offset
    world.baton.sleep(max(left, 0.001), "midnight")


def _signal(world: World, app: App, tenant: str, account: str, key: str) -> None:
    found = app.signal(tenant, account, "mail", signal_id=key)
    world.seen.verdicts.append((f"{tenant}/{key}", found.verdict))


def _posture(_world: World, app: App, tenant: str, account: str, posture: str) -> None:
    app.account(tenant, account, posture=posture)


def _kill(_world: World, app: App, scope: str, name: str | None, on: bool) -> None:
    app.kill(scope, name, reason="simulation", tenant_id="acme", on=on)


def _reserve(_world: World, app: App, tenant: str, turn: str, model: str) -> None:
    app.reserve_turn(
        tenant,
        request_id=f"r-{turn}",
        turn_id=turn,
        model=model,
        estimated_input_tokens=100,
        max_output_tokens=100,
        user_id="u",
    )


def _progress(_world: World, app: App, tenant: str, turn: str) -> None:
    app.progress_turn(tenant, turn)


def _finalize(_world: World, app: App, tenant: str, turn: str, outcome: str, used: int) -> None:
    usage = {"input_tokens": used, "output_tokens": used} if used else None
    app.finalize_turn(tenant, turn, outcome=outcome, started=True, usage=usage)


def _pull(world: World, app: App, tenant: str, account: str, depth: str, key: str) -> None:
    answer = app.pull(tenant, account, CONNECTOR, depth, pull_job_id=key)
    world.seen.pulls.append((key, answer))


def _look(_world: World, app: App) -> None:
    register_connector(app.db, Connector("web", has_cadence=True))


def _write(world: World, app: App, tenant: str, key: str, topic: str) -> None:
    new = NewMessage(topic, f'{{"key": "{key}"}}', dedupe_key=key)
    with app.db.begin(TenantId(tenant)) as tx:
        [id] = outbox.enqueue(tx, [new])
    world.seen.letters.add(id)


def _clerk(world: World, app: App, how: str, seconds: float) -> None:
    """A worker of somebody's own: it claims, maybe renews, and says how it went."""
    held = claim_messages.claim(app.db, app.registry, NAMESPACE, "letters", 2)
    for message, token in held:
        given = (app.db, app.registry, message.id, token)
        world.seen.calls["letter", message.id] += 1
        try:
            world.baton.sleep(seconds, "clerk")
            if how == "renew":
                claim_messages.renew(*given)
                world.baton.sleep(seconds, "clerk")
            if how == "nack":
                claim_messages.nack(*given, "no")
            elif how == "release":
                claim_messages.release(*given)
            else:
                claim_messages.ack(*given)
                world.seen.arrived[f"letter {message.id}"] += 1
        except LeaseLost:
            world.seen.counts["fenced"] += 1


def _redrive(world: World, app: App, tenant: str) -> None:
    wanted = Filter(topic="letters")
    found = redrive_messages(app.db, app.registry, TenantId(tenant), wanted, by="simulation")
    world.seen.counts["redriven"] += found


def _draft(world: World, app: App, tenant: str, account: str, steps: int) -> None:
    plan = app.plans.create(tenant, account, KIND, ACTIONS[:steps])
    world.seen.plans.append((tenant, plan.plan_id))


def _with_plan(world: World, app: App, deed: str, number: int) -> None:
    if not world.seen.plans:
        return
    tenant, plan_id = world.seen.plans[number % len(world.seen.plans)]
    match deed:
        case "skip":
            app.plans.skip(plan_id, "step-1", "enough", by="ann", tenant_id=tenant)
        case "approve":
            app.plans.approve(plan_id, by="ann", tenant_id=tenant)
        case _:
            getattr(app.plans, deed)(plan_id, by="ann", tenant_id=tenant)


def _answer(world: World, app: App, tenant: str, deed: str) -> None:
    """Say yes or no to what waits for it; or how what is under way went."""
    state = "EXECUTING" if deed == "report" else "PENDING_APPROVAL"
    for intent in app.intents.list(tenant, status=state):
        if deed == "report":
            well = world.rng.random() < 0.7
            app.intents.report(intent.intent_id, succeeded=well, tenant_id=tenant)
        elif deed == "yes":
            app.intents.approve(intent.intent_id, by="ann", tenant_id=tenant)
        else:
            app.intents.reject(intent.intent_id, by="ann", tenant_id=tenant)


def _schedule(_world: World, app: App, tenant: str) -> None:
    app.schedule(
        tenant, "s", trigger_type="TIME_RITUAL_DAILY_BRIEF", cron="*/10 * * * *", account_id="a"
    )


def _unschedule(_world: World, app: App, tenant: str) -> None:
    app.unschedule(tenant, "s")


DEEDS: dict[str, Callable[..., None]] = {
    "pause": _pause,
    "trigger": _trigger,
    "edge": _edge,
    "midnight": _midnight,
    "signal": _signal,
    "posture": _posture,
    "kill": _kill,
    "reserve": _reserve,
    "progress": _progress,
    "finalize": _finalize,
    "pull": _pull,
    "look": _look,
    "write": _write,
    "clerk": _clerk,
    "redrive": _redrive,
    "draft": _draft,
    "with plan": _with_plan,
    "answer": _answer,
    "schedule": _schedule,
    "unschedule": _unschedule,
}


def wants_of(world: World, feature: str) -> Iterator[tuple[str, Wants]]:
    """The clients of a feature, each with what it wants, in order."""
    yield from _DRAWN[feature](world)


def _spaced(world: World, wants: Wants, *pauses: float) -> Wants:
    found: Wants = []
    for want in wants:
        found.append(want)
        if world.rng.random() < 0.5:
            found.append(("pause", world.rng.choice(pauses)))
    return found


def _events(world: World) -> Iterator[tuple[str, Wants]]:
    draw = world.rng
    keys = [f"k{n}" for n in range(draw.choice((3, 5)))]
    account = {key: draw.choice("ab") for key in keys}
    for name in ("sender1", "sender2"):
        chosen = draw.sample(keys, len(keys))
        deed = draw.choice(("trigger", "signal"))
        yield name, _spaced(world, [(deed, "acme", account[k], k) for k in chosen], 2, 70, 1200)
    if draw.random() < 0.7:
        edges: Wants = [("pause", draw.choice((1, 8)))]
        for number in range(4):
            edges.append(("edge", "acme", draw.choice("aab"), f"e{number}", draw.choice(LEADS)))
        yield "edger", edges
    if draw.random() < 0.4:
        on, off = ("kill", "tenant", None, True), ("kill", "tenant", None, False)
        yield "switcher", [("pause", draw.choice((1, 30))), on, ("pause", 20), off]


def _turns(world: World) -> Iterator[tuple[str, Wants]]:
    draw = world.rng
    turns = [f"t{n}" for n in range(draw.choice((2, 4)))]
    model = {turn: draw.choice(("standard", "premium")) for turn in turns}
    for name in ("meter1", "meter2"):
        wants: Wants = []
        for turn in turns:
            wants.append(("reserve", "acme", turn, model[turn]))
            if draw.random() < 0.4:
                wants.append(("progress", "acme", turn))
            if draw.random() < 0.8:
                outcome = draw.choice(("completed", "failed", "cancelled"))
                wants.append(("finalize", "acme", turn, outcome, draw.choice((0, 20, 90))))
        yield name, _spaced(world, wants, 1, 110, 130)
    night: Wants = []
    for turn in ("n1", "n2"):
        night += [("midnight", draw.choice(OFFSETS)), ("reserve", "acme", turn, "standard")]
        night.append(("finalize", "acme", turn, draw.choice(("completed", "failed")), 20))
    if draw.random() < 0.5:
        yield "owl", night


def _pulls(world: World) -> Iterator[tuple[str, Wants]]:
    draw = world.rng
    keys = [f"p{n}" for n in range(draw.choice((3, 4)))]
    depth = {key: draw.choice(("SHALLOW", "SHALLOW", "DEEP")) for key in keys}
    for name in ("puller1", "puller2"):
        wants = [("pull", "acme", "a", depth[k], k) for k in draw.sample(keys, len(keys))]
        yield name, _spaced(world, wants, 1, 65, 43_200)


def _plans(world: World) -> Iterator[tuple[str, Wants]]:
    draw = world.rng
    deeds = ("pause", "resume", "abort", "skip", "resume", "approve")
    wants: Wants = []
    for number in range(draw.choice((1, 2, 3))):
        wants.append(("draft", "acme", draw.choice("aab"), draw.choice((1, 2, 3))))
        wants.append(("with plan", "approve", number))
    rest: Wants = [("with plan", draw.choice(deeds), draw.randrange(3)) for _ in range(3)]
    answers = [("answer", "acme", draw.choice(("yes", "report", "report", "no"))) for _ in range(4)]
    yield "planner", _spaced(world, wants, 1, 30)
    yield "boss", _spaced(world, [("pause", 1), *rest], 2, 60, 200)
    yield "answerer", _spaced(world, [("pause", 3), *answers], 5, 60, 320)


def _letters(world: World) -> Iterator[tuple[str, Wants]]:
    draw = world.rng
    keys = [f"l{n}" for n in range(draw.choice((2, 4)))]
    for name in ("writer1", "writer2"):
        wants = [("write", "acme", k, "letters") for k in draw.sample(keys, len(keys))]
        yield name, _spaced(world, wants, 1, 20)
    how = ("ack", "ack", "renew", "nack", "release")
    rounds = [("clerk", draw.choice(how), draw.choice((0.1, 20, 45))) for _ in range(3)]
    yield "clerk", _spaced(world, [("pause", 1), *rounds], 5, 60)
    if draw.random() < 0.5:
        yield "desk", [("pause", 200), ("redrive", "acme"), ("pause", 300), ("redrive", "acme")]


def _posts(world: World) -> Iterator[tuple[str, Wants]]:
    wants = [("write", tenant, f"x{n}", "posted") for tenant in ("acme", "beta") for n in (1, 2)]
    yield "poster", _spaced(world, wants, 1, 30)


def _looking(world: World) -> Iterator[tuple[str, Wants]]:
    draw = world.rng
    wants: Wants = [("look",), ("posture", "acme", "a", "EXPAND")]
    wants += [("signal", "acme", "a", f"hot{n}") for n in range(3)]
    yield "observer", _spaced(world, wants, 1, 400)
    other = draw.choice(("OK", "WATCH", "AT_RISK"))
    yield "rival", [("pause", draw.choice((1, 5))), ("posture", "acme", "a", other)]


def _calendar(world: World) -> Iterator[tuple[str, Wants]]:
    long = world.rng.choice((1_500, 4_000))
    yield "calendar", [("schedule", "acme"), ("pause", long), ("unschedule", "acme")]


_DRAWN: dict[str, Callable[[World], Iterator[tuple[str, Wants]]]] = {
    "events": _events,
    "turns": _turns,
    "pulls": _pulls,
    "plans": _plans,
    "letters": _letters,
    "posts": _posts,
    "looking": _looking,
    "calendar": _calendar,
}
