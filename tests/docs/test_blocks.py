"""Every block of code in the documentation works when it is pasted.

A page is read from top to bottom in a folder of its own: TOML becomes `policy.toml`, lines that
begin with `$ watchkeeper` are typed, Python is run; tests in it are called.
"""

import asyncio
import inspect
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.house.source import ROOT
from watchkeeper.app import App
from watchkeeper.cli.main import app
from watchkeeper.store.migrations import migrate
from watchkeeper.testing import memory_app

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
READ = [page for page in PAGES if "reference" not in page.parts]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "console", "toml", "text", "mermaid", ""}
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    source = page.read_text()
    for found in FENCE.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        yield Block(page, line, found[1], found[2])


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run_python(block: Block) -> None:
    names: dict[str, object] = {"__name__": "docs"}
    code = compile("\n" * block.line + block.text, str(block.page), "exec")
    try:
        exec(code, names)
        for name, value in names.items():
            if name.startswith("test_") and inspect.isfunction(value):
                _call_test(value)
    finally:
        for value in names.values():
            if isinstance(value, App) and not value.is_closed:
                value.close()


def _call_test(test: object) -> None:
    assert inspect.isfunction(test)
    if not inspect.signature(test).parameters:
        _run_test(test())
        return
    fixture = memory_app()
    try:
        _run_test(test(watchkeeper_app=fixture))
    finally:
        fixture.close()


def _run_test(found: object) -> None:
    """A test may be async: it is run on a loop, as its plugin would."""
    if inspect.iscoroutine(found):
        asyncio.run(found)


def run_console(block: Block) -> None:
    for line in block.text.splitlines():
        if not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "))
        assert words[0] == "watchkeeper", line
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{block.page}:{block.line}: {line}\n{done.stdout}{done.stderr}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WATCHKEEPER_DATABASE_URL", raising=False)
    beside = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([beside, os.environ["PATH"]]))
    return tmp_path


@pytest.mark.req("U-40")
@pytest.mark.parametrize("page", READ, ids=name_of)
def test_a_page_works_when_it_is_pasted(page: Path, folder: Path) -> None:
    found = list(blocks(page))
    if not any("watchkeeper migrate" in block.text for block in found):
        migrate("sqlite:///watchkeeper.db")
    for block in found:
        match block.language:
            case "python":
                run_python(block)
            case "console":
                run_console(block)
            case "toml":
                (folder / "policy.toml").write_text(block.text)


@pytest.mark.req("U-40")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_block_says_what_it_is(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.mark.req("U-40")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page}: {target}"


@pytest.mark.req("U-40")
def test_the_example_of_the_readme_is_short() -> None:
    example = next(block for block in blocks(ROOT / "README.md") if block.language == "python")
    said = [line for line in example.text.splitlines() if line.strip()]
    assert len(said) <= 20
