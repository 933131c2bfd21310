"""The pages of the outbox: counts by topic, filters, one message, redrive and discard."""

from typing import Any

import pytest

from tests.http.door import Door
from tests.http.pages.visitor import Visitor, part, words
from tests.messages import letter, put
from watchkeeper.core.ids import MessageId
from watchkeeper.core.sinks import UNHANDLED
from watchkeeper.http.render import NONE
from watchkeeper.store import outbox_look

pytestmark = pytest.mark.req("U-31")

NOWHERE = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def visitor(door: Door) -> Visitor:
    door.tenant()
    return Visitor(door, role="operator")


def dead(door: Door, *ids: str, at: int = 1, error: str = "no <b>answer</b>") -> None:
    for message_id in ids:
        door.place.execute(
            f"update outbox set status = 'dead', done_at = {at}, attempts = 3,"
            f" dead_reason = 'REJECTED', last_error = '{error}' where id = '{message_id}'"
        )


def write(door: Door, **more: Any) -> MessageId:
    return put(door.db, letter(**more))[0]


def delivered(door: Door, message_id: str) -> None:
    columns = (
        "tenant_id, id, namespace, topic, dedupe_key, ordering_key, payload, attempts, generation,"
        " next_attempt_at, last_error, created_at"
    )
    door.place.execute(
        f"insert into outbox_delivered ({columns}, done_at) select {columns}, created_at + 7"
        f" from outbox where id = '{message_id}'"
    )
    door.place.execute(f"delete from outbox where id = '{message_id}'")


def statuses(door: Door) -> list[str]:
    found = door.place.execute("select status from outbox where topic = 'letters'")
    return [row[0] for row in found]


def test_an_empty_outbox_says_what_would_fill_it(door: Door, visitor: Visitor) -> None:
    door.place.execute("delete from outbox")  # the tick of the first milestone
    html = visitor.get("/outbox")
    assert "watchkeeper trigger acme acct-1 SIGNAL_ARRIVED" in html
    assert html.count("<h1") == 1


def test_messages_are_counted_by_topic_and_state(door: Door, visitor: Visitor) -> None:
    first, second, third = (write(door) for _ in range(3))
    write(door, due_at=door.clock.at + 1_000_000)
    write(door, topic="parcels")
    dead(door, first, second)
    delivered(door, third)
    topics = part(visitor.get("/outbox"), "topics")
    assert f"letters watchkeeper {NONE} 1 {NONE} 2 1 Redrive all dead" in topics
    assert f"parcels watchkeeper unhandled 1{f' {NONE}' * 4}" in topics


def test_counts_that_stopped_say_so(
    door: Door, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_look, "COUNTED_MAX", 3)
    messages = sorted(write(door) for _ in range(7))  # ids of one millisecond are in any order
    dead(door, *messages[:3])
    topics = part(visitor.get("/outbox"), "topics")
    assert f"letters watchkeeper unhandled 3+ ? ? 3+ {NONE} Redrive all dead" in topics
    assert "“+” means at least" in topics


def test_filters_choose_by_state_topic_and_key(door: Door, visitor: Visitor) -> None:
    died = write(door, ordering_key="order-1")
    waits = write(door, dedupe_key="key-2")
    other = write(door, topic="parcels")
    done = write(door)
    dead(door, died)
    delivered(door, done)
    names = {died: "died", waits: "waits", other: "other", done: "done"}

    def found(query: str) -> set[str]:
        html = visitor.get(f"/outbox?{query}")
        return {names[one] for one in names if f'href="/outbox/{one}"' in html}

    assert found("") == {"died", "waits", "other", "done"}
    assert found("status=dead") == {"died"}
    assert found("status=delivered") == {"done"}
    assert found("status=pending") == {"waits", "other"}
    assert found("status=processing") == set()
    assert found("topic=parcels") == {"other"}
    assert found("status=pending&topic=letters&key=") == {"waits"}
    assert found("key=order-1") == {"died"}
    assert found("key=key-2&status=") == {"waits"}


def test_an_id_leads_to_its_message(door: Door, visitor: Visitor) -> None:
    message_id = write(door)
    answer = visitor.client.get(f"/outbox?key={message_id.upper()}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/outbox/{message_id}")


@pytest.mark.parametrize(
    ("status", "topic", "listed"),
    [
        ("", "", 2),
        ("", "letters", 2),
        ("", "letters", 4),
        ("pending", "letters", 2),
        ("dead", "", 2),
        ("dead", "letters", 2),
        ("delivered", "", 2),
        ("delivered", "letters", 2),
    ],
)
def test_every_message_is_on_one_page_whatever_is_looked_through(
    door: Door,
    visitor: Visitor,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    topic: str,
    listed: int,
) -> None:
    monkeypatch.setattr(outbox_look, "SCANNED_MAX", 3)
    monkeypatch.setattr("watchkeeper.http.pages.outbox.LISTED_MAX", listed)
    messages = []
    for n in range(9):
        messages.append(write(door, topic="letters" if n % 3 == 0 else "parcels"))
    if status == "dead":
        for n, one in enumerate(messages):
            dead(door, one, at=100 - n // 2)
    elif status in ("delivered", ""):
        for one in messages[:: 1 if status else 2]:
            delivered(door, one)
    wanted = messages[::3] if topic else messages
    seen: list[str] = []
    here = f"/outbox?status={status}&topic={topic}"
    path = here
    for _ in range(12):
        html = visitor.get(path)
        assert html.count("/outbox/01") <= listed
        seen += [one for one in messages if f'href="/outbox/{one}"' in html]
        if "cursor=" not in html:
            break
        path = f"{here}&cursor={html.split('cursor=')[1].split(chr(34))[0]}"
    assert sorted(seen) == sorted(wanted)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("status=gone", "status"),
        ("cursor=x", "cursor"),
        ("cursor=WyJvdXRib3hfcGFnZSIsICJ4Il0", "cursor"),
        ("topic=%00", "topic"),
        (f"key={'a' * 300}", "key"),
    ],
)
def test_what_cannot_be_asked_for_is_named(visitor: Visitor, query: str, named: str) -> None:
    assert f"<p>{named}: " in visitor.get(f"/outbox?{query}", status=422)


