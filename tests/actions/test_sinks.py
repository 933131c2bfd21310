"""Sinks: who is sent what, what waits when nobody takes it, and what a secret goes through."""

from typing import Any

import pytest

from tests.databases import START_AT, Clock, Place
from tests.messages import TOPIC, claim, delivered, letter, live, one, put, registry
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from tests.senders import Post
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.dispatch import dispatch_once, drain
from watchkeeper.actions.set_sink import (
    NewSink,
    SinkSet,
    Terms,
    list_sinks,
    remove_sink,
    set_sink,
    show_sink,
)
from watchkeeper.actions.unhandled import mark_unhandled
from watchkeeper.actions.views import count_messages
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.sinks import UNHANDLED, Reach, SinkKind
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Conflict, Forbidden, Invalid, NotFound
from watchkeeper.handlers.registry import Registry
from watchkeeper.handlers.results import Reject, Retry
from watchkeeper.handlers.secrets import make_secret
from watchkeeper.store import ledger, sinks
from watchkeeper.store.database import Database
from watchkeeper.store.sinks import SINKS_MAX, SinkBook

ACME, BETA = TenantId("acme"), TenantId("beta")
TERMS = Terms(by="test")
URL = "https://example.com/"


def sink(
    db: Database, tenant: TenantId = SYSTEM, name: str = "s", terms: Terms = TERMS, **changes: Any
) -> SinkSet:
    """Set one; unless said otherwise, of the topic of letters and at a place named after it."""
    if tenant != SYSTEM:
        create_tenant(db, tenant, installed_now=False)  # so no report of it is due
    told = {"topic": TOPIC, "url": f"{URL}{tenant}", **changes}
    return set_sink(db, tenant, name, NewSink(**told), terms)


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def handlers(post: Post) -> Registry:
    made = registry()
    made.make_sender = post
    return made


@pytest.mark.req("S-18")
def test_a_tenants_sink_comes_first_then_the_one_for_all_then_the_handler(
    db: Database, place: Place, clock: Clock, handlers: Registry, post: Post
) -> None:
    called: list[str] = []
    handlers.handle(TOPIC, lambda message: called.append(message.id))
    sink(db, ACME)
    first, second = put(db, letter("acme"), letter("beta"))
    assert drain(db, handlers) == {"claimed": 2, "delivered": 2}
    assert (post.places, called) == ({first: f"{URL}acme"}, [second])
    sink(db)
    third, fourth = put(db, letter("acme"), letter("beta"))
    drain(db, handlers)
    assert post.places == {first: f"{URL}acme", third: f"{URL}acme", fourth: f"{URL}_system"}
    remove_sink(db, ACME, "s", TERMS)
    [fifth] = put(db, letter("acme"))
    drain(db, handlers)
    assert post.places[fifth] == f"{URL}_system"
    remove_sink(db, SYSTEM, "s", TERMS)
    [sixth] = put(db, letter("acme"))
    drain(db, handlers)
    assert called == [second, sixth]
    assert live(place) == {}


@pytest.mark.req("S-18")
def test_a_topic_without_a_handler_is_delivered_to_its_sink(
    db: Database, place: Place, clock: Clock, handlers: Registry, post: Post
) -> None:
    sink(db)
    [id] = put(db, letter())
    assert drain(db, handlers) == {"claimed": 1, "delivered": 1}
    assert delivered(place) == [id]
    assert post.closed


@pytest.mark.req("S-18", "S-14")
@pytest.mark.parametrize(
    ("answer", "status", "attempts"),
    [(Retry("answered 503", after=7), "pending", 1), (Reject("answered 410"), "dead", 1)],
    ids=["another attempt", "hopeless"],
)
def test_what_a_sender_says_is_how_the_attempt_ended(
    db: Database,
    place: Place,
    clock: Clock,
    handlers: Registry,
    post: Post,
    answer: Exception,
    status: str,
    attempts: int,
) -> None:
    sink(db)
    post.answers[f"{URL}_system"] = answer
    [id] = put(db, letter())
    drain(db, handlers)
    stored = one(place, id)
    assert (stored.status, stored.attempts, stored.last_error) == (status, attempts, str(answer))
    if status == "pending":
        assert stored.next_attempt_at > START_AT + 7 * SECOND


