"""The description of the API is true: every route, every example, and whatever it invites."""

import re
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
from tests.http.calls import CALLS, settle
from tests.http.door import ADMIN_KEY, Door, bearer, opened
from watchkeeper.http.app import ROUTERS
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
