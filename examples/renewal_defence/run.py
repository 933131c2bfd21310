"""From a signal to a completed plan, on a virtual clock: days pass in seconds.

It exits with 1 if anything went otherwise than it should.
"""

from __future__ import annotations

import sys

from agent import World, install

from watchkeeper import App

TENANT, ACCOUNT = "acme", "northwind"


def main() -> int:
    app = App("sqlite://", virtual_clock=True)
    world = World()
    install(app, world)
    try:
        return carry_out(app, world)
    finally:
        app.close()


def carry_out(app: App, world: World) -> int:
    app.signal(TENANT, ACCOUNT, "login.seen")
    app.clock.advance(minutes=2)
    for type in ("usage.dropped", "support.escalated"):
        app.signal(TENANT, ACCOUNT, type)
    app.clock.advance(minutes=10)  # one run for both, when the cooldown of the first is over

    [plan] = app.plans.list(TENANT)
    say(f"the agent proposes {len(plan.steps)} steps: {plan.status}")
    app.plans.approve(plan.plan_id, by="ann@acme.example")
    app.clock.advance(minutes=2)
    say(f"approved, but held back: {app.plans.get(plan.plan_id).reason}")

    app.plans.tell(plan.plan_id, {"renewal_date": "2030-06-30"})
    app.drain()
    say(f"begun: {app.plans.why(plan.plan_id).waits_for.split(' and ')[0]}")
    app.clock.advance(minutes=2)

    [asked] = app.intents.list(TENANT, status="PENDING_APPROVAL")
    say(f"asked of a person: {asked.action_type}, because {asked.explanation}")
    app.clock.advance(hours=20)
    app.intents.approve(asked.intent_id, by="ann@acme.example")
    app.drain()

    done = app.plans.get(plan.plan_id)
    say(f"the plan is {done.status}: {done.completion_reason}")
    for step in done.steps:
        say(f"  {step.step_id}: {step.status} after {step.attempts} attempt(s)")
    went_well = (
        done.status == "COMPLETED"
        and [step.attempts for step in done.steps] == [2, 1, 1]
        and (len(world.meetings), len(world.briefs), len(world.escalations)) == (1, 1, 1)
    )
    return 0 if went_well else 1


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