def test_one_message_is_shown_whole(door: Door, visitor: Visitor) -> None:
    message_id = write(door, ordering_key="order-1", dedupe_key="key-1")
    dead(door, message_id, at=door.clock.at)
    door.place.execute(
        f'update outbox set payload = \'{{"to": "<script>kim</script>"}}\''
        f" where id = '{message_id}'"
    )
    html = visitor.get(f"/outbox/{message_id}")
    facts = part(html, "facts")
    assert "Attempts 3 of" in facts
    assert "Dead because REJECTED Last error no &lt;b&gt;answer&lt;/b&gt;" in facts
    assert "Ordering key order-1 Dedupe key key-1" in facts
    assert "&lt;script&gt;kim&lt;/script&gt;" in html
    assert "<script>kim" not in html


def test_a_message_that_nobody_takes_says_so(door: Door, visitor: Visitor) -> None:
    message_id = write(door)
    assert "No handler or sink takes this topic." in visitor.get(f"/outbox/{message_id}")
    door.place.execute(f"update outbox set last_error = '{UNHANDLED}'")
    assert "unhandled 1" in part(visitor.get("/outbox"), "topics")


@pytest.mark.req("U-32")
def test_a_dead_letter_is_redriven(door: Door, visitor: Visitor) -> None:
    message_id = write(door)
    dead(door, message_id)
    path = f"/outbox/{message_id}"
    answer = visitor.post(f"{path}/redrive", path)
    assert answer.headers["location"] == f"{path}?said=redriven"
    html = visitor.get(path)
    assert "redriven 1 time" in part(html, "facts")
    assert "message.redriven" in part(html, "ledger")
    visitor.post(f"{path}/redrive", path, 409)


def test_a_delivered_one_is_sent_again_only_where_the_form_says_so(
    door: Door, visitor: Visitor
) -> None:
    message_id = write(door)
    delivered(door, message_id)
    path = f"/outbox/{message_id}"
    visitor.post(f"{path}/redrive", path, 409)
    visitor.post(f"{path}/redrive", path, force="yes")
    assert statuses(door) == ["pending"]


def test_all_dead_of_a_topic_are_redriven(door: Door, visitor: Visitor) -> None:
    mine = [write(door) for _ in range(3)]
    other = write(door, topic="parcels")
    dead(door, *mine, other)
    fields = {"namespace": "watchkeeper", "topic": "letters"}
    answer = visitor.post("/outbox/redrive", "/outbox", **fields)
    assert answer.headers["location"] == "/outbox?topic=letters&said=all_redriven"
    left = door.place.execute("select topic from outbox where status = 'dead'")
    assert [row[0] for row in left] == ["parcels"]
    assert "topic: is required" in visitor.post("/outbox/redrive", "/outbox", 422).text


def test_a_message_is_discarded(door: Door, visitor: Visitor) -> None:
    message_id = write(door)
    html = visitor.get(f"/outbox/{message_id}")
    form = next(one for one in html.split("<form") if "/discard" in one)
    assert "data-asks=" in form.split(">")[0]
    answer = visitor.post(f"/outbox/{message_id}/discard", "/outbox")
    assert answer.headers["location"] == "/outbox?said=discarded"
    visitor.get(f"/outbox/{message_id}", 404)


def test_a_viewer_sees_no_button_and_may_do_nothing(door: Door) -> None:
    door.tenant()
    message_id = write(door)
    dead(door, message_id)
    viewer = Visitor(door, role="viewer")
    before = door.stored()
    for path in ("/outbox", f"/outbox/{message_id}"):
        assert 'method="post"' not in viewer.get(path).split("<main")[1]
    for path in ("redrive", f"{message_id}/redrive", f"{message_id}/discard"):
        viewer.post(f"/outbox/{path}", "/outbox", 403, topic="letters")
    assert door.stored() == before


def test_another_tenants_message_does_not_exist(door: Door) -> None:
    door.tenant()
    message_id = write(door)
    dead(door, message_id)
    door.tenant("other")
    other = Visitor(door, "other", "operator")
    assert "letters" not in words(other.get("/outbox"))
    other.get(f"/outbox/{message_id}", 404)
    for deed in ("redrive", "discard"):
        other.post(f"/outbox/{message_id}/{deed}", "/outbox", 404)
    other.post("/outbox/redrive", "/outbox", topic="letters")
    assert statuses(door) == ["dead"]


@pytest.mark.parametrize("path", ["/outbox/x", f"/outbox/{NOWHERE}"])
def test_what_there_is_not_is_a_page(visitor: Visitor, path: str) -> None:
    assert "Request <code>" in visitor.get(path, 404)
