"""Migrations and shipped policies are history: what was committed once is never edited."""

import hashlib

import pytest

from tests.kept_schemas import ENGINES, VERSIONS, path_of, versions
from watchkeeper.core.policy_parse import shipped_policies
from watchkeeper.store.migrations import HEAD

FROZEN = {
    "0001_postgresql.sql": "3670edefb5b24b26",
    "0001_sqlite.sql": "47daf32a247d8b86",
    "0002_postgresql.sql": "28386dd679a6d1e3",
    "0002_sqlite.sql": "1e09978858c45bd0",
    "0003_postgresql.sql": "6fc2ca45ce936280",
    "0003_sqlite.sql": "774783b29cd236f0",
    "0004_postgresql.sql": "4a18421a2598c297",
    "0004_sqlite.sql": "d48902c1a6eb6a54",
    "0005_postgresql.sql": "524697e6ff627d1e",
    "0005_sqlite.sql": "1ccc56ff895b8007",
    "0006_postgresql.sql": "09f6de0ca4b5405e",
    "0006_sqlite.sql": "e0215ae682c1a08b",
    "0007_postgresql.sql": "750721e479ff7696",
    "0007_sqlite.sql": "af3c573b3afbe61c",
    "0008_postgresql.sql": "92cc878518521d40",
    "0008_sqlite.sql": "e9d7c05259885fed",
    "0009_postgresql.sql": "8bab0073e8dd7720",
    "0009_sqlite.sql": "8bab0073e8dd7720",
    "0010_postgresql.sql": "160786a31447fba0",
    "0010_sqlite.sql": "91c3744d8a222cea",
    "0011_postgresql.sql": "10fd4cc1dd517ebb",
    "0011_sqlite.sql": "68f29291951e805b",
}

SHIPPED = [
    "53e25cdafd4686bf8ed41011758159c37b37a3361135f2d2ac3d6c4e349a781f",
]
"""Hashes of every policy that shipped, oldest first."""


def hash_of(name: str) -> str:
    return hashlib.sha256((VERSIONS / name).read_bytes()).hexdigest()[:16]


FILES = sorted(path.name for path in VERSIONS.glob("*.sql"))


@pytest.mark.req("O-13")
@pytest.mark.parametrize("name", FILES)
def test_a_migration_is_frozen(name: str) -> None:
    found = hash_of(name)
    if name not in FROZEN:
        pytest.fail(f'a new migration is frozen here, add: "{name}": "{found}",')
    assert FROZEN[name] == found, (
        f"{name} was edited: databases that ran it as it was would never get the change."
        " Put the file back, and write what you want to change as the next migration"
    )


@pytest.mark.req("O-13")
def test_no_migration_is_taken_away() -> None:
    assert set(FROZEN) == set(FILES)
    assert versions()[-1] == HEAD


@pytest.mark.req("O-13")
@pytest.mark.parametrize("version", versions())
def test_a_database_of_each_schema_is_kept(version: str) -> None:
    missing = [path_of(version, e) for e in ENGINES if not path_of(version, e).exists()]
    assert missing == [], (
        f"run `.venv/bin/python -m tests.kept_schemas {version}` once, when the schema is as it"
        " shall stay, and commit what it writes"
    )


def test_former_policies_are_kept() -> None:
    now = list(shipped_policies())
    assert now == SHIPPED, (
        "the shipped policy changed: append the text as it was before to FORMER_POLICIES in"
        f' core/default_policy.py, leave SHIPPED as it is and append "{now[-1]}" to it.'
        " Verdicts name the policy of their time by this hash"
    )
