"""Benchmarks are a command that prints ratios; each has a place in the docs."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import BENCHMARKS
from tests.house.source import ROOT

RATIO = re.compile(r"\b\d+\.\d\d \[\d+\.\d\d\.\.\d+\.\d\d\]")


@pytest.mark.req("O-05")
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_exists_and_is_described(name: str) -> None:
    module, function = BENCHMARKS[name]
    found = importlib.util.find_spec(module)
    assert found is not None
    assert found.origin is not None
    body = ast.parse(Path(found.origin).read_text()).body
    made = {one.name for one in body if isinstance(one, ast.FunctionDef)}
    assert function in made
    assert f"`{name}`" in (ROOT / "docs" / "benchmarks.md").read_text()


def measured(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "watchkeeper", "bench", *words]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.req("O-05", "U-20")
def test_the_command_measures_the_product_beside_the_raw_database() -> None:
    answer = measured("admission-sqlite", "--rounds", "1", "--seconds", "0.01")
    assert answer.returncode == 0, answer.stderr
    assert "| batch |" in answer.stdout
    assert RATIO.search(answer.stdout)


@pytest.mark.req("O-05")
def test_an_unknown_benchmark_is_named() -> None:
    answer = measured("nonsense")
    assert answer.returncode == 2
    assert "nonsense" in answer.stderr
    assert "admission-sqlite" in answer.stderr
