"""How commands end: exit codes, `--json`, quick starts, no traceback for what is expected."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import FOUND, UNREACHABLE, WRONG, CommandLine
from tests.databases import Place
from watchkeeper.cli.endings import ending_of
from watchkeeper.errors import Conflict, Forbidden, Invalid, NotFound, Overloaded, Problem

pytestmark = pytest.mark.req("U-21")

WATCHKEEPER = str(Path(sys.executable).parent / "watchkeeper")


@pytest.mark.parametrize(
    ("error", "code", "count"),
    [
        (Invalid("two", [Problem("a", "is wrong"), Problem("b", "is wrong")]), WRONG, 2),
        (Invalid("the request is wrong"), WRONG, 1),
        (NotFound("there is none"), WRONG, 1),
        (Conflict("it has ended"), WRONG, 1),
        (Forbidden("no"), WRONG, 1),
        (Overloaded("later"), UNREACHABLE, 1),
        (ZeroDivisionError("a bug"), FOUND, 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_an_error_has_its_exit_code_and_a_line_for_each_problem(
    error: Exception, code: int, count: int
) -> None:
    found, lines = ending_of(error)
    assert (found, len(lines)) == (code, count)


def test_a_command_that_is_not_there_is_wrong_usage(bare: CommandLine) -> None:
    bare("sing", exits=WRONG)
    bare("policy", "sing", exits=WRONG)
    bare("verify", "--loudly", exits=WRONG)


def test_help_comes_at_once_and_without_the_heavy_libraries() -> None:
    script = (
        "import sys; from watchkeeper.cli.main import app; "
        "heavy = {'sqlalchemy', 'fastapi', 'pydantic', 'uvicorn', 'alembic'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_the_script_is_installed_and_answers() -> None:
    done = subprocess.run([WATCHKEEPER, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "Exit codes" in done.stdout


def test_colours_stay_out_of_a_pipe() -> None:
    done = subprocess.run([WATCHKEEPER, "version"], capture_output=True, timeout=60)
    assert b"\x1b" not in done.stdout


def test_completion_can_be_shown() -> None:
    environ = {**os.environ, "_WATCHKEEPER_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    environ["COMP_WORDS"] = "watchkeeper pol"
    done = subprocess.run([WATCHKEEPER], env=environ, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["policy"]


def test_the_version_is_that_of_the_package(bare: CommandLine) -> None:
    from importlib.metadata import version

    assert bare.json("version")["watchkeeper"] == version("watchkeeper")


@pytest.mark.req("U-22")
def test_config_shows_each_value_and_where_it_came_from(
    bare: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("watchkeeper.toml").write_text('port = 9000\nhost = "127.0.0.2"\n')
    bare.environ["WATCHKEEPER_PORT"] = "9001"
    bare.environ["WATCHKEEPER_ADMIN_KEY"] = "not-to-be-shown-" * 3
    url = "postgresql://someone:not-to-be-shown@db/agents"
    shown = bare.json("config", "show", "--db", url)
    assert shown["host"] == {"value": "127.0.0.2", "source": "file"}
    assert shown["port"] == {"value": 9001, "source": "env"}
    assert shown["database_url"]["source"] == "flag"
    assert shown["threads_max"]["source"] == "default"
    assert "not-to-be-shown" not in json.dumps(shown)
    assert "not-to-be-shown" not in bare("config", "show", "--db", url).stdout


@pytest.mark.req("U-22")
def test_a_wrong_setting_is_named_as_it_was_written(bare: CommandLine) -> None:
    bare.environ["WATCHKEEPER_PORT"] = "a harbour"
    told = bare("config", "show", exits=WRONG).stderr
    assert told.startswith("watchkeeper: WATCHKEEPER_PORT: ")
    assert "a harbour" not in told


def test_migrating_twice_is_migrating(bare: CommandLine) -> None:
    assert bare.json("migrate")["schema"] == bare.json("migrate")["schema"]
    bare("verify")


def test_a_folder_that_is_not_there_is_named(bare: CommandLine) -> None:
    told = bare("migrate", "--db", "sqlite:///nowhere/at/all.db", exits=UNREACHABLE).stderr
    assert "there is no folder" in told


@pytest.mark.postgresql
def test_a_migration_names_a_server_that_does_not_answer(bare: CommandLine) -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing"
    assert "cannot be reached" in bare("migrate", "--db", url, exits=UNREACHABLE).stderr


@pytest.mark.req("U-20", "T-10")
def test_verify_finds_nothing_on_a_sound_database(wk: CommandLine) -> None:
    wk("signal", "acme", "acct-1", "mail")
    found = wk.json("verify")
    assert found["clean"] is True
    assert all(one["rows"] == [] for one in found["invariants"])
    assert "invariants hold" in wk("verify", "--recompute-all").stdout


@pytest.mark.req("U-20")
def test_verify_exits_with_1_and_names_the_rows(wk: CommandLine, place: Place) -> None:
    wk("signal", "acme", "acct-1", "mail")
    place.execute("UPDATE tenants SET ledger_seq = ledger_seq + 5 WHERE tenant_id = 'acme'")
    found = wk.json("verify", exits=FOUND)
    assert found["clean"] is False
    broken = [one for one in found["invariants"] if not one["clean"]]
    assert broken[0]["rows"][0]["tenant_id"] == "acme"
    assert "do not hold" in wk("verify", exits=FOUND).stdout


@pytest.mark.req("U-20")
def test_keys_are_shown_once_listed_and_revoked(wk: CommandLine) -> None:
    made = wk.json("keys", "create", "--role", "admin")
    assert made["key"].startswith(f"wk_{made['key_id']}_")
    assert made["key"] not in wk("keys", "list").stdout
    wk("keys", "revoke", made["key_id"])
    listed = wk.json("keys", "list")["items"]
    assert listed[0]["revoked_at"] is not None
    assert "no key" in wk("keys", "revoke", "nonsense", exits=WRONG).stderr
    assert "role" in wk("keys", "create", "--role", "king", exits=WRONG).stderr


@pytest.mark.req("U-12", "U-20")
def test_the_clock_is_shown_and_moved(wk: CommandLine, quiet_logs: None) -> None:
    assert wk.json("clock", "show") == {"now": "2030-01-01T00:00:00Z", "virtual": True}
    wk("signal", "acme", "acct-1", "mail")
    wk("trigger", "acme", "acct-1", "POSTURE_CHANGE", "--key", "k")
    moved = wk.json("clock", "advance", "3600")
    assert moved["now"] == "2030-01-01T01:00:00Z"
    assert moved["ran"]
    results = [entry["result"] for entry in _verdicts(wk)]
    assert results == ["ALLOW", "DEFER", "ALLOW"]


def _verdicts(wk: CommandLine) -> list[dict[str, str]]:
    lines = wk("ledger", "tail", "--kind", "verdict", "--json").stdout.splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.req("U-12")
def test_a_real_clock_cannot_be_moved(bare: CommandLine) -> None:
    bare("migrate")
    assert "time is real" in bare("clock", "advance", "5", exits=WRONG).stderr


def test_help_takes_no_time() -> None:
    """Far more than the goal of 0.4 s, for machines that are busy with other tests."""
    took = []
    while len(took) < 10 and min(took, default=3) >= 3:
        started = time.monotonic()
        subprocess.run([WATCHKEEPER, "--help"], capture_output=True, timeout=60, check=True)
        took.append(time.monotonic() - started)
    assert min(took) < 3, took
