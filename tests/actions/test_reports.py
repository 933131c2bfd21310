"""The one generator: its numbers are the ledger's, whatever happened, and what is stored stays."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.books import Meter
from tests.databases import START_AT, Clock, Databases, Place
from tests.play import ACME
from tests.power_cut import contents
from tests.verify_clean import assert_verified, broken
from watchkeeper import App, Decision, PullResult, telemetry
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.forget_expired import forget_expired
from watchkeeper.actions.generate_report import count_ledger, count_ledgers, generate_report
from watchkeeper.actions.tick_milestones import Ticked, tick_milestones
from watchkeeper.actions.tidy_outbox import sweep_delivered
from watchkeeper.core import report_build
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Entry
from watchkeeper.core.report_check import problems
from watchkeeper.core.report_json import from_json, to_json
from watchkeeper.core.reports import Forecast, NotEnough, Report
from watchkeeper.core.time import HOUR, MINUTE, SECOND, Instant, to_datetime
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, tallies
from watchkeeper.store.database import Database

DUPLICATE = "DUPLICATE_IDEMPOTENCY_KEY"


def nobody(_tenant: str) -> bool:
    return False


def make(db: Database, tenant: str = ACME) -> Report:
    report = generate_report(db, TenantId(tenant), hears=nobody)
    assert report is not None
    return report


class Book:
    """The entries of a report's window, counted by hand."""

    def __init__(self, place: Place, report: Report) -> None:
        header = report.header
        rows = place.execute(
            "select kind, result, reason, trigger_type, data, at, subject from ledger"
            f" where tenant_id = '{header.tenant_id}' and seq <= {header.last_entry.value}"
        )
        loaded = [(*row[:4], _load(row[4]), row[5], row[6]) for row in rows]
        self.rows = [r for r in loaded if header.window.since <= r[5] <= header.window.until]

    def of(self, kind: str) -> list[tuple]:
        return [row for row in self.rows if row[0] == kind]

    def total(self, kind: str, field: str, **where: Any) -> int:
        return sum(row[4].get(field) or 0 for row in self.of(kind) if _fits(row, where))

    def agrees_with(self, report: Report) -> None:
        signals = [r for r in self.of("verdict") if "signal_id" in r[4]["event"]]
        assert report.collected.signals.value == sum(r[2] != DUPLICATE for r in signals)
        scheduled = [r for r in self.of("pull.decided") if r[1] == "SCHEDULED"]
        assert report.collected.pulls.value == len(scheduled)
        assert report.collected.units.value == sum(r[4]["units"] for r in scheduled)
        for one in report.collected.connectors:
            own = {"connector_id": one.connector_id}
            mine = [r for r in scheduled if _fits(r, own)]
            assert one.pulls.value == len(mine)
            assert one.units.value == sum(r[4]["units"] for r in mine)
            assert one.signals.value == self.total("pull.ended", "signals", **own)
        seen = report.observations
        assert counted(seen.decisions) == Counter((r[1], r[2]) for r in self.of("verdict"))
        assert counted(seen.runs) == Counter((r[1], None) for r in self.of("run.ended"))
        acts = Counter((r[0], None) for r in self.rows if r[0].startswith(("PLAN_", "STEP_")))
        assert counted(seen.plans) + counted(seen.steps) == acts
        assert seen.credits_settled.value == self.total("turn.settled", "charged_micro")
        dead = Counter((r[2], r[4]["topic"]) for r in self.of("message.dead"))
        assert Counter({(o.label, o.name): o.count.value for o in seen.events_dead}) == dead
        assert report.header.entries.value == len(self.rows)
        self._series_agree_with(report)

    def _series_agree_with(self, report: Report) -> None:
        for one in report.series:
            if one.of != "decisions":
                continue
            points = Counter(
                (row[5] - one.starts_at) // (one.bucket_seconds * SECOND)
                for row in self.of("verdict")
                if row[1] == one.label
            )
            assert {n: value for n, value in enumerate(one.values) if value} == dict(points)


