"""Editing JSON with comments as text: whatever the file contains, only our entry changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.install import jsonc

BLANK = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", "/* c */", "// x\n", " \n\n", "\r\n"])
LEAVES = st.sampled_from(["1", "-2.5e3", r'"a\"b//x"', "true", "null", '"é/*"', '""', '"{"'])
KEYS = st.sampled_from(["one", "two", "mcpServers", "other"])
ENTRY = {"command": "x", "args": ["a", 'b"'], "env": {}}
PATH = ("mcpServers", "llmc")


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[str], *, named: bool) -> str:
    parts: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        key = f"{json.dumps(draw(KEYS))}{draw(BLANK)}:{draw(BLANK)}" if named else ""
        parts.append(draw(BLANK) + key + draw(inner) + draw(BLANK))
    text = ",".join(parts) + (draw(st.sampled_from(["", ","])) if parts else "")
    return ("{%s%s}" if named else "[%s%s]") % (text, draw(BLANK))


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return containers(inner, named=True) | containers(inner, named=False)


VALUES = st.recursive(LEAVES, grown, max_leaves=12)
DOCUMENTS = containers(VALUES, named=True)


def without(value: Any) -> Any:
    """The document as it is apart from our entry and the table that had to be made for it."""
    servers = {key: one for key, one in (value.get("mcpServers") or {}).items() if key != "llmc"}
    rest = {key: one for key, one in value.items() if key != "mcpServers"}
    return rest, servers


@given(DOCUMENTS)
def test_an_entry_is_placed_and_nothing_else_changes(text: str) -> None:
    before = jsonc.parse(text).value
    if not isinstance(before.get("mcpServers"), dict | None):
        return
    after = jsonc.put(text, PATH, ENTRY)
    assert jsonc.find(after, PATH) == ENTRY
    assert without(jsonc.parse(after).value) == without(before)
    assert jsonc.put(after, PATH, ENTRY) == after
    assert text.count("// x") == after.count("// x")
    assert text.count("/* c */") == after.count("/* c */")


@given(DOCUMENTS)
def test_an_inserted_entry_can_be_removed(text: str) -> None:
    before = jsonc.parse(text).value
    if not isinstance(before.get("mcpServers"), dict | None):
        return
    gone = jsonc.take(jsonc.put(text, PATH, ENTRY), PATH)
    assert jsonc.find(gone, PATH) is None
    assert without(jsonc.parse(gone).value) == without(before)
    assert text.count("/* c */") == gone.count("/* c */")


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        jsonc.put(text, PATH, ENTRY)
    except jsonc.BrokenError:
        return
    assert jsonc.is_blank(text) or isinstance(jsonc.parse(text).value, dict | None)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_json_is_read_as_json(value: Any) -> None:
    text = json.dumps(value, indent=2)
    assert jsonc.parse(text).value == json.loads(text)


@pytest.mark.parametrize(
    ("text", "place"), [('{\n "a": x\n}', "line 2, column 7"), ('{"a": 1', "line 1, column 8"), ("", "line 1")]
)
def test_the_place_of_a_mistake_is_named(text: str, place: str) -> None:
    with pytest.raises(jsonc.BrokenError, match=place):
        jsonc.parse(text)