@pytest.mark.req("S-18", "S-17")
def test_what_nobody_takes_waits_visibly_and_spends_nothing(
    db: Database, place: Place, clock: Clock, handlers: Registry, post: Post
) -> None:
    sink(db, ACME)
    [id] = put(db, letter("beta"))
    for minutes in range(1, 4):
        assert drain(db, handlers) == {"claimed": 1, "parked": 1}
        stored = one(place, id)
        assert (stored.status, stored.attempts, stored.last_error) == ("pending", 0, UNHANDLED)
        wait = stored.next_attempt_at - START_AT - (minutes - 1) * 70 * SECOND
        assert 50 * SECOND <= wait <= 70 * SECOND
        assert drain(db, handlers) == {}, "it must not be looked at again at once"
        clock.advance(70)
    assert post.sent == []


@pytest.mark.req("S-18")
@pytest.mark.parametrize("whose", [BETA, SYSTEM], ids=["its tenant's", "for all"])
def test_a_new_sink_gets_at_once_what_waited(
    db: Database, place: Place, clock: Clock, handlers: Registry, post: Post, whose: TenantId
) -> None:
    sink(db, ACME)
    [first, other] = put(db, letter("beta"), letter("gamma"))
    drain(db, handlers)
    sink(db, whose)
    drain(db, handlers)
    assert post.places[first] == f"{URL}{whose}"
    assert (other in post.places) == (whose == SYSTEM)


@pytest.mark.req("S-18")
def test_a_topic_that_no_process_knows_is_marked_after_a_minute(
    db: Database, place: Place, clock: Clock, handlers: Registry, post: Post
) -> None:
    [id] = put(db, letter())
    clock.advance(59)
    assert mark_unhandled(db, handlers) == 0
    clock.advance(2)
    assert mark_unhandled(db, handlers) == 1
    assert one(place, id).last_error == UNHANDLED
    assert count_messages(db) == [(TOPIC, "unhandled", 1)]
    assert mark_unhandled(db, handlers) == 0
    sink(db)
    assert one(place, id).last_error is None
    assert count_messages(db) == [(TOPIC, "pending", 1)]
    drain(db, handlers)
    assert list(post.places) == [id]


@pytest.mark.req("S-18")
def test_what_somebody_works_on_is_not_marked(
    db: Database, place: Place, clock: Clock, handlers: Registry
) -> None:
    elsewhere = registry()
    elsewhere.handle(TOPIC, lambda _: None)
    put(db, letter(), letter())
    clock.advance(61)
    assert mark_unhandled(db, elsewhere) == 0
    claim(db, 1)
    assert mark_unhandled(db, handlers) == 0


@pytest.mark.req("S-18")
def test_an_endpoint_that_takes_nothing_gets_a_few_and_the_rest_waits(
    db: Database, place: Place, clock: Clock, post: Post
) -> None:
    handlers = registry(endpoint_concurrency=2)
    handlers.make_sender = post
    sink(db, ACME)
    sink(db, BETA)
    post.answers[f"{URL}acme"] = Retry("no answer")
    theirs = put(db, *[letter("acme") for _ in range(6)])
    others = put(db, *[letter("beta") for _ in range(6)])
    assert dispatch_once(db, handlers) == {
        "claimed": 12,
        "delivered": 6,
        "failed": 2,
        "parked": 4,
    }
    assert set(delivered(place)) == set(others)
    assert sorted(one(place, id).attempts for id in theirs) == [0, 0, 0, 0, 1, 1]


