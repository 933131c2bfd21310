"""The description of the API is true: every route, every example, and whatever it invites."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,
    status_code_conformance,
)

from tests.databases import Databases
from tests.house.source import ROOT
from tests.house.test_words import begins_badly
from tests.http.calls import CALLS, settle
from tests.http.door import ADMIN_KEY, Door, bearer, opened
from watchkeeper.http.answers import cursor_of
from watchkeeper.http.app import ROUTERS
from watchkeeper.http.field_words import OWN, WORDS
from watchkeeper.http.openapi import EXAMPLES

pytestmark = pytest.mark.req("U-10")


@pytest.fixture
def description(door_sqlite: Door) -> dict[str, Any]:
    return door_sqlite.with_key(None).get("/openapi.json").json()


def operations(description: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }


def test_it_is_openapi_3_1_and_names_every_route(description: dict[str, Any]) -> None:
    assert description["openapi"] == "3.1.0"
    named = {name for name in operations(description) if " /v1/" in name}
    assert named == set(CALLS)


def test_every_call_says_how_it_fails_and_what_it_needs(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    assert set(schemas["ProblemOut"]["properties"]) == {
        "type", "title", "status", "detail", "code", "errors", "request_id",
    }  # fmt: skip
    for name, operation in operations(description).items():
        if " /v1/" not in name:
            continue
        for code in ("4XX", "5XX"):
            content = operation["responses"][code]["content"]["application/problem+json"]
            assert content["schema"] == {"$ref": "#/components/schemas/ProblemOut"}
        assert operation["security"] == [{"key": []}]
        assert operation["x-access"] in ("ingest", "read", "operate", "administer")
        keyed = [p["name"] for p in operation.get("parameters", []) if p["in"] == "header"]
        assert ("Idempotency-Key" in keyed) == name.startswith("POST")
    assert "HTTPValidationError" not in schemas


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from references(inner)


def test_every_reference_resolves_and_every_schema_is_used(description: dict[str, Any]) -> None:
    schemas = {f"#/components/schemas/{name}" for name in description["components"]["schemas"]}
    assert set(references(description)) == schemas


def test_schemas_have_plain_names_and_defaults_of_their_type(description: dict[str, Any]) -> None:
    for name, schema in description["components"]["schemas"].items():
        assert re.fullmatch("[A-Z][A-Za-z]+", name)
        for at, field in schema.get("properties", {}).items():
            if "default" in field and field.get("type") == "object":
                assert isinstance(field["default"], dict), (name, at)


def test_operations_keep_their_names(description: dict[str, Any]) -> None:
    """Clients are generated from them. Add a name to operation_ids.txt; change none."""
    published = (Path(__file__).parent / "operation_ids.txt").read_text().splitlines()
    named = {name: operation["operationId"] for name, operation in operations(description).items()}
    assert sorted(f"{name} {operation}" for operation, name in named.items()) == sorted(published)
    assert len(set(named.values())) == len(named)
    assert all(re.fullmatch("[a-z]+(_[a-z]+)+", name) for name in named.values())
    assert all(operation["tags"] for operation in operations(description).values())


def test_every_operation_is_described(description: dict[str, Any]) -> None:
    for name, operation in operations(description).items():
        assert operation.get("description"), name
        if " /v1/" in name:
            first = operation["description"].split()[0]
            assert first not in ("What", "Who", "Whoever", "Why", "How", "It", "Its", "One"), name


def sentences(description: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Every field and parameter, with its description."""
    for name, schema in description["components"]["schemas"].items():
        for field, part in schema.get("properties", {}).items():
            yield f"{name}.{field}", part.get("description")
    for name, operation in operations(description).items():
        for part in operation.get("parameters", []):
            yield f"{name} {part['name']}", part.get("description")


def test_every_field_and_parameter_has_a_plain_sentence(description: dict[str, Any]) -> None:
    found = dict(sentences(description))
    assert [name for name, words in found.items() if words is None or begins_badly(words)] == []


