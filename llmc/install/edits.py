"""The edits of an installation, each with its inverse.

    set_entry, unset_entry      a server in the client's JSON or TOML file
    add_items, remove_items     items of a list in a JSON file: permissions, hooks
    add_block, remove_block     lines between two marks in a text file: instructions, shell start-up files
    own_file, remove_file       a file that only llmc writes: a sub-agent, a policy, a plugin

An edit maps the text of a file (None: no file) to the new text. `files.change` applies it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.install import jsonc
from llmc.install.jsonc import BrokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

__all__ = [
    "Edit",
    "add_block",
    "add_items",
    "combined",
    "own_file",
    "remove_block",
    "remove_file",
    "remove_items",
    "set_entry",
    "unset_entry",
]


@dataclass(frozen=True, slots=True)
class Edit:
    """`holds` returns whether a file contains anything that this edit adds or removes."""

    apply: Callable[[str | None], str | None]
    holds: Callable[[str], bool]
    removes: bool = False


def combined(edits: Sequence[Edit]) -> Edit:
    """Several edits of one file as one, so that it has one backup."""

    def apply(text: str | None) -> str | None:
        for edit in edits:
            text = edit.apply(text)
        return text

    return Edit(apply, lambda text: any(edit.holds(text) for edit in edits), all(edit.removes for edit in edits))


# ---- entries of JSON and TOML files (`form` is `jsonc` or `toml`) ----


def set_entry(form: ModuleType, path: Sequence[str], value: dict[str, Any]) -> Edit:
    def apply(text: str | None) -> str | None:
        edited: str = form.put(text or "", path, value)
        return edited

    return Edit(apply, lambda text: form.find(text, path) is not None)


def unset_entry(form: ModuleType, parent: str, is_ours: Callable[[str, Any], bool]) -> Edit:
    """Remove the entries of a table that are llmc's, by name and value."""

    def ours(text: str) -> list[str]:
        entries = form.find(text, (parent,))
        return [name for name, value in entries.items() if is_ours(name, value)] if isinstance(entries, dict) else []

    def apply(text: str | None) -> str | None:
        for name in ours(text or ""):
            text = form.take(text, (parent, name))
        return text

    return Edit(apply, lambda text: bool(ours(text)), removes=True)


# ---- items of lists in JSON files ----


def add_items(
    path: Sequence[str], values: Sequence[Any], is_ours: Callable[[Any], bool], base: dict[str, Any] | None = None
) -> Edit:
    """Items of an earlier installation are replaced. `base` are top-level keys that a new file needs."""

    def apply(text: str | None) -> str | None:
        if present_items(text or "", path, is_ours) == list(values):
            return text
        text = jsonc.drop(text or "", path, is_ours)
        for key, constant in (base or {}).items():
            text = text if jsonc.find(text, (key,)) is not None else jsonc.put(text, (key,), constant)
        for value in values:
            text = jsonc.append(text, path, value)
        return text

    return Edit(apply, lambda text: bool(present_items(text, path, is_ours)))


def remove_items(path: Sequence[str], is_ours: Callable[[Any], bool], base: dict[str, Any] | None = None) -> Edit:
    """Containers that are empty afterwards are removed too, and so is a file that has nothing but `base`."""

    def apply(text: str | None) -> str | None:
        if text is None or not present_items(text, path, is_ours):
            return text
        text = jsonc.drop(text, path, is_ours)
        for end in range(len(path), 0, -1):
            text = text if jsonc.find(text, path[:end]) else jsonc.take(text, path[:end])
        return "" if base and jsonc.parse(text).value == base else text

    return Edit(apply, lambda text: bool(present_items(text, path, is_ours)), removes=True)


def present_items(text: str, path: Sequence[str], is_ours: Callable[[Any], bool]) -> list[Any]:
    items = jsonc.find(text, path)
    return [item for item in items if is_ours(item)] if isinstance(items, list) else []


# ---- lines between marks ----


def add_block(lines: str, begin: str, end: str) -> Edit:
    def apply(text: str | None) -> str:
        text = text or ""
        newline = jsonc.line_end(text)
        block = newline.join((begin, lines, end))
        present = find_block(text, begin, end)
        if present:
            return text[: present.start()] + block + text[present.end() :]
        if not text.strip():
            return block + newline
        gap = "" if text.endswith(newline * 2) else newline if text.endswith("\n") else newline * 2
        return text + gap + block + newline

    return Edit(apply, lambda text: begin in text)


def remove_block(begin: str, end: str) -> Edit:
    def apply(text: str | None) -> str | None:
        block = find_block(text, begin, end) if text else None
        if text is None or block is None:
            return text
        head, tail = text[: block.start()], text[block.end() :]
        return head.rstrip("\r\n") + (tail if tail.strip() else tail[: len(tail) - len(tail.lstrip("\r\n"))])

    return Edit(apply, lambda text: begin in text, removes=True)


def find_block(text: str, begin: str, end: str) -> re.Match[str] | None:
    """The block between the marks. One mark without the other is an error, since the extent of the block is unclear."""
    if (text.count(begin), text.count(end)) not in ((0, 0), (1, 1)) or text.find(end) < text.find(begin):
        raise BrokenError(f"the marks {begin} and {end} are not one matching pair")
    return re.search(f"{re.escape(begin)}.*?{re.escape(end)}", text, re.DOTALL)


# ---- files that only llmc writes ----


def own_file(text: str, mark: str) -> Edit:
    def apply(present: str | None) -> str:
        if present is not None and mark not in present:
            raise BrokenError("the file exists and was not written by llmc")
        return text

    return Edit(apply, lambda present: mark in present)


def remove_file(mark: str) -> Edit:
    return Edit(
        lambda present: None if present is not None and mark in present else present,
        lambda present: mark in present,
        removes=True,
    )
