"""An installed package has all that it needs: built, installed into a fresh environment, used.

Nothing is downloaded: what `make env` has fetched is in the cache.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.source import PACKAGE, ROOT

pytestmark = [pytest.mark.req("U-40"), pytest.mark.slow]

UV = str(Path(sys.executable).parent / "uv")
SECONDS_MAX = 100
SERVED = """
from starlette.testclient import TestClient
from watchkeeper.http.app import create_app
from watchkeeper.settings import load_settings
from watchkeeper.store.database import open_database

db = open_database("sqlite:///watchkeeper.db")
client = TestClient(create_app(db, load_settings({})))
print([client.get(path).status_code for path in ("/login", "/static/style.css", "/healthz")])
db.close()
"""


def run(*words: str | Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("WATCHKEEPER_", "PYTHON"))}
    environ.pop("VIRTUAL_ENV", None)
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**environ, **more},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )


def test_the_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    done = run(UV, "build", "--wheel", "--offline", "--out-dir", tmp_path, folder=ROOT)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = [
        path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in str(path)
    ]
    wanted = {f"watchkeeper/{path.relative_to(PACKAGE)}" for path in files}
    assert wanted <= packed
    kinds = {Path(name).suffix for name in wanted} | {Path(name).name for name in wanted}
    assert {".py", ".sql", ".html", ".css", ".js", "py.typed"} <= kinds


def test_an_installed_package_works_without_a_checkout_and_without_extras(tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    made = run(
        *(UV, "sync", "--frozen", "--offline", "--no-editable", "--no-default-groups"),
        *("--reinstall-package", "watchkeeper"),  # built now, and not taken from the cache
        folder=ROOT,
        UV_PROJECT_ENVIRONMENT=str(fresh),
        UV_PYTHON=sys.executable,
    )
    assert made.returncode == 0, made.stderr
    python, watchkeeper = fresh / "bin" / "python", fresh / "bin" / "watchkeeper"
    where = run(python, "-c", "import watchkeeper; print(watchkeeper.__file__)", folder=tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(fresh)
    for words in (("migrate",), ("signal", "acme", "acct-1", "email.received"), ("verify",)):
        done = run(watchkeeper, *words, folder=tmp_path)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    served = run(python, "-c", SERVED, folder=tmp_path)
    assert served.stdout.splitlines()[-1:] == ["[200, 200, 200]"], served.stderr
    url = "postgresql://nobody@127.0.0.1:1/none"
    for command in ("migrate", "verify"):
        missing = run(watchkeeper, command, "--db", url, folder=tmp_path)
        assert missing.returncode == 3
        assert 'pip install "watchkeeper[postgres]"' in missing.stderr
