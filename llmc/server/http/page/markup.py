"""Text to HTML. A value is escaped unless it is `Safe`, and only templates of this package are.

    fill('<a href="{url}">{name}</a>', url=link("/", q=path), name=path)

File content, names and figures are all inserted as values; there is no other way to build a page.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Safe", "fill", "join", "link"]


class Safe(str):
    """HTML produced by this package."""

    __slots__ = ()


def fill(template: str, /, **values: object) -> Safe:
    return Safe(template.format_map({name: markup(value) for name, value in values.items()}))


def join(parts: Iterable[object], between: str = "") -> Safe:
    return Safe(between.join(markup(part) for part in parts))


def markup(value: object) -> str:
    if isinstance(value, Safe):
        return value
    # Names that are not UTF-8 are escaped, since a page cannot represent them.
    return escape(str(value).encode("utf-8", "backslashreplace").decode(), quote=True)


def link(path: str, /, **query: object) -> str:
    """A local URL; it must still be escaped, like any value."""
    given = {
        name: str(value).encode("utf-8", "backslashreplace")
        for name, value in query.items()
        if value not in ("", None, False)
    }
    return f"{path}?{urlencode(given)}" if given else path
