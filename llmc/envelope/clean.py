"""Everything that an envelope says, without secrets and with what is hidden made visible: the way out, before `fit`.

    envelope = clean(envelope, redactor, text_of)

The rows of one file are taken together and in the order of its lines, so that a key of many lines is seen as one even
if they stand in several items. Rows show only some lines of a file, and a tool may have cut a long one. Where that
could hide what a secret belongs to (a line of base64, a bare value, a line cut short), the file itself is asked:
`text_of(root, path)` gives its text, or None. Whatever is secret there on that line is then taken out of the row.
Without `text_of`, a full line of base64 counts as a key's.

`data` for machines is cleaned as well; what stands under `root` and `path` is used to ask again, so that only secrets
are taken out of it. JSON shows hidden characters by itself.
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

__all__ = ["clean", "clean_text", "without_secrets"]

_T = TypeVar("_T")

# A line that may be the inside of a key.
_DOUBTFUL: Final = rb"""(?m)^[ \t>|#*"'+-]*[A-Za-z0-9+/]{40,}={0,2}["'\\n+,;) \t]*$"""
# A value whose name may stand on another line. In code that is no way of writing, and would be half of all lines.
_NAMELESS: Final = re.compile(
    r"""(?im)^[ \t]*-?[ \t]*["']?(?:value|val|default|string)["']?[ \t]*[:=]|<(?:value|string|data)>|"""
    r"""^[ \t]+\S{6,}$|^[ \t]*[\w.-]+:[ \t]*["']?[a-z0-9+/]{8,}={0,2}["']?$"""
)
_EXACT: Final = frozenset({"root", "path", "root_id", "folder"})
# A shorter one may well be a common word of the same file.
SHORTEST_ELSEWHERE: Final = 8
SHORTEST_HALF: Final = 4
LONGEST_ERROR: Final = 2_000

_BUILT_IN: Final = Redactor()


def clean(
    envelope: Envelope, redactor: Redactor = _BUILT_IN, text_of: TextOf | None = None, *, data: bool = True
) -> Envelope:
    """Without `data` that is dropped; to clean it costs more than all the rest."""
    shown = len(envelope.groups)
    whole = replace(envelope, groups=(*envelope.groups, *envelope.folded), folded=())
    done = _Cleaning(redactor, text_of).envelope(whole if data else replace(whole, data={}))
    return replace(done, groups=done.groups[:shown], folded=done.groups[shown:]) if envelope.folded else done


def clean_text(text: str, redactor: Redactor = _BUILT_IN) -> str:
    """A text that is no envelope: a log line, an error, a request to a model."""
    return visible_text(redactor.redact(text).text)


def without_secrets(value: _T, redactor: Redactor = _BUILT_IN) -> _T:
    """A value of ours that is no answer (a status, an error): every text in it, however deep."""
    done: Any = value
    if isinstance(value, str):
        done = redactor.redact(value).text
    elif isinstance(value, dict):
        done = {name: without_secrets(inner, redactor) for name, inner in value.items()}
    elif isinstance(value, list | tuple):
        done = type(value)(without_secrets(inner, redactor) for inner in value)
    elif is_dataclass(value) and not isinstance(value, type):
        done = replace(
            value, **{each.name: without_secrets(getattr(value, each.name), redactor) for each in fields(value)}
        )
    return cast("_T", done)


class _Cleaning:
    """One envelope's; it remembers what was found in each file."""

    def __init__(self, redactor: Redactor, text_of: TextOf | None) -> None:
        self._redactor = redactor
        self._text_of = text_of
        self._known: dict[tuple[str, str], dict[int, list[SecretFinding]] | None] = {}
        self._redacted = 0  # lines of files

    def envelope(self, envelope: Envelope) -> Envelope:
        rows = self._rows(envelope)
        touched = {at for at, _ in rows}
        # Titles are many and short, and a look at all of them costs as much as at one.
        of_items = [item.title for group in envelope.groups for item in group.items]
        titles = "\n".join([*(group.title for group in envelope.groups), *of_items])
        secret = bool(self._redactor.redact(titles).findings)
        plain = not secret and titles.isascii() and titles.replace("\n", "").isprintable()
        groups = tuple(
            group if plain and at not in touched and plain_name(group.title) else self._group(group, at, rows, secret)
            for at, group in enumerate(envelope.groups)
        )
        said = self._said_in_error if envelope.error else self._said
        notes = tuple(said(note) for note in envelope.notes)
        return replace(
            envelope,
            found=said(envelope.found),
            groups=groups,
            notes=(*notes, redacted_words(self._redacted)) if self._redacted else notes,
            data=self._data(envelope.data, "", ""),
        )

    def _group(self, group: Group, at: int, rows: _Changed, secret: bool) -> Group:
        items = tuple(self._item(item, rows.get((at, index)), secret) for index, item in enumerate(group.items))
        return replace(group, title=self._title(group, secret), items=items)

    def _rows(self, envelope: Envelope) -> dict[tuple[int, int], dict[int, str]]:
        """(group, item) → row → its new text, where that is another."""
        changed: defaultdict[tuple[int, int], dict[int, str]] = defaultdict(dict)
        for (root, path), runs in items_by_file(envelope).items():
            rows = [row for _, _, items in runs for item in items for row in item.rows]
            numbers = [row.number or 0 for row in rows]
            # Rows without a number keep their place; Python's sort is stable.
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
        """The rows of one file, redacted together; None when they stay as they are."""
        whole = "\n".join([row.text for row in rows])
        folded = whole.count("\n") >= len(rows)
        if folded:
            whole = "\n".join([row.text.replace("\n", "\\n") for row in rows])
        doubtful = is_doubtful(whole, path)
        # That a line of base64 is a key's is only guessed where the file cannot be asked.
        done = self._redactor.redact(whole, path, torn=doubtful and self._findings(root, path) is None).text
        if doubtful and (found := self._findings(root, path)):
            lines = zip(done.split("\n"), rows, strict=True)
            done = "\n".join([asked(text, row, found, path) for text, row in lines])
        if done != whole:
            self._redacted += sum(old != new for old, new in zip(whole.split("\n"), done.split("\n"), strict=True))
        done = visible_text(done, endings=False)
        return done.split("\n") if rows and (folded or done != whole) else None

    def _findings(self, root: str, path: str) -> dict[int, list[SecretFinding]] | None:
        """The secrets of a file by line; None if it cannot be asked."""
        if self._text_of is None or not path:
            return None
        if (root, path) not in self._known:
            whole = self._text_of(root, path)
            found: defaultdict[int, list[SecretFinding]] | None = None
            if whole is not None:
                found = defaultdict(list)
                for finding in self._redactor.redact(whole, path).findings:
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
        """A path mostly, with what a tool says of it behind: what is ours there is kept."""
        title = self._redactor.redact(group.title).text if secret else group.title
        path = next((item.path for item in group.items if item.path), "")
        before, found, behind = title.partition(path) if path else ("", "", title)
        if found:
            return visible_name(before + found) + visible(behind)
        return " · ".join(visible_name(part) for part in title.split(" · "))

    def _said(self, text: str, path: str = "") -> str:
        return visible(self._redactor.redact(text, path).text) if text else ""

    def _said_in_error(self, text: str) -> str:
        """An error may have several lines; none of them can be taken for another line of a reply. What was asked for is
        not said back at any length."""
        done = visible_text(self._redactor.redact(text).text).replace("\n", "\n  ").replace("\n    ", "\n  ")
        return done if len(done) <= LONGEST_ERROR else f"{done[: LONGEST_ERROR // 2]} … {done[-LONGEST_ERROR // 2 :]}"

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
        doubtful = is_doubtful(text, path)
        findings = self._findings(root, path) if doubtful else None
        text = self._redactor.redact(text, path, torn=doubtful and findings is None).text
        for finding in (finding for listed in (findings or {}).values() for finding in listed):
            if len(finding.secret) >= SHORTEST_ELSEWHERE:
                text = without(text, finding)
        return visible_text(text)


def items_by_file(envelope: Envelope) -> dict[tuple[str, str], list[_Run]]:
    """(root, path) → its items in each group that has any text; what has no path is by itself in each group."""
    files: dict[tuple[str, str], list[_Run]] = {}
    for at, group in enumerate(envelope.groups):
        if any(item.rows for item in group.items):
            for file, run in runs_of(at, group):
                files.setdefault(file, []).append(run)
    return files


def runs_of(at: int, group: Group) -> Iterable[tuple[tuple[str, str], _Run]]:
    """Mostly a group is a file, and its items need not be sorted one by one: a tenth of all cleaning."""
    files = {(item.root, item.path) for item in group.items}
    for root, path in files:
        file = (root, path) if path else (f"\0{at}", "")
        if len(files) == 1:
            yield file, (at, range(len(group.items)), group.items)
        else:
            indexes = [index for index, item in enumerate(group.items) if item.path == path and item.root == root]
            yield file, (at, indexes, [group.items[index] for index in indexes])


def asked(text: str, row: Row, found: dict[int, list[SecretFinding]], path: str) -> str:
    """The text of a row without what is secret on this line of its file."""
    secrets = found.get(row.number or 0)
    if not secrets or not is_doubtful(row.text, path):
        return text
    for secret in secrets:
        text = without(text, secret)
    return text


def redacted_words(lines: int) -> str:
    """Said in the first line: whoever edits this text must know that it is not what the file holds."""
    return f"{lines} line{'' if lines == 1 else 's'} redacted"


def plain_name(title: str) -> bool:
    """Whether it may begin a line as it is."""
    return " · " not in title and title == title.strip(" ")


def is_doubtful(text: str, path: str) -> bool:
    """Whether the file must be asked what these lines belong to."""
    # RE2 reads 200 KB of matches in a tenth of the 4 ms that Python's own takes to try every place.
    if "…" in text or compiled(_DOUBTFUL).search(text.encode("utf-8", "surrogatepass")):
        return True
    return kind_of(path) is not ContentKind.CODE and bool(_NAMELESS.search(text))


def without(text: str, finding: SecretFinding) -> str:
    """The text without this secret, or without the half of it that stands before a cut."""
    marker = f"[redacted:{finding.rule}]"
    if finding.secret in text:
        return text.replace(finding.secret, marker)
    head, cut, tail = text.partition("…")
    if cut:
        for length in range(min(len(finding.secret), len(head)), SHORTEST_HALF - 1, -1):
            if head.endswith(finding.secret[:length]):
                return head[: len(head) - length] + marker + cut + tail
    return text