@pytest.mark.req("S-18", "S-16")
def test_what_cannot_be_sent_within_its_lease_is_given_back(
    db: Database, place: Place, clock: Clock, post: Post
) -> None:
    handlers = registry(endpoint_concurrency=2, lease_us=1)
    handlers.make_sender = post
    sink(db)
    wanted = put(db, *[letter() for _ in range(5)])
    assert dispatch_once(db, handlers) == {"claimed": 5, "delivered": 2, "released": 3}
    assert {row.attempts for row in live(place).values()} == {0}
    assert drain(db, handlers)["delivered"] == 3
    assert set(delivered(place)) == set(wanted)


# -- secrets, places, names ----------------------------------------------------------------


@pytest.mark.req("O-22")
def test_a_missing_secret_is_made_and_shown_once(db: Database) -> None:
    made = sink(db, ACME)
    assert (made.secret or "").startswith("whsec_")
    again = sink(db, ACME, url=f"{URL}elsewhere")
    assert again.secret is None
    assert again.sink.secret == made.secret
    assert again.sink.url == f"{URL}elsewhere"
    assert sink(db, BETA, secret=make_secret()).secret is None
    assert made.secret not in repr(made)
    assert made.secret not in repr(show_sink(db, ACME, "s"))


@pytest.mark.req("O-22")
def test_an_old_secret_signs_beside_the_new_one_for_a_day(
    db: Database, clock: Clock, handlers: Registry, post: Post
) -> None:
    old = sink(db).secret
    new = make_secret()
    until_at = sink(db, secret=new).sink.old_secret_until_at
    assert until_at == START_AT + 86_400 * SECOND
    assert sink(db).sink.old_secret == old, "setting it again keeps both"
    assert sink(db, secret=new).sink.old_secret == old, "the same secret is no change"

    def signed_with() -> tuple[str, ...]:
        db.sinks.forget()  # a second of real time would do
        put(db, letter())
        drain(db, handlers)
        return post.sent[-1][0].secrets

    assert signed_with() == (new, old)
    clock.advance(86_399)
    assert signed_with() == (new, old)
    clock.advance(1)
    assert signed_with() == (new,)
    assert sink(db).sink.old_secret is None


@pytest.mark.req("O-23")
def test_the_ledger_tells_every_change_and_no_secret(db: Database, clock: Clock) -> None:
    url = "tls://canary-user:canary-pass@example.com/orders?token=canary-query"
    sink(db, ACME, url=url, kind=SinkKind.NATS, secret="canary-token")
    remove_sink(db, ACME, "s", Terms(by="kim"))
    with db.read(ACME) as tx:
        found = ledger.after(tx, 0, 10, {})
    changes = [r.entry for r in found if r.entry.kind in (Kind.SINK_SET, Kind.SINK_REMOVED)]
    assert [(e.kind, e.subject) for e in changes] == [("sink.set", "s"), ("sink.removed", "s")]
    assert '"url":"tls://example.com/orders?[redacted]"' in changes[0].data
    assert '"by":"kim"' in changes[1].data
    assert "canary" not in "".join(e.data for e in changes)


def test_a_nats_sink_has_no_secret_of_its_own(db: Database) -> None:
    made = sink(db, kind=SinkKind.NATS, url="tls://example.com/orders")
    assert (made.secret, made.sink.secret) == (None, "")


@pytest.mark.parametrize("secret", ["short", "whsec_!!!", "whsec_" + "A" * 8])
def test_a_secret_that_cannot_sign_is_refused(db: Database, secret: str) -> None:
    with pytest.raises(Invalid) as refused:
        sink(db, secret=secret)
    assert refused.value.problems[0].place == "secret"
    assert secret not in str(refused.value)


@pytest.mark.req("S-18")
def test_a_topic_has_one_sink_and_the_refusal_names_it(db: Database) -> None:
    sink(db, ACME, "first")
    with pytest.raises(Conflict, match="first"):
        sink(db, ACME, "second")
    sink(db, ACME, "second", topic="other")
    with pytest.raises(Conflict, match="first"):
        sink(db, ACME, "second")
    sink(db, SYSTEM, "second")
    sink(db, BETA, "second")


