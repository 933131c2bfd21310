"""`plans` and `intents`: acting, with the answers of every other door."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import WRONG, CommandLine
from tests.databases import Clock, Place
from watchkeeper.act_results import Action, Outcome
from watchkeeper.app import App

pytestmark = pytest.mark.req("U-20", "U-21")

ACME = ("--tenant", "acme")
KIND = "RENEWAL_DEFENSE"
MEET, BRIEF = "REQUEST_RENEWAL_MEETING", "PREP_RENEWAL_BRIEF"
CREATE = ("plans", "create", *ACME, "--account", "a", "--type", KIND)


@pytest.fixture
def app(place: Place, clock: Clock) -> Iterator[App]:
    """Whoever carries the actions out; their outcome is told later."""
    app = App(place.url, migrate=False)

    @app.action(MEET)
    def meet(action: Action) -> Outcome:
        return Outcome.later()

    yield app
    app.close()


def started(wk: CommandLine, *steps: str) -> tuple[str, str]:
    """An active plan and its first intent."""
    words = [word for step in steps or (MEET, BRIEF) for word in ("--step", step)]
    plan_id = wk.json(*CREATE, *words)["plan_id"]
    wk("plans", "approve", plan_id)
    wk("plans", "cycle")
    [asked] = wk.json("intents", "list", "--plan", plan_id)["items"]
    return plan_id, asked["intent_id"]


@pytest.mark.req("A-02", "A-13")
def test_a_plan_is_written_shown_listed_and_edited(wk: CommandLine, tmp_path: Path) -> None:
    assert wk("plans", "list").stdout == "There are no plans.\n"
    goal = ("--objective", "keep them", "--expires-at", "2030-01-09T00:00:00Z")
    facts = ("--fact", "days=30", "--fact", "owner=kim")
    made = wk.json(*CREATE, "--step", MEET, "--step", BRIEF, *goal, *facts)
    assert (made["status"], made["objective"]) == ("DRAFT", "keep them")
    assert made["facts"] == {"days": 30, "owner": "kim"}
    assert made["created_by"] == "command line"
    plan_id = made["plan_id"]
    assert wk.json("plans", "show", plan_id) == made
    assert wk.json("plans", "list", *ACME, "--status", "DRAFT")["items"] == [made]
    assert wk.json("plans", "list", "--account", "b")["items"] == []
    table = wk("plans", "list").stdout
    for word in (plan_id, "DRAFT", "0/2"):
        assert word in table
    file = tmp_path / "plan.json"
    body = {"account_id": "a", "plan_type": KIND, "steps": [{"action_type": BRIEF}]}
    file.write_text(json.dumps(body))
    edited = wk.json("plans", "edit", plan_id, "--file", str(file), "--by", "ann")
    assert (edited["version"], len(edited["steps"])) == (2, 1)
    told = wk("plans", "show", plan_id).stdout
    for word in ("PENDING", BRIEF, "expires_at"):
        assert word in told
    kinds = [row["kind"] for row in wk.json("plans", "ledger", plan_id)["items"]]
    assert kinds == ["PLAN_CREATED", "PLAN_UPDATED"]
    assert "PLAN_UPDATED" in wk("plans", "ledger", plan_id, *ACME).stdout
    wk("verify")
    assert plan_id in wk("accounts", "show", "a").stdout


@pytest.mark.req("A-01", "A-10")
def test_a_plan_is_approved_stopped_and_ended(wk: CommandLine, clock: Clock) -> None:
    plan_id, intent_id = started(wk)
    assert (
        f"Plan {plan_id} is PAUSED: away"
        in wk("plans", "pause", plan_id, "--reason", "away").stdout
    )
    assert "PAUSED" in wk("plans", "pause", plan_id, exits=WRONG).stderr
    assert f"Plan {plan_id} is ACTIVE." in wk("plans", "resume", plan_id, "--by", "ann").stdout
    done = wk.json("plans", "skip", plan_id, "step-1", "--reason", "by telephone")
    assert [step["status"] for step in done["steps"]] == ["SKIPPED", "PENDING_APPROVAL"]
    told = wk.json("plans", "tell", plan_id, "--fact", "renewed=true")
    assert told["facts"] == {"renewed": True}
    assert wk.json("plans", "abort", plan_id)["status"] == "ABORTED"
    assert wk.json("intents", "show", intent_id)["status"] == "CANCELLED"


@pytest.mark.req("A-08", "A-09", "A-10")
def test_intents_are_answered_and_ended(wk: CommandLine, app: App) -> None:
    assert wk("intents", "list").stdout == "There are no intents.\n"
    plan_id, first = started(wk)
    waiting = wk.json("intents", "list", *ACME, "--status", "PENDING_APPROVAL", "--action", MEET)
    assert [row["intent_id"] for row in waiting["items"]] == [first]
    assert "every action is asked for" in wk("intents", "list").stdout
    assert "no" in wk("intents", "outcome", first, "--succeeded", exits=WRONG).stderr
    assert f"Intent {first} is APPROVED." in wk("intents", "approve", first, "--by", "ann").stdout
    app.drain()
    assert "EXECUTING" in wk("intents", "show", first).stdout
    done = wk.json("intents", "outcome", first, "--succeeded", "--detail", "met")
    assert (done["status"], done["counted"], done["detail"]) == ("SUCCEEDED", True, "met")
    late = wk("intents", "outcome", first, "--failed").stdout
    assert "It came late" in late
    [second] = wk.json("intents", "list", "--status", "PENDING_APPROVAL")["items"]
    rejected = wk.json("intents", "reject", second["intent_id"], "--reason", "no")
    assert rejected["status"] == "REJECTED"
    assert wk.json("plans", "show", plan_id)["status"] == "PAUSED"


@pytest.mark.req("A-13")
def test_why_says_on_one_screen_what_is_waited_for_and_what_to_type(
    wk: CommandLine, app: App
) -> None:
    plan_id, intent_id = started(wk)

    def why() -> str:
        told = wk("plans", "why", plan_id).stdout
        assert len(told.splitlines()) <= 40
        return told

    waits = why()
    assert "waits for an approval until" in waits
    assert f"watchkeeper intents approve {intent_id}" in waits
    assert "STEP_STARTED" in waits
    [first] = [one["command"] for one in wk.json("plans", "why", plan_id)["can"]][:1]
    wk(*first.split()[1:])
    app.drain()
    runs = why()
    assert f"watchkeeper intents outcome {intent_id} --succeeded" in runs
    wk("intents", "outcome", intent_id, "--failed")
    assert "tried again in 0:01:00" in why()
    wk("plans", "pause", plan_id, "--reason", "a holiday")
    assert f"watchkeeper plans resume {plan_id}" in why()
    wk("plans", "abort", plan_id)
    assert "Nothing is left to do" in why()


@pytest.mark.req("A-14")
def test_the_proposer_of_an_app_is_asked(
    wk: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "agents_of_plans", raising=False)  # of the other engine
    asked = ("plans", "propose", *ACME, "--account", "a", "--type", KIND)
    assert "no proposer" in wk(*asked, exits=WRONG).stderr
    (tmp_path / "agents_of_plans.py").write_text(
        "from watchkeeper import App\n"
        "app = App('sqlite://')\n"
        "@app.proposer()\n"
        "def propose(asked):\n"
        "    steps = [{'action_type': name} for name in asked.allowed_actions]\n"
        "    return {'steps': steps, 'objective': asked.context['why']}\n"
    )
    named = ("--app", "agents_of_plans:app", "--context", '{"why": "they look away"}')
    made = wk.json(*asked, *named)
    assert (made["status"], made["objective"]) == ("DRAFT", "they look away")
    assert len(made["steps"]) == 3


@pytest.mark.req("T-10")
def test_plans_and_intents_are_explained_by_their_ids(wk: CommandLine, app: App) -> None:
    plan_id, intent_id = started(wk)
    told = wk.json("explain", plan_id)
    assert told == app.plans.explain(plan_id).to_json() == wk.json("explain", plan_id, *ACME)
    assert told["explained"]["result"] == "ACTIVATED"
    told = wk.json("explain", intent_id.upper())
    assert told == app.intents.explain(intent_id).to_json()
    words = wk("explain", intent_id).stdout
    for part in ("REQUIRE_APPROVAL", "asks_for_each", "autonomy.mode", "smallest change"):
        assert part in words
    refused = wk("explain", plan_id, "--tenant", "bolt", exits=WRONG).stderr
    assert "was refused" in refused


@pytest.mark.req("A-11")
def test_a_cycle_says_what_it_did(wk: CommandLine) -> None:
    plan_id = wk.json(*CREATE, "--step", MEET)["plan_id"]
    wk("plans", "approve", plan_id)
    counts = wk.json("plans", "cycle", *ACME)
    assert counts == {
        "activated": 1, "steps_started": 1, "completed": 0, "expired": 0, "paused": 0,
    }  # fmt: skip
    assert "activated" in wk("plans", "cycle").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plans", "show", "nothing"), "no plan nothing"),
        (("plans", "why", "nothing", *ACME), "no plan nothing"),
        (("intents", "show", "nothing"), "no intent nothing"),
        (("intents", "list", "--plan", "nothing"), "no plan nothing"),
        (("plans", "list", "--status", "draft"), "--status"),
        (("intents", "list", "--status", "DONE"), "--status"),
        (CREATE, "steps"),
        (CREATE[:-2], "plan_type"),
        ((*CREATE, "--step", "send money"), "steps[0].action_type"),
        ((*CREATE, "--step", MEET, "--fact", "x"), "--fact"),
        ((*CREATE, "--step", MEET, "--expires-at", "soon"), "expires_at"),
        ((*CREATE, "--file", "plan.json"), "--file"),
        (("plans", "create", *ACME, "--file", "no-such.json"), "--file"),
        (("plans", "tell", "nothing"), "--fact"),
        (("plans", "skip", "nothing", "step-1"), "--reason"),
        (("plans", "propose", *ACME, "--account", "a", "--type", KIND, "--context", "["), "JSON"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_said(wk: CommandLine, words: tuple[str, ...], said: str) -> None:
    assert said in wk(*words, exits=WRONG).stderr
