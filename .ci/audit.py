"""Ask the advisory service about every locked distribution; fail only on what it knows.

Exit code 1 on a known vulnerability or a wrong call, 0 when none is known. An advisory service that
cannot be reached, or does not know the distributions, is no verdict on the code: it is reported
loudly and passes.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
UNREACHABLE = ("Could not connect", "may be blocking", "not redirecting", "timed out", "HTTPError")
SECONDS_MAX = 300


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        locked = Path(folder) / "locked.txt"
        answer = Path(folder) / "answer.json"
        export = [BIN / "uv", "export", "--frozen", "--all-extras", "--all-groups"]
        export += ["--no-emit-project", "--quiet", "--output-file", locked]
        subprocess.run(export, cwd=ROOT, check=True)
        ask = [BIN / "pip-audit", "--requirement", locked, "--disable-pip", "--require-hashes"]
        ask += ["--progress-spinner", "off", "--timeout", "20", "--format", "json"]
        ask += ["--output", answer]
        try:
            done = subprocess.run(ask, text=True, stderr=subprocess.PIPE, timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            return unreachable(f"no answer within {SECONDS_MAX} seconds")
        if answer.exists():
            return judge(json.loads(answer.read_text())["dependencies"])
    if any(sign in done.stderr for sign in UNREACHABLE):
        return unreachable(done.stderr.strip().splitlines()[-1])
    sys.stderr.write(done.stderr)
    return 1


def judge(dependencies: list[dict]) -> int:
    known = [one for one in dependencies if one.get("vulns")]
    skipped = [one["name"] for one in dependencies if "skip_reason" in one]
    for one in known:
        for vuln in one["vulns"]:
            fixed = ", ".join(vuln["fix_versions"]) or "no release yet"
            say(f"VULNERABLE {one['name']} {one['version']}: {vuln['id']}, fixed in {fixed}")
    if known:
        return 1
    if len(skipped) == len(dependencies):
        return unreachable("the service knows none of the distributions")
    for name in skipped:
        say(f"not audited, unknown to the service: {name}")
    say(f"audit: {len(dependencies) - len(skipped)} distributions, no known vulnerability")
    return 0


def unreachable(why: str) -> int:
    say("=" * 78)
    say("AUDIT NOT DONE: no advisory service could be asked from here.")
    say(f"  {why}")
    say("Nothing is known about vulnerabilities in this run; run `make audit` elsewhere.")
    say("=" * 78)
    return 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
