"""Removes secrets from an envelope and makes hidden characters visible, before `fit`.

    envelope = clean(envelope, redactor, text_of)

The rows of one file are redacted together and in line order, so that a key of many lines is recognized even if its
lines are in several items. Rows contain only some lines of a file, and a tool may have truncated a long one. If that
could hide the context of a secret (a line of base64, a bare value, a truncated line), the whole file is checked:
`text_of(root, path)` returns its text, or None. Secrets found on that line are then removed from the row. Without
`text_of`, a full line of base64 is treated as part of a key.

`data` for programs is cleaned too. Values of `root` and `path` are used in later calls, so only secrets are removed
from them. JSON escapes hidden characters itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from llmc.envelope.redact.redactor import Redactor
from llmc.envelope.redact.table import compiled
from llmc.envelope.redact.values import ContentKind, kind_of
from llmc.envelope.render import is_span
from llmc.envelope.visible import visible, visible_name, visible_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from llmc.envelope.envelope import Envelope, Group, Item, Row
    from llmc.envelope.redact.redactor import SecretFinding

    TextOf = Callable[[str, str], str | None]
    _Changed = Mapping[tuple[int, int], dict[int, str]]
    _Run = tuple[int, Sequence[int], Sequence[Item]]  # group, numbers of items, the items

__all__ = ["DOUBTFUL", "NAMELESS", "EnvelopeCleaner", "clean", "clean_text", "without_secrets"]

_T = TypeVar("_T")

# A line that may be part of a key.
DOUBTFUL: Final = rb"""(?m)^[ \t>|#*"'+-]*[A-Za-z0-9+/]{40,}={0,2}["'\\n+,;) \t]*$"""
# A value whose name may be on another line. Not applied to code, where it would match half of all lines.
NAMELESS: Final = re.compile(
    r"""(?im)^[ \t]*-?[ \t]*["']?(?:value|val|default|string)["']?[ \t]*[:=]|<(?:value|string|data)>|"""
    r"""^[ \t]+\S{6,}$|^[ \t]*[\w.-]+:[ \t]*["']?[a-z0-9+/]{8,}={0,2}["']?$"""
)
# A line that a tool truncated. A line with nothing but the mark replaces lines that a tool left out.
_TRUNCATED: Final = re.compile(r"(?m)^(?!…$).*…")
_EXACT: Final = frozenset({"root", "path", "root_id", "folder"})
# A shorter secret may be a common word of the same file.
SHORTEST_ELSEWHERE: Final = 8
SHORTEST_HALF: Final = 4
LONGEST_ERROR: Final = 2_000

_BUILT_IN: Final = Redactor()


def clean(
    envelope: Envelope, redactor: Redactor = _BUILT_IN, text_of: TextOf | None = None, *, data: bool = True
) -> Envelope:
    """Clean the envelope. With `data=False` its data is dropped, since cleaning it costs more than everything else."""
    shown = len(envelope.groups)
    whole = replace(envelope, groups=(*envelope.groups, *envelope.folded), folded=())
    done = EnvelopeCleaner(redactor, text_of).envelope(whole if data else replace(whole, data={}))
    return replace(done, groups=done.groups[:shown], folded=done.groups[shown:]) if envelope.folded else done


def clean_text(text: str, redactor: Redactor = _BUILT_IN) -> str:
    """Clean a string outside an envelope: a log line, an error, a request to a model."""
    return visible_text(redactor.redact(text).text)


def without_secrets(value: _T, redactor: Redactor = _BUILT_IN) -> _T:
    """Redact every string in a value, at any depth, for example in a status or an error."""
    cleaned: Any = value
    if isinstance(value, str):
        cleaned = redactor.redact(value).text
    elif isinstance(value, dict):
        cleaned = {name: without_secrets(inner, redactor) for name, inner in value.items()}
    elif isinstance(value, list | tuple):
        cleaned = type(value)(without_secrets(inner, redactor) for inner in value)
    elif is_dataclass(value) and not isinstance(value, type):
        cleaned = replace(
            value, **{each.name: without_secrets(getattr(value, each.name), redactor) for each in fields(value)}
        )
    return cast("_T", cleaned)


class EnvelopeCleaner:
    """Cleans envelopes and caches the secrets found in each file."""

    def __init__(self, redactor: Redactor, text_of: TextOf | None) -> None:
        self._redactor = redactor
        self._text_of = text_of
        self._known: dict[tuple[str, str], dict[int, list[SecretFinding]] | None] = {}
        self._cleaned: dict[tuple[str, str, str], str] = {}  # text, root and path → the text of `data`
        self._redacted = 0  # lines of files

    def envelope(self, envelope: Envelope) -> Envelope:
        rows = self._rows(envelope)
        touched = {at for at, _ in rows}
        # Titles are many and short; redacting all of them joined costs as much as redacting one.
        of_items = [item.title for group in envelope.groups for item in group.items]
        titles = "\n".join([*(group.title for group in envelope.groups), *of_items])
        secret = bool(self._redactor.redact(titles).findings)
        plain = not secret and titles.isascii() and titles.replace("\n", "").isprintable()
        groups = tuple(
            group if plain and at not in touched and plain_name(group.title) else self._group(group, at, rows, secret)
            for at, group in enumerate(envelope.groups)
        )
        clean_line = self._error_text if envelope.error else self._line
        notes = tuple(clean_line(note) for note in envelope.notes)
        return replace(
            envelope,
            found=clean_line(envelope.found),
            groups=groups,
            notes=(*notes, redacted_note(self._redacted)) if self._redacted else notes,
            data=self._data(envelope.data, "", ""),
        )

    def _group(self, group: Group, at: int, rows: _Changed, secret: bool) -> Group:
        items = tuple(self._item(item, rows.get((at, index)), secret) for index, item in enumerate(group.items))
        return replace(group, title=self._title(group, secret), items=items)

    def _rows(self, envelope: Envelope) -> dict[tuple[int, int], dict[int, str]]:
        """(group, item) → row → new text, for rows that change."""
        changed: defaultdict[tuple[int, int], dict[int, str]] = defaultdict(dict)
        for (root, path), runs in items_by_file(envelope).items():
            rows = [row for _, _, items in runs for item in items for row in item.rows]
            numbers = [row.number or 0 for row in rows]
            # Rows without a number keep their position, since the sort is stable.
            order = (
                sorted(range(len(rows)), key=numbers.__getitem__) if numbers != sorted(numbers) else range(len(rows))
            )
            texts = self._file([rows[at] for at in order], root, path)
            if texts is None:
                continue
            new = dict(zip(order, texts, strict=True))
            places = (
                (at, index, number)
                for at, indexes, items in runs
                for index, item in zip(indexes, items, strict=True)
                for number in range(len(item.rows))
            )
            for place, (at, index, number) in enumerate(places):
                if new[place] != rows[place].text:
                    changed[at, index][number] = new[place]
        return changed

    def _file(self, rows: list[Row], root: str, path: str) -> list[str] | None:
        """The rows of one file, redacted together; None if they are unchanged."""
        whole = "\n".join([row.text for row in rows])
        folded = whole.count("\n") >= len(rows)
        if folded:
            whole = "\n".join([row.text.replace("\n", "\\n") for row in rows])
        doubtful = is_doubtful(whole, path)
        # A line of base64 is only assumed to be part of a key if the file is not available.
        cleaned = self._redactor.redact(whole, path, torn=doubtful and self.findings(root, path) is None).text
        if doubtful and (findings := self.findings(root, path)):
            lines = zip(cleaned.split("\n"), rows, strict=True)
            cleaned = "\n".join([without_findings(text, row, findings, path) for text, row in lines])
        if cleaned != whole:
            self._redacted += sum(old != new for old, new in zip(whole.split("\n"), cleaned.split("\n"), strict=True))
        cleaned = visible_text(cleaned, endings=False)
        return cleaned.split("\n") if rows and (folded or cleaned != whole) else None

    def findings(self, root: str, path: str) -> dict[int, list[SecretFinding]] | None:
        """The secrets of a file by line; None if the file is not available."""
        if self._text_of is None or not path:
            return None
        if (root, path) not in self._known:
            whole = self._text_of(root, path)
            found: defaultdict[int, list[SecretFinding]] | None = None
            if whole is not None:
                found = defaultdict(list)
                for finding in self._redactor.findings(whole, path):
                    found[finding.line].append(finding)
            self._known[root, path] = found
        return self._known[root, path]

    def _item(self, item: Item, texts: dict[int, str] | None, secret: bool) -> Item:
        title = self._redactor.redact(item.title, item.path).text if secret else item.title
        title = visible_name(title) if is_span(title) else visible(title)
        if texts is None:
            return item if title == item.title else replace(item, title=title)
        rows = tuple(
            replace(row, text=texts[number]) if number in texts else row for number, row in enumerate(item.rows)
        )
        return replace(item, rows=rows, title=title)

    def _title(self, group: Group, secret: bool) -> str:
        """Usually a path, followed by text that the tool added, which is kept."""
        title = self._redactor.redact(group.title).text if secret else group.title
        path = next((item.path for item in group.items if item.path), "")
        before, match, after = title.partition(path) if path else ("", "", title)
        if match:
            return visible_name(before + match) + visible(after)
        return " · ".join(visible_name(part) for part in title.split(" · "))

    def _line(self, text: str, path: str = "") -> str:
        return visible(self._redactor.redact(text, path).text) if text else ""

    def _error_text(self, text: str) -> str:
        """An error may have several lines, which are indented so that none looks like another part of the reply. A long
        text, such as a quoted query, is truncated."""
        text = visible_text(self._redactor.redact(text).text).replace("\n", "\n  ").replace("\n    ", "\n  ")
        return text if len(text) <= LONGEST_ERROR else f"{text[: LONGEST_ERROR // 2]} … {text[-LONGEST_ERROR // 2 :]}"

    def _data(self, value: Any, root: str, path: str) -> Any:
        if isinstance(value, dict):
            root, path = (str(value.get(name) or old) for name, old in (("root", root), ("path", path)))
            return {
                name: without_secrets(inner, self._redactor) if name in _EXACT else self._data(inner, root, path)
                for name, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._data(inner, root, path) for inner in value]
        return self._data_text(value, root, path) if isinstance(value, str) else value

    def _data_text(self, text: str, root: str, path: str) -> str:
        """Clean a string of `data`; cached, since six of ten strings in a grep occur in the same file again."""
        key = (text, root, path)
        if key not in self._cleaned:
            self._cleaned[key] = self._cleaned_text(text, root, path)
        return self._cleaned[key]

    def _cleaned_text(self, text: str, root: str, path: str) -> str:
        doubtful = is_doubtful(text, path)
        findings = self.findings(root, path) if doubtful else None
        text = self._redactor.redact(text, path, torn=doubtful and findings is None).text
        for finding in (finding for listed in (findings or {}).values() for finding in listed):
            if len(finding.secret) >= SHORTEST_ELSEWHERE:
                text = without(text, finding)
        return visible_text(text)


def items_by_file(envelope: Envelope) -> dict[tuple[str, str], list[_Run]]:
    """(root, path) → its items in each group with text; items without a path are kept separate for each group."""
    files: dict[tuple[str, str], list[_Run]] = {}
    for at, group in enumerate(envelope.groups):
        if any(item.rows for item in group.items):
            for file, run in runs_of(at, group):
                files.setdefault(file, []).append(run)
    return files


def runs_of(at: int, group: Group) -> Iterable[tuple[tuple[str, str], _Run]]:
    """The runs of items of one file. A group is usually one file, and sorting its items one by one would take a tenth
    of the time of cleaning."""
    files = {(item.root, item.path) for item in group.items}
    for root, path in files:
        file = (root, path) if path else (f"\0{at}", "")
        if len(files) == 1:
            yield file, (at, range(len(group.items)), group.items)
        else:
            indexes = [index for index, item in enumerate(group.items) if item.path == path and item.root == root]
            yield file, (at, indexes, [group.items[index] for index in indexes])


def without_findings(text: str, row: Row, findings: dict[int, list[SecretFinding]], path: str) -> str:
    """The text of a row without the secrets on this line of its file."""
    secrets = findings.get(row.number or 0)
    if not secrets or not is_doubtful(row.text, path):
        return text
    for secret in secrets:
        text = without(text, secret)
    return text


def redacted_note(lines: int) -> str:
    """A note in the first line: before editing, a client must know that the text differs from the file."""
    return f"{lines} line{'' if lines == 1 else 's'} redacted"


def plain_name(title: str) -> bool:
    """Whether the title can begin a line without changes."""
    return " · " not in title and title == title.strip(" ")


def is_doubtful(text: str, path: str) -> bool:
    """Whether the whole file must be checked for the context of these lines."""
    # For 200 KB of matches, RE2 takes a tenth of the 4 ms of Python's `re`, which tries every position.
    if "…" in text and _TRUNCATED.search(text):
        return True
    if compiled(DOUBTFUL).search(text.encode("utf-8", "surrogatepass")):
        return True
    return kind_of(path) is not ContentKind.CODE and bool(NAMELESS.search(text))


def without(text: str, finding: SecretFinding) -> str:
    """The text without this secret, or without the part of it before a truncation."""
    marker = f"[redacted:{finding.rule}]"
    if finding.secret in text:
        return text.replace(finding.secret, marker)
    head, cut, tail = text.partition("…")
    if cut:
        for length in range(min(len(finding.secret), len(head)), SHORTEST_HALF - 1, -1):
            if head.endswith(finding.secret[:length]):
                return head[: len(head) - length] + marker + cut + tail
    return text
