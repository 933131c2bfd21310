"""Guards of the product, each taken away by a line or two, and the seed at which that is noticed.

`python -m tests.sim.mutants` plays each at its seed, in a copy of the checkout, and exits with 1
when one is not noticed; `--find N` looks for the first of N seeds that notices.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 300
SHORT = (
    *(2, 8, 10, 11, 15, 25, 33, 36, 38, 44, 45, 46, 47, 48, 55, 58, 62, 64, 75, 82, 83, 84, 88),
    *(89, 93, 96, 98, 99, 102, 107, 109, 117, 118, 122, 124, 130, 132, 137, 143, 145, 155, 164),
    *(184, 186, 189, 7, 69, 0, 17, 52, 215, 242, 576),
)
"""Seeds that are over soon and together reach whatever there is to reach."""

SETTLE, CLAIM = "store/outbox_settle.py", "store/outbox_claim_sqlite.py"
FENCE = " and o.locked_by = v.value ->> 'k'"


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    seed: int
    engine: str = "sqlite"

    def apply(self, root: Path) -> None:
        path = root / "src" / "watchkeeper" / self.file
        source = path.read_text()
        for old, new in self.changes:
            assert source.count(old) == 1, f"{self.file}: not there once: {old}"
            source = source.replace(old, new)
        path.write_text(source)


def _one(name: str, file: str, old: str, new: str, seed: int, engine: str = "sqlite") -> Mutant:
    return Mutant(name, file, ((old, new),), seed, engine)


MUTANTS = [
    Mutant(
        "ack without token",
        SETTLE,
        (
            (f"'i'{FENCE}\n    where true returning id", "'i'\n    where true returning id"),
            (f'\'i\'{FENCE})"""', '\'i\')"""'),
        ),
        102,
    ),
    _one(
        "every claim has the same token",
        "store/outbox_claim.py",
        "Token(new_token())",
        'Token("00000000-0000-4000-8000-000000000000")',
        0,
    ),
    _one(
        "the attempt is counted by whoever sees it fail",
        CLAIM,
        "attempts = attempts + (attempts < ?3)",
        "attempts = attempts + 0 * ?3",
        64,
    ),
    _one(
        "a lease is renewed without its token",
        SETTLE,
        "        and locked_by = v.value ->> 'k'\n    and (not holds_slot",
        "        and locked_by is not null\n    and (not holds_slot",
        576,
    ),
    _one(
        "a message that failed is put back without its token",
        SETTLE,
        '        and locked_by = v.value ->> \'k\'\n    returning id""",\n)\n_NACKED',
        '    returning id""",\n)\n_NACKED',
        89,
    ),
    _one(
        "a lease is taken while it lives",
        CLAIM,
        "and o.done_at is null and o.is_due and (o.status = 'pending' or o.locked_until <= ?3)",
        "and o.done_at is null and o.is_due and o.status in ('pending', 'processing')",
        8,
    ),
    _one(
        "BEGIN deferred on SQLite",
        "store/database.py",
        'driver.execute("BEGIN IMMEDIATE")',
        'driver.execute("BEGIN")',
        0,
    ),
    _one(
        "what was sent is read when it is asked for",
        "store/transaction.py",
        "return cursor if self.works_ahead else _Read(cursor)",
        "return cursor",
        27,
    ),
    _one(
        "idempotency keys are forgotten by their place, not by their age",
        "store/expiry.py",
        "and key <= %s and expires_at <= %s",
        "and key <= %s and expires_at - %s < 86000000000",
        20,
    ),
    _one(
        "an action that fell silent is carried out again",
        "actions/run_actions.py",
        "if is_outside or message.attempt == 1:",
        "if True:",
        164,
    ),
    _one(
        "an outcome that comes late counts",
        "moves/steps.py",
        "is_late = intent.is_late or intent.ended_at is not None",
        "is_late = False",
        132,
    ),
    _one(
        "a budget is judged without what was taken of it",
        "moves/pulls.py",
        "budget, pull_budgets.consumed(tx, day_of(tx.now))",
        "budget, {}",
        45,
    ),
    _one(
        "nobody is told of a message that died",
        "moves/lose_messages.py",
        "        hooks[queue](tx, [one for one in lost if (one.namespace, one.topic) == queue])",
        "        pass",
        8,
    ),
    _one(
        "a dedupe key is not looked at",
        "store/outbox.py",
        "    if not wanted:\n        return messages",
        "    if wanted is not None:\n        return messages",
        47,
    ),
    _one(
        "the tenant's row is read without a lock",
        "store/tenants.py",
        "        where tenant_id = %s for no key update)",
        "        where tenant_id = %s)",
        11,
        "postgresql",
    ),
    _one(
        "a cooldown ends a second early",
        "core/admission.py",
        "case.now >= since + case.rule.cooldown_us:",
        "case.now >= since + case.rule.cooldown_us - 1_000_000:",
        8,
    ),
    _one(
        "ack by key without token",
        SETTLE,
        "and (o.locked_by = at.locked_by) is true and at.locked_by = v.k",
        "and (o.locked_by = at.locked_by) is true",
        38,
        "postgresql",
    ),
    _one(
        "a turn that is charged nothing keeps its reserve",
        "moves/settlement.py",
        "moved.reserved -= turn.reserved_micro",
        "moved.reserved -= turn.reserved_micro if turn.charged_micro else 0",
        33,
    ),
    _one(
        "one attempt more than max_retries_per_step",
        "core/plans.py",
        "if step.attempts - step.spared >= attempts_max:",
        "if step.attempts - step.spared > attempts_max:",
        84,
    ),
    _one(
        "the first second of a day belongs to the day before",
        "core/quota.py",
        "return Instant(at - at % DAY)",
        "return Instant(at - SECOND - (at - SECOND) % DAY)",
        0,
    ),
    _one(
        "a run that failed leaves no entry",
        "actions/run_decisions.py",
        "    ledger.append(tx, tenant, [entry for entry in entries if entry])\n    fail_runs",
        "    ledger.append(tx, tenant, [])\n    fail_runs",
        8,
    ),
]


def noticed_at(mutant: Mutant, *seeds: int) -> tuple[int, str] | None:
    """The first of these seeds that notices, and how it does."""
    with tempfile.TemporaryDirectory(prefix="wkmutant-") as folder:
        root = Path(folder)
        ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, root / part, ignore=ignored)
        mutant.apply(root)
        command = [sys.executable, "-m", "tests.sim", "--stop", "--engine", mutant.engine]
        done = subprocess.run(
            [*command, "--list", *map(str, seeds)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    found = re.search(r"^seed (\d+): (.*)$", done.stdout, re.MULTILINE)
    assert (found is not None) == (done.returncode == 1), done.stdout[-2000:] + done.stderr[-2000:]
    return None if found is None else (int(found[1]), found[2])


def main(given: list[str]) -> int:
    seeds = int(given[1]) if given[:1] == ["--find"] else 0
    wanted = given[2:] if seeds else given
    missed = 0
    for number, mutant in enumerate(MUTANTS):
        if wanted and str(number) not in wanted:
            continue
        found = noticed_at(mutant, mutant.seed, *(SHORT if seeds else ()), *range(seeds))
        missed += found is None
        told = "NOT NOTICED" if found is None else f"seed {found[0]}: {found[1][:110]}"
        sys.stdout.write(f"{number:3} {mutant.name}: {told}\n")
        sys.stdout.flush()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
