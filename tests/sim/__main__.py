"""`python -m tests.sim --seeds 1000 --from 0 --engine sqlite`: play seeds, and tell of the bad."""

import argparse
import contextlib
import sys
import time

from tests.databases import Databases
from tests.sim.oracles import audit
from tests.sim.places import Ground
from tests.sim.roles import cast
from tests.sim.world import Result, run, total


def main() -> int:
    given = _arguments()
    results: list[Result] = []
    failed = 0
    since = time.process_time()
    with contextlib.closing(Databases()) as databases:
        ground = Ground(databases)
        for seed in given.list or range(given.first, given.first + given.seeds):
            result = run(seed, ground, given.engine, cast, audit)
            results.append(result)
            if given.trace:
                sys.stdout.write("\n".join(result.trace) + "\n")
            for line in result.broken:
                sys.stdout.write(f"seed {seed}: {line}\n")
            failed += bool(result.broken)
            if result.broken and given.stop:
                break
            if given.verbose:
                sys.stdout.write(f"seed {seed}: {result.steps} steps, {result.hash}\n")
    spent = time.process_time() - since
    steps = sum(one.steps for one in results)
    sys.stdout.write(
        f"{len(results)} seeds on {given.engine}, {steps} steps, {spent:.1f} s of processor time,"
        f" {len(results) / spent:.1f} seeds/s: {failed} failed\n"
    )
    if given.reached:
        for what, count in sorted(total(results).items()):
            sys.stdout.write(f"{count:8} {what}\n")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--list", type=int, nargs="+", help="these seeds, and no others")
    parser.add_argument("--engine", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--trace", action="store_true", help="every step, in order")
    parser.add_argument("--reached", action="store_true", help="what happened how often")
    parser.add_argument("--stop", action="store_true", help="at the first seed that fails")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
