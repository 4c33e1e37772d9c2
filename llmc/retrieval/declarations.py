"""Shortens code that repeats itself in many lines: fields, constructors that only keep their arguments, copied values.

Consecutive fields with the same modifiers share a line, a marker annotation is put before the declaration it marks, a
function with one short statement is one line, assignments of a parameter to the field of its name are counted, and
entries such as `id: asset.id, name: asset.name` become `asset.{id, name}`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmc.retrieval.statements import Statement

__all__ = ["fold_declarations", "with_body"]

_MARKER = re.compile(r"@[\w.]+|#\[\w+\]|\[[A-Z]\w+\]")
_KEPT = re.compile(r"(?:this\.|self\.|\$this->)_?(\w+) = \$?(\w+)")
_FIELD = re.compile(
    r"(?P<modifiers>(?:(?:public|private|protected|internal|static|final|readonly|declare|volatile|transient|val|var|"
    r"lateinit|const)\s)+)(?P<rest>[^=(){}]+(?:=\s*(?:[\w.\"']+|new [\w.<>]+\(\)))?)"
)
_FUNCTION = re.compile(
    r"(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|async|abstract|override|final|"
    r"virtual|sealed|unsafe|synchronized|inline|suspend|get|set|readonly)\s+)*"
    r"(?!(?:if|for|foreach|while|switch|catch|when|with|match|else|return|class|struct|interface|enum|namespace)\b)"
    r"(?:(?:def|func|function|fn|fun|sub)\s+)?[\w$#<>\[\],.?\s|&*:]*\(.*"
)
_COPY = re.compile(r"(?P<name>\w+)(?::\s?|=)(?P<owner>\$?\w+(?:(?:\??\.|->)\w+)*)(?:\??\.|->)(?P=name),")
_KEEPS, _SHARED = 3, 3  # number of assignments that are counted instead, and of fields that share a line
_LONGEST = 160


def fold_declarations(found: Sequence[Statement]) -> list[Statement]:
    return list(_copied_values(_shared_fields(_kept_arguments(_short_functions(_marked(found))))))


def with_body(head: str, body: str) -> str:
    """A branch or function with its only statement; a function that is passed (`setTimeout(() =>`) has no colon."""
    is_passed = head.endswith(("=>", "->", "("))
    return f"{head} {body}" if is_passed else f"{head.removesuffix(':')}: {body}"


def _marked(found: Sequence[Statement]) -> list[Statement]:
    """`@Override` on the line of its function, with that line's number."""
    joined: list[Statement] = []
    markers: list[Statement] = []
    for one in found:
        if markers and markers[-1].level != one.level:
            joined += markers
            markers = []
        if _MARKER.fullmatch(one.text):
            markers.append(one)
            continue
        joined.append(replace(one, text=" ".join([*(each.text for each in markers), one.text])))
        markers = []
    return [*joined, *markers]


def _short_functions(found: Sequence[Statement]) -> list[Statement]:
    joined: list[Statement] = []
    at = 0
    while at < len(found):
        one, body, after = found[at], *(found[place] if place < len(found) else None for place in (at + 1, at + 2))
        is_single = body and body.level > one.level and not body.opens and (after is None or after.level <= one.level)
        text = with_body(one.text, body.text) if is_single and body and one.opens else ""
        if text and len(text) <= _LONGEST and _FUNCTION.fullmatch(one.text.lstrip("@# ")):
            joined.append(replace(one, text=text))
            at += 2
            continue
        joined.append(one)
        at += 1
    return joined


def _kept_arguments(found: Sequence[Statement]) -> Iterator[Statement]:
    """`this.config = config` for each argument of a constructor repeats its parameters."""
    for run in _runs(found, _keeps):
        if len(run) >= _KEEPS and _keeps(run[0]):
            yield replace(run[0], text=f"… keeps {len(run)} parameters in fields of their names")
        else:
            yield from run


def _keeps(one: Statement) -> bool:
    kept = _KEPT.fullmatch(one.text)
    return kept is not None and kept[1] == kept[2].lstrip("_")


def _copied_values(found: Iterator[Statement]) -> Iterator[Statement]:
    """Entries of a literal, or arguments, named like the attributes they are copied from."""
    for run in _runs(found, lambda one: _COPY.fullmatch(one.text) is not None):
        names: list[str] = []
        first, owner = run[0], ""
        for one in [*run, None]:
            copy = _COPY.fullmatch(one.text) if one else None
            whole = f"{owner}.{{{', '.join(names)}}},"
            if names and (copy is None or copy["owner"] != owner or len(whole) > _LONGEST):
                yield replace(first, text=whole if len(names) > 1 else first.text)
                names = []
            if one is None:
                break
            if copy is None:
                yield one
                break
            first, owner = (first, owner) if names else (one, copy["owner"])
            names.append(copy["name"])


def _shared_fields(found: Iterator[Statement]) -> Iterator[Statement]:
    for run in _runs(found, lambda one: bool(_FIELD.fullmatch(one.text)) and not one.opens):
        fields = [_FIELD.fullmatch(one.text) for one in run]
        if len(run) < _SHARED or fields[0] is None:
            yield from run
            continue
        line, modifiers = run[0], ""
        for one, field in zip(run, fields, strict=True):
            if field is None:
                continue
            text = f"{line.text}; {field['rest']}"
            if field["modifiers"] == modifiers and len(text) <= _LONGEST:
                line = replace(line, text=text)
                continue
            if modifiers:
                yield line
            line, modifiers = one, field["modifiers"]
        yield line


def _runs(found: Iterable[Statement], is_like: Callable[[Statement], bool]) -> Iterator[list[Statement]]:
    """The statements; similar consecutive ones of the same level are grouped."""
    run: list[Statement] = []
    for one in found:
        if run and is_like(one) and is_like(run[0]) and run[0].level == one.level:
            run.append(one)
            continue
        if run:
            yield run
        run = [one]
    if run:
        yield run
