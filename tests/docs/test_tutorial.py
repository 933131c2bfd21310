"""The last steps of the tutorial, which start processes, typed to the letter."""

from pathlib import Path

import pytest

from tests.cli.processes import started
from tests.docs.test_blocks import blocks
from tests.house.source import ROOT

pytestmark = [pytest.mark.req("U-40"), pytest.mark.slow]

TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_the_file_of_the_tutorial_is_an_agent_that_works(tmp_path: Path) -> None:
    found = list(blocks(TUTORIAL))
    [agents] = [block.text for block in found if 'App("sqlite:///watchkeeper.db")' in block.text]
    (tmp_path / "agents.py").write_text(agents)
    [typed] = [block.text for block in found if "--app agents:app" in block.text]
    start, send, look = (line.split()[1:] for line in typed.splitlines())
    with started(*start, "--port", "0", folder=tmp_path) as dev:
        dev.wait_for(r"address +http")
        with started(*send, folder=tmp_path) as signal:
            assert signal.end() == 0
        dev.wait_for("thinking about acct-2")
        with started(*look, "--follow", folder=tmp_path) as tail:
            tail.wait_for("run.ended .* SUCCEEDED")
        dev.tell()
        assert dev.end() == 0, dev.errors
