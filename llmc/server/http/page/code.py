"""Highlights code with pygments, line by line, and marks the words of the query.

A text is lexed as a whole and split into lines afterwards, so that strings and comments over several lines are
highlighted correctly. Long lines and long texts are not highlighted: some lexers take quadratic time.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape
from pygments import lex
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pygments.lexer import Lexer

__all__ = ["highlighted", "terms_of"]

LONGEST_LINE: Final = 1_000
LONGEST_TEXT: Final = 200_000
FEWEST_LETTERS: Final = 3
WORD: Final = re.compile(r"[^\W\d]\w*")
STOP: Final = frozenset({
    *("the", "and", "for", "how", "are", "was", "what", "where", "which", "who", "when", "does", "with", "from"),
    *("that", "this", "into", "not"),
})  # fmt: skip


def highlighted(text: str, path: str, terms: Collection[str] = ()) -> list[Markup]:
    """The lines of the text as HTML."""
    lines = text.split("\n")
    if len(text) > LONGEST_TEXT or max(map(len, lines)) > LONGEST_LINE:
        return [marked(line, "", terms) for line in lines]
    return list(coloured_lines(text, lexer_for(path.rpartition("/")[2]), terms))


@lru_cache(maxsize=256)
def lexer_for(name: str) -> Lexer:
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return TextLexer(stripnl=False, ensurenl=False)


def coloured_lines(text: str, lexer: Lexer, terms: Collection[str]) -> Iterator[Markup]:
    line: list[Markup] = []
    for kind, value in lex(text, lexer):
        css = STANDARD_TYPES.get(kind, "")
        first, *rest = value.split("\n")
        line.append(marked(first, css, terms))
        for more in rest:
            yield Markup("").join(line)
            line = [marked(more, css, terms)]
    yield Markup("").join(line)


def marked(text: str, css: str, terms: Collection[str]) -> Markup:
    """A piece of a line in its colour, with the words of the query marked."""
    if not text:
        return Markup("")
    inner = Markup("").join(pieces(text, terms)) if terms else escape(text)
    return Markup('<i class="{}">{}</i>').format(css, inner) if css else inner


def pieces(text: str, terms: Collection[str]) -> Iterator[Markup]:
    at = 0
    for word in WORD.finditer(text):
        if any(term in word[0].lower() for term in terms):
            yield escape(text[at : word.start()])
            yield Markup("<mark>{}</mark>").format(word[0])
            at = word.end()
    yield escape(text[at:])


def terms_of(query: str) -> frozenset[str]:
    """The words of a query to mark, without filters and stop words."""
    words = (one for one in query.split() if ":" not in one and not one.startswith("-"))
    found = {found.lower() for one in words for found in WORD.findall(one)}
    return frozenset(one for one in found if len(one) >= FEWEST_LETTERS and one not in STOP)
