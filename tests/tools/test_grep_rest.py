"""A matched constant whose value is on the next lines comes with it; an exclusion that excludes nothing is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tool_calls import opened_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.envelope.reply import Reply

    Ask = Callable[..., Reply]

KEYS = "public final class Keys {\n" + "".join(
    f"    public static final ConfigKey<Long> {name} = new LongConfigKey(\n"
    f'            "{name.lower()}",\n            {default});\n\n'
    for name, default in [("SKIP_LIMIT", 10), ("SKIP_AFTER", 20), *((f"MANY_{at}", at) for at in range(11))]
)
KEYS += "    static final int[] LARGE = {\n" + "            1,\n" * 8 + "    };\n}\n"
FILES = {
    "src/main/Keys.java": KEYS,
    "src/main/Filter.java": "class Filter {\n    long limit() {\n        return get(Keys.SKIP_LIMIT);\n    }\n}\n",
    "templates/skip.txt": "SKIP_LIMIT\n",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with opened_tools(tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("home"), FILES) as call:
        yield call


def test_the_rest_of_a_matched_constant_follows_its_line(ask: Ask) -> None:
    reply = ask("grep", pattern="SKIP_LIMIT|SKIP_AFTER", path="src")
    assert "2-4 Keys · public static final ConfigKey<Long> SKIP_LIMIT = new LongConfigKey(" in reply.text
    assert '\n "skip_limit",\n 10);\n' in reply.text
    assert '\n "skip_after",\n 20);\n' in reply.text
    assert reply.text.startswith("3 matches in 2 files")
    assert sum(len(file["lines"]) for file in reply.data["files"]) == 3


@pytest.mark.parametrize(
    "more", [{"all": True}, {"symbols": True}, {"files": True}, {"count": True}, {"fields": ["line", "text"]}]
)
def test_other_forms_have_only_the_matching_lines(ask: Ask, more: dict[str, object]) -> None:
    assert '"skip_limit"' not in ask("grep", pattern="SKIP_LIMIT", path="src", **more).text


def test_a_long_value_and_a_list_of_definitions_are_not_continued(ask: Ask) -> None:
    assert "1," not in ask("grep", pattern="LARGE").text
    assert '"many_3"' not in ask("grep", pattern="MANY_").text


def test_an_exclusion_that_excludes_nothing_is_reported(ask: Ask) -> None:
    first = ask("grep", pattern="SKIP_LIMIT", glob=["!main/**"]).text.split("\n")[0]
    assert "-g '!main/**' excludes no file; a glob with a slash is relative to the root: try -g '!**/main/**'" in first
    assert "-g '!nosuch' excludes no file" in ask("grep", pattern="SKIP_LIMIT", glob=["!nosuch"]).text
    kept = ask("grep", pattern="SKIP_LIMIT", glob=["!templates/**"]).text
    assert "excludes no" not in kept
    assert "templates" not in kept
