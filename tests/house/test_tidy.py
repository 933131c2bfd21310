"""House rules a linter cannot hold. Each failure names the file and the line."""

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.house.source import (
    CORE,
    FILES,
    PACKAGE,
    ROOT,
    TESTS,
    calls,
    functions,
    last_name,
    name_of,
    tree_of,
)

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

WALL_CLOCK = re.compile(
    r"(^|\.)(time\.(time|time_ns|localtime|gmtime)|(datetime|date)\.(now|utcnow|today)|utcnow)$"
)
SLEEP = re.compile(r"(^|\.)(time|asyncio|anyio)\.sleep$|^sleep$")

# Where wall time is read, and why the transaction's clock will not do there.
WALL_CLOCK_EDGES = {
    "store/database.py": "the process clock of SQLite, read after the write lock is held",
    "store/clock.py": "the virtual clock begins at wall time",
    "ids.py": "the time inside an id orders keys; nothing is decided by it",
    "handlers/results.py": "a date in a Retry-After header is of the wall clock",
    "handlers/webhook.py": "a receiver checks a signature's age against its own wall clock",
    "http/keys.py": "a key expires in wall time, virtual clock or not",
    "http/session.py": "a browser's session expires in wall time",
}

# Where a program may wait, and for what.
SLEEPERS = {
    "workers.py": "the loops between two looks",
    "http/pages/live.py": "the gap between two words to a page that is open",
    "http/refusals.py": "those that are refused wait for their turn",
    "store/backoff.py": "the pause before a transaction that met another is tried again",
}

UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")
UNSPOKEN = {"job", "task", "item", "utils", "util", "helpers", "helper", "manager", "service"}
CONTRACT_NAMES = {"pull_job_id", "job", "items"}

SECRET = re.compile(
    r"^(key|token)$|(^|_)(api_key|admin_key|key_hash|secret|signature|password|csrf\w*|session_token)$",
    re.IGNORECASE,
)
IMPURE = {"now", "utcnow", "today", "time", "monotonic", "uuid4", "uuid7", "random", "getenv"}
IMPURE |= {"open", "print", "input", "read_text", "write_text", "environ", "sleep"}

Rule = Callable[[Path], None]


def each_of(files: Sequence[Path]) -> Callable[[Rule], Callable[[], None]]:
    """One test for all of them, which names every file that breaks the rule."""

    def made(rule: Rule) -> Callable[[], None]:
        def test() -> None:
            broken = []
            for path in files:
                try:
                    rule(path)
                except AssertionError as error:
                    broken.append(f"{name_of(path)}: {error}")
            assert not broken, "\n".join(broken)

        test.__name__, test.__qualname__ = rule.__name__, rule.__qualname__
        return test

    return made


each_file = each_of(FILES)
each_core_file = each_of(CORE)


@each_file
def test_a_file_and_its_functions_fit_on_the_desk(path: Path) -> None:
    source = path.read_text()
    assert len(source.splitlines()) <= FILE_LINES_MAX, f"{path}: split this file"
    for function in functions(ast.parse(source)):
        assert function.end_lineno is not None
        length = function.end_lineno - function.lineno + 1
        place = f"{path}:{function.lineno}"
        assert length <= FUNCTION_LINES_MAX, f"{place}: {function.name} is {length} lines"


@each_of(FILES + TESTS)
def test_a_file_says_what_it_is_for(path: Path) -> None:
    assert not path.stat().st_size or ast.get_docstring(tree_of(path)), f"{path}: no docstring"


@each_of(FILES + TESTS)
def test_nothing_is_left_for_later(path: Path) -> None:
    assert not UNFINISHED.search(path.read_text())


@each_file
def test_types_are_never_ignored(path: Path) -> None:
    assert not re.search(r"#\s*type:\s*ignore", path.read_text())


@each_core_file
def test_the_core_calls_nothing_that_could_answer_differently_tomorrow(path: Path) -> None:
    for line, called in calls(tree_of(path)):
        assert called.rpartition(".")[2] not in IMPURE, f"{path}:{line}: {called}()"


@each_core_file
def test_the_core_keeps_no_state_between_calls(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        assert not isinstance(node, ast.Global | ast.Nonlocal), f"{path}:{node.lineno}"


@each_core_file
def test_values_of_the_core_are_frozen_and_slotted(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ClassDef):
            for decorator in map(ast.unparse, node.decorator_list):
                if "dataclass" in decorator:
                    place = f"{path}:{node.lineno}: {node.name}"
                    assert "frozen=True" in decorator, f"{place} must be frozen"
                    assert "slots=True" in decorator, f"{place} must have slots"


@each_file
def test_time_comes_from_the_transaction(path: Path) -> None:
    found = [(line, name) for line, name in calls(tree_of(path)) if WALL_CLOCK.search(name)]
    assert not found or name_of(path) in WALL_CLOCK_EDGES, f"{path}: {found}: take tx.now"


@each_file
def test_only_the_loops_sleep(path: Path) -> None:
    found = [(line, name) for line, name in calls(tree_of(path)) if SLEEP.search(name)]
    assert not found or name_of(path) in SLEEPERS, f"{path}: {found}: wait in workers.py"


@each_file
def test_nothing_is_printed(path: Path) -> None:
    assert [line for line, name in calls(tree_of(path)) if name == "print"] == []


@each_file
def test_secrets_are_compared_in_constant_time(path: Path) -> None:
    assert leaks(tree_of(path)) == [], f"{path}: use hmac.compare_digest"


def leaks(tree: ast.AST) -> list[str]:
    """Comparisons of a secret by `==`, which tells its length of agreement by the time it takes.

    Not meant are columns (`table.c.key == …` becomes SQL) and the names of entries in a mapping,
    which are called `key` too but are compared with a literal.
    """
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        if not any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            continue
        sides = [node.left, *node.comparators]
        if any(".c." in ast.unparse(side) for side in sides):
            continue
        names = {last_name(side) for side in sides}
        if any(isinstance(side, ast.Constant) for side in sides):
            names -= {"key", "token"}
        if any(SECRET.search(name) for name in names):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("given == self.admin_key", 1),
        ("request.signature != expected", 1),
        ("row['key_hash'] == digest", 1),
        ("token == other.encode()", 1),
        ("api_keys.c.key_hash == wanted", 0),
        ("key == 'heat'", 0),
        ("idempotency_key == other", 0),
    ],
)
def test_the_search_for_leaks_finds_them(source: str, count: int) -> None:
    assert len(leaks(ast.parse(source))) == count


@each_file
def test_names_are_in_the_glossary(path: Path) -> None:
    named = [path.stem]
    defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    named += [node.name for node in ast.walk(tree_of(path)) if isinstance(node, defined)]
    for name in set(named) - CONTRACT_NAMES:
        words = set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))
        assert not words & UNSPOKEN, f"{path}: {name}"


@pytest.mark.parametrize("edges", [WALL_CLOCK_EDGES, SLEEPERS], ids=["wall clock", "sleep"])
def test_an_exception_has_a_reason(edges: dict[str, str]) -> None:
    assert all(len(reason) > 20 for reason in edges.values())


def test_there_is_a_house_to_check() -> None:
    assert FILES
    assert CORE
    assert (PACKAGE / "py.typed").exists()
    assert "Apache License" in (ROOT / "LICENSE").read_text()
