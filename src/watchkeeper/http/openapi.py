"""The description of the API: OpenAPI 3.1, with the problem schema, the key and examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from watchkeeper import inputs
from watchkeeper.http.access import JSON, need_of
from watchkeeper.http.cloud_events import CloudEventIn
from watchkeeper.http.field_words import words_for, words_for_parameter
from watchkeeper.http.problems import MEDIA, ProblemOut
from watchkeeper.http.replies import KEY_PATTERN
from watchkeeper.http.route import GuardedRoute

REFERENCE = "#/components/schemas/{model}"
PROBLEM = {"$ref": "#/components/schemas/ProblemOut"}
EXTRA = (ProblemOut, CloudEventIn, inputs.SignalsIn)

PLAN: dict[str, Any] = {
    "account_id": "acct-1",
    "plan_type": "RENEWAL_DEFENSE",
    "objective": "the contract is renewed before it ends",
    "steps": [
        {"step_id": "meet", "action_type": "REQUEST_RENEWAL_MEETING"},
        {"step_id": "brief", "action_type": "PREP_RENEWAL_BRIEF", "dependencies": ["meet"]},
    ],
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "post_triggers": {
        "events": [
            {
                "account_id": "acct-1",
                "trigger_type": "SIGNAL_ARRIVED",
                "idempotency_key": "crm-4711",
                "correlation_id": "mail-23",
            }
        ]
    },
    "post_signals": {
        "signals": [{"account_id": "acct-1", "type": "email.opened", "data": {"campaign": 7}}]
    },
    "post_tenant": {"tenant_id": "acme", "name": "Acme"},
    "patch_tenant": {"name": "Acme Ltd"},
    "post_api_key": {"tenant_id": "acme", "role": "ingest"},
    "put_account": {"posture": "at_risk", "attributes": {"owner": "kim"}},
    "put_schedule": {
        "trigger_type": "TIME_RITUAL_DAILY_BRIEF",
        "cron": "0 7 * * *",
        "timezone": "Europe/Berlin",
    },
    "put_shadow": {"triggers": {"SIGNAL_ARRIVED": {"cooldown_seconds": 600}}},
    "post_policy_plan": {"triggers": {"SIGNAL_ARRIVED": {"cooldown_seconds": 600}}},
    "put_sink": {"topic": "orders.placed", "kind": "webhook", "url": "https://example.com/hooks"},
    "post_kill_switch": {"scope": "tenant", "on": True, "reason": "runaway campaign"},
    "post_clock_advance": {"seconds": 3600},
    "put_policy": {"triggers": {"SIGNAL_ARRIVED": {"cooldown_seconds": 600}}},
    "post_outcome": {"succeeded": True, "usage": {"input_tokens": 812, "output_tokens": 95}},
    "post_turn": {
        "request_id": "chat-4711",
        "user_id": "kim",
        "model": "premium",
        "estimated_input_tokens": 800,
        "max_output_tokens": 500,
    },
    "post_progress": {},
    "post_finalize": {
        "outcome": "completed",
        "started": True,
        "usage": {"input_tokens": 812, "output_tokens": 95},
    },
    "post_pull": {"account_id": "acct-1", "connector_id": "crm", "depth": "DEEP"},
    "put_pull_budget": {
        "max_pull_units_per_day": 1000,
        "max_per_connector_per_day": {"crm": 400},
    },
    "put_connector": {
        "rate_per_second": 5,
        "burst": 10,
        "max_concurrency": 4,
        "depth_units": {"SHALLOW": 1, "DEEP": 3},
    },
    "post_report": {},
    "post_plan": PLAN,
    "put_plan": PLAN,
    "post_proposal": {
        "account_id": "acct-1",
        "plan_type": "RENEWAL_DEFENSE",
        "context": {"renewal_days": 30},
    },
    "post_plan_approve": {"reason": "agreed with the account team"},
    "post_plan_pause": {"reason": "the customer is on holiday"},
    "post_plan_resume": {"reason": "they are back"},
    "post_plan_abort": {"reason": "the contract was signed elsewhere"},
    "post_step_skip": {"reason": "a person did it by telephone"},
    "post_facts": {"facts": {"renewed": True}},
    "post_intent_approve": {},
    "post_intent_reject": {"reason": "not this week"},
    "post_intent_outcome": {"succeeded": True, "detail": "meeting 4711 is in the calendar"},
    "post_redrive": {"force": True},
    "post_discard": {},
    "post_redrive_many": {"topic": "decision.retry"},
}

IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Idempotency key: for a day, a repeat of the request under the same key changes"
    " nothing and gets the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": KEY_PATTERN},
}


def _refusal(words: str) -> dict[str, Any]:
    return {"description": words, "content": {MEDIA: {"schema": PROBLEM}}}


INVALID = _refusal("Invalid request; `errors` has each mistake.")
ERRORS = {
    "4XX": _refusal("Refused request; `code` has the reason."),
    "5XX": _refusal("Server error, or not available now; `code` has the reason."),
}


def describe(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title="Watchkeeper",
        version=app.version,
        openapi_version="3.1.0",
        description="Control plane for always-on agents: decides when to run, and explains why.",
        routes=app.routes,
    )
    parts = document["components"]
    schemas = parts["schemas"]
    for model in EXTRA:
        schema = model.model_json_schema(ref_template=REFERENCE)
        schemas.update(schema.pop("$defs", {}))
        schemas[model.__name__] = schema
    for replaced in ("HTTPValidationError", "ValidationError"):
        schemas.pop(replaced, None)
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    needed = {route.unique_id: route for route in guarded(app)}
    for methods in document["paths"].values():
        for method, operation in methods.items():
            name = operation["operationId"]
            operation["summary"] = name.replace("_", " ").capitalize()
            if "422" in operation["responses"]:
                operation["responses"]["422"] = INVALID
            if name in needed:
                _describe(method, operation, needed[name])
    document["paths"]["/readyz"]["get"]["responses"]["503"] = _refusal(
        "Not ready; `detail` has the reason."
    )
    text = {"text/plain": {"schema": {"type": "string"}}}
    document["paths"]["/metrics"]["get"]["responses"]["200"]["content"] = text
    pages = {name: schema["title"] for name, schema in schemas.items() if name.startswith("Page_")}
    _add_words(document)
    parts["schemas"] = {pages.get(name, name): schema for name, schema in schemas.items()}
    _settle(document, {REFERENCE.format(model=old): new for old, new in pages.items()})
    return document


def _add_words(document: dict[str, Any]) -> None:
    """Describe the fields and parameters that have no sentence where they are declared."""
    for name, schema in document["components"]["schemas"].items():
        for field, part in schema.get("properties", {}).items():
            if "description" not in part and (words := words_for(name, field)):
                part["description"] = words
    for methods in document["paths"].values():
        for operation in methods.values():
            for part in operation.get("parameters", []):
                if "description" not in part and (words := words_for_parameter(part["name"])):
                    part["description"] = words


def _settle(part: Any, pages: Mapping[str, str]) -> None:
    """Refer to pages by their names; give objects defaults that are objects, not JSON text."""
    if isinstance(part, list):
        for inner in part:
            _settle(inner, pages)
    if not isinstance(part, dict):
        return
    if part.get("$ref") in pages:
        part["$ref"] = REFERENCE.format(model=pages[part["$ref"]])
    if part.get("type") == "object" and isinstance(part.get("default"), str):
        part["default"] = orjson.loads(part["default"])
    for inner in part.values():
        _settle(inner, pages)


def guarded(app: FastAPI) -> list[GuardedRoute]:
    """Every route that needs a key."""
    found: list[GuardedRoute] = app.state.guarded
    return found


def _describe(method: str, operation: dict[str, Any], route: GuardedRoute) -> None:
    need = need_of(route.endpoint)
    operation["security"] = [{"key": []}]
    operation["x-access"] = need.access.value
    operation["responses"].update(ERRORS)
    if method == "post":
        operation.setdefault("parameters", []).append(IDEMPOTENCY)
    example = EXAMPLES.get(route.endpoint.__name__)
    if example is not None and "requestBody" in operation:
        operation["requestBody"]["content"][JSON]["example"] = example
