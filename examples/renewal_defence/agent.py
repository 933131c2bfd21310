"""An agent that defends renewals: what it decides, what it proposes, what it does.

No LLM is called here, so that it runs offline; the two places for one are marked. Whatever
stands there, it can only suggest: a person approves the plan, and each action that is not of
low risk.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from watchkeeper import Action, App, Asked, Decision, Outcome, Proposal, Run

KIND = "RENEWAL_DEFENSE"
WORRYING = ("usage.dropped", "support.escalated", "sponsor.left")

POLICY = """
[autonomy]
mode = "auto_low_risk"      # what is of low risk goes by itself, the rest is asked for
auto_per_day_max = 50

[plan_types.RENEWAL_DEFENSE.required_facts]
renewal_date = "yes"        # without it the plan stays approved and is not begun
"""


@dataclass
class World:
    """What the agent did to the world outside; a real one would call a calendar and a helpdesk."""

    meetings: list[str] = field(default_factory=list)
    briefs: list[str] = field(default_factory=list)
    escalations: list[str] = field(default_factory=list)
    is_calendar_up: bool = False


def install(app: App, world: World) -> None:
    """Give the app its handlers."""
    app.apply_policy(POLICY, reason="how far the agent may go by itself")

    @app.decision
    def look(run: Run) -> Decision:
        """Called once for an ALLOW, with the news since the last one."""
        # The place for an LLM: is this customer about to leave?
        worrying = [signal.type for signal in run.signals if signal.type in WORRYING]
        if len(worrying) < 2:
            return Decision(note="nothing to worry about")
        plan = {"plan_type": KIND, "steps": steps_for(worrying)}
        return Decision(note=f"worrying: {', '.join(worrying)}", plans=[plan])

    @app.proposer(KIND)
    def propose(asked: Asked) -> Proposal:
        """Asked for by a person who wants a plan now."""
        # The place for an LLM: what would help this customer?
        return Proposal(steps_for(list(asked.context.get("worrying", []))))

    @app.action("REQUEST_RENEWAL_MEETING", risk="low")
    async def request_meeting(action: Action) -> Outcome:
        if not world.is_calendar_up:
            world.is_calendar_up = True  # the next attempt finds it working
            return Outcome.failure("the calendar is down")
        world.meetings.append(action.idempotency_key)
        return Outcome.success("Tuesday at ten")

    @app.action("PREP_RENEWAL_BRIEF", risk="low")
    def write_brief(action: Action) -> Outcome:
        world.briefs.append(f"brief for {action.account_id}")
        return Outcome.success()

    @app.action("ESCALATE_SUPPORT_RISK", risk="medium")
    def escalate(action: Action) -> Outcome:
        world.escalations.append(action.account_id)
        return Outcome.success("the desk knows")

    @app.objective(KIND)
    def is_renewed(facts: dict[str, object]) -> bool:
        return facts.get("renewed") is True


def steps_for(worrying: list[str]) -> list[dict[str, object]]:
    """A meeting and a brief always; support where it is part of the trouble."""
    steps: list[dict[str, object]] = [
        {"step_id": "meeting", "action_type": "REQUEST_RENEWAL_MEETING"},
        {"step_id": "brief", "action_type": "PREP_RENEWAL_BRIEF", "dependencies": ["meeting"]},
    ]
    if "support.escalated" in worrying:
        steps.append({"step_id": "support", "action_type": "ESCALATE_SUPPORT_RISK"})
    return steps
