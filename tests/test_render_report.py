"""A report as PDF: every word and number of its JSON, in any script, in the same bytes."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from xml.etree import ElementTree

import pytest

from tests.rendered import (
    FRAME_LINES,
    NOT_ENOUGH,
    counted,
    emptied,
    keys_of,
    leaves,
    pages_of,
    report,
    squeezed,
    text_of,
)
from tests.reporting import example
from watchkeeper.core.report_json import to_plain
from watchkeeper.core.reports import Count, Report, Series
from watchkeeper.core.time import to_iso
from watchkeeper.errors import Unavailable
from watchkeeper.render_report import charts, pdf, svg
from watchkeeper.render_report_fonts import Fonts, load

pytestmark = pytest.mark.req("R-11")

SCRIPTS = {
    "Latin": "Grüße aus Łódź, Đà Nẵng, İstanbul",
    "Greek": "Ελληνικά ἀρχή",
    "Cyrillic": "Привет, Київ, Ђорђе",
    "Georgian": "საქართველო",
    "Hebrew": "שלום עולם",
    "Arabic": "مرحبا بالعالم",
    "Persian": "می‌خواهم",
    "Devanagari": "नमस्ते क्षत्रिय",
    "Thai": "สวัสดีชาวโลก",
    "Chinese": "北方航运公司 繁體",
    "Japanese": "株式会社ノースライト かな",
    "Korean": "북극광 해운",
    "signs": "→ ✓ ★ ≠ ∞ €",
    "combining": "e\u0301 n\u0303",
}
each_script = pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS.keys())


@pytest.fixture(scope="module")
def fonts() -> Fonts:
    return load()


def assert_all_is_there(one: Report, data: bytes, fonts: Fonts) -> None:
    text = text_of(data)
    close = squeezed(text)
    numbers = set(re.findall(r"\d+", text))
    for leaf in leaves(to_plain(one)):
        if isinstance(leaf, int):
            assert str(leaf) in numbers
        else:
            assert squeezed(fonts.shown(leaf)) in close


@pytest.mark.parametrize(
    "one",
    [report(), report(forecast=NOT_ENOUGH), emptied(report(forecast=NOT_ENOUGH)), example()],
    ids=["with a forecast", "without enough for one", "empty", "as it is counted"],
)
def test_every_text_and_number_of_the_json_is_in_the_pdf(one: Report, fonts: Fonts) -> None:
    assert_all_is_there(one, pdf(one), fonts)


def counts_in(value: object) -> Iterator[Count | Series]:
    if isinstance(value, Count | Series):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from counts_in(one)
    elif is_dataclass(value):
        for one in fields(value):
            yield from counts_in(getattr(value, one.name))


@pytest.mark.req("R-09")
def test_every_number_stands_with_how_it_was_counted_and_over_which_window() -> None:
    text = squeezed(text_of(pdf(report())))
    for count in counts_in(report()):
        window = f"{to_iso(count.window.since)} to {to_iso(count.window.until)}"
        note = re.search(
            r"\[(\d+)\]" + re.escape(squeezed(f"{count.unit}: {count.how}; {window}")), text
        )
        assert note, f"{count.how} is not disclosed"
        if isinstance(count, Count):
            assert f"{count.value}[{note[1]}]" in text


def test_sections_stand_in_the_order_of_the_report() -> None:
    text = text_of(pdf(report()))
    titles = ["Activity report", "A What was", "B Coverage", "C Observations", "D Forecast"]
    places = [re.sub(r" +", " ", text).index(title) for title in titles]
    assert places == sorted(places)


def test_every_page_names_the_report_and_its_place_among_the_pages() -> None:
    one = report()
    pages = pages_of(pdf(one))
    assert len(pages) > 2
    for number, page in enumerate(pages, start=1):
        above, below = page.split("\n")[:FRAME_LINES]
        assert above.endswith(one.header.report_id)
        assert below.endswith(f"page {number} of {len(pages)}")


def test_the_same_report_gives_the_same_bytes() -> None:
    first = pdf(report())
    pdf(report(tenant_name="".join(SCRIPTS.values())))
    assert pdf(report()) == first
    with ThreadPoolExecutor(4) as threads:
        names = [None, "Ελληνικά", "北方", "नमस्ते"] * 2
        drawn = list(threads.map(lambda name: pdf(report(tenant_name=name)), names))
    assert drawn[:4] == drawn[4:]
    assert drawn == [pdf(report(tenant_name=name)) for name in names]


def test_another_process_gives_the_same_bytes() -> None:
    name = "".join(SCRIPTS.values())
    program = (
        "import sys, hashlib; from tests.rendered import report; "
        "from watchkeeper.render_report import pdf; "
        "print(hashlib.sha256(pdf(report(tenant_name=sys.stdin.read()))).hexdigest())"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TZ": "Asia/Tokyo"}
    environment |= {"PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=name,
        env=environment,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert done.stdout.strip() == hashlib.sha256(pdf(report(tenant_name=name))).hexdigest()


@each_script
def test_a_name_in_any_script_is_drawn_and_found(text: str, fonts: Fonts) -> None:
    assert fonts.shown(text) == text
    assert all(glyph.number for glyph in fonts.outlined(text).glyphs), "an empty box"
    one = report(tenant_name=text, connector=text, trigger_type=text, topic=text)
    assert_all_is_there(one, pdf(one), fonts)


def test_right_to_left_among_left_to_right_loses_no_word(fonts: Fonts) -> None:
    name = "Haus שלום (GmbH) مرحبا 2030"
    close = squeezed(text_of(pdf(report(tenant_name=name))))
    for word in ("Haus", "שלום", "GmbH", "مرحبا", "2030"):
        assert word in close


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("a\nb", "a\N{REPLACEMENT CHARACTER}\\u{000A}b"),
        ("a\x00b", "a\N{REPLACEMENT CHARACTER}\\u{0000}b"),
        ("\u202egnp.exe", "\N{REPLACEMENT CHARACTER}\\u{202E}gnp.exe"),
        ("😀", "\N{REPLACEMENT CHARACTER}\\u{1F600}"),
        ("ok 👩\u200d💻!", "ok \N{REPLACEMENT CHARACTER}\\u{1F469}\\u{200D}\\u{1F4BB}!"),
        ("\ue000", "\N{REPLACEMENT CHARACTER}\\u{E000}"),
        ("x\u200dy", "x\N{REPLACEMENT CHARACTER}\\u{200D}y"),
    ],
    ids=["line end", "NUL", "override", "emoji", "family of emoji", "private use", "joiner"],
)
def test_what_cannot_be_drawn_is_shown_by_its_code_point(
    name: str, seen: str, fonts: Fonts
) -> None:
    assert fonts.shown(name) == seen
    assert squeezed(f"“{seen}”") in squeezed(text_of(pdf(report(tenant_name=name))))


def test_without_the_cjk_font_its_letters_are_shown_by_their_code_points() -> None:
    fonts = load(with_cjk=False)
    data = pdf(report(tenant_name="中文 and Latin"), fonts=fonts)
    assert squeezed("“\N{REPLACEMENT CHARACTER}\\u{4E2D}\\u{6587} and Latin”") in squeezed(
        text_of(data)
    )


HOSTILE = {
    "PDF operators": ") Tj ET Q BT (x) Tj /F1 12 Tf \\051 endstream endobj %%EOF",
    "a PDF action": "<< /S /JavaScript /JS (app.alert(1)) >> /Launch /URI",
    "markup": "<b>x</b><script>alert(1)</script><para>&amp;<img src='file:///etc/passwd'/>",
    "percent": "%s %d {0} {x!r} ${HOME} \\u{41}",
    "ten thousand letters": "A" * 10_000,
    "ten thousand words": "ab " * 3_333 + "c",
    "two thousand of many scripts": "Añ中ш" * 500,
    "marks without end": "a" + "\u0301" * 500,
    "line ends": "a\r\n\r\nb\x0b\x0cc\u2028d\x85e",
    "nothing": "",
    "spaces": "   ",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_name_is_only_text(name: str, fonts: Fonts) -> None:
    one = report(tenant_name=name, connector=name, trigger_type=name[:99], topic=name[:99])
    data = pdf(one)
    assert_all_is_there(one, data, fonts)
    assert not {"/JavaScript", "/JS", "/Launch", "/URI", "/OpenAction", "/AA"} & keys_of(data)
    for _, text in svg(one):
        ElementTree.fromstring(text)


def test_pages_grow_with_what_is_on_them_and_nothing_runs_off() -> None:
    short, long = (len(pages_of(pdf(report(tenant_name=n * "x")))) for n in (10, 10_000))
    assert short < long < short + 12


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    load.cache_clear()
    monkeypatch.setitem(sys.modules, "reportlab", None)
    with pytest.raises(Unavailable, match=r"pip install 'watchkeeper\[pdf\]'"):
        pdf(report())
    monkeypatch.undo()
    assert pdf(report()).startswith(b"%PDF")


def test_charts_come_from_the_stored_series() -> None:
    one = report()
    drawn = charts(one)
    assert [chart.of for chart in drawn] == ["signals", "pulls", "decisions", "credits"]
    decisions = drawn[2]
    assert [part.label for part in decisions.series] == ["ALLOW", "DEFER", "SKIP"]
    assert decisions.heading == "decisions: entries per 30 minutes"
    totals = [sum(part.values) for part in decisions.series]
    assert decisions.drawing.summary.endswith(
        f"ALLOW: {totals[0]:,} entries; DEFER: {totals[1]:,} entries; SKIP: {totals[2]:,} entries"
    )


@pytest.mark.req("U-31")
def test_the_charts_of_a_report_for_a_page_have_ids_of_their_own() -> None:
    drawn = svg(report())
    roots = [ElementTree.fromstring(text) for _, text in drawn]
    assert [of for of, _ in drawn] == ["signals", "pulls", "decisions", "credits"]
    assert len({root.get("id") for root in roots}) == len(roots)
    assert all("style=" not in text and "<script" not in text for _, text in drawn)


def test_a_number_never_gains_a_character_from_its_grouping() -> None:
    one = report()
    assert one.observations.credits_settled == counted(
        8_887_030, "credits of settled turns", "micro-credits"
    )
    assert "8887030" in text_of(pdf(one))
