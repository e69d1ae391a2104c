"""Edits of JSON as persons write it: only what was meant changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi.setup.jsonc import Document, Unsafe
from tests.unit.setup.kit import JSON, all_there, plain


@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
def test_what_is_put_in_is_read_there_and_nothing_else_changes(text: str) -> None:
    """By an independent reader; every byte that was there still is."""
    document = Document(text)
    made = document.put(("zz", "x", "y"), {"k": [1]})
    assert made == [["zz"], ["zz", "x"]]
    assert plain(document.text) == plain(text) | {"zz": {"x": {"y": {"k": [1]}}}}
    assert all_there(text.encode(), document.text.encode())
    document.drop(("zz",))
    assert plain(document.text) == plain(text)


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2, 3]}',
        '{"a": [1, 2, 3,]}',
        '{"a": [\n  1,\n  2,\n  3\n]}',
        '{"a": [ /* one */ 1, // two\n 2, 3 /* three */ ]}',
        '{"a":[1\n,2\n,3]}',
    ],
)
def test_an_entry_is_cut_out_with_its_comma_and_no_remark(text: str, at: int) -> None:
    """First, middle or last; remarks are a person's."""
    document = Document(text)
    document.cut(("a",), at)
    assert plain(document.text) == {"a": [x for x in (1, 2, 3) if x != at + 1]}
    for remark in ("/* one */", "// two", "/* three */"):
        assert (remark in document.text) == (remark in text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), st.booleans())
def test_in_and_out_again_is_byte_for_byte(
    value: dict[str, object], wide: bool
) -> None:
    """Wherever something stood before; the client's own form of JSON, and a line."""
    text = json.dumps(value, indent=2 if wide else None)
    document = Document(text)
    if "mcpServers" in value:
        return
    document.put(("mcpServers", "homi"), {"command": "x", "args": []})
    assert json.loads(document.text)["mcpServers"] == {
        "homi": {"command": "x", "args": []}
    }
    document.drop(("mcpServers", "homi"))
    document.drop(("mcpServers",), empty=True)
    assert json.loads(document.text) == value
    assert document.text == text or not value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  // only this",
        "[]",
        '{"a": 1, "a": 2}',
        '{"a": 1 "b": 2}',
        '{"a": tru}',
        "{} {}",
        '{"a": "\n"}',
        '{"a": 1,, "b": 2}',
        '{"a" 1}',
        "{1: 2}",
        "{",
        "[" * 100_000,
        '{"a":' * 65 + "1" + "}" * 65,
    ],
)
def test_what_is_not_one_object_is_refused(text: str) -> None:
    """Guessing would cost a person a file; the control is the least that is one."""
    with pytest.raises(Unsafe):
        Document(text)
    assert Document(" {} ").root.kind == "object"


def test_a_container_of_another_kind_is_refused() -> None:
    """A list is not made of an object; an object is put into."""
    text = '{"a": {"b": 1}, "c": [1]}'
    with pytest.raises(Unsafe, match=r"a\.b is no object"):
        Document(text).put(("a", "b", "x"), 1)
    with pytest.raises(Unsafe, match="a is no list"):
        Document(text).add(("a",), [1])
    Document(text).add(("c",), [2])
