"""What is typed about plans, read: whole plans, facts, JSON in an option."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def plan_body(
    file: Path | None,
    account: str | None,
    kind: str | None,
    steps: list[str] | None,
    objective: str | None,
    expires_at: str | None,
    facts: list[str] | None,
) -> dict[str, Any]:
    """What a plan is made of: a file, or what was said word by word."""
    from watchkeeper.act_inputs import PlanIn
    from watchkeeper.errors import Invalid
    from watchkeeper.inputs import parse

    said = (account, kind, steps, objective, expires_at, facts)
    if file is not None and any(said):
        raise Invalid.at("--file", "says all of it: leave the other options out")
    given: dict[str, Any] = {
        "account_id": account,
        "plan_type": kind,
        "steps": [{"action_type": name} for name in steps or ()],
        "objective": objective,
        "expires_at": expires_at,
        "facts": facts_of(facts or []),
    }
    if file is not None:
        given = json_object(_read(file), "--file")
    body = {name: value for name, value in given.items() if value is not None}
    parse(PlanIn, body)
    body.pop("tenant_id", None)
    return body


def _read(file: Path) -> str:
    from watchkeeper.errors import Invalid

    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid.at("--file", f"cannot be read: {error}") from None


def facts_of(given: list[str]) -> dict[str, Any]:
    import orjson

    from watchkeeper.errors import Invalid

    found: dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not (name and equals):
            raise Invalid.at("--fact", f"{one} is not NAME=VALUE")
        try:
            found[name] = orjson.loads(text)
        except orjson.JSONDecodeError:
            found[name] = text
    return found


def json_object(text: str, at: str) -> dict[str, Any]:
    import orjson

    from watchkeeper.errors import Invalid

    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Invalid.at(at, f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Invalid.at(at, "must be a JSON object")
    return value


def one_of(text: str | None, known: Any) -> str | None:
    from watchkeeper.errors import Invalid

    if text is not None and text not in list(known):
        raise Invalid.at("--status", f"must be one of {', '.join(known)}")
    return text
