"""From a text to a policy: everything is checked, and each mistake is named by its line."""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping

from watchkeeper.core.canonical import canonical_json, sha256_hex
from watchkeeper.core.default_policy import DEFAULT_POLICY_TOML, FORMER_POLICIES
from watchkeeper.core.delivery import Guarantee, OnDead, Order
from watchkeeper.core.policy import Policy, overlay, path_part
from watchkeeper.core.policy_read import NONE, Document, Value
from watchkeeper.core.policy_report import report_mistakes
from watchkeeper.core.policy_schema import (
    DOCUMENT,
    MODEL_REQUIRED,
    PLAN_TYPE_REQUIRED,
    TRIGGER_REQUIRED,
    Mistake,
    Named,
    Path,
    Table,
    check,
    plain,
)
from watchkeeper.core.toml_lines import locate_lines
from watchkeeper.core.toml_text import to_toml
from watchkeeper.errors import Invalid, NotFound, Problem

DOCUMENT_BYTES_MAX = 256 * 1024
LINE_LENGTH_MAX = 4_096  # a key of a hundred thousand parts costs the parser minutes
PROBLEMS_MAX = 100

PINNED: Mapping[str, Guarantee] = {
    "decision.evaluation_requested": Guarantee.AT_MOST_ONCE,
    "decision.retry": Guarantee.AT_LEAST_ONCE,
    "schedule.due": Guarantee.AT_LEAST_ONCE,
    "usage_snapshot": Guarantee.AT_LEAST_ONCE,
    "pull.requested": Guarantee.AT_MOST_ONCE,
    "pull.tick": Guarantee.AT_LEAST_ONCE,
    "pull.on_signal": Guarantee.AT_LEAST_ONCE,
    "heat.sweep": Guarantee.AT_LEAST_ONCE,
    "action.requested": Guarantee.AT_LEAST_ONCE,
    "plan.cycle": Guarantee.AT_LEAST_ONCE,
    "milestone.tick": Guarantee.AT_LEAST_ONCE,
}
"""What the product promises of its own topics is not for a document to change."""

_SYNTAX_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_ODD = re.compile(r"[^A-Za-z0-9_:.-]")
_PART_LENGTH_MAX = 64


@functools.cache
def shipped_policy() -> Policy:
    """Version 0: nothing is said, so every value is a default."""
    return _policy(DEFAULT_POLICY_TOML, {}, 0)


def parse_policy(text: str, *, version: int = 0) -> Policy:
    """Read a TOML document. Raises Invalid with one problem per mistake, each with its line."""
    raw = _load(text)
    mistakes = _mistakes(raw)
    if mistakes:
        raise _invalid(mistakes, _lines(text))
    return _policy(text, _document(raw), version)


def parse_policy_json(document: Mapping[str, object], *, version: int = 0) -> Policy:
    """Read a document decoded from JSON; it is kept as the TOML text that says the same."""
    mistakes = _mistakes(document)
    if mistakes:
        raise _invalid(mistakes, {})
    said = _document(document)
    text = to_toml(said)
    _refuse_oversize(text)
    return _policy(text, said, version)


def stored_policy(
    text: str, effective: Mapping[str, object] | None, *, version: int, hash: str
) -> Policy:
    """A version as it was when it was applied, whatever ships or is allowed by now.

    One that was stored without its meaning lay on the first document that shipped.
    """
    said = _document(tomllib.loads(text))
    then = overlay(_first(), said) if effective is None else _document(effective)
    return Policy(version, hash, text, said, completed(then, _shipped(), DOCUMENT))


@functools.cache
def shipped_policies() -> Mapping[str, Policy]:
    """Every document that ever shipped, by its hash."""
    found: dict[str, Policy] = {}
    for text in (*FORMER_POLICIES, DEFAULT_POLICY_TOML):
        then = _document(tomllib.loads(text))
        hash = sha256_hex(then)
        found[hash] = Policy(0, hash, text, {}, completed(then, _shipped(), DOCUMENT))
    return found


def shipped_meaning(hash: str) -> str:
    """What a document that shipped says, as canonical JSON, by the hash that verdicts name."""
    for text in (*FORMER_POLICIES, DEFAULT_POLICY_TOML):
        then = canonical_json(_document(tomllib.loads(text)))
        if hashlib.sha256(then.encode()).hexdigest() == hash:
            return then
    raise NotFound(f"no policy of hash {hash[:12]} ever shipped with this program")


def first_meaning(text: str) -> str:
    """What a version means that was stored without its meaning."""
    return canonical_json(overlay(_first(), _document(tomllib.loads(text))))


def completed(then: Document, shipped: Document, node: Table) -> dict[str, Value]:
    """A document of an earlier time with the keys that were invented since.

    A name that ships by now (of a trigger type, of a model) does not appear in it.
    """
    found = dict(then)
    for key, inner in node.fields.items():
        if key not in shipped:
            continue
        value, below = found.setdefault(key, shipped[key]), shipped[key]
        if isinstance(inner, Table):
            found[key] = completed(_as_table(value), _as_table(below), inner)
        elif isinstance(inner, Named) and isinstance(inner.entry, Table):
            found[key] = {
                name: completed(_as_table(own), _at(_as_table(below), name), inner.entry)
                for name, own in _as_table(value).items()
            }
    return found


