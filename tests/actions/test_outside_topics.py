"""Our own topics outside: runs that a webhook takes, and news for whoever listens to them."""

import json
from typing import Any

import pytest

from tests.databases import Clock, Place
from tests.messages import delivered, letter, live, one, put, rule
from tests.senders import Post
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.dispatch import dispatch_once, drain
from watchkeeper.actions.fire_triggers import fire_triggers
from watchkeeper.actions.report_outcome import Outcome, report_outcome
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.set_sink import NewSink, Terms, set_sink
from watchkeeper.actions.topics import register_decision, register_own
from watchkeeper.actions.views import view_decision
from watchkeeper.core.admission import Event
from watchkeeper.core.delivery import Guarantee
from watchkeeper.core.ids import SYSTEM, AccountId, DecisionId, TenantId
from watchkeeper.errors import Conflict
from watchkeeper.handlers.registry import Registry
from watchkeeper.handlers.results import Reject, Retry
from watchkeeper.store.database import Database

ACME = TenantId("acme")
RUN, DEFERRED, DEAD = "decision.evaluation_requested", "decision.deferred", "message.dead"
URL = "https://example.com/hook"


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def admission(db: Database, clock: Clock) -> Admission:
    return Admission(db, makes_tenants=True)


@pytest.fixture
def handlers(admission: Admission, post: Post) -> Registry:
    def rule_for(topic: str) -> Any:
        once = topic == RUN
        guarantee = Guarantee.AT_MOST_ONCE if once else Guarantee.AT_LEAST_ONCE
        return rule(guarantee=guarantee, max_attempts=1 if once else 2)

    made = Registry(rule_for)
    made.make_sender = post
    register_own(made, admission, "mini-chat")
    return made


def sink(db: Database, topic: str, tenant: TenantId = SYSTEM) -> None:
    set_sink(db, tenant, topic.replace(".", "-"), NewSink(topic, URL), Terms("test"))


def ask(admission: Admission, *keys: str, tenant: TenantId = ACME) -> list[DecisionId]:
    """Events of one account: the first is allowed, the second deferred."""
    kinds = ["SIGNAL_ARRIVED", "POSTURE_CHANGE"]
    events = [
        Event(AccountId("a"), kind, key, None, None, None)
        for kind, key in zip(kinds, keys, strict=False)
    ]
    return [d.decision_id for d in fire_triggers(admission, tenant, events)]


def topics(place: Place) -> list[str]:
    return sorted(row[0] for row in place.execute("select topic from outbox"))


# -- decision runs --------------------------------------------------------------------------


@pytest.mark.req("S-18", "D-05")
def test_a_run_that_a_webhook_took_is_running_until_its_outcome_is_reported(
    db: Database, place: Place, admission: Admission, handlers: Registry, post: Post
) -> None:
    called: list[Any] = []
    register_decision(handlers, called.append)
    [decision] = ask(admission, "k")
    sink(db, RUN)
    assert drain(db, handlers) == {"claimed": 1, "delivered": 1}
    assert called == []
    assert json.loads(post.sent[0][1].payload)["detail"]["decision_id"] == decision
    assert delivered(place) == [decision]
    run = view_decision(db, ACME, decision).run
    assert run is not None
    assert (run.state, run.ended_at) == ("RUNNING", None)
    report_outcome(db, ACME, decision, Outcome(True, "done"), "mini-chat")
    run = view_decision(db, ACME, decision).run
    assert run is not None
    assert (run.state, run.note) == ("SUCCEEDED", "done")
    with pytest.raises(Conflict):
        report_outcome(db, ACME, decision, Outcome(False), "mini-chat")


@pytest.mark.req("S-18", "D-05")
@pytest.mark.parametrize("answer", [Reject("answered 410"), Retry("answered 503")])
def test_a_run_that_was_not_taken_has_failed_and_is_not_sent_again(
    db: Database,
    place: Place,
    clock: Clock,
    admission: Admission,
    handlers: Registry,
    post: Post,
    answer: Exception,
) -> None:
    [decision] = ask(admission, "k")
    sink(db, RUN)
    post.answers[URL] = answer
    for _ in range(3):
        drain(db, handlers)
        clock.advance(hours=2)
    assert len(post.sent) == 1
    assert one(place, decision).status == "dead"
    run = view_decision(db, ACME, decision).run
    assert run is not None
    assert (run.state, run.error) == ("FAILED", str(answer))


@pytest.mark.req("S-18", "O-10")
@pytest.mark.parametrize("has_handler", [True, False], ids=["beside a handler", "alone"])
def test_a_kill_switch_is_seen_right_before_a_run_is_sent(
    db: Database,
    place: Place,
    admission: Admission,
    handlers: Registry,
    post: Post,
    has_handler: bool,
) -> None:
    if has_handler:
        register_decision(handlers, lambda _run: None)
    [decision] = ask(admission, "k")
    sink(db, RUN)
    set_kill_switch(db, ACME, "tenant", None, on=True, reason="stop", set_by="test")
    drain(db, handlers)
    assert post.sent == []
    stored = one(place, decision)
    assert (stored.status, stored.dead_reason) == ("dead", "KILL_SWITCH")


