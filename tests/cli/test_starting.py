"""An app that is named on the command line, used on another database than its own."""

import pytest

from watchkeeper.app import App
from watchkeeper.cli.starting import adopt
from watchkeeper.results import Decision


@pytest.mark.req("S-04")
def test_what_an_app_brought_is_the_same_on_another_database() -> None:
    named, used = App("sqlite://"), App("sqlite://", virtual_clock=True)
    billed = []

    @named.usage_sink
    def bill(event: dict[str, object]) -> None:
        billed.append(event["charged_credits_micro"])

    @named.decision(model="premium", estimated_input_tokens=100, max_output_tokens=10)
    def decide(run: object) -> Decision:
        return Decision(usage={"input_tokens": 90, "output_tokens": 8})

    @named.on("mine")
    def mine(message: object) -> None:
        pass

    adopt(used, named)
    used.trigger("acme", "a", "SIGNAL_ARRIVED", idempotency_key="k")
    used.drain()
    assert billed == [90 * 5 + 8 * 15]
    assert ("watchkeeper", "mine") in used.registry
    named.close()
    used.close()
