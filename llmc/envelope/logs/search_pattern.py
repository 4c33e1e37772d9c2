"""Finds the part of a printed line that rg or grep matched, to cut long lines around it.

The pattern is read from the command. For an unknown flag, or a pattern that RE2 may read differently, the result is
None, and lines are not cut, because the match itself could be lost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from llmc.base.listing_programs import program_of
from llmc.envelope.fit import start_of_marker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["cut_around", "pattern_of"]

# Flags of one letter that neither take a value nor change what is matched, and those that take a value.
_PLAIN: Final = {"rg": "nHhiSFwIsaLlNuq.", "grep": "nHhiFwrRIsaLlEqT"}
_VALUES: Final = {"rg": "ABCgtTmdjM", "grep": "ABCmdD"}
# Long flags and an equivalent letter: `A` for all that take a value other than a pattern, `n` for all that have no
# effect here.
_LONG: Final = {
    "--regexp": "e", "--ignore-case": "i", "--smart-case": "S", "--fixed-strings": "F", "--word-regexp": "w",
    "--extended-regexp": "E",
    **dict.fromkeys((
        "--line-number", "--with-filename", "--no-filename", "--no-heading", "--recursive", "--hidden", "--no-ignore",
        "--no-ignore-vcs", "--no-messages", "--color=never", "--colour=never", "--trim", "--case-sensitive", "--text",
    ), "n"),
    **dict.fromkeys((
        "--glob", "--iglob", "--type", "--type-not", "--max-count", "--max-depth", "--max-filesize", "--after-context",
        "--before-context", "--context", "--include", "--exclude", "--exclude-dir", "--sort", "--sortr", "--threads",
    ), "A"),
}  # fmt: skip
_BASIC_ONLY: Final = re.compile(r"[(){}+?]|\\[^.|*\[\]\\$^/wWbsS-]")  # reads differently in a basic expression
_OTHER_SYNTAX: Final = re.compile(r"\[:|\\[<>]|&&|\(\?[=!<]")
SLACK: Final = 8  # cutting fewer characters than this saves hardly anything


def pattern_of(command: Sequence[str]) -> Any:
    """The compiled pattern of an rg or grep command, or None."""
    parsed = _parse(command)
    if parsed is None:
        return None
    patterns, letters = parsed
    program = program_of(command)
    if "F" in letters or program == "fgrep":
        patterns = [re.escape(pattern) for pattern in patterns]
    elif any(map(_OTHER_SYNTAX.search, patterns)):
        return None
    elif program == "grep" and "E" not in letters:
        if any(map(_BASIC_ONLY.search, patterns)) or any(re.search(r"(?<!\\)\|", each) for each in patterns):
            return None
        patterns = [pattern.replace(r"\|", "|") for pattern in patterns]
    whole = "|".join(rf"\b(?:{each})\b" if "w" in letters else f"(?:{each})" for each in patterns)
    if "i" in letters or ("S" in letters and whole.lower() == whole):
        whole = f"(?i){whole}"
    import re2  # noqa: PLC0415 - 20 ms, needed only for lists of matches

    try:
        return re2.compile(whole)
    except re2.error:
        return None


def _parse(command: Sequence[str]) -> tuple[list[str], str] | None:
    """(patterns, letters of the flags)."""
    kind = "rg" if program_of(command) == "rg" else "grep"
    try:
        options = list(_options(kind, iter(command[1:])))
    except LookupError:
        return None
    plain = [value for name, value in options if not name]
    patterns = [value for name, value in options if name == "e"] or plain[:1]
    return (patterns, "".join(name for name, _ in options)) if patterns and all(patterns) else None


def _options(kind: str, words: Iterator[str]) -> Iterator[tuple[str, str]]:
    """(letter or "", value); LookupError for an unknown flag."""
    for word in words:
        if word == "--":
            yield from (("", rest) for rest in words)
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            letter = _LONG[word if word in _LONG else name]
            yield letter, value if equals or letter not in {"e", "A"} else next(words, "")
        elif word.startswith("-") and word != "-":
            flags = re.fullmatch(rf"-([{_PLAIN[kind]}]*)(?:([e{_VALUES[kind]}])(.*))?", word, re.DOTALL)
            if flags is None:
                raise LookupError(word)
            yield from ((letter, "") for letter in flags[1])
            if flags[2]:
                yield flags[2], flags[3] or next(words, "")
        else:
            yield "", word


def cut_around(text: str, pattern: Any, width: int) -> str:
    """About `width` characters around the first match, without outer blanks; `…` marks what is cut off. Words and the
    match itself stay whole."""
    stripped = text.strip()
    match = pattern.search(text) if len(stripped) > width + SLACK else None
    if match is None:
        return stripped
    blanks = len(text) - len(text.lstrip())
    start, end = (min(max(0, at - blanks), len(stripped)) for at in match.span())
    first = 0 if end <= width * 4 // 5 else _word_start(stripped, max(0, start - width // 4))
    last = _word_end(stripped, max(first + width, end))
    first, last = start_of_marker(stripped, first), max(end, start_of_marker(stripped, last))
    if first + len(stripped) - last <= SLACK:
        return stripped
    return f"{'…' * (first > 0)}{stripped[first:last].strip()}{'…' * (last < len(stripped))}"


def _word_start(text: str, at: int) -> int:
    while at and _is_word(text[at - 1]) and _is_word(text[at]):
        at -= 1
    return at


def _word_end(text: str, at: int) -> int:
    while 0 < at < len(text) and _is_word(text[at - 1]) and _is_word(text[at]):
        at += 1
    return at


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