@pytest.mark.req("O-12")
def test_a_tenant_has_a_limited_number_of_sinks(db: Database, place: Place) -> None:
    sink(db, ACME)
    values = ", ".join(
        f"('acme', 'n{n}', 'watchkeeper', 't{n}', 'webhook', 'u', 's', 'test', 1, 1)"
        for n in range(SINKS_MAX - 1)
    )
    place.execute(
        "insert into sinks (tenant_id, name, namespace, topic, kind, url, secret, set_by,"
        f" created_at, updated_at) values {values}"
    )
    with pytest.raises(Conflict, match=str(SINKS_MAX)):
        sink(db, ACME, "more", topic="more")
    sink(db, ACME, url=f"{URL}again")
    sink(db, BETA)


@pytest.mark.req("S-18")
@pytest.mark.parametrize(
    "topic",
    [
        "decision.retry",
        "decision.scheduled",
        "schedule.due",
        "schedule.slice",
        "pull.requested",
        "message.other",
    ],
)
def test_our_own_timers_cannot_leave(db: Database, topic: str) -> None:
    with pytest.raises(Invalid) as refused:
        sink(db, topic=topic)
    assert refused.value.problems[0].place == "topic"


@pytest.mark.req("S-18")
@pytest.mark.parametrize(
    ("topic", "namespace"),
    [
        ("decision.evaluation_requested", "watchkeeper"),
        ("decision.deferred", "watchkeeper"),
        ("report.generated", "watchkeeper"),
        ("plan.changed", "watchkeeper"),
        ("message.dead", "watchkeeper"),
        ("orders.placed", "watchkeeper"),
        ("usage_snapshot", "metering"),
    ],
)
def test_a_topic_lies_in_its_usual_namespace(db: Database, topic: str, namespace: str) -> None:
    terms = Terms("test", usage_namespace="metering")
    assert sink(db, topic=topic, terms=terms).sink.namespace == namespace
    other = sink(db, name="other", topic=topic, namespace="elsewhere", terms=terms)
    assert other.sink.namespace == "elsewhere"


@pytest.mark.req("O-22")
@pytest.mark.parametrize(
    ("url", "reaches"),
    [
        ("https://example.com/hook", {"public", "loopback", "private"}),
        ("http://example.com/hook", {"private"}),
        ("https://10.0.0.7/hook", {"private"}),
        ("http://127.0.0.1:9/hook", {"loopback", "private"}),
        ("http://localhost:9/hook", {"loopback", "private"}),
        ("http://[::1]:9/hook", {"loopback", "private"}),
        ("http://169.254.169.254/latest", set()),
        ("https://u:p@example.com/hook", set()),
        ("ftp://example.com/hook", set()),
        ("nonsense", set()),
    ],
)
def test_how_near_a_receiver_may_be(db: Database, url: str, reaches: set[str]) -> None:
    for reach in Reach:
        terms = Terms("test", reach)
        if reach in reaches:
            assert sink(db, url=url, terms=terms).sink.url == url
        else:
            with pytest.raises(Invalid) as refused:
                sink(db, url=url, terms=terms)
            assert refused.value.problems[0].place == "url"


@pytest.mark.req("O-22")
@pytest.mark.parametrize("reach", list(Reach))
def test_a_sender_is_told_how_near_it_may_go(
    db: Database, clock: Clock, handlers: Registry, post: Post, reach: Reach
) -> None:
    handlers.reach = reach
    sink(db, ACME, url="http://127.0.0.1:9/", terms=Terms("test", Reach.LOOPBACK))
    sink(db, BETA, url="http://10.0.0.7:9/", terms=Terms("test", Reach.PRIVATE))
    put(db, letter("acme"), letter("beta"))
    drain(db, handlers)
    near = {endpoint.tenant_id: endpoint.private_ok for endpoint, _ in post.sent}
    assert near == {"acme": reach != Reach.PUBLIC, "beta": reach == Reach.PRIVATE}


