"""`docs/conformance.md`: every requirement with the tests that show it, read from their markers.

Tests are read as text, not imported: a decorator `@pytest.mark.req(...)` on a function or a
class, or a `pytestmark` of a file, holds for what stands below it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.markdown import page
from tools.requirements import STAGES, TITLES

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"

Shown = dict[str, list[tuple[str, str]]]


def markers() -> Shown:
    """By requirement: the file and the name of each test that carries it."""
    found: Shown = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        where = path.relative_to(ROOT).as_posix()
        for name, ids in _tests(ast.parse(path.read_text())):
            for one in sorted(ids):
                found[one].append((where, name))
    return found


def unknown(found: Shown) -> list[str]:
    return sorted(found.keys() - TITLES.keys())


def missing(found: Shown) -> list[str]:
    return sorted(TITLES.keys() - found.keys())


def conformance_page() -> str:
    found = markers()
    parts = [
        "What Watchkeeper has to do, by id, and the tests that show it. They all run on every"
        " change, those that need a database on SQLite and on PostgreSQL. The build fails when a"
        " requirement has no test.",
    ]
    for stage, titles in STAGES.items():
        parts.append(f"## {stage}")
        parts += [_requirement(key, title, found[key]) for key, title in titles.items()]
    return page("Conformance", *parts)


def _requirement(key: str, title: str, tests: list[tuple[str, str]]) -> str:
    by_file: dict[str, list[str]] = defaultdict(list)
    for where, name in tests:
        by_file[where].append(name)
    count = f"{len(tests)} test{'s' if len(tests) != 1 else ''}"
    lines = [f"<details><summary><b>{key}</b> {title}: {count}</summary>", ""]
    for where, names in by_file.items():
        told = ", ".join(f"`{name}`" for name in names)
        lines.append(f"- [{where}](../{where}): {told}")
    return "\n".join([*lines, "", "</details>"])


def _tests(
    body: ast.AST, outer: frozenset[str] = frozenset(), prefix: str = ""
) -> Iterator[tuple[str, frozenset[str]]]:
    statements = getattr(body, "body", [])
    for one in statements:
        if isinstance(one, ast.Assign) and _is_pytestmark(one):
            outer |= _ids(one.value)
    for one in statements:
        if isinstance(one, ast.ClassDef):
            below = outer | _decorated(one)
            yield from _tests(one, below, f"{prefix}{one.name}.")
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            if one.name.startswith("test"):
                yield prefix + one.name, outer | _decorated(one)
        elif isinstance(one, ast.Assign) and _is_machine(one):
            yield prefix + ast.unparse(one.targets[0]), outer


def _is_pytestmark(one: ast.Assign) -> bool:
    return any(isinstance(to, ast.Name) and to.id == "pytestmark" for to in one.targets)


def _is_machine(one: ast.Assign) -> bool:
    """`TestX = Machine.TestCase` of a stateful test."""
    [target] = one.targets[:1]
    return isinstance(target, ast.Name) and target.id.startswith("Test")


def _decorated(one: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    return frozenset().union(*(_ids(decorator) for decorator in one.decorator_list))


def _ids(tree: ast.AST) -> frozenset[str]:
    """The ids in every `….req(…)` within; also in marks of parametrize."""
    return frozenset(
        str(given.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "req"
        for given in node.args
        if isinstance(given, ast.Constant)
    )
