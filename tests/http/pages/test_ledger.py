"""The page of the ledger: its tail, its filters, and whether its seals hold."""

import pytest

from tests.http.calls import settle
from tests.http.door import Door
from tests.http.pages.looks import Look, links, words
from tests.tampering import Intruder
from watchkeeper.actions.keep_ledger import make_checkpoint
from watchkeeper.actions.seal_ledger import seal_ledger
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind, Stage

pytestmark = pytest.mark.req("U-31")


def test_the_newest_is_on_top_and_the_rest_follows(door: Door) -> None:
    settle(door, "acme")
    look = Look(door, "acme", "viewer")
    client = door.client("acme")
    for n in range(70):
        client.post("/v1/triggers", json={"events": [door.event(account_id=f"num-{n}")]})
    page = look.get("/ledger")
    assert words(page).index("num-69") < words(page).index("num-68")
    assert 'data-region="entries"' in page
    [older] = [one for one in links(page, "/ledger?") if "cursor=" in one]
    assert "num-69" not in words(look.get(older))
    assert "num-0" in words(look.get(older))


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_is_a_filter(door: Door, stage: Stage) -> None:
    settle(door, "acme")
    page = Look(door, "acme").get(f"/ledger?stage={stage}")
    shown = {part.split("<")[0] for part in page.split('<span class="tag stage">')[1:]}
    assert shown <= {str(stage)}
    assert shown or stage is Stage.SYSTEM


def test_a_kind_and_an_account_are_filters(door: Door) -> None:
    mine = settle(door, "acme")
    look = Look(door, "acme")
    page = look.get(f"/ledger?kind={Kind.PULL_DECIDED}&subject={mine.account}")
    refused, made = links(page, "/pulls/")
    assert made == f"/pulls/{mine.pull}"
    assert "was refused" in words(look.get(refused))
    assert "No entry matches" in words(look.get("/ledger?subject=zed"))
    assert mine.plan in look.get(f"/ledger?subject={mine.plan}")


@pytest.mark.parametrize("query", ["stage=love", "kind=x", "subject=%00", "cursor=x"])
def test_what_makes_no_sense_is_named(door: Door, query: str) -> None:
    page = Look(door, door.tenant()).get(f"/ledger?{query}", 422)
    assert f"{query.split('=')[0]}:" in words(page)


@pytest.mark.req("O-21")
def test_another_tenants_entries_are_not_there(door: Door) -> None:
    theirs = settle(door, "theirs")
    settle(door, "acme")
    look = Look(door, "acme")
    for query in ("", "?stage=act", f"?subject={theirs.plan}"):
        assert theirs.canary not in look.get(f"/ledger{query}").replace(theirs.plan, "")


@pytest.mark.req("T-03")
def test_seals_and_the_last_checkpoint_are_told(door: Door) -> None:
    settle(door, "acme")
    look = Look(door, "acme")
    assert "0 sealed up to" in words(look.get("/ledger"))
    made = make_checkpoint(door.db, TenantId("acme"), made_by="eve")
    said = words(look.get("/ledger"))
    assert f"{made.seq:,} last checkpoint" in said
    assert "by eve" in said
    assert "0 wait for the next seal" in said


@pytest.mark.req("T-03")
def test_verifying_tells_that_the_chain_is_whole_or_where_it_breaks(door: Door) -> None:
    settle(door, "acme")
    seal_ledger(door.db)
    look = Look(door, "acme", "operator")
    answer = look.post("/ledger/verify", "/ledger")
    assert answer.status_code == 200
    assert "The chain is whole" in words(answer.text)
    Intruder(door.place).edit(3, "reason")
    answer = look.post("/ledger/verify", "/ledger")
    said = words(answer.text)
    assert "The chain is broken" in said
    assert "The first is entry 3." in said
    again = look.client.get("/ledger/verify")
    assert (again.status_code, again.headers["location"]) == (303, "/ledger")


@pytest.mark.req("U-30", "O-24")
def test_a_viewer_sees_no_button_and_has_none(door: Door) -> None:
    settle(door, "acme")
    viewer = Look(door, "acme", "viewer")
    assert "/ledger/verify" not in viewer.get("/ledger")
    assert viewer.post("/ledger/verify", "/ledger").status_code == 403
    operator = Look(door, "acme", "operator")
    assert "/ledger/verify" in operator.get("/ledger")
    assert operator.client.post("/ledger/verify", data={"csrf": "made up"}).status_code == 403
    assert operator.client.post("/ledger/verify").status_code in (403, 415)


def test_nothing_but_its_own_creation_is_there_at_first(door: Door) -> None:
    assert "The tenant was created" in words(Look(door, door.tenant()).get("/ledger"))