@pytest.mark.req("S-18")
def test_a_run_that_nobody_takes_is_only_requested(
    db: Database, place: Place, admission: Admission, handlers: Registry
) -> None:
    [decision] = ask(admission, "k")
    create_tenant(admission.db, TenantId("beta"))
    sink(db, RUN, TenantId("beta"))
    assert drain(db, handlers) == {"claimed": 1, "parked": 1}
    assert view_decision(db, ACME, decision).run is None
    assert (one(place, decision).status, one(place, decision).attempts) == ("pending", 0)


# -- notifications --------------------------------------------------------------------------


@pytest.mark.req("S-18", "D-13")
@pytest.mark.parametrize(
    ("listener", "is_heard"),
    [("nobody", False), ("handler", True), ("tenant", True), ("all", True), ("other", False)],
)
def test_a_deferral_is_told_where_somebody_listens(
    db: Database,
    place: Place,
    admission: Admission,
    handlers: Registry,
    listener: str,
    is_heard: bool,
) -> None:
    listen(db, admission, handlers, DEFERRED, listener)
    ask(admission, "k1", "k2")
    assert (DEFERRED in topics(place)) == is_heard
    assert "decision.retry" in topics(place)


@pytest.mark.req("S-18", "S-15")
@pytest.mark.parametrize(
    ("listener", "is_heard"),
    [("nobody", False), ("handler", True), ("tenant", True), ("all", True), ("other", False)],
)
def test_a_death_is_told_where_somebody_listens(
    db: Database,
    place: Place,
    admission: Admission,
    handlers: Registry,
    listener: str,
    is_heard: bool,
) -> None:
    listen(db, admission, handlers, DEAD, listener)
    handlers.handle("letters", _reject)
    [id] = put(db, letter())
    drain(db, handlers)
    assert one(place, id).status == "dead"
    told = place.execute(f"select tenant_id, payload from outbox where topic = '{DEAD}'")
    told += place.execute(f"select tenant_id, payload from outbox_delivered where topic = '{DEAD}'")
    assert len(told) == is_heard
    if is_heard:
        payload = told[0][1] if isinstance(told[0][1], dict) else json.loads(told[0][1])
        detail = payload["detail"]
        assert told[0][0] == "acme"
        assert payload["detail-type"] == "MESSAGE_DEAD"
        assert (detail["message_id"], detail["topic"]) == (id, "letters")
        assert (detail["reason"], detail["attempts"]) == ("REJECTED", 1)
        assert detail["error"] == "no; token=[redacted]"
        assert detail["tenant_id"] == "acme"


@pytest.mark.req("S-18", "S-15")
def test_news_that_died_makes_no_news(
    db: Database, place: Place, admission: Admission, handlers: Registry, post: Post
) -> None:
    sink(db, DEAD)
    post.answers[URL] = Reject("answered 410")
    handlers.handle("letters", _reject)
    put(db, letter())
    for _ in range(4):
        dispatch_once(db, handlers)
    assert {m.status for m in live(place).values()} == {"dead"}
    assert topics(place) == ["letters", DEAD]
    assert len(post.sent) == 1


@pytest.mark.req("S-18", "S-15")
def test_a_death_and_its_news_are_one(
    db: Database, place: Place, admission: Admission, handlers: Registry
) -> None:
    """The news cannot be written: then the message is not dead either."""
    sink(db, DEAD)
    handlers.handle("letters", _reject)
    [id] = put(db, letter())
    place.execute(REFUSE[place.engine])
    assert drain(db, handlers)["failed"] == 1, "it is tried again, and says why"
    assert one(place, id).status == "pending"
    assert "no news" in str(one(place, id).last_error)


REFUSE = {
    "sqlite": f"""create trigger no_news before insert on outbox when new.topic = '{DEAD}'
        begin select raise(abort, 'no news'); end""",
    "postgresql": f"""create function no_news() returns trigger language plpgsql as
        $$ begin raise exception 'no news'; end $$;
        create trigger no_news before insert on outbox for each row
        when (new.topic = '{DEAD}') execute function no_news()""",
}


def _reject(_message: object) -> None:
    raise Reject("no; token=abcdef123")


def listen(db: Database, admission: Admission, handlers: Registry, topic: str, who: str) -> None:
    for tenant in ("acme", "beta"):
        create_tenant(admission.db, TenantId(tenant))
    match who:
        case "handler":
            handlers.handle(topic, lambda _: None)
        case "tenant":
            sink(db, topic, ACME)
        case "other":
            sink(db, topic, TenantId("beta"))
        case "all":
            sink(db, topic)
