"""Highlights a line of code: comments, strings, numbers, keywords, and the words of the query.

It works on single lines, since replies show single lines of a file, and by file extension. The patterns take linear
time; very long lines are not highlighted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from llmc.server.http.page.markup import Safe, fill, join

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["coloured", "terms_of"]

LONGEST: Final = 1_000


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HASH: Final = words("py pyi sh bash zsh rb yaml yml toml ini cfg conf pl r jl ex exs nix mk cmake tf dockerfile")
DASH: Final = words("sql lua hs elm ada vhdl")
PROSE: Final = words("md rst txt adoc log csv")
STRING: Final = r"\"\"\"(?:[^\"]|\"(?!\"\"))*(?:\"\"\"|$)|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`"
COMMENTS: Final = {"hash": r"\#.*", "dash": r"--.*", "slash": r"//.*|/\*.*?(?:\*/|$)|^\s*\*.*"}
WORDS: Final = words(
    "abstract and as assert async await bool boolean break case catch char class const continue def default defer "
    "del do double elif else elsif end enum except export extends extern false final finally float fn for foreach "
    "from func function global go if impl implements import in include instanceof int interface is lambda let "
    "local loop match mod module move mut namespace new nil none nonlocal not null nullptr of or package pass "
    "private protected pub public raise record ref require return select self static str string struct super "
    "switch template then this throw throws trait true try type typedef typeof union unless unsafe until use "
    "using var virtual void volatile when where while with yield create table insert update delete join"
)
FEWEST_LETTERS: Final = 3


def pattern(family: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<c>{COMMENTS[family]})|(?P<s>{STRING})|(?P<n>\b\d[\w.]*)|(?P<w>[^\W\d]\w*)")


PATTERNS: Final = {family: pattern(family) for family in COMMENTS}
WORD: Final = re.compile(r"[^\W\d]\w*")


def coloured(line: str, path: str, terms: Collection[str] = ()) -> Safe:
    family = family_of(path)
    if len(line) > LONGEST:
        return fill("{line}", line=line)
    return join(pieces(line, PATTERNS[family] if family else WORD, terms))


def pieces(line: str, pattern: re.Pattern[str], terms: Collection[str]) -> Iterator[object]:
    at = 0
    for found in pattern.finditer(line):
        yield line[at : found.start()]
        at = found.end()
        kind = found.lastgroup or "w"
        yield word(found[0], terms, code=pattern is not WORD) if kind == "w" else inside(found[0], kind, terms)
    yield line[at:]


def inside(text: str, kind: str, terms: Collection[str]) -> Safe:
    """A comment or a string, with the words of the query marked."""
    return fill('<i class="{kind}">{text}</i>', kind=kind, text=join(pieces(text, WORD, terms)))


def word(text: str, terms: Collection[str], *, code: bool) -> object:
    lowered = text.lower()
    if any(term in lowered for term in terms):
        return fill("<mark>{text}</mark>", text=text)
    return fill('<i class="k">{text}</i>', text=text) if code and lowered in WORDS else text


def family_of(path: str) -> str:
    """The comment style; empty for prose and files without an extension."""
    name = path.rpartition("/")[2].lower()
    ending = name.rpartition(".")[2]
    if ending in PROSE or (ending == name and name not in HASH and name != "makefile"):
        return ""
    if ending in HASH or name == "makefile":
        return "hash"
    return "dash" if ending in DASH else "slash"


def terms_of(query: str) -> frozenset[str]:
    """The words of a query to mark, without filters and stop words."""
    words = (one for one in query.split() if ":" not in one and not one.startswith("-"))
    found = {found.lower() for one in words for found in WORD.findall(one)}
    return frozenset(one for one in found if len(one) >= FEWEST_LETTERS and one not in STOP)


STOP: Final = words("the and for how are was what where which who when does with from that this into not")
