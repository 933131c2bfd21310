"""`reports`: made, listed, shown and exported, as every other door has them."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.conftest import UNREACHABLE, WRONG, CommandLine
from tests.databases import Clock
from watchkeeper.core.report_json import from_json
from watchkeeper.ids import new_id

pytestmark = pytest.mark.req("U-20", "U-21")

ACME = ("--tenant", "acme")


@pytest.mark.req("R-07", "R-11")
def test_a_report_is_made_listed_shown_and_exported(
    wk: CommandLine, clock: Clock, tmp_path: Path
) -> None:
    wk("signal", "acme", "ann", "mail.opened")
    clock.advance(hours=7)
    made = wk.json("reports", "generate", *ACME)
    assert (made["trigger"], made["collected"]["signals"]["value"]) == ("MANUAL", 1)
    [row] = wk.json("reports", "list")["items"]
    assert row["report_id"] == made["report_id"]
    assert made["report_id"] in wk("reports", "list", *ACME).stdout
    assert wk.json("reports", "show", made["report_id"]) == made
    told = wk("reports", "show", made["report_id"], *ACME).stdout
    for word in ("A  Collected", "B  Coverage", "C  Observations", "D  Forecast", "estimate"):
        assert word in told
    wk("reports", "export", made["report_id"], "--to", "report.json")
    text = (tmp_path / "report.json").read_text()
    assert json.loads(text) == made
    assert from_json(text).header.report_id == made["report_id"]
    assert "ALLOW" in wk("reports", "generate", *ACME).stdout


@pytest.mark.req("R-11")
def test_a_pdf_is_written_where_the_extra_is(wk: CommandLine, tmp_path: Path) -> None:
    wk("signal", "acme", "ann", "mail.opened")
    made = wk.json("reports", "generate", *ACME)
    export = ("reports", "export", made["report_id"], "--to", "report.PDF")
    if find_spec("reportlab") is None:
        assert "watchkeeper[pdf]" in wk(*export, exits=UNREACHABLE).stderr
        return
    wk(*export)
    assert (tmp_path / "report.PDF").read_bytes().startswith(b"%PDF-")


def test_what_is_wrong_is_said(wk: CommandLine, tmp_path: Path) -> None:
    wk("signal", "acme", "ann", "mail.opened")
    made = wk.json("reports", "generate", *ACME)["report_id"]
    assert "there is no report" in wk("reports", "show", "nothing", exits=WRONG).stderr
    assert "there is no report" in wk("reports", "show", new_id(), exits=WRONG).stderr
    assert ".json or .pdf" in wk("reports", "export", made, "--to", "x.txt", exits=WRONG).stderr
    lost = wk("reports", "export", made, "--to", "no/such/folder.json", exits=WRONG).stderr
    assert "cannot be written" in lost
    assert "no tenant" in wk("reports", "generate", "--tenant", "nobody", exits=WRONG).stderr
    assert wk("reports", "list", "--tenant", "nobody").stdout == "There are no reports.\n"


@pytest.mark.req("R-03")
def test_how_milestones_stand(wk: CommandLine) -> None:
    wk("signal", "acme", "ann", "mail.opened")
    rows = wk.json("reports", "milestones", *ACME)["items"]
    assert [(row["milestone"], row["outcome"]) for row in rows] == [
        ("AUTO_12H", None),
        ("AUTO_24H", None),
    ]
    assert "AUTO_24H" in wk("reports", "milestones", *ACME).stdout
    assert "no tenant" in wk("reports", "milestones", "--tenant", "x", exits=WRONG).stderr
