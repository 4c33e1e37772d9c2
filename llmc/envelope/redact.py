"""Secrets out of a text: each becomes `[redacted:what-it-was]`, the rest of its line stays, and no line goes or comes.

    redact(text, path)                a whole file: everything is caught that can be
    redact_lines(lines, path)         some lines of a file, in order: keys whose first line is missing are caught too

Redact before cutting, since half a secret is not recognised. What a secret looks like is the business of the package
`secret`. The path decides what a bare word may be: a variable in code, a value in a config file.

Some 20 MB/s on source code that has no secrets in it.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from llmc.envelope.secret.table import Rule, Sureness, compiled, table
from llmc.envelope.secret.values import is_blank, is_placeholder, is_random
from llmc.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.settings import Redaction

__all__ = ["Finding", "Redacted", "Redactor", "check_rules", "redact", "redact_lines"]

PRIVATE_KEY: Final = "private-key"
FOLLOWING: Final = "[redacted]"  # for the further lines of what spans lines: the first one says what it was


@dataclass(frozen=True, slots=True)
class Finding:
    """`line` counts from 1, `column` in characters from 1; `secret` is what was taken out of that line."""

    rule: str
    line: int
    column: int
    secret: str

    def __repr__(self) -> str:
        return f"Finding({self.rule!r}, line={self.line}, column={self.column})"


@dataclass(frozen=True, slots=True)
class Redacted:
    text: str
    findings: tuple[Finding, ...] = ()


class Span(NamedTuple):
    start: int
    end: int
    name: str


class Redactor:
    """The built-in rules with a user's own; `allow` are paths in gitignore style that pass as they are."""

    def __init__(
        self, *, rules: Iterable[tuple[str, str]] = (), allow: Sequence[str] = (), enabled: bool = True
    ) -> None:
        self.enabled = enabled
        self._allow = tuple(allow)
        self._own = tuple(Rule(name, pattern.encode(), Sureness.OWN) for name, pattern in rules)

    @classmethod
    def of(cls, settings: Redaction) -> Redactor:
        rules = [(rule.name, rule.pattern) for rule in settings.rules]
        return cls(rules=rules, allow=settings.allow, enabled=settings.enabled)

    def passes(self, path: str) -> bool:
        """Whether the text of this path stays as it is."""
        return not self.enabled or bool(self._allow and path and self._allowed.match_file(path))

    def redact(self, text: str, path: str = "", *, torn: bool = False) -> Redacted:
        """`torn` says that lines are missing, so that the inside of a key may stand without its first line."""
        if not text or self.passes(path):
            return Redacted(text)
        data = text.encode("utf-8", "surrogatepass")
        spans = merged([*self._spans(data, path), *(torn_spans(data) if torn else ())])
        return replaced(data, spans) if spans else Redacted(text)

    def redact_lines(self, lines: Sequence[str], path: str = "") -> list[str]:
        """Lines of one file, in its order, perhaps with gaps between them; as many come back."""
        done = self.redact("\n".join(lines), path, torn=True)
        return done.text.split("\n") if done.findings else list(lines)

    @cached_property
    def _allowed(self) -> Any:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only where a path is allowed

        return GitIgnoreSpec.from_lines(self._allow, backend="re2")

    def _spans(self, data: bytes, path: str) -> Iterator[Span]:
        """In the order in which they may name what they share."""
        from llmc.envelope.secret.blocks import blocks  # noqa: PLC0415 - with the first text
        from llmc.envelope.secret.fields import fields  # noqa: PLC0415 - likewise

        yield from (Span(start, end, PRIVATE_KEY) for start, end in blocks(data))
        for rule in (*self._own, *table().matching(data, path)):
            yield from matches(rule, data)
        yield from (Span(start, end, str(sort)) for start, end, sort in fields(data, path))


_BUILT_IN: Final = Redactor()


def redact(text: str, path: str = "") -> Redacted:
    return _BUILT_IN.redact(text, path)


def redact_lines(lines: Sequence[str], path: str = "") -> list[str]:
    return _BUILT_IN.redact_lines(lines, path)


def check_rules(settings: Redaction) -> Iterator[tuple[int, str, str]]:
    """(index, key, reason) of each of the user's rules that cannot be used."""
    import re2  # noqa: PLC0415 - only where there are rules

    for index, rule in enumerate(settings.rules):
        try:
            if compiled(rule.pattern.encode(), utf8=True).search(b"") is not None:
                yield index, "pattern", "matches nothing at all, so it would match everywhere"
        except re2.error as error:
            reason = error.args[0] if error.args else ""
            told = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            yield index, "pattern", f"RE2 cannot read it: {told}"


