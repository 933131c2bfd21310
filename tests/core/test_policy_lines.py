"""Where a key stands: checked against what the standard parser reads."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.toml_lines import locate_lines
from watchkeeper.core.toml_text import to_toml


@pytest.mark.req("T-20")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a = 1", {("a",): 1}, id="the first line is 1"),
        pytest.param("\n# b = 2\n\na = 1\n", {("a",): 4}, id="comments and blank lines count"),
        pytest.param("\r\na = 1\r\nb = 2\r\n", {("a",): 2, ("b",): 3}, id="Windows line ends"),
        pytest.param("[t]\na = 1", {("t",): 1, ("t", "a"): 2}, id="a key of a table"),
        pytest.param(
            "[ t . 'u.v' ]\n\"a b\" = 1",
            {("t",): 1, ("t", "u.v"): 1, ("t", "u.v", "a b"): 2},
            id="quoted keys and spaces in a header",
        ),
        pytest.param('"\\u0061" = 1', {("a",): 1}, id="an escaped key"),
        pytest.param("a.b . c = 1", {("a",): 1, ("a", "b"): 1, ("a", "b", "c"): 1}, id="dotted"),
        pytest.param(
            '[t]\na = """\nb = 1\n[u]\n\\""" "" """""\nc = 1',
            {("t",): 1, ("t", "a"): 2, ("t", "c"): 6},
            id="a string of many lines holds no keys",
        ),
        pytest.param(
            "a = '''\nb = 1\n''''\nc = 1", {("a",): 1, ("c",): 4}, id="nor does a literal one"
        ),
        pytest.param(
            "a = '# no comment' # b = '\nc = \"]\" # [t]\nd = 1",
            {("a",): 1, ("c",): 2, ("d",): 3},
            id="a mark inside a string is not a mark",
        ),
        pytest.param(
            "a = { b = 1, c.d = [ {e = 2} ] }\nf = 1",
            {
                ("a",): 1,
                ("a", "b"): 1,
                ("a", "c"): 1,
                ("a", "c", "d"): 1,
                ("a", "c", "d", 0): 1,
                ("a", "c", "d", 0, "e"): 1,
                ("f",): 2,
            },
            id="inline tables",
        ),
        pytest.param(
            "a = [ # one\n  1,\n  '2', # two ]\n]\nb = 1",
            {("a",): 1, ("a", 0): 2, ("a", 1): 3, ("b",): 5},
            id="an array over many lines",
        ),
        pytest.param(
            "[[t]]\na = 1\n[[t]]\na = 2\n[t.u]\nb = 3\n[[t.v]]\nc = 4",
            {
                ("t",): 1,
                ("t", 0): 1,
                ("t", 0, "a"): 2,
                ("t", 1): 3,
                ("t", 1, "a"): 4,
                ("t", 1, "u"): 5,
                ("t", 1, "u", "b"): 6,
                ("t", 1, "v"): 7,
                ("t", 1, "v", 0): 7,
                ("t", 1, "v", 0, "c"): 8,
            },
            id="arrays of tables",
        ),
        pytest.param("a = 1979-05-27 07:32:00Z\nb = 1", {("a",): 1, ("b",): 2}, id="a date"),
        pytest.param("", {}, id="nothing"),
    ],
)
def test_lines(text, expected):
    tomllib.loads(text)
    assert locate_lines(text) == expected


words = st.text("abz019_-", min_size=1, max_size=4)
odd_words = st.text("ab .#=[]{}'\"\\,é\t", max_size=6)
keys = words | odd_words
blanks = st.sampled_from(["", "\n", "# x = '''\n", '\n  # "[t]\n\n', "\t\n"])
texts = st.text("ab\n\"'\\#=[]{}, ", max_size=12)


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


@st.composite
def key_texts(draw, key):
    if key and set(key) <= set("abz019_-") and draw(st.booleans()):
        return key
    if "'" not in key and draw(st.booleans()):
        return f"'{key}'"
    return quoted(key)


@st.composite
def value_texts(draw, depth=2):
    kinds = ["number", "basic", "long", "literal", "long literal"]
    kind = draw(st.sampled_from(kinds + (["array", "table"] if depth else [])))
    text = draw(texts)
    match kind:
        case "number":
            return draw(st.sampled_from(["1", "-1_000", "0x1F", "1e3", "true", "2030-01-01"]))
        case "basic":
            return quoted(text)
        case "long":
            inner = text.replace("\\", "\\\\").replace('"', '\\"')
            return f'"""{inner}{draw(st.sampled_from(["", chr(34), chr(34) * 2]))}"""'
        case "literal":
            return "'" + text.replace("'", "").replace("\n", "") + "'"
        case "long literal":
            return "'''" + text.replace("'", "") + draw(st.sampled_from(["", "'", "''"])) + "'''"
        case "array":
            parts = draw(st.lists(value_texts(depth=depth - 1), max_size=3))
            return "[" + "".join(f"{draw(blanks)}{part}{draw(blanks)}," for part in parts) + "]"
        case _:
            names = draw(st.lists(keys, max_size=3, unique=True))
            pairs = [
                f"{draw(key_texts(name))} = {draw(value_texts(depth=depth - 1))}" for name in names
            ]
            return "{ " + ", ".join(pairs) + " }"


@st.composite
def toml_texts(draw):
    """Valid documents in every layout, with the true line of each key that is not inline."""
    lines, truth, prefix = "", {}, ()
    tops = draw(st.lists(keys, max_size=4, unique=True))
    for table in [None, *tops]:
        if table is not None:
            lines += draw(blanks)
            prefix = ("tables", table)
            truth[prefix] = lines.count("\n") + 1
            lines += f"[tables.{draw(key_texts(table))}]\n"
        for key in draw(
            st.lists(keys.filter(lambda key: key != "tables"), max_size=4, unique=True)
        ):
            lines += draw(blanks)
            truth[(*prefix, key)] = lines.count("\n") + 1
            lines += f"{draw(key_texts(key))} = {draw(value_texts())}\n"
    return lines, truth


def paths(value, path=()):
    """Every path that the standard parser sees."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from paths(each, (*path, key))


@pytest.mark.req("T-20")
@given(toml_texts())
def test_every_key_that_the_parser_sees_is_found_on_its_line(generated):
    text, truth = generated
    found = locate_lines(text)
    assert set(found) == set(paths(tomllib.loads(text)))
    assert {path: found[path] for path in truth} == truth


plain_words = st.text("abcxyz", min_size=1, max_size=5)
documents = st.recursive(
    st.dictionaries(plain_words, st.integers() | plain_words, max_size=4),
    lambda inner: st.dictionaries(plain_words, st.integers() | inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.req("T-20")
@given(documents)
def test_the_line_of_a_leaf_contains_its_key(document):
    text = to_toml(document)
    lines = text.split("\n")
    for path, line in locate_lines(text).items():
        assert path[-1] in lines[line - 1]


values = st.integers() | st.booleans() | st.text(st.characters(codec="utf-8"), max_size=8)
any_documents = st.recursive(
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), values, max_size=4),
    lambda inner: st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=5), values | inner, max_size=4
    ),
    max_leaves=12,
)


@pytest.mark.req("T-20")
@given(any_documents)
def test_a_document_written_as_toml_reads_back_the_same(document):
    text = to_toml(document)
    assert tomllib.loads(text) == document
    assert to_toml(tomllib.loads(text)) == text


def test_what_toml_cannot_hold_is_refused():
    with pytest.raises(TypeError, match="NoneType"):
        to_toml({"a": None})
