"""Makes hidden characters visible: control, bidi, zero-width and tag characters become ASCII such as `\\u202e`.

File content is data. A file must not be able to hide words that only a model reads, reverse a line, or end a line early
and forge the next line of the reply. `visible` is for one line, `visible_text` for several, `visible_name` for a path
at the beginning of a line. Text without such characters is returned unchanged, at 1 GB/s and more.

Lines of a reply cannot be forged: text of a file always follows a line number or a space, and a path, which does not,
can begin with no space and hold neither the arrow of a handle's line nor the dot of a count.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["INVISIBLE", "TERMINAL_ESCAPES", "has_hidden", "visible", "visible_name", "visible_text"]

# CSI, OSC (title, links; terminated by BEL or ST), character sets and other short escapes. The limits prevent an
# unterminated sequence from consuming the rest of the line.
TERMINAL_ESCAPES: Final = (
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b\n]{0,2048}(?:\x07|\x1b\\)|\x1b[()*+][0-9A-Za-z]|\x1b[=>78MDEHc]"
    r"|\x9b[0-?]{0,64}[ -/]{0,8}[@-~]"
)

# C0 without tab, DEL, C1, soft hyphen, zero-width joiners and fillers, direction marks, line and paragraph separators,
# invisible operators, the byte order mark, interlinear and musical controls, variation selectors (two in a row can
# carry data; one after an emoji is normal), tags, lone surrogates.
_LOW: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
)
# Those of them without width, that is without white space and line ends.
INVISIBLE: Final = (
    "\x00-\x08\x0e-\x1b\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_HIDDEN: Final = f"{_LOW}\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
# A class that ends with all upper planes uses a lookup instead of comparing ranges: a third of the time.
_DOUBTFUL: Final = re.compile(f"[{_LOW}\ufe0e\ufe0f\U00010000-\U0010ffff]")
_TEXT: Final = re.compile(f"[{_HIDDEN}]|[\ufe0e\ufe0f](?=[\ufe00-\ufe0f])")
_LINE: Final = re.compile(f"[\n{_HIDDEN}]|[\ufe0e\ufe0f](?=[\ufe00-\ufe0f])")
_NAME: Final = re.compile(f"[\t\n{_HIDDEN}→]|[\ufe0e\ufe0f](?=[\ufe00-\ufe0f])|^ | $|(?<= )·(?= )")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e", "\0": "\\0"}
_BYTE, _WIDE = 0xFF, 0xFFFF


def visible(line: str) -> str:
    """Make hidden characters in one line visible; a line feed is escaped too."""
    return line if _plain(line) else _LINE.sub(_shown, line)


def visible_text(text: str, *, endings: bool = True) -> str:
    """Make hidden characters in several lines visible. A carriage return in a line ending is kept, unless `endings` is
    False."""
    if _plain(text.replace("\n", "")) or not _DOUBTFUL.search(text):
        return text
    if not endings or "\r\n" not in text:
        return _TEXT.sub(_shown, text)
    return "\n".join(_visible_but_ending(line) for line in text.split("\n"))


def has_hidden(text: str) -> bool:
    """Whether `visible_text` without `endings` changes it."""
    return not _plain(text.replace("\n", "")) and _DOUBTFUL.search(text) is not None and _TEXT.search(text) is not None


def _visible_but_ending(line: str) -> str:
    body = line.removesuffix("\r")
    return _TEXT.sub(_shown, body) + line[len(body) :]


def visible_name(path: str) -> str:
    """Make hidden characters in a path at the beginning of a line visible."""
    return _NAME.sub(_shown, path)


def _plain(text: str) -> bool:
    return text.isascii() and text.replace("\t", "").isprintable()


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    short = _SHORT.get(match[0])
    if short is not None:
        return short
    return f"\\x{code:02x}" if code <= _BYTE else f"\\u{code:04x}" if code <= _WIDE else f"\\U{code:08x}"
