"""The types of the Python API: a type checker takes what is right and names each mistake."""

import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """\
from typing import Any

from watchkeeper import Action, App, Asked, Decision, Outcome, Proposal, Pull, PullResult, Run

app = App("sqlite://")
seen: list[Any] = []


@app.decision
def think(run: Run) -> None: ...


@app.decision(model="premium", estimated_input_tokens=1, max_output_tokens=1)
async def think_metered(run: Run) -> Decision | None:
    return Decision(note=run.account_id)


@app.connector("crm")
def look(pull: Pull) -> list[dict[str, Any]]:
    return []


@app.connector("mail")
async def look_later(pull: Pull) -> PullResult:
    return PullResult()


@app.action("SEND", risk="low")
async def send(action: Action) -> Outcome:
    return Outcome.success()


@app.proposer("RENEW")
async def suggest(asked: Asked) -> Proposal:
    return Proposal([{"action_type": "SEND"}])


app.objective("RENEW")(lambda facts: facts.get("paid") is True)
app.usage_sink(seen.append)
app.on("invoice.sent")(lambda message: seen.append(message.payload))
app.kill("tenant", reason="test", tenant_id="acme")
app.pull("acme", "ann", "crm", "DEEP")
app.finalize_turn("acme", "t", outcome="completed")
app.sink("s", topic="invoice.sent", url="https://example.com/", kind="nats")
app.plans.list("acme", status="DRAFT")
app.intents.list("acme", status="PENDING_APPROVAL")
"""

MISTAKES = {
    'app.kill("tenent", reason="test")': "arg-type",
    'app.pull("acme", "ann", "crm", "DEPP")': "arg-type",
    'app.finalize_turn("acme", "t", outcome="complete")': "arg-type",
    'app.sink("s", topic="t", url="https://example.com/", kind="webhok")': "arg-type",
    'app.schedule("a", "s", trigger_type="T", cron="* * * * *", catch_up="al")': "arg-type",
    'app.plans.list("acme", status="DRAFTS")': "arg-type",
    'app.intents.list("acme", status="DONE")': "arg-type",
    'app.action("SEND", risk="hihg")': "arg-type",
    'def two(run: Run, more: int) -> None: ...\napp.decision(two)': "type-var",
    'def text(run: Run) -> str: return ""\napp.decision(text)': "type-var",
    'async def told(run: Run) -> dict[str, str]: return {}\napp.decision(told)': "type-var",
    'def other(run: Run) -> None: ...\napp.connector("crm")(other)': "type-var",
    'def yes(action: Action) -> bool: return True\napp.action("SEND")(yes)': "type-var",
    'def none(asked: Asked) -> int: return 1\napp.proposer()(none)': "type-var",
}  # fmt: skip


@pytest.mark.req("U-01")
def test_a_type_checker_names_each_mistake_and_nothing_else(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    text, expected = RIGHT, []
    for mistake, code in MISTAKES.items():
        text += mistake + "\n"
        expected.append(f"{len(text.splitlines())} [{code}]")
    sample.write_text(text)
    cache = Path(__file__).parents[2] / ".mypy_cache"
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), str(sample)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=300)
    errors = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert [f"{line.split(':')[1]} {line.split()[-1]}" for line in errors] == expected, errors