@pytest.mark.req("O-21", "S-18")
def test_what_a_tenant_costs_is_not_for_it_to_redirect(db: Database) -> None:
    own = Terms("acme's key", is_tenant=True)
    with pytest.raises(Forbidden, match="usage_snapshot"):
        sink(db, ACME, topic="usage_snapshot", terms=own)
    with pytest.raises(Forbidden):
        sink(db, ACME, topic="usage_snapshot", namespace="other", terms=own)
    sink(db, ACME, "billing", topic="usage_snapshot")
    with pytest.raises(Forbidden):
        sink(db, ACME, "billing", topic="orders", terms=own)
    with pytest.raises(Forbidden):
        remove_sink(db, ACME, "billing", own)
    assert show_sink(db, ACME, "billing").topic == "usage_snapshot"


@pytest.mark.req("O-21")
def test_sinks_are_seen_by_their_owner_only(db: Database) -> None:
    sink(db, ACME, "one")
    sink(db, ACME, "two", topic="other")
    sink(db, SYSTEM, "all")
    assert [s.name for s in list_sinks(db, ACME, ("", ""), 10)] == ["one", "two"]
    assert [s.name for s in list_sinks(db, ACME, ("", "one"), 10)] == ["two"]
    create_tenant(db, BETA)
    assert list_sinks(db, BETA, ("", ""), 10) == []
    everybodys = list_sinks(db, None, ("", ""), 10)
    assert [(s.tenant_id, s.name) for s in everybodys] == [
        ("_system", "all"),
        ("acme", "one"),
        ("acme", "two"),
    ]
    assert [s.name for s in list_sinks(db, None, ("acme", "one"), 10)] == ["two"]
    for name in ("one", "all"):
        with pytest.raises(NotFound):
            show_sink(db, BETA, name)
        with pytest.raises(NotFound):
            remove_sink(db, BETA, name, TERMS)


@pytest.mark.req("S-18")
@pytest.mark.parametrize("is_there", [False, True], ids=["set", "removed"])
def test_a_power_cut_leaves_all_or_nothing_and_loses_no_secret(
    db: Database, place: Place, clock: Clock, is_there: bool
) -> None:
    """Once the sink is set the caller gets its secret, whatever happens to what waits for it."""
    create_tenant(db, ACME)
    put(db, letter())
    if is_there:
        sink(db, ACME)
    before = contents(place)
    cut_late = 0
    for step in range(1, STEPS_MAX):
        try:
            with power_cut_at(step) as seen:
                if is_there:
                    remove_sink(db, ACME, "s", TERMS)
                else:
                    assert set_sink(db, ACME, "s", NewSink(TOPIC, URL), TERMS).secret
            if len(seen) < step:
                break
            cut_late += 1
            place.execute("delete from sinks")
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    assert step >= 5
    assert cut_late == (0 if is_there else 3)


# -- the book --------------------------------------------------------------------------------


@pytest.mark.req("S-18")
def test_the_book_is_read_at_most_once_a_second(db: Database, place: Place) -> None:
    """Another process changes the sinks: nobody tells this one."""
    now = [100.0]
    db.sinks = SinkBook(lambda: now[0])
    other = place.open()
    assert list(sinks.in_force(db).topics()) == []
    sink(other)
    now[0] += 0.99
    assert list(sinks.in_force(db).topics()) == []
    now[0] += 0.01
    assert list(sinks.in_force(db).topics()) == [("watchkeeper", TOPIC)]
    sink(db, url=f"{URL}new")
    found = sinks.in_force(db).route(ACME, "watchkeeper", TOPIC)
    assert found is not None
    assert found.url == f"{URL}new"
    other.close()


@pytest.mark.req("S-18")
def test_a_change_during_a_reading_is_not_missed(db: Database) -> None:
    book = db.sinks
    rows = []

    class Slow:
        """A reading that began before the change was committed."""

        now = START_AT

        def rows(self, _statement: object) -> list[tuple]:
            book.forget()
            return rows

    book.read(Slow())
    assert not book.is_fresh()
    with db.read_system() as tx:
        book.read(tx)
    assert book.is_fresh()
