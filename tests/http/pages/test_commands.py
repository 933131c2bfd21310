"""The commands that empty pages offer do what the page says, typed to the letter."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.docs.commands import in_page
from tests.http.door import Door
from tests.http.pages.visitor import Visitor
from watchkeeper.cli.main import app

pytestmark = pytest.mark.req("U-40")

EMPTY = {
    "/": "signal",
    "/accounts": "signal",
    "/decisions": "signal",
    "/plans": "plans create",
    "/outbox": "trigger",
    "/ledger": "signal",
    "/policy": "policy apply",
}


@pytest.mark.parametrize("path", EMPTY)
def test_the_command_of_an_empty_page_works(
    door: Door, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text("run_budget_per_day = 5\n")
    if path in ("/ledger", "/outbox"):  # a tenant that was made has an entry and a timer already
        door.place.execute("insert into tenants (tenant_id, created_at) values ('acme', 0)")
    else:
        door.tenant()
    visitor = Visitor(door, tenant=None, role="viewer" if path == "/policy" else "admin")
    shown = visitor.get(path)
    [command] = set(in_page(shown))
    assert command.startswith(f"watchkeeper {EMPTY[path]} ")
    words = [*shlex.split(command)[1:], "--db", door.place.url]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (command, done.stdout, done.stderr)
    assert command not in visitor.get(path)


def test_the_command_of_a_server_without_tenants_works(door: Door) -> None:
    [command] = set(in_page(Visitor(door, tenant=None).get("/")))
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--db", door.place.url])
    assert done.exit_code == 0, (command, done.stdout, done.stderr)
    assert command not in Visitor(door, tenant=None).get("/")
