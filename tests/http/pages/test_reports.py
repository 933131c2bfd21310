"""The pages of reports: the list, one read as a page, taken away, and made now."""

import json
from importlib.util import find_spec

import pytest

from tests.http.door import Door
from tests.http.pages.visitor import Visitor, part, words

pytestmark = pytest.mark.req("U-31")

NOWHERE = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def visitor(door: Door) -> Visitor:
    door.tenant(name="Acme <b>Rockets</b>")
    return Visitor(door, role="operator")


def made(visitor: Visitor) -> str:
    answer = visitor.post("/reports", "/reports")
    path, _, said = answer.headers["location"].partition("?")
    assert said == "said=generated"
    return str(path)


def trigger(door: Door, *accounts: str) -> None:
    events = [door.event(account_id=name) for name in accounts]
    door.admin.post("/v1/triggers", json={"tenant_id": "acme", "events": events})


def test_without_reports_the_milestones_are_named(visitor: Visitor) -> None:
    html = visitor.get("/reports")
    assert "There is no report yet." in html
    assert "AUTO_12H 12 h" in part(html, "milestones")
    assert html.count("<h1") == 1


def test_a_report_is_made_now_and_read(door: Door, visitor: Visitor) -> None:
    trigger(door, "a", "a", "b")
    path = made(visitor)
    html = visitor.get(path)
    assert "Report of “Acme &lt;b&gt;Rockets&lt;/b&gt;”" in html
    text = words(html)
    for section in ("A · What was collected", "B · Coverage per connector", "C · Observations"):
        assert section in text
    assert "D · Forecast not enough observation" in text
    assert "ALLOW 2" in text
    assert "SKIP DEBOUNCED 1" in text
    assert 'id="report-chart-1"' in html
    assert f'href="{path}.pdf"' in html
    assert "a person" in part(visitor.get("/reports"), "reports")


def test_each_number_says_how_it_was_counted(door: Door, visitor: Visitor) -> None:
    trigger(door, "a")
    html = visitor.get(made(visitor))
    marks = {one.split('"')[0] for one in html.split('href="#note-')[1:]}
    assert marks
    assert all(f'id="note-{mark}"' in html for mark in marks)


def test_it_is_taken_away_as_json_byte_for_byte(door: Door, visitor: Visitor) -> None:
    path = made(visitor)
    answer = visitor.client.get(f"{path}.json")
    assert answer.content == door.admin.get(f"/v1{path}").content
    assert json.loads(answer.content)["header"]["tenant_id"] == "acme"
    assert answer.headers["content-disposition"].startswith('attachment; filename="report-')


def test_it_is_taken_away_as_pdf(visitor: Visitor) -> None:
    answer = visitor.client.get(f"{made(visitor)}.pdf")
    if find_spec("reportlab") is None:
        assert answer.status_code == 503
        return
    assert answer.status_code == 200
    assert answer.content.startswith(b"%PDF-")
    assert answer.headers["content-disposition"].endswith('.pdf"')


def test_long_lists_come_in_pages(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watchkeeper.http.pages.reports.LISTED_MAX", 2)
    paths = [made(visitor) for _ in range(3)]
    html = visitor.get("/reports")
    assert [f'href="{one}"' in html for one in paths] == [False, True, True]
    cursor = html.split("cursor=")[1].split('"')[0]
    html = visitor.get(f"/reports?cursor={cursor}")
    assert [f'href="{one}"' in html for one in paths] == [True, False, False]
    assert "<p>cursor: " in visitor.get("/reports?cursor=x", 422)


def test_a_viewer_reads_and_makes_none(door: Door, visitor: Visitor) -> None:
    path = made(visitor)
    viewer = Visitor(door, role="viewer")
    before = door.stored()
    assert 'method="post"' not in viewer.get("/reports").split("<main")[1]
    viewer.get(path)
    viewer.get(f"{path}.json")
    viewer.post("/reports", "/reports", 403)
    assert door.stored() == before


def test_another_tenants_report_does_not_exist(door: Door, visitor: Visitor) -> None:
    path = made(visitor)
    door.tenant("other")
    other = Visitor(door, "other", "operator")
    for end in ("", ".json", ".pdf"):
        other.get(f"{path}{end}", 404)
    assert path not in other.get("/reports")
    other.post("/reports", "/reports", 404, tenant_id="acme")


@pytest.mark.parametrize("end", ["", ".json", ".pdf"])
@pytest.mark.parametrize("name", ["x", NOWHERE])
def test_what_there_is_not_is_a_page(visitor: Visitor, name: str, end: str) -> None:
    assert "Request <code>" in visitor.get(f"/reports/{name}{end}", 404)


def test_a_key_for_all_tenants_makes_it_for_the_tenant_of_the_form(door: Door) -> None:
    door.tenant("acme")
    door.tenant("other")
    everybody = Visitor(door, None, "operator")
    answer = everybody.post("/reports", "/reports?tenant=other", tenant_id="acme")
    assert "tenant=acme" in answer.headers["location"]
    assert [row[0] for row in door.place.execute("select tenant_id from reports")] == ["acme"]
