"""Every example runs as it stands, offline, and says that it went well."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import ROOT

EXAMPLES = ROOT / "examples"
TIMEOUT_SECONDS = 100


def run(example: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """As a reader would, but in a folder of its own and with every warning an error."""
    command = [sys.executable, "-W", "error", str(example / "run.py")]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )


@pytest.mark.req("S-04", "S-18", "U-40")
def test_billing_charges_what_was_metered(tmp_path: Path) -> None:
    done = run(EXAMPLES / "billing", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "12 usage events took 28 deliveries"
    assert said[1] == "4 commits and 12 answers were lost"
    assert said[-1] == "the invoices agree"
    for line in said[-3:-1]:
        tenant, turns, charged, invoiced = line.split()
        assert tenant in ("acme", "globex")
        assert int(turns) == 6
        assert int(charged) == int(invoiced) > 0
    assert list(tmp_path.iterdir()) == []


NO_INBOX = ("self.inbox.apply_once(", "(lambda db, key, apply, **_: apply())(")
NO_SIGNATURE = ("verify(self.secrets, headers, body)", "unverified(body)")
UNVERIFIED = """

def unverified(body):
    import json
    from watchkeeper.receiver import Received

    event = json.loads(body)
    return Received(event.get("id", "x"), {"source": "x", **event})
"""


@pytest.mark.slow
@pytest.mark.req("S-18")
@pytest.mark.parametrize("mutant", [NO_INBOX, NO_SIGNATURE], ids=["inbox", "signature"])
def test_billing_notices_what_is_missing(tmp_path: Path, mutant: tuple[str, str]) -> None:
    copy = shutil.copytree(EXAMPLES / "billing", tmp_path / "billing")
    source = (copy / "consumer.py").read_text()
    assert source.count(mutant[0]) == 1
    (copy / "consumer.py").write_text(source.replace(*mutant) + UNVERIFIED)
    done = run(copy, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "forged delivery" in done.stdout, done.stderr


@pytest.mark.req("A-07", "A-08", "A-14", "U-40")
def test_an_agent_defends_a_renewal_from_a_signal_to_a_completed_plan(tmp_path: Path) -> None:
    done = run(EXAMPLES / "renewal_defence", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert said[0] == "the agent proposes 3 steps: DRAFT"
    assert said[1].startswith("approved, but held back: PRECONDITIONS_UNMET: facts are missing")
    assert said[3].startswith("asked of a person: ESCALATE_SUPPORT_RISK")
    assert said[4] == "the plan is COMPLETED: all_steps_done"
    assert said[5] == "  meeting: DONE after 2 attempt(s)"


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: str(path.relative_to(EXAMPLES))
)
def test_an_example_fits_on_the_desk(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 200
