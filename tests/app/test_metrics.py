"""The metrics of an embedded app: runs, deliveries and calls by what became of them."""

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from watchkeeper import App, Decision, telemetry

pytestmark = pytest.mark.req("O-30")
RUN_TOPIC = "decision.evaluation_requested"


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False)
    yield app
    app.close()


def measured(app: App) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = generate_latest(app.metrics_registry).decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def grown(app: App, before: dict, name: str, **labels: str) -> float:
    key = (name, frozenset(labels.items()))
    return measured(app).get(key, 0.0) - before.get(key, 0.0)


def test_runs_deliveries_and_calls_are_counted_by_what_became_of_them(app: App) -> None:
    @app.decision
    def decide(run) -> Decision:
        if run.account_id == "bad":
            raise RuntimeError("the model is down")
        return Decision()

    before = measured(app)
    app.signal("acme", "good", "mail")
    app.signal("acme", "bad", "mail")
    waiting = {"status": "pending", "topic": RUN_TOPIC}
    assert measured(app)["watchkeeper_outbox_messages", frozenset(waiting.items())] == 2
    app.drain()
    for outcome in ("SUCCEEDED", "FAILED"):
        assert grown(app, before, "watchkeeper_runs_total", outcome=outcome) == 1
        assert grown(app, before, "watchkeeper_run_seconds_count", outcome=outcome) == 1
    for outcome, count in (("claimed", 2), ("delivered", 1), ("failed", 1)):
        found = grown(app, before, "watchkeeper_deliveries_total", topic=RUN_TOPIC, outcome=outcome)
        assert (outcome, found) == (outcome, count)
    for outcome in ("returned", "raised"):
        name = "watchkeeper_handler_seconds_count"
        assert grown(app, before, name, topic=RUN_TOPIC, outcome=outcome) == 1


def test_a_registry_of_the_program_can_take_them_in(app: App) -> None:
    own = CollectorRegistry()
    own.register(app.metrics_registry)
    app.signal("acme", "a", "mail")
    text = generate_latest(own).decode()
    assert f'watchkeeper_outbox_messages{{status="pending",topic="{RUN_TOPIC}"}} 1.0' in text


def test_a_scrape_without_the_database_tells_the_rest(app: App) -> None:
    app.close()
    assert b"watchkeeper_runs_total" in generate_latest(app.metrics_registry)


def test_topics_that_users_make_up_do_not_make_labels_without_end(app: App) -> None:
    names = [telemetry.topic_label(f"made.up.{n}") for n in range(2 * telemetry.NAMES_MAX)]
    assert len(set(names)) <= telemetry.NAMES_MAX + 1
    telemetry._topics.difference_update(names)