def _policy(text: str, said: Document, version: int) -> Policy:
    effective = overlay(_shipped(), said)
    return Policy(version, sha256_hex(effective), text, said, effective)


@functools.cache
def _shipped() -> Document:
    return _document(tomllib.loads(DEFAULT_POLICY_TOML))


@functools.cache
def _first() -> Document:
    return _document(tomllib.loads((*FORMER_POLICIES, DEFAULT_POLICY_TOML)[0]))


def _document(raw: Mapping[str, object]) -> dict[str, Value]:
    return {key: plain(value) for key, value in raw.items()}


def _load(text: str) -> dict[str, object]:
    _refuse_oversize(text)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LINE_LENGTH_MAX:
            raise _one(f"line {number}", f"is longer than {LINE_LENGTH_MAX} characters")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _one("", "is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise _syntax(str(error), text) from None
    except ValueError as error:  # a number that Python itself refuses to read
        raise _one("", str(error)) from None


def _lines(text: str) -> Mapping[tuple[str | int, ...], int]:
    try:
        return locate_lines(text)
    except RecursionError:  # the parser just managed; a mistake without its line is still one
        return {}


def _refuse_oversize(text: str) -> None:
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise _one("", "is not Unicode text") from None
    if size > DOCUMENT_BYTES_MAX:
        raise _one("", f"is larger than {DOCUMENT_BYTES_MAX // 1024} KiB")


def _syntax(message: str, text: str) -> Invalid:
    found = _SYNTAX_PLACE.search(message)
    line, column = found.groups() if found else (None, None)
    if line is None or column is None:
        lines = text.split("\n")
        line, column = str(len(lines)), str(len(lines[-1]) + 1)
    return _one(f"line {line}, column {column}", _SYNTAX_PLACE.sub("", message))


def _mistakes(raw: Mapping[str, object]) -> list[Mistake]:
    """What is wrong with each value; only when nothing is, what is wrong with them together."""
    return list(check(raw, DOCUMENT)) or list(_contradictions(_document(raw)))


def _contradictions(said: Document) -> Iterator[Mistake]:
    effective = overlay(_shipped(), said)
    registry = _at(effective, "triggers")
    for name, trigger in registry.items():
        for key in TRIGGER_REQUIRED:
            if key not in _as_table(trigger):
                yield ("triggers", name, key), "is required for a trigger type of your own"
    for section in ("tiers", "tenants"):
        for owner, layer in _at(said, section).items():
            for name in _at(_as_table(layer), "triggers"):
                if name not in registry:
                    path = (section, owner, "triggers", name)
                    yield path, f"overrides no trigger type; register it under triggers.{name}"
    yield from _model_contradictions(said, effective)
    yield from _heat_contradictions(said, effective)
    yield from _plan_type_contradictions(said, effective)
    yield from _report_contradictions(said, effective)
    yield from _delivery_contradictions(_at(said, "delivery"), _at(effective, "delivery"))


def _model_contradictions(said: Document, effective: Document) -> Iterator[Mistake]:
    """For everybody, and again for each tier and tenant that says something of models."""
    yield from _model_mistakes(effective, ())
    for section in ("tiers", "tenants"):
        for owner, layer in _at(said, section).items():
            own = _as_table(layer)
            if "models" in own or "quota" in own:
                yield from _model_mistakes(overlay(effective, own), (section, owner))


def _model_mistakes(merged: Document, path: Path) -> Iterator[Mistake]:
    models = _at(merged, "models")
    for name, value in models.items():
        model = _as_table(value)
        for key in MODEL_REQUIRED:
            if key not in model:
                yield (*path, "models", name, key), "is required for a model of your own"
        following = model.get("downgrade_to", NONE)
        if following != NONE and following not in models:
            yield (*path, "models", name, "downgrade_to"), "names no model"
        elif _comes_back(name, models):
            yield (*path, "models", name, "downgrade_to"), "leads back to the model itself"
    if _at(merged, "quota")["default_model"] not in models:
        yield (*path, "quota", "default_model"), "names no model"


def _comes_back(name: str, models: Document) -> bool:
    seen = {name}
    following = _at(models, name).get("downgrade_to", NONE)
    while isinstance(following, str) and following in models:
        if following in seen:
            return following == name
        seen.add(following)
        following = _at(models, following).get("downgrade_to", NONE)
    return False


def _heat_contradictions(said: Document, effective: Document) -> Iterator[Mistake]:
    yield from _heat_mistakes(_at(effective, "heat"), ())
    for section in ("tiers", "tenants"):
        for owner, layer in _at(said, section).items():
            own = _as_table(layer)
            if "heat" in own:
                merged = overlay(_at(effective, "heat"), _at(own, "heat"))
                yield from _heat_mistakes(merged, (section, owner))


def _heat_mistakes(heat: Document, path: Path) -> Iterator[Mistake]:
    weights = [heat[f"{name}_weight"] for name in ("posture", "recency", "volume")]
    if sum(weight for weight in weights if isinstance(weight, int)) != 100:
        yield (*path, "heat", "posture_weight"), "the three weights must add up to 100"
    hot, warm = heat["hot_percent"], heat["warm_percent"]
    if isinstance(hot, int) and isinstance(warm, int) and hot < warm:
        yield (*path, "heat", "hot_percent"), f"is below warm_percent {warm}"
    for name, step in _at(heat, "recency").items():
        for key in ("within_hours", "percent"):
            if key not in _as_table(step):
                yield (*path, "heat", "recency", name, key), "is required for a step of your own"


def _plan_type_contradictions(said: Document, effective: Document) -> Iterator[Mistake]:
    yield from _plan_type_mistakes(_at(effective, "plan_types"), _at(effective, "actions"), ())
    for section in ("tiers", "tenants"):
        for owner, layer in _at(said, section).items():
            own = _as_table(layer)
            merged = overlay(_at(effective, "plan_types"), _at(own, "plan_types"))
            yield from _plan_type_mistakes(merged, _at(own, "actions"), (section, owner))


def _plan_type_mistakes(types: Document, actions: Document, path: Path) -> Iterator[Mistake]:
    for name, value in types.items():
        for key in PLAN_TYPE_REQUIRED:
            if not _as_table(value).get(key):
                where = (*path, "plan_types", name, key)
                yield where, "is required for a plan type of your own"
    for name, value in actions.items():
        if "risk" not in _as_table(value):
            yield (*path, "actions", name, "risk"), "is required for an action"


def _report_contradictions(said: Document, effective: Document) -> Iterator[Mistake]:
    yield from report_mistakes(_at(effective, "reports"))
    for section in ("tiers", "tenants"):
        for owner, layer in _at(said, section).items():
            own = _at(_as_table(layer), "reports")
            if own:
                for path, message in report_mistakes(overlay(_at(effective, "reports"), own)):
                    yield (section, owner, *path), message


def _delivery_contradictions(said: Document, effective: Document) -> Iterator[Mistake]:
    defaults = _at(effective, "defaults")
    yield from _impossible(defaults, _at(said, "defaults"), ("delivery", "defaults"))
    for topic, table in _at(effective, "topics").items():
        own = _as_table(table)
        path = ("delivery", "topics", topic)
        merged = overlay(defaults, own)
        pinned = PINNED.get(topic)
        if pinned is not None and merged["guarantee"] != pinned:
            yield (*path, "guarantee"), f"is always {pinned} for this topic"
        yield from _impossible(merged, own, path)


def _impossible(merged: Document, own: Document, path: Path) -> Iterator[Mistake]:
    """Settings that are each allowed and together make no sense.

    Blamed on the table that names one of them: what is inherited was judged above.
    """
    once = merged["guarantee"] == Guarantee.AT_MOST_ONCE
    if once and own.get("max_attempts", 1) != 1:
        yield (*path, "max_attempts"), "must be 1: at_most_once is one attempt"
    base, most = merged["backoff_base_seconds"], merged["backoff_max_seconds"]
    blamed = next((k for k in ("backoff_base_seconds", "backoff_max_seconds") if k in own), None)
    if blamed and isinstance(base, int) and isinstance(most, int) and base > most:
        yield (*path, blamed), f"backoff_base_seconds {base} is above backoff_max_seconds {most}"
    blamed = next((key for key in ("on_dead", "order") if key in own), None)
    if blamed and merged["on_dead"] == OnDead.BLOCK and merged["order"] != Order.PER_KEY:
        yield (*path, blamed), "on_dead block needs order per_key: it holds an ordering key back"


def _at(document: Document, key: str) -> Document:
    return _as_table(document.get(key, {}))


def _as_table(value: Value) -> Document:
    assert isinstance(value, Mapping)
    return value


def _invalid(mistakes: list[Mistake], lines: Mapping[tuple[str | int, ...], int]) -> Invalid:
    problems = [Problem(_place(path, lines), message) for path, message in mistakes[:PROBLEMS_MAX]]
    if len(mistakes) > PROBLEMS_MAX:
        problems.append(Problem("", f"and {len(mistakes) - PROBLEMS_MAX} more mistakes"))
    return _refused(problems)


def _place(path: Path, lines: Mapping[tuple[str | int, ...], int]) -> str:
    """The dotted path, after the line of the key or of the nearest table that is there."""
    dotted = ".".join(_part(key) for key in path)
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return f"line {lines[path[:length]]}: {dotted}"
    return dotted


def _part(key: str) -> str:
    """A key from outside, safe to show: bounded, without control characters."""
    return path_part(_ODD.sub("?", key[:_PART_LENGTH_MAX]) or '""')


def _one(place: str, message: str) -> Invalid:
    return _refused([Problem(place, message)])


def _refused(problems: Iterable[Problem]) -> Invalid:
    found = list(problems)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return Invalid(f"the policy document is not valid: {found[0]}{more}", found)
