"""Where are the comments and strings of a source text? As its grammar reads it: `//` divides in Python, `#` begins a
private name in JavaScript, and a quote may belong to a lifetime of Rust."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tree_sitter import Query, QueryCursor

from llmc.base.languages import GRAMMARS
from llmc.indexer.syntax.grammar import language, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Spans", "lexical_spans"]

_COMMENT = re.compile(r"(?:\w*_)?comment|comment_\w+|pod")
_STRING = re.compile(
    r"(?!concatenated|chained|bare|system)(?:\w+_)?(?:string|string_literal|heredoc|heredoc_body|heredoc_content|regexp?)"
    r"|(?:char|character|rune|command|regex)_literal|character|charlist|sigil|nowdoc|interpolated_string_expression"
    r"|stringliteral\w*",
    re.IGNORECASE,
)
# A statement that is nothing but a string documents what it stands in.
_DOCSTRINGS = {"python": "(block (string) @comment) (module (string) @comment)"}


class Spans(NamedTuple):
    """(start, end) in characters, in order and without overlap."""

    comments: tuple[tuple[int, int], ...]
    strings: tuple[tuple[int, int], ...]


def lexical_spans(name: str, text: str) -> Spans | None:
    """None for a language without a grammar, and for a text that its parser refuses."""
    grammar = GRAMMARS.get(name)
    data = text.encode("utf-8", "replace")
    tree = parse(grammar, data) if grammar else None
    if grammar is None or tree is None:
        return None
    found = QueryCursor(_query(grammar)).captures(tree.root_node)
    comments = _outermost((node.start_byte, node.end_byte) for node in found.get("comment", ()))
    strings = _outermost((node.start_byte, node.end_byte) for node in found.get("string", ()))
    in_characters = _characters(data, {at for span in (*comments, *strings) for at in span})
    documented = set(comments)
    return Spans(
        tuple((in_characters[start], in_characters[end]) for start, end in comments),
        tuple((in_characters[one[0]], in_characters[one[1]]) for one in strings if one not in documented),
    )


@cache
def _query(grammar: str) -> Query:
    known = language(grammar)
    kinds = {
        name
        for number in range(known.node_kind_count)
        if known.node_kind_is_named(number) and (name := known.node_kind_for_id(number))
    }
    comments = [f"({kind}) @comment" for kind in sorted(kinds) if _COMMENT.fullmatch(kind)]
    strings = [f"({kind}) @string" for kind in sorted(kinds) if _STRING.fullmatch(kind)]
    return Query(known, "\n".join([*comments, *strings, _DOCSTRINGS.get(grammar, "")]))


def _outermost(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def _characters(data: bytes, places: set[int]) -> dict[int, int]:
    """How many characters lie before each of these bytes."""
    found: dict[int, int] = {}
    before = characters = 0
    for at in sorted(places):
        characters += len(data[before:at].decode("utf-8", "replace"))
        found[at] = characters
        before = at
    return found
