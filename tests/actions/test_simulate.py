"""A policy is played with arrivals: by the code of production, the same each time."""

import contextlib
from collections import Counter
from collections.abc import Iterator

import orjson
import pytest

from tests.databases import START_AT, Place
from watchkeeper import App
from watchkeeper.actions.apply_policy import read_policy
from watchkeeper.actions.arrivals import Arrival, Player, Shape, Traffic, synthetic, weights
from watchkeeper.actions.draw_simulation import drawn, tightest
from watchkeeper.actions.simulate import START, Demand, Scene, simulate
from watchkeeper.actions.simulated import Simulation
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.pulls import EVERY, Budget
from watchkeeper.core.replay_tally import label
from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND, Instant, to_iso
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.store.statement import same
from watchkeeper.testing import memory_app

pytestmark = pytest.mark.req("T-24")

_VERDICTS = same("select reason from ledger where tenant_id = %s and kind = 'verdict'")
ACME = TenantId("acme")
ONE_A_DAY = "run_budget_per_day = 1\n"
EASY = "[triggers.SIGNAL_ARRIVED]\ndebounce_seconds = 0\ncooldown_seconds = 0\n"


def at(hours: float) -> Instant:
    return Instant(START + round(hours * HOUR))


def news(hours: float, account: str, key: str | None = None) -> Arrival:
    name = key or f"{account}-{hours}"
    return Arrival(at(hours), ACME, AccountId(account), "SIGNAL_ARRIVED", name, True)


def play(
    *arrivals: Arrival,
    policy: str = "",
    hours: float = 24,
    demand: Demand | None = None,
    starved_after: float = 4,
) -> Simulation:
    scene = Scene(
        players=[Player(ACME)],
        arrivals=sorted(arrivals, key=lambda one: one.at),
        since=START,
        until=at(hours),
        policy=read_policy(policy),
        demand=demand or Demand(),
        starved_after_us=round(starved_after * HOUR),
    )
    return simulate(scene)


def bytes_of(app: App, **asked: object) -> bytes:
    return orjson.dumps(app.simulate(length="1d", accounts=10, **asked).to_json())


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with contextlib.closing(memory_app()) as made:
        yield made


# -- arrivals ------------------------------------------------------------------------------


def moments(traffic: Traffic, days: int = 7, tenants: int = 1) -> list[Arrival]:
    players = [Player(TenantId(f"t{n}")) for n in range(tenants)]
    return synthetic(traffic, players, START, Instant(START + days * DAY))


def test_a_seed_is_all_that_arrivals_depend_on() -> None:
    traffic = Traffic(accounts=5, per_account=20, bursts=1, shape=Shape.DOUBLE)
    assert moments(traffic) == moments(traffic)
    other = Traffic(accounts=5, per_account=20, bursts=1, shape=Shape.DOUBLE, seed=2)
    assert moments(traffic) != moments(other)


def test_more_tenants_leave_those_before_as_they_were() -> None:
    one, three = moments(Traffic(per_tenant=50)), moments(Traffic(per_tenant=50), tenants=3)
    first = [(a.at, a.account_id) for a in three if a.tenant_id == "t0"]
    assert [(a.at, a.account_id) for a in one] == first
    assert {a.tenant_id for a in three} == {"t0", "t1", "t2"}


@pytest.mark.parametrize("shape", list(Shape))
def test_the_mean_of_a_week_is_the_rate_that_was_asked_for(shape: Shape) -> None:
    weight, peak = weights(shape)
    hours = [weight(Instant(START + n * HOUR)) for n in range(7 * 24)]
    assert sum(hours) / len(hours) == pytest.approx(1)
    assert max(hours) == peak
    found = moments(Traffic(per_tenant=1000, shape=shape))
    assert 6_700 < len(found) < 7_300  # of one seed: no chance is left in it


