"""Is a matched line a definition, a use, an import or a comment? And does it belong to a test?

Comments and import statements are recognised with one regular expression for each family of languages, since a syntax
tree would take milliseconds a file. Definitions come from the symbols of the file. Test code is recognised by the
frameworks' own marks (`#[test]`, `@Test`, `func TestX`, `it(...)`), not only by the path.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from llmc.base.languages import role_of
from llmc.base.text import indent_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.enclosing import FileSymbols

__all__ = ["COMMENT", "DEFINITION", "IMPORT", "KINDS", "TEXT", "USE", "WRITE", "FileText", "is_test_symbol"]

DEFINITION, USE, IMPORT, COMMENT, TEXT = "def", "use", "import", "comment", "text"
WRITE: Final = "write"  # a definition or use that assigns; only if requested, see `writes`
KINDS: Final = (DEFINITION, USE, WRITE, IMPORT, COMMENT, TEXT)

_PROSE: Final = frozenset(
    ["markdown", "asciidoc", "rst", "text", "latex", "diff", "csv", "jsonl", "gettext", "bibtex", "json", "org"]
)
_STRINGS: Final = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_SLASHES: Final = rf"""(?P<c>(?<!:)//[^\n]*|/\*[\s\S]*?(?:\*/|\Z))|{_STRINGS}|`(?:\\.|[^`\\])*`"""
_MARKUP: Final = r"(?P<c><!--[\s\S]*?(?:-->|\Z)|(?<![:\w\"'])//[^\n]*|/\*[\s\S]*?(?:\*/|\Z))"
_COMMENTS: Final = {
    "python": r"""(?P<c>\#[^\n]*|^[ \t]*[rRbBuU]{0,2}(?P<q>\"{3}|'{3})[\s\S]*?(?:(?P=q)|\Z))"""
    rf"""|(?P<o>\"{{3}}|'{{3}})[\s\S]*?(?:(?P=o)|\Z)|{_STRINGS}""",
    "#": rf"(?P<c>(?:^|(?<=\s))\#[^\n]*|^=begin[\s\S]*?^=end)|{_STRINGS}",
    "--": rf"(?P<c>--\[\[[\s\S]*?\]\]|--[^\n]*|\{{-[\s\S]*?-\}}|/\*[\s\S]*?\*/)|{_STRINGS}",
    ";": r'(?P<c>;[^\n]*)|"(?:\\.|[^"\\])*"',
    "%": rf"(?P<c>%[^\n]*)|{_STRINGS}",
    "<": _MARKUP,
    "/": _SLASHES,
}
_BY_FAMILY: Final = {
    "python": "python starlark bazel meson",
    "#": "bash ruby yaml toml perl r elixir make dockerfile cmake ini properties crystal nim julia fish just hcl gomod",
    "--": "sql lua luau haskell elm ada",
    ";": "clojure commonlisp elisp scheme racket asm",
    "%": "erlang matlab",
    "<": "html xml vue svelte astro erb eex",
}
_FAMILIES: Final = {name: family for family, names in _BY_FAMILY.items() for name in names.split()}
# What opens and closes a comment of several lines; a docstring ends as it begins.
_BLOCKS: Final = {
    "python": (('"""', '"""'), ("'''", "'''")),
    "#": (("=begin", "=end"),),
    "--": (("--[[", "]]"), ("{-", "-}"), ("/*", "*/")),
    "<": (("<!--", "-->"), ("/*", "*/")),
    "/": (("/*", "*/"), ("`", "`")),
}
_LIST_ENTRY: Final = re.compile(r"[\w$*{}(),;:\"'./\\\s-]*")  # a line that may be inside an import of several lines
# Statements that import, whole: the names in them may be on lines of their own.
_IMPORTS: Final = re.compile(
    r"""^[ \t]*(?:
        import\b[^;'"\n(]*\{[^}]*\}\s*from\b[^\n]*        # import { a, b } from 'x'
      | export\s+(?:type\s+)?\{[^}]*\}\s*from\b[^\n]*
      | export\s+(?:type\s+)?\*[^\n]*
      | from\s+[\w.]+\s+(?:c?import)\b\s*\([^)]*\)
      | from\s+[\w.]+\s+c?import\b[^\n]*
      | import\s*\([^)]*\)                               # import ( "a" "b" ) of Go
      | import\b(?!\s*\()[^\n]*
      | (?:pub(?:\([^)]*\))?\s+)?use\s+(?:[\w$]+::|\w+\\|\{|\w+;)[^;]*;
      | (?:pub\s+)?extern\s+crate\b[^\n]*
      | \#\s*(?:include|import)\b[^\n]*
      | (?:global\s+)?using\s+(?:static\s+)?[\w.]+(?:\s*=[^\n;]*)?;
      | (?:require|require_relative|require_once|include_once|load|autoload)\b[ (][^\n]*
      | (?:const|let|var|local)\s+[^=\n]*=\s*require\b[^\n]*
      | (?:const|let|var)\s*\{[^}=]*\}\s*=\s*require\b[^\n]*
      | @(?:import|use|forward)\s+['"][^\n]*
    )""",
    re.MULTILINE | re.VERBOSE,
)
# Lines above a definition, or its own, that make it a test.
_TEST_MARKS: Final = re.compile(
    r"#\[(?:[\w:]*::)?(?:test|rstest|test_case|proptest|bench|quickcheck|wasm_bindgen_test)\b|#\[cfg\(\s*(?:all\()?test\b"
    r"|@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate)\b"
    r"|\[(?:Fact|Theory|Test|TestCase|TestMethod|SetUp)\b|@pytest\.(?:mark|fixture)\b|@test\b"
)
_TEST_NAMES: Final = {
    "python": re.compile(r"(?:^|\.)(?:test_\w+|Test[A-Z]\w*)(?:\.|$)"),
    "go": re.compile(r"(?:^|\.)(?:Test|Benchmark|Fuzz|Example)(?:[A-Z_]\w*)?$"),
    "swift": re.compile(r"(?:Tests?|Spec)\.test\w+$"),
    "php": re.compile(r"Test\.test\w+$"),
    "rust": re.compile(r"(?:^|\.)tests?(?:\.|$)"),
}
_MARK_LINES: Final = 6  # attributes above a definition; lines further up belong to something else


class FileText:
    """The text of one file. The line alone usually tells its kind; only where a comment or an import of several lines
    may be open is the whole text scanned, once."""

    def __init__(self, text: str, language: str) -> None:
        self._text = text
        self._family = _FAMILIES.get(language, "/")
        self._is_prose = language in _PROSE or not language

    @cached_property
    def _starts(self) -> list[int]:
        lengths = list(map(len, self._text.split("\n")))
        return [start + at for at, start in enumerate(accumulate(lengths, initial=0))]

    @property
    def line_count(self) -> int:
        return len(self._starts) - 1 - self._text.endswith("\n")

    def line(self, number: int) -> str:
        return self._text[self._starts[number - 1] : self._starts[number] - 1] if self._has(number) else ""

    def lines(self, first: int, last: int) -> str:
        first, last = max(1, first), min(last, len(self._starts) - 1)
        return self._text[self._starts[first - 1] : self._starts[last]] if first <= last else ""

    def _has(self, number: int) -> bool:
        return 1 <= number < len(self._starts)

    def kind(self, number: int, column: int | None = None) -> str:
        """Kind of a line that defines nothing. `column` is where the match begins, None if unknown."""
        if self._is_prose or not self._has(number):
            return TEXT
        line = self.line(number)
        if column is None or column >= len(line):
            column = indent_of(line)
        start = self._starts[number - 1]
        if self._in_block(start + column):
            is_comment = _inside(self._comments, start + column)
        else:
            is_comment = _inside(_comment_spans(line, self._family), column)
        if is_comment:
            return COMMENT
        if _IMPORTS.match(line) or (_LIST_ENTRY.fullmatch(line) and _inside(self._imports, start + column)):
            return IMPORT
        return USE

    def _in_block(self, at: int) -> bool:
        """Whether a comment of several lines may be open here."""
        for opening, closing in _BLOCKS.get(self._family, ()):
            if opening == closing:
                if self._text.count(opening, 0, at) % 2 or self._text.startswith(opening, at):
                    return True
            elif self._text.rfind(opening, 0, at + len(opening)) > self._text.rfind(closing, 0, at):
                return True
        return False

    @cached_property
    def _comments(self) -> list[tuple[int, int]]:
        return _comment_spans(self._text, self._family)

    def lexical_spans(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The comments and strings, as far as regular expressions can find them."""
        found = list(_scanner(self._family).finditer(self._text))
        return [one.span() for one in found if one["c"]], [one.span() for one in found if not one["c"]]

    @cached_property
    def _imports(self) -> list[tuple[int, int]]:
        return [match.span() for match in _IMPORTS.finditer(self._text)]


def _comment_spans(text: str, family: str) -> list[tuple[int, int]]:
    return [match.span("c") for match in _scanner(family).finditer(text) if match["c"]]


@lru_cache(maxsize=16)
def _scanner(family: str) -> re.Pattern[str]:
    return re.compile(_COMMENTS[family], re.MULTILINE)


def _inside(spans: list[tuple[int, int]], at: int) -> bool:
    place = bisect_right(spans, (at, 1 << 60)) - 1
    return place >= 0 and at < spans[place][1]


def is_test_symbol(chain: Iterable[Symbol], file: FileSymbols) -> bool:
    """Whether code inside these symbols of the file, from the outermost to the innermost, is test code."""
    text = file.text
    # The runners of Python collect test files only: `test_permission` in a module of the product is no test.
    named = None if file.language == "python" and role_of(file.path) == "code" else _TEST_NAMES.get(file.language)
    for symbol in chain:
        if symbol.kind == "test" or (named and named.search(symbol.qualified)):
            return True
        if text is not None and _TEST_MARKS.search(_head(text, symbol)):
            return True
    return False


def _head(text: FileText, symbol: Symbol) -> str:
    return text.lines(symbol.start_line, min(symbol.end_line, symbol.start_line + _MARK_LINES))


def chain_of(symbols: Sequence[Symbol], line: int) -> list[Symbol]:
    """The symbols around a line, from the outermost to the innermost. `symbols` are in order of their first line."""
    around = [one for one in symbols if one.start_line <= line <= one.end_line]
    return sorted(around, key=lambda one: (one.start_line, -one.end_line))
