"""Plan types: which steps they take, what holds a plan back, what is left of a proposal."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.approvals import Autonomy, Risk
from watchkeeper.core.plan_types import (
    STEPS_MAX,
    ActRules,
    GateFacts,
    Held,
    Mistake,
    PlanType,
    check_steps,
    may_activate,
    sanitised,
)
from watchkeeper.core.plans import Start, Step, StepStatus, next_step, order_of
from watchkeeper.core.time import Instant

KIND = PlanType(name="DEFEND", actions={"MEET": 1, "BRIEF": 2, "ESCALATE": 3, "NOTE": 0})


def steps(*told: str, **more: object) -> list[Step]:
    """`a:MEET`, or `b:BRIEF@1<a,c` for a sequence and dependencies."""
    made = []
    for place, one in enumerate(told):
        one, _, needs = one.partition("<")
        one, _, sequence = one.partition("@")
        name, action = one.split(":")
        needed = tuple(needs.split(",")) if needs else ()
        made.append(Step(name, action, place, int(sequence or place + 1), needed))
    return made


def mistakes(*told: str) -> list[Mistake]:
    return check_steps(KIND, "DEFEND", steps(*told))


# -- what a plan may consist of ----------------------------------------------------------------


@pytest.mark.req("A-02")
@pytest.mark.parametrize(
    "told",
    [
        pytest.param(["a:MEET"], id="one step"),
        pytest.param(["a:MEET", "b:BRIEF", "c:ESCALATE"], id="in order"),
        pytest.param(["a:BRIEF", "b:ESCALATE"], id="not all of them"),
        pytest.param(["a:MEET", "b:MEET"], id="one of them twice"),
        pytest.param(["a:BRIEF@2", "b:MEET@1"], id="the sequence counts, not the list"),
        pytest.param(["a:MEET@1", "b:BRIEF@1"], id="ties go by the list"),
        pytest.param(["a:ESCALATE", "b:NOTE"], id="one without a place comes anywhere"),
        pytest.param(["a:NOTE", "b:MEET", "c:NOTE", "d:BRIEF"], id="and in between"),
        pytest.param(["a:MEET", "b:BRIEF<a"], id="depends on the one before"),
        pytest.param(["b:BRIEF@2<a", "a:MEET@1"], id="that stands behind it in the list"),
        pytest.param(["a:NOTE", "b:NOTE<a", "c:NOTE<a,b"], id="on two"),
        pytest.param([f"s{n}:NOTE" for n in range(STEPS_MAX)], id="as many as there may be"),
    ],
)
def test_a_plan_may_be_of_these(told: list[str]) -> None:
    assert mistakes(*told) == []


@pytest.mark.req("A-02")
@pytest.mark.parametrize(
    ("told", "place", "words"),
    [
        pytest.param([], "steps", "at least one", id="no steps"),
        pytest.param([f"s{n}:NOTE" for n in range(101)], "steps", "at most 100", id="too many"),
        pytest.param(["a:DANCE"], "steps[0].action_type", "may not DANCE", id="an unknown action"),
        pytest.param(["a:MEET", "a:BRIEF"], "steps[1].step_id", "of another", id="one id twice"),
        pytest.param(
            ["a:MEET", "b:BRIEF<x"], "steps[1].dependencies[0]", "no step x", id="unknown need"
        ),
        pytest.param(["a:MEET<a"], "steps[0].dependencies[0]", "itself", id="needs itself"),
        pytest.param(
            ["a:NOTE<b", "b:NOTE<a"], "steps[0].dependencies[0]", "later", id="a circle of two"
        ),
        pytest.param(
            ["a:NOTE<c", "b:NOTE<a", "c:NOTE<b"], "steps[0].dependencies[0]", "later", id="of three"
        ),
        pytest.param(
            ["a:NOTE", "b:NOTE<a,c", "c:NOTE"], "steps[1].dependencies[1]", "later", id="the 2nd"
        ),
        pytest.param(["a:BRIEF", "b:MEET"], "steps[1].sequence", "earlier", id="out of order"),
        pytest.param(
            ["a:MEET@5", "b:BRIEF@4"], "steps[0].sequence", "earlier", id="by their sequence"
        ),
        pytest.param(
            ["a:ESCALATE", "b:NOTE", "c:MEET"],
            "steps[2].sequence",
            "earlier",
            id="with one between",
        ),
    ],
)
def test_a_plan_may_not_be_of_these(told: list[str], place: str, words: str) -> None:
    found = mistakes(*told)
    assert [mistake for mistake in found if mistake.place == place and words in mistake.message]


@pytest.mark.req("A-02")
def test_every_mistake_is_named_at_once() -> None:
    found = mistakes("a:DANCE", "a:BRIEF<x", "c:MEET<c")
    assert [one.place for one in found] == [
        "steps[0].action_type",
        "steps[1].step_id",
        "steps[1].dependencies[0]",
        "steps[2].dependencies[0]",
        "steps[2].sequence",
    ]
    assert check_steps(None, "NOPE", steps("a:MEET")) == [
        Mistake("plan_type", "there is no plan type NOPE")
    ]


any_steps = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.sampled_from(["MEET", "BRIEF", "ESCALATE", "NOTE", "DANCE"]),
        st.integers(0, 3),
        st.lists(st.sampled_from("abcde"), max_size=2),
    ),
    max_size=6,
).map(lambda rows: [Step(i, a, n, s, tuple(d)) for n, (i, a, s, d) in enumerate(rows)])


def can_be_carried_out(given: list[Step]) -> list[str]:
    """Every step succeeds; the order in which they are started."""
    left, order = list(given), []
    for _ in given:
        match next_step(left, Instant(0), attempts_max=1, skipped_counts=False):
            case Start(step=one):
                done = {s.step_id for s in left if s.status is StepStatus.DONE}
                assert set(one.dependencies) <= done, "its dependencies are done"
                order.append(one.step_id)
                left = [
                    s._replace(status=StepStatus.DONE) if s.step_id == one.step_id else s
                    for s in left
                ]
    return order


@pytest.mark.req("A-02", "A-07")
@given(any_steps)
def test_what_is_accepted_can_be_carried_out_in_the_order_of_its_type(given) -> None:
    if check_steps(KIND, "DEFEND", given):
        return
    order = can_be_carried_out(given)
    assert len(order) == len(given)
    actions = {step.step_id: KIND.actions[step.action_type] for step in given}
    places = [actions[name] for name in order if actions[name]]
    assert places == sorted(places)


# -- the gate ------------------------------------------------------------------------------------

GATED = PlanType(
    name="DEFEND",
    actions={"MEET": 1, "BRIEF": 2},
    required_facts=frozenset({"renewal_at", "owner"}),
    blocked_postures=frozenset({"CHURNED"}),
    needs_person=True,
)
RISKS = {"MEET": Risk.LOW, "BRIEF": Risk.MEDIUM}
FINE = GateFacts(frozenset({"renewal_at", "owner", "more"}), "OK", None, "ann", True)
TWO = steps("a:MEET", "b:BRIEF")


def gate(of: GateFacts = FINE, given=TWO, kind: PlanType | None = GATED, most: Risk = Risk.HIGH):
    types = {} if kind is None else {"DEFEND": kind}
    rules = ActRules(types=types, autonomy=Autonomy(risk_max=most))
    return may_activate(rules, "DEFEND", given, RISKS, of)


@pytest.mark.req("A-03")
def test_nothing_stands_in_the_way() -> None:
    assert gate().can_activate
    assert gate().obstacles == ()
    assert gate(FINE._replace(posture=None)).can_activate


H = Held
ALONE = {
    "conflict": (H.CONFLICT_ACTIVE_PLAN, {"of": FINE._replace(conflict="p9")}, "p9"),
    "a fact": (H.PRECONDITIONS_UNMET, {"of": FINE._replace(facts=frozenset({"owner"}))}, "renewal"),
    "no approval": (H.PRECONDITIONS_UNMET, {"of": FINE._replace(approved_by=None)}, "nobody"),
    "a posture": (H.PRECONDITIONS_UNMET, {"of": FINE._replace(posture="CHURNED")}, "CHURNED"),
    "risk": (H.RISK_ELEVATED, {"most": Risk.LOW}, "BRIEF is of medium risk"),
    "no such type": (H.INVALID_PLAN_TYPE, {"kind": None}, "DEFEND"),
    "order": (H.STEP_ORDER_VIOLATION, {"given": steps("a:BRIEF", "b:MEET")}, "b (MEET)"),
    "a person": (H.HUMAN_TOUCH_REQUIRED, {"of": FINE._replace(approved_by_person=False)}, "person"),
}


@pytest.mark.req("A-03")
@pytest.mark.parametrize("name", ALONE)
def test_each_reason_alone(name: str) -> None:
    reason, told, words = ALONE[name]
    found = gate(**told)
    assert not found.can_activate
    assert [one.reason for one in found.obstacles] == [reason]
    assert words in found.obstacles[0].explanation


@pytest.mark.req("A-03")
def test_an_action_that_the_type_no_longer_has() -> None:
    found = gate(kind=PlanType(name="DEFEND", actions={"MEET": 1}))
    assert [one.reason for one in found.obstacles] == [Held.INVALID_PLAN_TYPE]
    assert "may no longer BRIEF" in found.obstacles[0].explanation


@pytest.mark.req("A-03")
def test_an_action_of_unknown_risk_is_of_high_risk() -> None:
    kind = PlanType(name="DEFEND", actions={"DANCE": 0})
    assert gate(given=steps("a:DANCE"), kind=kind, most=Risk.HIGH).can_activate
    found = gate(given=steps("a:DANCE"), kind=kind, most=Risk.MEDIUM)
    assert [one.reason for one in found.obstacles] == [Held.RISK_ELEVATED]


@pytest.mark.req("A-03")
@pytest.mark.parametrize("names", list(itertools.combinations(ALONE, 2)), ids=" and ".join)
def test_reasons_together(names: tuple[str, str]) -> None:
    """Of any two, both are told."""
    of, told = FINE, {}
    for name in names:
        one = dict(ALONE[name][1])
        changed = one.pop("of", None)
        if changed is not None:
            differing = {k: v for k, v in changed._asdict().items() if v != FINE._asdict()[k]}
            of = of._replace(**differing)
        told |= one
    reasons = {one.reason for one in gate(of, **told).obstacles}
    expected = {ALONE[name][0] for name in names}
    if "no such type" in names:  # of which nothing else is known
        expected &= {Held.INVALID_PLAN_TYPE, Held.CONFLICT_ACTIVE_PLAN}
    assert reasons == expected


# -- proposals -----------------------------------------------------------------------------------


@pytest.mark.req("A-14")
@pytest.mark.parametrize(
    ("told", "kept", "dropped"),
    [
        pytest.param(["a:MEET", "b:BRIEF"], "ab", 0, id="all of it is allowed"),
        pytest.param(["a:DANCE", "b:BRIEF"], "b", 1, id="what is not allowed goes"),
        pytest.param(["a:DANCE"], "", 1, id="nothing may be left"),
        pytest.param(["a:BRIEF", "b:MEET"], "ba", 0, id="it is put in order"),
        pytest.param(["a:MEET", "a:BRIEF"], "a", 1, id="an id is used once"),
        pytest.param(["a:MEET<b", "b:BRIEF<a"], "ab", 0, id="a circle is cut"),
        pytest.param(["a:MEET<x", "b:BRIEF<b"], "ab", 0, id="needs that nothing can meet are cut"),
        pytest.param([f"s{n}:NOTE" for n in range(103)], None, 3, id="more than there may be"),
    ],
)
def test_what_is_left_of_a_proposal(told: list[str], kept: str | None, dropped: int) -> None:
    found = sanitised(KIND, steps(*told))
    order = [step.step_id for step in sorted(found.steps, key=order_of)]
    assert order == ([f"s{n}" for n in range(STEPS_MAX)] if kept is None else list(kept))
    assert len(found.dropped) == dropped


@pytest.mark.req("A-14")
@given(any_steps)
def test_what_is_left_is_valid_and_nothing_that_was_allowed_is_lost(given) -> None:
    found = sanitised(KIND, given)
    assert len(found.steps) + len(found.dropped) == len(given)
    assert {step.action_type for step in found.steps} <= KIND.actions.keys()
    if found.steps:
        assert check_steps(KIND, "DEFEND", found.steps) == []
    allowed = {step.step_id for step in given if step.action_type in KIND.actions}
    assert {step.step_id for step in found.steps} == allowed
    assert [step.position for step in found.steps] == list(range(len(found.steps)))
    again = sanitised(KIND, found.steps)
    assert (again.steps, again.dropped) == (found.steps, ())