def test_no_sentence_is_kept_for_a_field_that_is_gone(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    fields = {field for schema in schemas.values() for field in schema.get("properties", {})}
    named = {
        part["name"] for op in operations(description).values() for part in op.get("parameters", [])
    }
    assert set(WORDS) <= fields | named
    assert all(set(own) <= set(schemas[name]["properties"]) for name, own in OWN.items())


def test_a_request_that_is_not_valid_is_described_as_it_is_answered(
    door_sqlite: Door, description: dict[str, Any]
) -> None:
    for name, operation in operations(description).items():
        if "422" in operation["responses"]:
            assert list(operation["responses"]["422"]["content"]) == ["application/problem+json"]
            assert " /v1/" in name
    refused = door_sqlite.admin.post("/v1/tenants", json={})
    assert refused.headers["content-type"] == "application/problem+json"
    assert "503" in description["paths"]["/readyz"]["get"]["responses"]


def test_keys_and_cursors_have_a_pattern(description: dict[str, Any]) -> None:
    parameters = [
        parameter
        for operation in operations(description).values()
        for parameter in operation.get("parameters", [])
    ]
    found = {
        one["name"]: re.compile(one["schema"]["pattern"])
        for one in parameters
        if one["name"] in ("Idempotency-Key", "cursor")
    }
    assert found["Idempotency-Key"].search("k 1")
    assert not any(found["Idempotency-Key"].search(key) for key in ("", " k", "x" * 256, "\t"))
    assert found["cursor"].search(cursor_of("tenants", "acme"))
    assert not found["cursor"].search("a b")


def test_without_a_key_only_health_metrics_and_the_description_answer(door_sqlite: Door) -> None:
    client = door_sqlite.with_key(None)
    reference = (ROOT / "docs" / "reference" / "http.md").read_text()
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        assert client.get(path).status_code == 200
        assert f"`{path}`" in reference
    assert client.get("/v1/tenants").status_code == 401


def test_a_method_that_a_path_does_not_take_is_answered_with_those_it_takes(
    door_sqlite: Door, description: dict[str, Any]
) -> None:
    """All of them, also where each has a route of its own."""
    for path, methods in description["paths"].items():
        wrong = "PATCH" if "patch" not in methods else "PUT"
        refused = door_sqlite.admin.request(wrong, path.replace("{", "").replace("}", ""))
        if refused.status_code == 404:  # another path takes it, and has nothing there
            continue
        assert refused.status_code == 405, path
        allowed = set(refused.headers["allow"].split(", "))
        assert {method.upper() for method in methods} <= allowed, path
        assert wrong not in allowed


def test_every_body_has_an_example(description: dict[str, Any]) -> None:
    for name, operation in operations(description).items():
        if "requestBody" in operation:
            assert "example" in operation["requestBody"]["content"]["application/json"], name


def test_every_example_works(door: Door) -> None:
    mine = settle(door, "acme")
    for routes in ROUTERS:
        for route in routes.routes:
            example = EXAMPLES.get(route.endpoint.__name__)
            if example is None:
                continue
            (method,) = route.methods
            name = f"{method} {re.sub(':path', '', route.path)}"
            call = CALLS[name]
            body = dict(example)
            if call.tenant_in == "body":
                body["tenant_id"] = "acme"
            elif name == "POST /v1/tenants":
                body["tenant_id"] = "another"
            path = (call.path or route.path).format(**mine.names)
            response = door.admin.request(method, path, json=body)
            assert response.status_code in (*call.statuses, 409), (name, response.text)


def test_nothing_is_fetched_from_elsewhere(door_sqlite: Door) -> None:
    client = door_sqlite.with_key(None)
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404
    for path in ("/", "/openapi.json"):
        assert "cdn" not in client.get(path).text


CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "engine_name", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
)
def test_whatever_the_description_invites_is_answered(
    databases: Databases, engine_name: str
) -> None:
    """Requests made up from the description: never a 5xx, always an answer of the form told."""
    with databases.opened(engine_name) as (db, clock), opened(db, clock, dev=True) as door:
        settle(door, "acme")
        schema = schemathesis.openapi.from_asgi("/openapi.json", door.app)
        for result in schema.get_all_operations():
            operation = result.ok()
            if operation.path.startswith("/v1/clock"):
                continue  # years of virtual time, for each example

            @settings(
                max_examples=8,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def play(case: schemathesis.Case) -> None:
                response = case.call(headers=bearer(ADMIN_KEY))
                case.validate_response(response, checks=CHECKS)

            play()
