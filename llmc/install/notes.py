"""Instructions that make agents use llmc: a few lines in their instruction file, and a hook in Claude Code.

The lines are placed between two marks in AGENTS.md, CLAUDE.md or GEMINI.md; nothing else in the file is changed. They
are short because every session reads them. The hook reminds an agent once per session, before its first shell search.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

from llmc.install import jsonc
from llmc.install.files import Edit
from llmc.install.jsonc import BrokenError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["REMINDER", "add_hook", "add_lines", "remove_hook", "remove_lines"]

BEGIN, END = "<!-- llmc begin -->", "<!-- llmc end -->"
LINES = (
    "To find or read code, use the llmc tools first: `search` (a question or a name), `grep` (a pattern), `read` "
    "(`path:10-40`, `path::symbol`). They answer from an index and cost few tokens. `+8 more → h4k2` at the end of a "
    "reply means more results: call `read h4k2`. Without MCP: `llmc search|grep|read` in a shell."
)
REMINDER = (
    "The llmc server answers this from its index for fewer tokens: mcp__llmc__grep for a pattern, "
    "mcp__llmc__search for a question or a name."
)
# Current versions of Claude Code search with Bash only; earlier versions also have Grep and Glob.
EVENT, MATCHER = ("hooks", "PreToolUse"), "Grep|Glob|Bash"


# ---- lines between marks ----


def add_lines() -> Edit:
    return Edit(lambda text, _: with_lines(text or ""), lambda text: BEGIN in text)


def remove_lines() -> Edit:
    def apply(text: str | None, old: str | None) -> str | None:
        if text is None or BEGIN not in text:
            return text
        unmodified = BEGIN not in (old or "") and with_lines(old or "") == text
        return old if unmodified else without_lines(text)

    return Edit(apply, lambda text: BEGIN in text)


def with_lines(text: str) -> str:
    newline = jsonc.line_end(text)
    block = newline.join((BEGIN, LINES, END))
    present = find_block(text)
    if present:
        return text[: present.start()] + block + text[present.end() :]
    if not text.strip():
        return block + newline
    gap = "" if text.endswith(newline * 2) else newline if text.endswith("\n") else newline * 2
    return text + gap + block + newline


def without_lines(text: str) -> str:
    block = find_block(text)
    if block is None:
        return text
    head, tail = text[: block.start()], text[block.end() :]
    return head.rstrip("\r\n") + (tail if tail.strip() else tail[: len(tail) - len(tail.lstrip("\r\n"))])


def find_block(text: str) -> re.Match[str] | None:
    """The block between the marks. One mark without the other is an error, since the extent of the block is unclear."""
    if (text.count(BEGIN), text.count(END)) not in ((0, 0), (1, 1)) or text.find(END) < text.find(BEGIN):
        raise BrokenError(f"the marks {BEGIN} and {END} are not one matching pair")
    return re.search(f"{re.escape(BEGIN)}.*?{re.escape(END)}", text, re.DOTALL)


# ---- the hook of Claude Code ----


def add_hook(program: Sequence[str]) -> Edit:
    """In `settings.json`: run `llmc hook` before Grep, Glob and Bash."""
    entry = {"matcher": MATCHER, "hooks": [{"type": "command", "command": hook_command(program), "timeout": 5}]}

    def apply(text: str | None, _old: str | None) -> str | None:
        present = [item for item in jsonc.find(text or "", EVENT) or () if is_llmc_hook(item)]
        if present == [entry]:
            return text
        return jsonc.append(jsonc.drop(text or "", EVENT, is_llmc_hook), EVENT, entry)

    return Edit(apply, holds_hook)


def remove_hook() -> Edit:
    def apply(text: str | None, old: str | None) -> str | None:
        if text is None or not holds_hook(text):
            return text
        hooks = [item for item in jsonc.find(text, EVENT) if is_llmc_hook(item)]
        if len(hooks) == 1 and not holds_hook(old or "") and jsonc.append(old or "", EVENT, hooks[0]) == text:
            return old
        text = jsonc.drop(text, EVENT, is_llmc_hook)
        for path in (EVENT, EVENT[:1]):
            text = text if jsonc.find(text, path) else jsonc.take(text, path)
        return text

    return Edit(apply, holds_hook)


def holds_hook(text: str) -> bool:
    hooks = jsonc.find(text, EVENT)
    return isinstance(hooks, list) and any(is_llmc_hook(item) for item in hooks)


def is_llmc_hook(item: Any) -> bool:
    return bool(re.search(r'llmc"?(?:\'| )*hook', json.dumps(item)))


def hook_command(program: Sequence[str]) -> str:
    return shlex.join([*program, "hook"])