def test_an_office_rests_at_night_and_at_the_weekend() -> None:
    found = moments(Traffic(per_tenant=1000, shape=Shape.OFFICE))
    by_day = Counter((one.at - START) // DAY for one in found)
    assert min(by_day[n] for n in range(5)) > 5 * max(by_day[5], by_day[6])  # begins on a Monday
    by_hour = Counter(one.at // HOUR % 24 for one in found)
    assert by_hour[10] > 5 * by_hour[3]


def test_a_burst_is_many_events_of_one_account_in_a_short_time() -> None:
    traffic = Traffic(per_tenant=0, bursts=3, burst_events=40, burst_us=5 * MINUTE)
    found = moments(traffic)
    of_each = Counter(one.account_id for one in found)
    assert all(count % 40 == 0 for count in of_each.values())
    first = [one.at for one in found[:40]]
    assert first[-1] - first[0] <= 5 * MINUTE


def test_arrivals_are_bounded() -> None:
    with pytest.raises(Invalid, match="more than 250000 events"):
        moments(Traffic(per_tenant=250_000))


# -- what is found -------------------------------------------------------------------------


def test_the_same_question_has_the_same_answer_to_the_byte(app: App) -> None:
    asked = {"seed": 7, "shape": "double", "bursts": 2, "tenants": 2, "policy": ONE_A_DAY}
    assert bytes_of(app, **asked) == bytes_of(app, **asked)
    assert bytes_of(app, **asked) != bytes_of(app, **{**asked, "seed": 8})


def test_everything_that_arrives_has_a_verdict(app: App) -> None:
    told = app.simulate(length="1d", accounts=10, per_account=40, bursts=3).to_json()
    totals = told["totals"]
    verdicts = totals["allowed"] + totals["deferred"] + totals["skipped"]
    assert totals["events"] > 350
    assert verdicts == totals["events"] + totals["retries"] == sum(told["verdicts"].values())
    assert totals["retries"] > 0
    assert totals["runs"] == totals["allowed"]
    assert [hour["at"] for hour in told["hours"]] == [to_iso(at(n)) for n in range(24)]


def test_a_retry_comes_when_it_is_due() -> None:
    found = play(news(0, "ann"), news(2 / 60, "ann"), hours=1)
    assert found.verdicts == {"ALLOW": 2, "DEFER COOLDOWN": 1}
    assert (found.total("events"), found.total("retries"), found.total("runs")) == (2, 1, 2)


def test_a_budget_burns_down_by_the_hour() -> None:
    found = play(*(news(n, f"a{n}") for n in range(30)), policy="run_budget_per_day = 5", hours=30)
    [runs] = found.budgets
    assert [used for _, used in runs.points] == [*range(1, 6), *[5] * 19, *range(1, 6), 5]
    assert (runs.limit, runs.peak, runs.exhausted_at) == (5, 5, at(4))
    assert found.verdicts == {"ALLOW": 10, "SKIP BUDGET_EXHAUSTED": 20}


def test_who_is_kept_waiting_with_news_for_too_long_is_starved() -> None:
    found = play(
        news(1, "ann"),
        news(2, "bob"),
        news(3, "cid"),
        news(26, "bob"),
        policy=ONE_A_DAY,
        hours=30,
    )
    bob, cid = found.starved
    assert found.first_starved == bob
    assert (bob.account_id, bob.since, bob.at, bob.until) == ("bob", at(2), at(6), at(26))
    assert (cid.account_id, cid.since, cid.until) == ("cid", at(3), None)
    assert {bob.kept_by, cid.kept_by} == {"SKIP BUDGET_EXHAUSTED"}
    told = found.to_json()
    assert told["starved_accounts"] == 2
    assert told["first_starved"]["at"] == to_iso(at(6))


@pytest.mark.parametrize(("after", "starved"), [(3.99, 1), (4, 0)])
def test_starved_is_longer_than_was_asked_for(after: float, starved: int) -> None:
    arrivals = [news(20, "ann"), news(21, "bob"), news(25, "bob", "again")]
    found = play(*arrivals, policy=ONE_A_DAY, hours=26, starved_after=after)
    assert len(found.starved) == starved


def test_an_echo_is_no_news() -> None:
    """A repeat of a key, and an event of the same flurry: nobody is kept from anything by it."""
    echoes = [news(1, "ann", "k"), news(1.01, "ann", "k"), news(1, "ann", "l")]
    found = play(*echoes)
    assert found.verdicts == {
        "ALLOW": 1,
        "SKIP DEBOUNCED": 1,
        "SKIP DUPLICATE_IDEMPOTENCY_KEY": 1,
    }
    assert found.starved == ()


def test_credits_burn_down_and_who_has_none_left_is_starved() -> None:
    policy = EASY + "[quota.tenant.daily]\ntotal = 5000\n"
    demand = Demand(model="standard", input_tokens=1000, output_tokens=0)
    found = play(*(news(n, f"a{n}") for n in range(8)), policy=policy, demand=demand)
    daily = next(one for one in found.budgets if one.budget == "quota daily, total")
    assert [used for _, used in daily.points[:8]] == [1000, 2000, 3000, 4000, *[5000] * 4]
    assert daily.exhausted_at == at(4)
    assert (found.total("allowed"), found.total("runs")) == (8, 5)
    assert [(one.account_id, one.kept_by) for one in found.starved] == [
        (name, "QUOTA_EXCEEDED") for name in ("a5", "a6", "a7")
    ]


def test_pulls_burn_down_their_units() -> None:
    demand = Demand(connectors={"crm": (1, 3)}, pull_budget=Budget(6, {EVERY: 4}))
    arrivals = [news(n / 4, f"a{n % 5}") for n in range(40)]
    found = play(*arrivals, demand=demand)
    units = {one.budget: one for one in found.budgets}
    assert units["pull units a day"].limit == 6
    assert units["pull units a day, crm"].limit == 4
    assert 0 < units["pull units a day, crm"].peak <= 4
    assert found.total("pulls") > 0


def test_tenants_have_budgets_of_their_own(app: App) -> None:
    document = "[tiers.small]\nrun_budget_per_day = 2\n[tenants.sim-2]\nrun_budget_per_day = 7\n"
    found = app.simulate(document, tenants=2, tier="small", length="1d", accounts=20)
    assert [(one.tenant_id, one.limit, one.peak) for one in found.budgets] == [
        ("sim-1", 2, 2),
        ("sim-2", 7, 7),
    ]


def test_a_part_of_an_hour_is_looked_at_as_well() -> None:
    found = play(news(0.1, "ann"), news(1.1, "bob"), hours=1.5)
    assert [point for point in found.budgets[0].points] == [(at(0), 1), (at(1), 2)]
    assert [hour.events for hour in found.hours] == [1, 1]


def test_it_is_told_how_far_it_has_come(app: App) -> None:
    told: list[tuple[int, int]] = []
    app.simulate(length="6h", accounts=5, on_progress=lambda *done: told.append(done))
    assert told == sorted(told)
    assert {total for _, total in told} == {6 * 3600}


def test_nothing_of_the_app_is_touched(app: App) -> None:
    before = app.clock.now()
    app.simulate(length="6h", accounts=5, tenant="someone")
    assert app.clock.now() == before
    with pytest.raises(NotFound):
        app.why_not("acct-00001", tenant_id="someone")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"accounts": 0}, "accounts: must be at least 1"),
        ({"tenants": 51}, "tenants: must be at most 50"),
        ({"length": "1y"}, "length: must be a number and"),
        ({"length": "93d"}, "length: must be more than nothing, at most 92 days"),
        ({"step": "2h"}, "step: must be whole seconds, at most an hour"),
        ({"shape": "square"}, "shape: must be one of"),
        ({"per_account": 1, "per_tenant": 1}, "per_tenant: name the rate"),
        ({"per_account": float("nan")}, "per_account"),
        ({"per_account": -1}, "per_account"),
        ({"tenant": "acme", "tenants": 2}, "tenant: name one tenant"),
        ({"tenant": "_system"}, "tenant: is reserved"),
        ({"burst_length": "2d"}, "burst_length: must be at most a day"),
        ({"trigger_type": "NO_SUCH"}, "trigger_type: policy has no trigger type NO_SUCH"),
        ({"model": "huge"}, "model: policy has no model huge"),
        ({"input_tokens": 5}, "model: name the model"),
        ({"connectors": ["crm"]}, "pull_units: connectors are used only"),
        ({"connectors": ["crm=x"], "pull_units": 1}, "connectors: must be a name"),
        ({"policy": "\n\nrun_budget_per_day = -1"}, "line 3"),
        ({"speed": 3}, "speed"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_question_is_refused(app: App, asked: dict, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        app.simulate(**asked)
    assert said in "; ".join(map(str, refused.value.problems))


# -- the plots -----------------------------------------------------------------------------


def test_the_tightest_budget_is_drawn_first() -> None:
    policy = "run_budget_per_day = 4\n" + EASY + "[quota.tenant.daily]\ntotal = 100000\n"
    demand = Demand(model="standard", input_tokens=1000)
    found = play(*(news(n, f"a{n}") for n in range(4)), policy=policy, demand=demand)
    assert tightest(found, 1)[0].budget == "runs a day"
    picture = drawn(found)
    assert "runs a day of acme, used" in picture
    assert "Verdicts an hour" in picture
    assert picture == drawn(found)


# -- what was recorded -----------------------------------------------------------------------


def lived(place: Place) -> tuple[App, Counter[str]]:
    """Two tenants and an afternoon of theirs, and the verdicts that they got."""
    app = App(place.url, migrate=False)
    app.apply_policy("[tenants.globex]\nrun_budget_per_day = 3\n", reason="small")
    for n in range(30):
        app.signal("acme", f"a{n % 3}", "mail", signal_id=f"s{n}")
        app.signal("acme", f"a{n % 3}", "mail", signal_id=f"s{n}")  # sent twice
        key, tenant = f"k{n}", "globex" if n % 2 else "acme"
        app.trigger(
            tenant, "g", "POSTURE_CHANGE", idempotency_key=key, action_saturation_score=n % 5 / 2
        )
        app.clock.advance(seconds=97)
    app.clock.advance(hours=1)
    found: Counter[str] = Counter()
    for tenant_id in ("acme", "globex"):
        with app.db.read(TenantId(tenant_id)) as tx:
            rows = tx.rows(_VERDICTS, (tenant_id,))
        found += Counter(label(reason or "ALLOW") for (reason,) in rows)
    return app, found


def test_the_record_played_under_its_own_policy_is_the_record(place: Place, clock: object) -> None:
    app, verdicts = lived(place)
    try:
        found = app.simulate(recorded=True, since="1d", step="1s")
        assert found.verdicts == dict(sorted(verdicts.items()))
        assert len(found.verdicts) >= 5
        assert found.to_json()["policy"]["from"] == "in force"
        assert found.tenants == ("acme", "globex")
        assert found.until - found.since == DAY
        assert found.since == START_AT + 30 * 97 * SECOND + HOUR - DAY
        again = app.simulate(recorded=True, since="1d", step="1s")
        assert orjson.dumps(found.to_json()) == orjson.dumps(again.to_json())
    finally:
        app.close()


def test_the_record_of_one_tenant_under_another_policy(place: Place, clock: object) -> None:
    app, verdicts = lived(place)
    try:
        found = app.simulate(ONE_A_DAY, recorded=True, tenant="acme", since="1d", step="1s")
        assert found.total("runs") == 1
        assert found.total("runs") < verdicts["ALLOW"]
        assert found.to_json()["policy"]["from"] == "given"
        with pytest.raises(NotFound, match="there is no tenant nobody"):
            app.simulate(recorded=True, tenant="nobody")
    finally:
        app.close()
