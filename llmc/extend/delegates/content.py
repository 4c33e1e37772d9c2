"""Converts the result of a downstream tool to text, whatever the server sent.

Text blocks are joined. Images, audio and other binary content are replaced by their type and size. Very long text is
truncated here, before it is cleaned, fitted and stored behind a handle like every other reply.
"""

from __future__ import annotations

import json
from typing import Any

from llmc.base.text import split_lines

__all__ = ["lines_of", "text_of"]

# Longer results are not useful, and cleaning a megabyte takes half a second.
MOST_CHARS = 1_000_000
MOST_BLOCKS = 1_000
MOST_LINES = 20_000


def text_of(raw: object) -> tuple[str, bool]:
    """(text, whether the server reports an error)."""
    if not isinstance(raw, dict):
        return "the server returned an invalid result", True
    blocks = raw.get("content")
    parts = [block_text(block) for block in blocks[:MOST_BLOCKS]] if isinstance(blocks, list) else []
    if isinstance(blocks, list) and len(blocks) > MOST_BLOCKS:
        parts.append(f"[{len(blocks) - MOST_BLOCKS} more blocks left out]")
    text = "\n".join(part for part in parts if part)
    if not text and raw.get("structuredContent") is not None:
        text = json.dumps(raw["structuredContent"], ensure_ascii=False, indent=1)
    if len(text) > MOST_CHARS:
        text = f"{text[:MOST_CHARS]}\n[{len(text) - MOST_CHARS} more characters left out]"
    return text, raw.get("isError") is True


def lines_of(text: str) -> list[str]:
    lines = split_lines(text)
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"[{len(lines) - MOST_LINES} more lines left out]"]
    return lines


def block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return "[invalid content block]"
    kind = block.get("type")
    if kind == "text":
        text_value = block.get("text")
        return text_value if isinstance(text_value, str) else "[invalid text block]"
    if kind in {"image", "audio"}:
        return f"[{kind} {word(block.get('mimeType'))} {size_of(block.get('data'))}]"
    if kind == "resource":
        return resource_text(block.get("resource"))
    if kind == "resource_link":
        return f"[resource {word(block.get('uri'))} {word(block.get('name'))}]"
    return f"[content of kind {word(kind)}]"


def resource_text(resource: Any) -> str:
    if not isinstance(resource, dict):
        return "[invalid resource]"
    text_value = resource.get("text")
    if isinstance(text_value, str):
        return f"{word(resource.get('uri'))}\n{text_value}"
    return f"[binary {word(resource.get('uri'))} {word(resource.get('mimeType'))} {size_of(resource.get('blob'))}]"


def word(value: object) -> str:
    return " ".join(value.split())[:200] if isinstance(value, str) else "?"


def size_of(encoded: object) -> str:
    """The decoded size of base64 data, computed without decoding it."""
    count = len(encoded) * 3 // 4 if isinstance(encoded, str) else 0
    return f"{count / 1024:.0f} KB" if count >= 1024 else f"{count} bytes"  # noqa: PLR2004 - a kilobyte