def matches(rule: Rule, data: bytes) -> Iterator[Span]:
    try:
        regex = rule.regex
    except Exception as error:  # re2.error: named here, since the import is lazy
        raise ConfigError(f"the redaction rule {rule.name} cannot be used", reason=str(error)) from error
    for match in regex.finditer(data):
        group = next((index for index in range(1, regex.groups + 1) if match.start(index) >= 0), 0)
        start, end = match.span(group)
        if start < end and is_meant(rule, data[start:end]):
            yield Span(start, end, rule.name)


def is_meant(rule: Rule, found: bytes) -> bool:
    value = found.decode("utf-8", "replace")
    if rule.sureness is Sureness.TOKEN:
        return not is_blank(value)
    if rule.sureness is Sureness.RANDOM:
        return not is_blank(value) and is_random(value)
    if rule.sureness is Sureness.PASSWORD:
        return is_password(value.strip("\"'"))
    if rule.sureness is Sureness.MIXED:
        return is_password(value.strip("\"'")) and is_unusual(value.strip("\"'"))
    if rule.sureness in {Sureness.PAIR, Sureness.KEY}:
        return is_encoded(found, rule.sureness)
    return True


def is_password(value: str) -> bool:
    from llmc.envelope.secret.names import Sort  # noqa: PLC0415 - with the first text
    from llmc.envelope.secret.values import Kind, is_secret  # noqa: PLC0415 - likewise

    return not is_placeholder(value) and is_secret(value, Sort.PASSWORD, Kind.CONFIG, quoted=True)


def is_unusual(value: str) -> bool:
    from llmc.envelope.secret.values import is_mixed  # noqa: PLC0415 - with the first text

    return is_mixed(value) or value.count("-") >= 3  # noqa: PLR2004 - a passphrase of four words


def is_encoded(found: bytes, sureness: Sureness) -> bool:
    """Base64 of what it must be of."""
    try:
        plain = base64.b64decode(found[: len(found) // 4 * 4] + b"=" * 0, altchars=b"-_" if b"-" in found else None)
    except (binascii.Error, ValueError):
        return False
    if sureness is Sureness.KEY:
        return b"PRIVATE KEY" in plain or b"PuTTY-User-Key-File" in plain
    user, colon, password = plain.partition(b":")
    printable = all(32 <= byte < 127 for byte in plain) or plain.decode("utf-8", "ignore").isprintable()  # noqa: PLR2004 - ASCII
    return bool(user and colon and password) and printable


def torn_spans(data: bytes) -> Iterator[Span]:
    from llmc.envelope.secret.blocks import torn  # noqa: PLC0415 - only for rows

    lines = data.split(b"\n")
    inside = set(torn(lines))
    at = 0
    for index, line in enumerate(lines):
        if index in inside:
            yield Span(at, at + len(line), PRIVATE_KEY)
        at += len(line) + 1


def merged(spans: list[Span]) -> list[Span]:
    """Without overlaps; where two share text, both go, under the name that came first."""
    named = sorted(enumerate(spans), key=lambda each: (each[1].start, each[0]))
    done: list[tuple[int, Span]] = []
    for order, span in named:
        if done and span.start < done[-1][1].end:
            first, last = done[-1]
            name = last.name if first < order else span.name
            done[-1] = (min(first, order), Span(last.start, max(last.end, span.end), name))
        else:
            done.append((order, span))
    return [span for _, span in done]


def replaced(data: bytes, spans: list[Span]) -> Redacted:
    pieces: list[bytes] = []
    findings: list[Finding] = []
    at, line, line_start = 0, 1, 0
    for span in spans:
        pieces.append(data[at : span.start])
        line += data.count(b"\n", at, span.start)
        line_start = data.rfind(b"\n", 0, span.start) + 1
        marker = f"[redacted:{span.name}]"
        for start, end in line_parts(data, span):
            if data[start - 1 : start] == b"\n" and start > span.start:
                line_start = start
            inner = data[start:end].strip()
            if not inner:
                pieces.append(data[start:end])
            else:
                lead = start + data[start:end].index(inner)
                column = len(data[line_start:lead].decode("utf-8", "surrogatepass")) + 1
                findings.append(Finding(span.name, line, column, inner.decode("utf-8", "surrogatepass")))
                pieces += [data[start:lead], marker.encode(), data[lead + len(inner) : end]]
                marker = FOLLOWING
            if data[end : end + 1] == b"\n" and end < span.end:
                pieces.append(b"\n")
                line += 1
        at = span.end
    pieces.append(data[at:])
    return Redacted(b"".join(pieces).decode("utf-8", "surrogatepass"), tuple(findings))


def line_parts(data: bytes, span: Span) -> Iterator[tuple[int, int]]:
    """The span, line by line, without the line feeds."""
    start = span.start
    while (end := data.find(b"\n", start, span.end)) >= 0:
        yield start, end
        start = end + 1
    yield start, span.end