def _load(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else json.loads(data)


def _fits(row: tuple, where: dict[str, Any]) -> bool:
    return all(row[4].get(name) == value for name, value in where.items())


def counted(lines: Any) -> Counter:
    return Counter({(one.label, one.detail): one.count.value for one in lines})


# -- what really happened --------------------------------------------------------------------------


@pytest.fixture
def app(db_url: str, clock: Clock) -> Iterator[App]:
    made = App(db_url, migrate=False)
    yield made
    made.close()


def busy_half_a_day(app: App) -> None:
    """Signals and repeats of them, runs that fail, pulls, turns, messages that die."""

    @app.decision
    def decide(run: Any) -> Decision:
        if run.account_id == "bob":
            raise ValueError("no")
        return Decision()

    @app.connector("crm")
    def look(pull: Any) -> PullResult:
        if pull.account_id == "bob":
            raise ValueError("gone")
        signal = {"account_id": pull.account_id, "type": "seen", "signal_id": pull.pull_job_id}
        return PullResult(signals=[signal])

    app.set_pull_budget(ACME, max_pull_units_per_day=20)
    for hour in range(12):
        for account in ("ann", "bob", 'c"signal_id":"c'):
            app.signal(ACME, account, "mail", signal_id=f"{account}-{hour // 2}")
            app.trigger(ACME, account, "SIGNAL_ARRIVED", idempotency_key=f"{account}-t{hour}")
        app.pull(ACME, "ann" if hour % 3 else "bob", "crm")
        app.pull(ACME, "ann", "mail")
        app.clock.advance(minutes=55)
    meter = Meter(app.db, ACME)
    for n in range(3):
        meter.reserve(f"t{n}")
        meter.finalize(f"t{n}", usage=(100 * n, 7))


@pytest.mark.req("R-09", "R-07")
def test_the_numbers_are_those_of_the_ledger(app: App, place: Place) -> None:
    busy_half_a_day(app)
    report = make(app.db)
    Book(place, report).agrees_with(report)
    assert report.collected.signals.value > 10
    assert report.collected.pulls.value > 3
    assert {one.connector_id for one in report.coverage} == {"crm", "mail"}
    assert {one.state for one in report.coverage} == {"PARTIAL", "MISSING"}
    assert report.observations.credits_settled.value > 0
    assert counted(report.observations.runs)["FAILED", None] > 0
    assert isinstance(report.forecast, Forecast)
    assert problems(report) == []
    assert_verified(app.db)


@pytest.mark.req("R-07", "R-11")
def test_by_hand_and_by_itself_it_is_the_same_document(app: App, place: Place) -> None:
    busy_half_a_day(app)
    app.clock.advance(hours=1)
    [auto] = [one for one in app.reports(ACME) if one.trigger == "AUTO_12H"]
    by_itself, by_hand = app.report(auto.report_id), make(app.db)
    Book(place, by_itself).agrees_with(by_itself)
    assert by_itself.header.window.length_us == 12 * HOUR
    assert by_hand.header.trigger == "MANUAL"
    assert [one.how for one in by_itself.series] == [one.how for one in by_hand.series]
    text = app.report_json(by_hand.header.report_id)
    assert text == to_json(by_hand)
    assert from_json(text) == by_hand


@pytest.mark.req("R-11")
def test_a_stored_report_is_not_counted_anew(app: App) -> None:
    app.signal(ACME, "ann", "mail")
    made = make(app.db)
    for n in range(5):
        app.signal(ACME, f"a{n}", "mail")
    app.clock.advance(hours=1)
    assert app.report(made.header.report_id) == made


# -- the window ------------------------------------------------------------------------------------


@pytest.mark.req("R-07")
def test_without_an_installation_it_covers_from_the_first_entry(app: App, clock: Clock) -> None:
    create_tenant(app.db, ACME, installed_now=False)
    clock.advance(hours=3)
    report = make(app.db)
    assert (report.header.window.since, report.header.installed_at) == (START_AT, None)
    assert report.header.window_from == "the first entry"
    assert report.header.entries.value == 1


@pytest.mark.req("R-09")
@pytest.mark.parametrize("minutes", [-30, 0, 10, 59, 600])
def test_what_lies_before_the_installation_is_not_counted(
    app: App, clock: Clock, place: Place, minutes: int
) -> None:
    installed_at = Instant(START_AT + minutes * MINUTE)
    create_tenant(app.db, ACME, installed_at=installed_at)
    for n in range(20):
        app.trigger(ACME, f"a{n}", "SIGNAL_ARRIVED", idempotency_key=str(n))
        clock.advance(minutes=5)
    report = make(app.db)
    Book(place, report).agrees_with(report)
    assert report.header.window.since == min(installed_at, clock.at)
    assert_verified(app.db)


@pytest.mark.req("R-09")
def test_a_short_window_is_not_enough_for_a_forecast(app: App, clock: Clock) -> None:
    create_tenant(app.db, ACME)
    clock.advance(hours=5)
    assert isinstance(make(app.db).forecast, NotEnough)
    app.apply_policy("[reports]\nforecast_min_hours = 5\n", reason="test")
    assert isinstance(make(app.db).forecast, Forecast)


# -- what is not a report --------------------------------------------------------------------------


@pytest.mark.req("R-07", "R-10")
def test_a_report_that_its_check_refuses_is_not_stored_not_even_in_part(
    app: App, clock: Clock, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.signal(ACME, "ann", "mail")
    clock.advance(hours=12)
    count_ledger(app.db, ACME)
    before = contents(place)
    with monkeypatch.context() as loose:
        loose.setitem(report_build.HOW, "signals", "the best signals")
        with pytest.raises(Conflict, match="best"):
            make(app.db)
        assert contents(place) == before
        result = tick_milestones(app.db, ACME, hears=nobody)
    assert (result.outcome, result.is_recorded) == (Ticked.FAILED, True)
    assert app.reports(ACME) == []
    assert app.milestones(ACME)[0].failure_count == 1
    clock.advance(minutes=30)
    assert tick_milestones(app.db, ACME, hears=nobody).outcome is Ticked.GENERATED


@pytest.mark.req("R-11")
def test_what_there_is_not_is_not_found(app: App) -> None:
    create_tenant(app.db, ACME)
    create_tenant(app.db, TenantId("beta"))
    mine = make(app.db).header.report_id
    for wrong in ("nothing", new_id()):
        with pytest.raises(NotFound):
            app.report(wrong)
    with pytest.raises(NotFound):
        app.report(mine, tenant_id="beta")
    assert app.report(mine, tenant_id=ACME) == app.report(mine)


# -- any history -----------------------------------------------------------------------------------

KINDS: dict[str, Any] = {
    "verdict": st.tuples(
        st.sampled_from(["ALLOW", "DEFER", "SKIP"]),
        st.sampled_from([None, "COOLDOWN", DUPLICATE]),
        st.fixed_dictionaries(
            {
                "event": st.fixed_dictionaries(
                    {"account_id": st.sampled_from(["a", '"signal_id":', "\\"])},
                    optional={"signal_id": st.just("s")},
                )
            }
        ),
    ),
    "run.ended": st.tuples(
        st.sampled_from(["SUCCEEDED", "FAILED"]), st.none(), st.just({"state": "x"})
    ),
    "pull.decided": st.tuples(
        st.sampled_from(["SCHEDULED", "REFUSED"]),
        st.none(),
        st.fixed_dictionaries(
            {"connector_id": st.sampled_from(["crm", "mail"]), "units": st.integers(1, 9)}
        ),
    ),
    "pull.ended": st.tuples(
        st.sampled_from(["SUCCEEDED", "FAILED"]),
        st.none(),
        st.fixed_dictionaries(
            {"connector_id": st.sampled_from(["crm", "mail"])},
            optional={"signals": st.integers(0, 9)},
        ),
    ),
    "turn.settled": st.tuples(
        st.just("completed"),
        st.none(),
        st.fixed_dictionaries({"charged_micro": st.integers(0, 10**12)}),
    ),
    "message.dead": st.tuples(
        st.none(),
        st.sampled_from(["REJECTED", "KILL_SWITCH"]),
        st.fixed_dictionaries({"topic": st.sampled_from(["t", "orders.placed"])}),
    ),
    "PLAN_PAUSED": st.tuples(st.none(), st.none(), st.just({"plan_id": "p"})),
    "STEP_FAILED": st.tuples(st.none(), st.none(), st.just({"plan_id": "p", "step_id": "s"})),
}
entries = st.sampled_from(sorted(KINDS)).flatmap(
    lambda kind: st.tuples(st.just(kind), KINDS[kind], st.integers(-3 * HOUR, 27 * HOUR))
)
histories = st.lists(st.one_of(entries, st.integers(1, 5)), max_size=40)
_tenants = count(1)


def write(db: Database, tenant: TenantId, told: tuple) -> None:
    kind, (result, reason, data), after = told
    entry = Entry(
        entry_id=new_id(),
        at=Instant(START_AT + after),
        stage="test",
        kind=kind,
        subject="x",
        data=json.dumps(data, separators=(",", ":")),
        trigger_type="SIGNAL_ARRIVED" if kind == "verdict" else None,
        result=result,
        reason=reason,
    )
    with db.begin(tenant) as tx:
        ledger.record(tx, [entry])


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
)
def shared(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Any]:
    with databases.opened(request.param) as (db, clock):
        yield db, clock


@pytest.mark.req("R-09")
@given(history=histories, installed=st.integers(-2 * HOUR, 5 * HOUR), until=st.integers(0, 26))
def test_for_any_history_the_numbers_are_those_of_the_ledger(
    shared: tuple[Database, Clock], history: list, installed: int, until: int
) -> None:
    """Entries in any order of time, counted a few at a time, in a window that cuts hours."""
    db, clock = shared
    clock.set(START_AT)
    tenant = TenantId(f"any-{next(_tenants)}")
    create_tenant(db, tenant, installed_at=Instant(START_AT + installed))
    for told in history:
        if isinstance(told, int):
            with db.begin(tenant) as tx:
                tallies.count_slice(tx, told)
        else:
            write(db, tenant, told)
    clock.set(Instant(START_AT + until * HOUR + 17 * MINUTE))
    report = make(db, tenant)
    Book(clock.place, report).agrees_with(report)
    assert problems(report) == []
    found = {one.invariant for one in _verified(db, tenant) if not one.is_clean}
    assert not found & {"tallies_are_the_ledger", "report_is_in_its_window"}


def _verified(db: Database, tenant: TenantId) -> Any:
    from watchkeeper.actions.verify import verify

    return verify(db, [tenant], recompute_max=0)


# -- counting --------------------------------------------------------------------------------------


@pytest.mark.req("R-09")
def test_a_ledger_that_has_run_ahead_is_counted_in_between(app: App, place: Place) -> None:
    create_tenant(app.db, ACME)
    events = [
        {"account_id": f"a{n}", "trigger_type": "SIGNAL_ARRIVED", "idempotency_key": str(n)}
        for n in range(1000)
    ]
    assert count_ledgers(app.db) == 0
    for batch in range(11):
        more = [{**one, "idempotency_key": f"{batch}-{n}"} for n, one in enumerate(events)]
        app.trigger_many(ACME, more)
    assert count_ledgers(app.db) == 1
    [(seq,)] = place.execute("select seq from tally_places where tenant_id = 'acme'")
    [(last,)] = place.execute("select ledger_seq from tenants where tenant_id = 'acme'")
    assert seq == last
    assert count_ledgers(app.db) == 0


@pytest.mark.req("T-30")
def test_the_audit_finds_a_tally_that_somebody_changed(app: App, place: Place) -> None:
    app.signal(ACME, "ann", "mail")
    count_ledger(app.db, ACME)
    assert_verified(app.db)
    place.execute("update tallies set entries = entries + 1 where kind = 'verdict'")
    assert set(broken(app.db)) == {"tallies_are_the_ledger"}


@pytest.mark.req("R-09")
def test_messages_that_retention_removed_were_delivered_all_the_same(
    app: App, clock: Clock, place: Place
) -> None:
    @app.decision
    def decide(run: Any) -> Decision:
        return Decision()

    for n in range(5):
        app.trigger(ACME, f"a{n}", "SIGNAL_ARRIVED", idempotency_key=str(n))
    app.drain()
    name = "watchkeeper/decision.evaluation_requested"

    def delivered() -> dict[str | None, int]:
        found = make(app.db).observations.events_delivered
        return {one.name: one.count.value for one in found}

    assert delivered()[name] == 5
    clock.advance(days=8)
    place.execute(f"update outbox_delivered set done_at = {START_AT + HOUR} where id is not null")
    before = place.execute("select count(*) from outbox_delivered")[0][0]
    assert _sweep(app, place) == before
    assert delivered()[name] == 5
    clock.advance(days=1)
    app.trigger(ACME, "a0", "SIGNAL_ARRIVED", idempotency_key="again")
    app.drain()
    assert delivered()[name] == 6


def _sweep(app: App, place: Place) -> int:
    """Ids begin with the real time, which is long before the virtual one."""
    return sweep_delivered(app.db, 7)


# -- what is kept ----------------------------------------------------------------------------------


@pytest.mark.req("R-03", "R-02")
def test_old_reports_leave_if_they_were_asked_for_and_milestones_stay(
    app: App, clock: Clock
) -> None:
    app.apply_policy("[reports]\nkept_days = 90\n", reason="test")
    create_tenant(app.db, ACME)
    make(app.db)
    app.clock.advance(hours=24)
    clock.advance(days=89)
    forget_expired(app.db)
    assert len(app.reports(ACME)) == 3
    clock.advance(days=2)
    make(app.db)
    forget_expired(app.db)
    assert [one.trigger for one in app.reports(ACME)] == ["MANUAL", "AUTO_24H", "AUTO_12H"]
    assert [one.outcome for one in app.milestones(ACME)] == ["GENERATED", "GENERATED"]
    assert_verified(app.db)


# -- news and numbers ------------------------------------------------------------------------------


@pytest.mark.req("R-07")
def test_news_is_written_only_where_somebody_listens(app: App, clock: Clock) -> None:
    heard: list[dict[str, Any]] = []
    create_tenant(app.db, ACME)
    app.generate_report(ACME)
    assert app.drain()["delivered"] == 0

    @app.on("report.generated")
    def listen(message: Any) -> None:
        heard.append(json.loads(message.payload)["detail"])

    made = app.generate_report(ACME)
    app.drain()
    clock.advance(hours=12)
    app.drain()
    app.drain()
    assert [one["trigger"] for one in heard] == ["MANUAL", "AUTO_12H"]
    assert heard[0]["report_id"] == made.header.report_id
    assert heard[1]["window"]["since"] == to_datetime(START_AT).isoformat().replace("+00:00", "Z")


def metric(name: str, **labels: str) -> float:
    return telemetry.REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.req("R-12")
def test_what_happens_is_measured(app: App, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> dict[str, float]:
        return {
            "due": metric(
                "watchkeeper_milestone_decisions_total", decision="due", milestone="AUTO_24H"
            ),
            "made": metric("watchkeeper_reports_total", trigger="AUTO_24H", result="generated"),
            "failed": metric("watchkeeper_reports_total", trigger="AUTO_24H", result="failed"),
            "missed": metric("watchkeeper_milestones_missed_total", milestone="AUTO_12H"),
            "waiting": metric(
                "watchkeeper_milestone_decisions_total",
                decision="backing_off",
                milestone="AUTO_24H",
            ),
        }

    from watchkeeper.actions.show_reports import count_backoffs

    before = seen()
    create_tenant(app.db, ACME)
    clock.advance(days=1)
    with monkeypatch.context() as loose:
        loose.setitem(report_build.HOW, "signals", "the best signals")
        tick_milestones(app.db, ACME, hears=nobody)
    assert count_backoffs(app.db) == {"AUTO_24H": 1}
    tick_milestones(app.db, ACME, hears=nobody)
    clock.advance(minutes=30)
    tick_milestones(app.db, ACME, hears=nobody)
    assert count_backoffs(app.db) == {}
    after = {name: value - before[name] for name, value in seen().items()}
    assert after == {"due": 2, "made": 1, "failed": 1, "missed": 1, "waiting": 1}
