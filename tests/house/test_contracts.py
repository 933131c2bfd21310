"""The import contracts are kept, and each of them notices when it is broken."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import PACKAGE, ROOT

LINT = Path(sys.executable).parent / "lint-imports"


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT), "--no-logo", "--no-cache", "--config", "pyproject.toml"]
    path = {"PYTHONPATH": str(root / "src"), "PATH": "/usr/bin:/bin", "NO_COLOR": "1"}
    return subprocess.run(command, cwd=root, env=path, capture_output=True, text=True, timeout=110)


def test_imports_only_go_down() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("errors.py", "import watchkeeper.core", "Imports only go down"),
        ("core/up.py", "import watchkeeper.store", "Imports only go down"),
        ("moves/up.py", "import watchkeeper.actions", "Imports only go down"),
        ("http/up.py", "import watchkeeper.cli", "Imports only go down"),
        ("core/clock.py", "import time", "The core is pure"),
        ("core/dice.py", "def roll():\n    import random", "The core is pure"),
        ("core/model.py", "import pydantic", "The core is pure"),
        ("moves/sql.py", "import sqlalchemy", "Only the store speaks SQL"),
        ("http/sql.py", "import sqlite3", "Only the store speaks SQL"),
    ],
    ids=lambda value: value if "/" in value else None,
)
def test_a_broken_contract_is_named(tmp_path: Path, file: str, line: str, contract: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    copy = tmp_path / "src" / "watchkeeper"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / file).open("a") as source:
        source.write(f"\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    broken = [row for row in done.stdout.splitlines() if " BROKEN" in row]
    assert any(row.startswith(contract) for row in broken), done.stdout
