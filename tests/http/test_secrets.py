"""Known secrets are sent through every door, and then looked for everywhere."""

import io

import pytest

from tests.http.calls import CALLS, send, settle
from tests.http.door import ADMIN_KEY, Door
from watchkeeper import telemetry

pytestmark = pytest.mark.req("O-23")


@pytest.fixture
def logged() -> io.StringIO:
    stream = io.StringIO()
    telemetry.configure_logging("debug", "json", secrets=[ADMIN_KEY], stream=stream)
    return stream


def test_no_key_is_found_in_logs_answers_metrics_or_rows(
    door: Door, logged: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = settle(door, "acme")
    key = door.key("acme", "admin")
    secret = key.split("_")[2]
    answers = []
    for name in sorted(CALLS, key=lambda name: name.startswith("DELETE")):
        for client in (door.with_key(key), door.admin, door.with_key(key + "x")):
            answers.append(send(client, name, mine).text)
    for text in (f"/v1/{key}", f"/v1/accounts?api_key={key}", f"/v1/accounts/{ADMIN_KEY}"):
        answers.append(door.with_key(key).get(text).text)
    body = {"events": [door.event(account_id="a", correlation_id=f"Bearer {key}")]}
    door.with_key(key).post("/v1/triggers", json={**body, key: key})

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"could not use {key} with {ADMIN_KEY}")

    monkeypatch.setattr("watchkeeper.moves.admission.decide", broken)
    answers.append(door.with_key(key).post("/v1/triggers", json={"events": [door.event()]}).text)
    places = {
        "answers": "".join(answers),
        "logs": logged.getvalue(),
        "metrics": door.admin.get("/metrics").text,
        "rows": repr(door.stored()),
        "description": door.admin.get("/openapi.json").text,
    }
    for place, text in places.items():
        assert secret not in text, place
        assert ADMIN_KEY not in text.replace(f"no account {ADMIN_KEY}", ""), place
    assert "internal_error" in places["logs"]
    assert '"event": "request"' in places["logs"]


@pytest.mark.req("O-23")
def test_a_request_cannot_forge_a_line(door_sqlite: Door, logged: io.StringIO) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    before = len(logged.getvalue().splitlines())
    client.get('/v1/accounts/x%0A{"event":"forged"}%0D%1b[2J%E2%80%A8')
    client.post("/v1/triggers", json={"events": [{"a\nb": "c\r\nd"}]})
    assert len(logged.getvalue().splitlines()) == before + 2
    assert logged.getvalue().isascii()
