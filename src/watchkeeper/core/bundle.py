"""A decision in one document: enough to decide it again, to the same bytes, anywhere.

It holds the entry of the ledger as the exact text that it is, and the policy that ruled.
Replaying it needs no database: the case is read from the text, the gate judges it, and
what that would have been recorded as is compared with the text, byte by byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.core.admission import ENGINE, Verdict, decide
from watchkeeper.core.canonical import sha256_hex
from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_parse import stored_policy
from watchkeeper.core.verdict_record import read_case, record
from watchkeeper.errors import Invalid

FORMAT = "watchkeeper.decision"
FORMAT_VERSION = 1
_TEXTS = ("tenant_id", "decision_id", "entry", "hash")
_POLICY = {"version": int, "hash": str, "text": str, "effective": str}


@dataclass(frozen=True, slots=True)
class Redecided:
    """What came of a bundle. `problem` says in a sentence why it proves nothing, if so."""

    decision_id: str
    tenant_id: str
    verdict: Verdict | None
    problem: str | None = None

    @property
    def is_same(self) -> bool:
        return self.problem is None


def make_bundle(
    *,
    tenant_id: str,
    decision_id: str,
    seq: int,
    entry: str,
    policy: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything that the decision depended on, and the hash of it all."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tenant_id": tenant_id,
        "decision_id": decision_id,
        "seq": seq,
        "entry": entry,
        "policy": dict(policy),
    }
    return {**body, "hash": sha256_hex(body)}


def redecide(bundle: object, dumps: Callable[[object], str]) -> Redecided:
    """Decide it again. Raises Invalid for what is no bundle; `dumps` is how entries are written."""
    found = _checked(bundle)
    body = {key: value for key, value in found.items() if key != "hash"}
    whose = (found["decision_id"], found["tenant_id"])
    policy = found["policy"]
    if sha256_hex(body) != found["hash"]:
        return Redecided(*whose, None, "it was changed: its content does not have its hash")
    data = _entry(found["entry"])
    if data["engine"] != ENGINE:
        told = f"it was decided by engine {data['engine']}, and this program has engine {ENGINE}"
        return Redecided(*whose, None, f"{told}: use a program of its time")
    named = {"version": policy["version"], "hash": policy["hash"]}
    if data["policy"] != named:
        return Redecided(*whose, None, "it was changed: its policy is not the one that ruled")
    if hashlib.sha256(policy["effective"].encode()).hexdigest() != policy["hash"]:
        return Redecided(*whose, None, "it was changed: its policy does not have its hash")
    return _redecided(whose, found, data, dumps)


def _redecided(
    whose: tuple[str, str],
    found: dict[str, Any],
    data: dict[str, Any],
    dumps: Callable[[object], str],
) -> Redecided:
    policy = found["policy"]
    try:
        ruled = stored_policy(
            policy["text"],
            json.loads(policy["effective"]),
            version=policy["version"],
            hash=policy["hash"],
        )
        tier = data["tenant"]["tier"]
        case = read_case(data, rules_for(ruled, found["tenant_id"], tier))
        verdict = decide(case)
        again = dumps(record(case, verdict, tier))
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise Invalid(f"the bundle cannot be decided again: {type(error).__name__}") from None
    if again != found["entry"]:
        return Redecided(*whose, verdict, f"it decides to {again}, not to what it holds")
    return Redecided(*whose, verdict)


def _checked(bundle: object) -> dict[str, Any]:
    if not isinstance(bundle, dict) or bundle.get("format") != FORMAT:
        raise Invalid("this is not a decision bundle")
    if bundle.get("format_version") != FORMAT_VERSION:
        raise Invalid(f"the bundle has format {bundle.get('format_version')}, not {FORMAT_VERSION}")
    for name in _TEXTS:
        if not isinstance(bundle.get(name), str):
            raise Invalid.at(name, "is missing, or is not text")
    policy = bundle.get("policy")
    for name, kind in _POLICY.items():
        if not isinstance(policy, dict) or not isinstance(policy.get(name), kind):
            raise Invalid.at(f"policy.{name}", "is missing, or is of another type")
    return bundle


def _entry(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
        if {"engine", "policy", "event", "state", "tenant", "verdict"} <= data.keys():
            return dict(data)
    except (ValueError, AttributeError):
        pass
    raise Invalid.at("entry", "is not the entry of a verdict")
