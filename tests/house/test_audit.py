"""The audit fails on what is known to be vulnerable, and only on that."""

import runpy

import pytest

from tests.house.source import ROOT

AUDIT = runpy.run_path(str(ROOT / ".ci" / "audit.py"))

SOUND = {"name": "sound", "version": "1", "vulns": []}
BAD = {"name": "bad", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}
UNKNOWN = {"name": "unknown", "skip_reason": "not found"}


@pytest.mark.req("O-25")
@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ([SOUND], 0, "no known vulnerability"),
        ([SOUND, BAD], 1, "VULNERABLE bad 1: CVE-1, fixed in 2"),
        ([UNKNOWN, BAD], 1, "VULNERABLE"),
        ([SOUND, UNKNOWN], 0, "not audited, unknown to the service: unknown"),
        ([UNKNOWN], 0, "AUDIT NOT DONE"),
    ],
)
def test_the_verdict_of_an_audit(answer, code, said, capsys) -> None:
    assert AUDIT["judge"](answer) == code
    assert said in capsys.readouterr().out


@pytest.mark.req("O-25")
def test_everything_locked_has_a_hash_and_comes_from_the_public_index() -> None:
    lock = (ROOT / "uv.lock").read_text()
    registries = set(sources(lock)) - {'editable = "."'}
    assert len(registries) == 1, "one index, and nothing from a path or a repository"
    assert all(one.startswith('registry = "https://') and "@" not in one for one in registries)
    assert lock.count("url = ") == lock.count("hash = ")


def sources(lock: str) -> list[str]:
    return [line[len("source = { ") : -2] for line in lock.splitlines() if "source = {" in line]
