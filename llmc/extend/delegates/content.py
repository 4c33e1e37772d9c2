"""What a downstream tool answered, as text: a server may send anything, and a model should read little of it.

Texts are joined; images, sounds and other binaries are named with their kind and size and never passed on; what is far
too long is cut here already, before it is cleaned, fitted and kept behind a handle like every other reply.
"""

from __future__ import annotations

import json
from typing import Any

from llmc.base.text import split_lines

__all__ = ["lines_of", "text_of"]

# Beyond this nobody reads on; to clean a megabyte takes half a second.
MOST_CHARS = 1_000_000
MOST_BLOCKS = 1_000
MOST_LINES = 20_000


def text_of(raw: object) -> tuple[str, bool]:
    """(text, whether the server calls it an error)."""
    if not isinstance(raw, dict):
        return "the server's answer is no result", True
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
        return "[something that is no content]"
    kind = block.get("type")
    if kind == "text":
        said = block.get("text")
        return said if isinstance(said, str) else "[a text that is none]"
    if kind in {"image", "audio"}:
        return f"[{kind} {word(block.get('mimeType'))} {size_of(block.get('data'))}]"
    if kind == "resource":
        return resource_text(block.get("resource"))
    if kind == "resource_link":
        return f"[resource {word(block.get('uri'))} {word(block.get('name'))}]"
    return f"[content of kind {word(kind)}]"


def resource_text(resource: Any) -> str:
    if not isinstance(resource, dict):
        return "[a resource that is none]"
    said = resource.get("text")
    if isinstance(said, str):
        return f"{word(resource.get('uri'))}\n{said}"
    return f"[binary {word(resource.get('uri'))} {word(resource.get('mimeType'))} {size_of(resource.get('blob'))}]"


def word(value: object) -> str:
    return " ".join(value.split())[:200] if isinstance(value, str) else "?"


def size_of(encoded: object) -> str:
    """Of base64, without decoding it."""
    count = len(encoded) * 3 // 4 if isinstance(encoded, str) else 0
    return f"{count / 1024:.0f} KB" if count >= 1024 else f"{count} bytes"  # noqa: PLR2004 - a kilobyte
