"""Edits JSON with comments as text: every byte outside the changed entry is preserved.

Client files have comments, unusual indentation and trailing commas that parsing and re-serializing would lose. `put`,
`take`, `append` and `drop` splice the text with the help of `jsontree`. The result of each edit is parsed and compared
with the expected value; if they differ, the edit raises BrokenError.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from llmc.install.jsontree import BrokenError, Member, Node, find, is_blank, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["BrokenError", "append", "drop", "find", "is_blank", "parse", "put", "take"]

TRAIL = re.compile(r"(?:[ \t]*/\*[^\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")

# ---- edits ----


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Set the entry at `path`; missing objects on the way are created."""
    if is_blank(text):
        return new_document(text, nested(path, value))
    if find(text, path) == value:
        return text
    root = parse(text)
    node, depth = deepest(root, path)
    if depth == len(path):
        edited = replaced(text, node, value)
    elif node.value is None:  # treated as missing: some clients write null for an empty object
        edited = replaced(text, node, nested(path[depth:], value))
    elif isinstance(node.value, dict):
        edited = inserted(text, node, path[depth], nested(path[depth + 1 :], value))
    else:
        raise BrokenError(f"{'.'.join(path[:depth]) or 'the top-level value'} is not an object")
    return checked(edited, altered(root.value, path, value))


def take(text: str, path: Sequence[str]) -> str:
    """Remove the entry at `path`, including duplicates."""
    while True:
        root = None if is_blank(text) else parse(text)
        node, depth = deepest(root, path[:-1]) if root else (None, -1)
        member = node.member(path[-1]) if node and depth == len(path) - 1 else None
        if root is None or node is None or member is None:
            return text
        text = removed(text, node, member)
        if not any(one.key == path[-1] for one in node.members if one is not member):
            checked(text, altered(root.value, path, GONE))


def append(text: str, path: Sequence[str], value: Any) -> str:
    """Append a value to the list at `path`."""
    items = find(text, path)
    if items is None:
        return put(text, path, [value])
    if not isinstance(items, list):
        raise BrokenError(f"{'.'.join(path)} is not a list")
    root = parse(text)
    node, _ = deepest(root, path)
    return checked(inserted(text, node, None, value), altered(root.value, path, [*items, value]))


def drop(text: str, path: Sequence[str], unwanted: Callable[[Any], bool]) -> str:
    """Remove the `unwanted` items from the list at `path`."""
    while isinstance(items := find(text, path), list) and any(unwanted(item) for item in items):
        root = parse(text)
        node, _ = deepest(root, path)
        member = next(member for member in node.members if unwanted(member.node.value))
        rest = [one.node.value for one in node.members if one is not member]
        text = checked(removed(text, node, member), altered(root.value, path, rest))
    return text


GONE = object()


def checked(text: str, expected: Any) -> str:
    if parse(text).value != expected:
        raise BrokenError("the entry cannot be changed without affecting others")
    return text


def altered(value: Any, path: Sequence[str], new: Any) -> Any:
    """A copy with `new` at `path`."""
    if not path:
        return new
    table = dict(value) if isinstance(value, dict) else {}
    table[path[0]] = altered(table.get(path[0]), path[1:], new)
    return {key: one for key, one in table.items() if one is not GONE}


def nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def deepest(node: Node, path: Sequence[str]) -> tuple[Node, int]:
    """The deepest existing node on the path, and its depth."""
    for depth, key in enumerate(path):
        member = node.member(key)
        if member is None:
            return node, depth
        node = member.node
    return node, len(path)


# ---- splicing ----


def new_document(text: str, value: Any) -> str:
    newline = line_end(text)
    head = text if not text or text.endswith("\n") else text + newline
    return (head if text.strip() else "") + rendered(value, "", "  ", newline) + newline


def replaced(text: str, node: Node, value: Any) -> str:
    body = rendered(value, margin(text, node.start), unit(text), line_end(text))
    return text[: node.start] + body + text[node.end :]


def inserted(text: str, node: Node, key: str | None, value: Any) -> str:
    """Insert after the last member, in the style of the container."""
    if not node.members:
        return inserted_first(text, node, key, value)
    last, newline = node.members[-1], line_end(text)
    behind = last.comma + 1 if last.comma >= 0 else last.node.end
    if "\n" not in text[node.start : node.end]:
        body = labelled(key, json.dumps(value, ensure_ascii=False))
        return text[:behind] + (f" {body}," if last.comma >= 0 else f", {body}") + text[behind:]
    indent = margin(text, last.start)
    body = newline + indent + labelled(key, rendered(value, indent, unit(text), newline))
    trail = TRAIL.match(text, behind)
    end = trail.end() if trail else behind
    if last.comma >= 0:
        return text[:end] + body + "," + text[end:]
    return text[:behind] + "," + text[behind:end] + body + text[end:]


def inserted_first(text: str, node: Node, key: str | None, value: Any) -> str:
    newline, outer = line_end(text), margin(text, node.start)
    indent = outer + unit(text)
    body = newline + indent + labelled(key, rendered(value, indent, unit(text), newline))
    inner = text[node.start + 1 : node.end - 1]
    tail = inner if inner.strip() else newline + outer  # a container without members may hold a comment
    return text[: node.start + 1] + body + tail + text[node.end - 1 :]


def removed(text: str, node: Node, member: Member) -> str:
    """Remove the member and its comma: the inverse of `inserted`."""
    position = node.members.index(member)
    before = node.members[position - 1] if position else None
    start, end = member.start, member.comma + 1 if member.comma >= 0 else member.node.end
    line = text.rfind("\n", 0, start)
    if line > node.start and not text[line:start].strip():  # the member begins its line
        carriage = line - 1 if text[line - 1] == "\r" else line
        start = carriage if ends_line(text, end) else line + 1
    elif before is not None and not text[before.comma + 1 : start].strip():
        start = before.comma + 1
    elif before is None and member.comma >= 0:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    if before is not None and member.comma < 0:
        return tidy(text[: before.comma] + text[before.comma + 1 : start] + text[end:], node.start)
    return tidy(text[:start] + text[end:], node.start)


def tidy(text: str, opening: int) -> str:
    """Remove the white space of an empty container."""
    behind = opening + 1
    close = behind + len(text[behind:]) - len(text[behind:].lstrip())
    return text[:behind] + text[close:] if text[close : close + 1] in ("}", "]") else text


def ends_line(text: str, at: int) -> bool:
    rest = text[at:].lstrip(" \t")
    return rest.startswith(("\n", "\r\n", "//", "/*")) or not rest


def labelled(key: str | None, body: str) -> str:
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def rendered(value: Any, indent: str, step: str, newline: str) -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", newline + indent)


def margin(text: str, at: int) -> str:
    """The indentation of the line that contains `at`."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def unit(text: str) -> str:
    """One level of indentation, as used in the file."""
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return match.group(1) if match else "  "


def line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
