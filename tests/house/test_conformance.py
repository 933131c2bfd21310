"""Every requirement has a test, every marker names a requirement, and the page says which."""

import ast
from textwrap import dedent

import pytest

from tests.house.source import ROOT
from tools.conformance import _tests, conformance_page, markers, missing, unknown


@pytest.mark.req("U-41")
def test_every_requirement_has_a_test() -> None:
    assert missing(markers()) == []


@pytest.mark.req("U-41")
def test_no_test_names_a_requirement_that_is_none() -> None:
    assert unknown(markers()) == []


@pytest.mark.req("U-41")
def test_the_page_is_what_the_markers_say() -> None:
    written = (ROOT / "docs" / "conformance.md").read_text()
    assert written == conformance_page(), "run `python -m tools.docs`"


@pytest.mark.req("U-41")
def test_markers_are_found_on_files_classes_functions_and_cases() -> None:
    source = dedent(
        """
        pytestmark = [pytest.mark.req("A-01")]

        @pytest.mark.req("A-02", "A-03")
        class TestOne:
            @pytest.mark.req("A-04")
            def test_a(self): ...

            def test_b(self): ...

        @pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.req("A-05"))])
        async def test_c(x): ...

        def helper(): ...

        TestMachine = Machine.TestCase
        """
    )
    assert dict(_tests(ast.parse(source))) == {
        "TestOne.test_a": {"A-01", "A-02", "A-03", "A-04"},
        "TestOne.test_b": {"A-01", "A-02", "A-03"},
        "test_c": {"A-01", "A-05"},
        "TestMachine": {"A-01"},
    }


@pytest.mark.req("U-41")
def test_a_requirement_without_a_test_is_told() -> None:
    found = markers()
    del found["D-01"]
    found["X-99"] = [("tests/test_x.py", "test_x")]
    assert "D-01" in missing(found)
    assert unknown(found) == ["X-99"]
