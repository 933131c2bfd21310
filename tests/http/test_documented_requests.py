"""The requests that the documentation shows with curl are answered as requests of a user."""

import re

import pytest

from tests.house.source import ROOT
from tests.http.door import Door

PAGE = ROOT / "docs" / "how-to" / "use-in-your-service.md"
CURL = re.compile(r"curl -X POST http://127\.0\.0\.1:8484(\S+).*?-d '(.*?)'$", re.S | re.M)


@pytest.mark.req("U-10")
def test_what_is_sent_with_curl_is_taken(door: Door) -> None:
    requests = CURL.findall(PAGE.read_text())
    assert [path for path, _ in requests] == ["/v1/signals", "/v1/triggers"]
    client = door.client(door.tenant(), "ingest")
    for path, body in requests:
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.is_success, (path, answer.text)
