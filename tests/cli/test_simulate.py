"""`simulate`: tables and plots for people, one document for programs, a picture in a file."""

import json
from pathlib import Path
from xml.dom import minidom

import pytest

from tests.cli.conftest import UNREACHABLE, WRONG, CommandLine
from tests.databases import Clock
from watchkeeper.cli.plot import columns_of, plot

pytestmark = pytest.mark.req("T-24", "U-20", "U-21")

SMALL = ("simulate", "--for", "1d", "--accounts", "6", "--bursts", "1", "--shape", "office")


@pytest.fixture
def tight() -> str:
    Path("tight.toml").write_text("run_budget_per_day = 9\n")
    return "tight.toml"


def test_it_needs_no_database(bare: CommandLine, tight: str) -> None:
    told = bare.json(*SMALL, "--policy", tight)
    assert told["policy"]["from"] == "given"
    [budget] = told["budgets"]
    assert (budget["budget"], budget["limit"], budget["peak"]) == ("runs a day", 9, 9)
    assert told["first_starved"]["kept_by"] == "SKIP BUDGET_EXHAUSTED"
    assert bare.json(*SMALL)["policy"]["from"] == "shipped"


@pytest.mark.req("D-09")
def test_a_tier_that_the_policy_does_not_have_is_refused(bare: CommandLine) -> None:
    Path("tiers.toml").write_text("[tiers.free]\nrun_budget_per_day = 1\n")
    free = (*SMALL, "--policy", "tiers.toml", "--tier")
    assert bare.json(*free, "free")["budgets"][0]["limit"] == 1
    assert "no tier fre: its tiers are free" in bare(*free, "fre", exits=WRONG).stderr


def test_the_same_seed_prints_the_same_bytes(bare: CommandLine) -> None:
    said = [bare(*SMALL, "--seed", seed, "--json").stdout for seed in ("3", "3", "4")]
    assert said[0] == said[1] != said[2]
    assert json.loads(said[0])["seed"] == 3


def test_people_get_tables_and_plots(bare: CommandLine, tight: str) -> None:
    words = bare(*SMALL, "--policy", tight).stdout
    for part in (
        "events an hour",
        "runs a day of sim-1, used, of 9",
        "first starved",
        "SKIP BUDGET_EXHAUSTED",
        "2030-01-07T10:00:00Z",
        "█",
    ):
        assert part in words
    assert "\x1b" not in words


def test_a_picture_is_written(bare: CommandLine, tight: str) -> None:
    bare(*SMALL, "--policy", tight, "--svg", "load.svg")
    root = minidom.parse("load.svg").documentElement
    assert root.tagName == "svg"
    assert len(root.getElementsByTagName("svg")) == 4  # a name and a drawing, twice
    assert "sim-1" in Path("load.svg").read_text()
    refused = bare(*SMALL, "--svg", "no/such/folder.svg", exits=WRONG).stderr
    assert "--svg" in refused


def test_costs_can_be_given(bare: CommandLine) -> None:
    costs = ("--model", "standard", "--input-tokens", "100", "--output-tokens", "10")
    pulls = ("--connector", "crm=1,2", "--pull-units", "5", "--pull-units-each", "4")
    told = bare.json(*SMALL, *costs, *pulls)
    by_name = {one["budget"]: one for one in told["budgets"]}
    assert by_name["quota daily, total"]["peak"] == told["totals"]["runs"] * 130
    assert by_name["pull units a day, crm"]["peak"] == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--accounts", "0"), "accounts: must be at least 1"),
        (("--for", "tomorrow"), "length: must be a number and"),
        (("--shape", "square"), "shape"),
        (("--seed", "-1"), "seed"),
        (("--start", "Monday"), "start"),
        (("--accounts", "100000", "--per-account", "100"), "more than 250000 events"),
        (("--policy", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("--model", "huge"), "policy has no model huge"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_wrong_question_ends_with_two(bare: CommandLine, words, said: str) -> None:
    assert said in bare("simulate", *words, exits=WRONG).stderr


def test_a_record_needs_its_database(bare: CommandLine) -> None:
    assert "there is no database" in bare("simulate", "--recorded", exits=UNREACHABLE).stderr


def test_the_record_is_played(wk: CommandLine, clock: Clock) -> None:
    wk("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k1")
    clock.advance(100)
    wk("trigger", "acme", "acct-1", "SIGNAL_ARRIVED", "--key", "k2")
    clock.advance(400)
    asked = ("simulate", "--recorded", "--since", "1h", "--step", "1s")
    told = wk.json(*asked)
    assert told["verdicts"] == {"ALLOW": 2, "DEFER COOLDOWN": 1}
    assert told["policy"]["from"] == "in force"
    assert (told["source"], told["seed"], told["tenants"]) == ("recorded", None, ["acme"])
    refused = wk(*asked, "--tenant", "nobody", exits=WRONG).stderr
    assert "there is no tenant nobody" in refused


# -- the plot ------------------------------------------------------------------------------


def test_a_plot_shows_the_largest_of_a_column() -> None:
    assert columns_of([1, 2, 3], 5) == [1, 2, 3]
    assert columns_of([1, 9, 2, 3, 0, 4], 3) == [9, 3, 4]


def test_a_plot_is_as_high_as_its_largest_value_or_its_level() -> None:
    assert plot([0, 8, 16], height=2) == ["16 ┤  █", " 0 ┤ ██"]
    assert plot([0, 8, 16], height=2, top=32) == ["32 ┤", " 0 ┤ ▄█"]


def test_whatever_is_not_nothing_is_seen() -> None:
    assert plot([1, 0, 1000], height=2)[-1].endswith("┤▁ █")
    assert plot([], height=2) == ["1 ┤", "0 ┤"]
