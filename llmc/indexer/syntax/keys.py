"""The keys of YAML and the sections of INI files, by their lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from llmc.indexer.syntax.sections import LONGEST_NAME, TextSection, last_line, nest, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.indexer.syntax.outline import Outline

__all__ = ["read_ini", "read_yaml"]

_INI = re.compile(r"^\[([^\]\n]+)\]", re.MULTILINE)
_KEY = re.compile(r"(\"[^\"\n]+\"|'[^'\n]+'|[^\s#\-?\[\]{},&*!|>%@`'\"][^:\n]*?|[\w./$-]+)[ \t]*:(?:[ \t]+(.*)|\s*$)")
_KEY_WITHIN = 240
_NAMED_ITEM = re.compile(r"- +(?:name|id|hosts|title|alias): *[\"']?([^\s\"'#][^\"'#\n]*)")


def read_ini(text: str) -> Outline:
    lines = offsets(text)
    found = (
        TextSection(
            bisect_right(lines, one.start()), 1, one[1].strip()[:LONGEST_NAME], "section", one[0][:LONGEST_NAME]
        )
        for one in _INI.finditer(text)
    )
    return nest(found, last_line(text))


def read_yaml(text: str) -> Outline:
    return nest(_yaml(text), last_line(text))


def _yaml(text: str) -> Iterator[TextSection]:
    """Keys of the first level, named items of a list there, and keys of the second level that hold more than a line."""
    inner: int | None = None  # how far the second level is indented; 0 until its first line tells, None without one
    for number, line in enumerate(text.split("\n"), start=1):
        bare = line.lstrip(" ")
        dent = len(line) - len(bare)
        if not bare.strip() or bare[0] == "#" or (dent and inner is None):
            continue
        key = _KEY.match(bare[:_KEY_WITHIN])
        if not dent:
            item = _NAMED_ITEM.match(bare[:_KEY_WITHIN])
            inner = 0 if key and (key[2] or "")[:1] not in ("|", ">") else None
            if key or item:
                yield _section(number, 1, item[1] if item else key[1] if key else "", bare, key[2] if key else None)
        elif inner in (0, dent):
            inner = None if inner == 0 and bare.startswith("- ") else dent
            if inner and key and not (key[2] or "").strip("|>-+&! \r"):
                yield _section(number, 2, key[1], bare, None)


def _section(line: int, level: int, name: str, text: str, value: str | None) -> TextSection:
    kind = "key" if (value or "").strip() else "section"
    return TextSection(line, level, name.strip("\"' \t\r")[:LONGEST_NAME], kind, text.rstrip()[:LONGEST_NAME])
