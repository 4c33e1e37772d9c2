"""Find secrets by the name of their field: `password: x`, `apiKey = "x"`, `<secret>x</secret>`, `--token x`.

RE2 finds everything in the shape of a field, in one pass for each shape; `names` and `values` decide. After a rejected
field the search continues behind its name, since its value may be the name of the next one
(`get("token", "password", "x")`). Repetitions in the patterns are therefore bounded: otherwise a line of a megabyte
full of names would be read again for each of them. A longer secret is then extended to its end (`whole_end`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from llmc.envelope.redact.inserts import INSERT, inserted
from llmc.envelope.redact.lists import is_name_in_list
from llmc.envelope.redact.names import Sort, sort_of
from llmc.envelope.redact.table import compiled, matcher
from llmc.envelope.redact.values import (
    SHORTEST_OF,
    ContentKind,
    is_long_random,
    is_mixed,
    is_named_after,
    is_passphrase,
    is_placeholder,
    is_product,
    is_random,
    is_secret,
    is_strong,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["BARE", "BARE_IN_CODE", "CONTINUED", "CORE", "SHAPES", "fields"]

CORE: Final = rb"(?i:pass|pwd|pswd?|secret|token|cred|key|auth|jwt|bearer|pw|kennwort|psk|salt|pepper)"
_NAME: Final = rb"([A-Za-z0-9_.$\-]*" + CORE + rb"[A-Za-z0-9_.\-]*)"
_QUOTED: Final = (
    rb"""(?:\\["']([^"'\\\n]+)\\["']|"(?:"")?((?:[^"\\\n]|\\.)+)"|'(?:'')?((?:[^'\\\n]|\\.)+)'|`([^`\\\n]+)`)"""
)
_BARE: Final = rb"""([^\s"'`<>])"""  # the first character only: RE2 takes 100 µs to find the end of two hundred more
_TYPE: Final = rb"""(?:[\t ]*:[\t ]*[A-Za-z&][A-Za-z0-9_<>\[\].&?| ]*|[\t ]+As[\t ]+[A-Za-z]+)?"""
# Calls that only convert the literal in them: `[]byte("x")`, `Buffer.from('x')`, `new SecretStr("x")`.
_WRAPPED: Final = (
    rb"(?:string\([0-9]+\)[\t ]*|(?:new[\t ]+)?(?:[A-Za-z_]\w{0,30}(?:\.|::)){0,3}"
    rb"(?i:\[\]byte|bytes|fromhex|from|(?:b64|base64)?decode(?:string)?|unhexlify|str|string|secretstr|qstringliteral|text|f)"
    rb"\([\t ]*)?"
)
_CLOSED: Final = rb"""(?:\\?["'`])?(?:[\])}]?[\])}]?|\[[0-9]*\])"""


_ASSIGNED: Final = re.compile(
    rb"""[\\"'`\])}]{0,4}[^=!<>(,]*?[\t ]*(?:=|:=|:|=>)[\t ]*""" + _WRAPPED + rb"""[A-Za-z@$&]?[\\"'`]{1,3}"""
)
_JOINED: Final = re.compile(rb"""(["'])[\s\\]*[+.&]?[\s\\]*\1([A-Za-z0-9+/=_\-]{8,200})(?=\1)""")
_SPACE: Final = re.compile(rb"\s")
_END: Final = re.compile(rb"""["'`,;<>(){}\[\]|]|&(?=$|&|[A-Za-z0-9_.\-%]+=)""")
FAR: Final = 200
LONGEST_NAME: Final = 40


class Field(NamedTuple):
    """A name and the position of its value. `begin` is where the field begins, `named` where its name ends."""

    name: str
    sort: Sort
    begin: int
    named: int
    start: int
    end: int


class FieldShape(NamedTuple):
    """A way of writing a field: the first group is the name, the first other group that matched is the value."""

    pattern: bytes
    judge: Callable[[bytes, Field, ContentKind], tuple[int, int] | None]


def fields(data: bytes, path: str) -> Iterator[tuple[int, int, Sort]]:
    """(start, end, sort) of each secret value."""
    kind = kind_of(path)
    for index in gate().Match(data) or ():
        if index == len(SHAPES):
            yield from inserted(data)
            continue
        shape = SHAPES[index]
        regex, at = compiled(shape.pattern), 0
        while (match := regex.search(data, at)) is not None:
            start, named = match.span(1)
            name = data[start:named].decode("latin-1")
            sort = sort_of(name)
            span = None
            if sort is not Sort.NONE and not is_encoded_data(name):
                value = next(group for group in map(match.span, range(2, regex.groups + 1)) if group[0] >= 0)
                span = shape.judge(data, Field(name, sort, match.start(), named, *value), kind)
            if span is not None:
                yield (*span, sort)
                yield from ((*part, sort) for part in joined(data, span[1]))
            at = span[1] if span is not None else max(named, at + 1)


def is_encoded_data(name: str) -> bool:
    """Whether the name is the end of a line in base64 that happens to end with one of the words."""
    return len(name) >= LONGEST_NAME and is_long_random(name)


def joined(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """The further parts of a secret that is written as several literals: `"abc" "def"`, `'abc' + 'def'`."""
    while (part := _JOINED.match(data, at)) is not None and is_long_random(text(part[2])):
        yield part.span(2)
        at = part.end(2)


@cache
def gate() -> Any:
    return matcher([*(shape.pattern for shape in SHAPES), INSERT])


def judge_quoted(data: bytes, field: Field, kind: ContentKind) -> tuple[int, int] | None:
    start, end = field.start, field.end
    between = data[field.named : start]
    if b"\n\n" in between:
        return None
    if between.lstrip(b"\\\"'` ").startswith(b"(") and not (is_setter(field.name) or is_strong(text(data[start:end]))):
        return None
    if b"," in between and (b"\n" in between or not between.lstrip(b"\\").startswith((b'"', b"'"))):
        return (start, end) if b"\n" not in between and is_set_by(field) and is_strong(text(data[start:end])) else None
    assigned = _ASSIGNED.fullmatch(between) is not None
    if data[start : start + 2] == b'\\"' and data[end - 2 : end] == b'\\"':
        start, end = start + 2, end - 2  # a literal in a literal: "\\"x\\""
    value = text(data[start:end])
    if not is_secret(value, field.sort, kind, quoted=True, assigned=assigned):
        return None
    if kind is ContentKind.CODE and is_name(field, value):
        return None
    return None if b"," in between and is_other(data, field, start, end) else (start, end)


def is_name(field: Field, value: str) -> bool:
    """Whether a literal in code is the name of a secret or of something else. `key="some-four-plain-words"` is an
    attribute of markup."""
    is_attribute = field.name.lower() == "key" and is_passphrase(value)
    return is_attribute or is_named_after(value, field.name) or is_product(value, field.name)


def is_other(data: bytes, field: Field, start: int, end: int) -> bool:
    """Whether the string behind a comma has nothing to do with the name before it: a name in a list, the next name of
    an object (`"x_token"], "next": 1`), or a string behind a country code (`"PW", "Palau"`)."""
    is_next_name = data[end + 1 : end + 3].lstrip(b"\"'` ").startswith(b":")
    is_country = field.name in {"pw", "PW"}
    return is_next_name or is_country or is_name_in_list(data, start, end)


def is_set_by(field: Field) -> bool:
    """A constant that names an option: `setopt(handle, CURLOPT_PASSWORD, "x")`, but not `matches(PASSWORD, "x")`."""
    name = field.name.rpartition(".")[2]
    return field.sort in {Sort.PASSWORD, Sort.TOKEN} and name.isupper() and "_" in name


def is_setter(name: str) -> bool:
    """The argument of such a call is the secret itself; that of `check_password("x")` is mostly a name or a message."""
    last = name.rpartition(".")[2].lower()
    return last.startswith(
        ("set", "with", "pass", "pwd", "secret", "apikey", "token", "add", "put", "use", "from", "bearer")
    )


def judge_bare(data: bytes, field: Field, kind: ContentKind) -> tuple[int, int] | None:
    start = field.start
    spaced = data[field.named : start]
    if (kind is ContentKind.CODE and spaced != b"=") or is_in_reference(data, field):
        return None
    value, _, rest = data[start : start + FAR].partition(b"\n")[0].partition(b" ")
    value = value.split()[0]
    in_query = data[field.begin - 1 : field.begin] in {b"?", b"&"}
    if in_query:
        value = value.partition(b"&")[0]
    if kind is not ContentKind.CONFIG or data[field.begin - 1 : field.begin] == b"=" or b"&" in value:
        whole, value = value, cut(value)
        if whole[len(value) : len(value) + 1] == b"(" and _PATH_OF_NAMES.fullmatch(value):
            return None  # a call
    value = value.rstrip(b",;")
    end, shown = start + len(value), text(value)
    if kind is ContentKind.CODE and (_CONSTANT.fullmatch(value) or not is_in_literal(data, field, end)):
        return None
    if kind is ContentKind.TEXT and spaced == b"=":
        kind = ContentKind.CONFIG  # `NAME=value` is written as in a shell or an environment file
    in_prose = rest.strip() and not rest.strip().startswith(_NO_PROSE)
    sure = not in_prose or spaced == b"=" or is_random(shown)
    if not (sure and is_secret(shown, field.sort, kind, quoted=False)):
        return None
    return start, whole_end(data, end) if len(value) == FAR else end


def is_in_reference(data: bytes, field: Field) -> bool:
    """Whether it is a part of `${name:default}`, which has a shape of its own."""
    line = data[max(0, field.begin - FAR, data.rfind(b"\n", 0, field.begin) + 1) : field.named]
    return line.rfind(b"${") > line.rfind(b"}")


_CONSTANT: Final = re.compile(rb"[A-Z]+(?:_[A-Z]+)+")
_PATH_OF_NAMES: Final = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_NO_PROSE: Final = (b"#", b";", b"//", b"/*", b"-->", b"\\", b"&", b"|", b"}", b"-", b"*", b"`")


def whole_end(data: bytes, at: int) -> int:
    """The end of a value that was cut off at `FAR` bytes."""
    space = _SPACE.search(data, at)
    return space.start() if space else len(data)


def cut(value: bytes) -> bytes:
    """The value up to a delimiter of running text. `&` is one if another parameter or command follows."""
    end = _END.search(value)
    return value[: end.start()] if end else value


def is_in_literal(data: bytes, field: Field, end: int) -> bool:
    """Whether it is inside a literal, such as a connection string: other unquoted values in code are variables."""
    before = data[field.begin - 1 : field.begin] if field.begin else b"\n"
    return before in b"?&;\"' \t\n" and data[end : end + 1] in b"&\"';` \n"


def judge_plain(data: bytes, field: Field, kind: ContentKind) -> tuple[int, int] | None:
    """For shapes that prose has too: only values that are certainly not words."""
    start, end = field.start, field.end
    value = text(data[start:end])
    sure = is_mixed(value) or (kind is ContentKind.CONFIG and "-" in value) or is_passphrase(value)
    quoted = data[start - 1 : start] in {b'"', b"'"}
    if kind is ContentKind.CODE and not quoted:
        return None  # the type of a field
    return (start, end) if sure and is_secret(value, field.sort, kind, quoted=quoted) else None


def judge_default(data: bytes, field: Field, kind: ContentKind) -> tuple[int, int] | None:
    """The default of a reference is a literal, in code too."""
    value = text(data[field.start : field.end])
    sure = (is_mixed(value) or is_passphrase(value)) and is_secret(value, field.sort, kind, quoted=True)
    return (field.start, field.end) if sure else None


def judge_mixed(data: bytes, field: Field, _kind: ContentKind) -> tuple[int, int] | None:
    """For shapes where only a value with letters and digits counts: `the password is x`."""
    value = text(data[field.start : field.end]).rstrip(".,;:!?)")
    if field.sort in {Sort.KEY, Sort.RANDOM} and not (len(value) >= SHORTEST_OF[field.sort] and is_long_random(value)):
        return None
    is_unusual = any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and is_mixed(value)
    return (field.start, field.start + len(value.encode())) if is_unusual and not is_placeholder(value) else None


def judge_element(data: bytes, field: Field, kind: ContentKind) -> tuple[int, int] | None:
    """A value in markup or in a list of names and values, where a plain word may be the secret."""
    if kind is ContentKind.CODE and data[field.named : field.start].rstrip()[-1:] in {b":", b"="}:
        return None  # a variable
    raw = data[field.start : field.end]
    start, end = field.start + len(raw) - len(raw.lstrip()), field.end - (len(raw) - len(raw.rstrip()))
    return (start, end) if is_secret(text(data[start:end]), field.sort, kind, quoted=True) else None


def text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


_LABEL: Final = (
    rb"(?i:name|key|id|field|variable|setting|property|option|param|parameter_?key|parameter_?name|env_?var|env)"
)
_VALUE: Final = rb"(?i:value|val|default|content|default_?value|parameter_?value|string_?value)"
_GIVEN: Final = rb"""(?:"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)'|([^\s"'<>{}\[\],|&*!][^\n"'<>]{0,200}))"""
_VARIABLE: Final = rb"""\bvariable[\t ]+\""""
_CLOSING: Final = rb"(?:\]\]>)?\s*</"
_DEFINE: Final = rb"(?:(?:ENV|ARG|setenv|setx|set|define|#[\t ]*define|define\(|aws[\t ]+configure[\t ]+set)[\t ]+)?"
_LINE_VALUE: Final = rb"""[\t ]+(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'=:(]\S*))[\t ]*$"""
_BLOCK_VALUE: Final = rb"""["']?[\t ]*:[\t ]*[|>][+\-]?[0-9]?[\t ]*\n[\t ]+(\S+)[\t ]*$"""
_SEPARATED: Final = (
    rb"(?:"
    + _TYPE
    + rb"[\t ]*=|[\t ]*(?:===?|!==?|:=|=>|->|<-|\?\?=?|\?=|\|\|=?|[:=,])|[\t ]+or[\t ]|[({])\s*\(?\s*"
    + _WRAPPED
    + rb"[A-Za-z@$&]?"
)
_BARE_SEPARATED: Final = (
    rb"""(?:\\?["'`])?\]?[\t ]*(?:=>|:=|\?=|[:=])[\t ]*(?:&[A-Za-z_]+[\t ]+)?(?:!![A-Za-z]+[\t ]+)?"""
)

# PASSWORD=x, password: x
BARE: Final = FieldShape(_NAME + _BARE_SEPARATED + _BARE, judge_bare)
# The part of `BARE` that `judge_bare` accepts in code.
BARE_IN_CODE: Final = _NAME + rb"=" + _BARE

SHAPES: Final = (
    # password = "x", "password": "x", set_password("x"), getenv("PASSWORD", "x")
    FieldShape(_NAME + _CLOSED + _SEPARATED + _QUOTED, judge_quoted),
    BARE,
    # name: PASSWORD, value: x
    FieldShape(
        rb"""\b""" + _LABEL + rb"""["']?[\t ]*[:=][\t ]*["']?""" + _NAME + rb"""["']?[\s,/]*["']?\b"""
        + _VALUE + rb"""["']?[\t ]*[:=]>?[\t ]*""" + _GIVEN,
        judge_element,
    ),
    # <password>x</password>
    FieldShape(
        rb"<(?:[A-Za-z0-9]+:)?" + _NAME + rb"(?:[\t ][^<>\n]{0,200})?>\s*(?:<!\[CDATA\[)?([^<\n\]]{1,500})" + _CLOSING,
        judge_element,
    ),
    # <key>password</key> <string>x</string>
    FieldShape(
        rb"<(?:key|name|id)>\s*" + _NAME + rb"\s*</(?:key|name|id)>\s*<(?:string|value|data)>\s*([^<\n]+)\s*</",
        judge_element,
    ),
    # <entry key="password">x</entry>
    FieldShape(rb"""\b(?:name|key|id)=["']""" + _NAME + rb"""["'][^<>\n]{0,200}>([^<\n]{1,500})</""", judge_element),
    # requirepass x, ENV PASSWORD x, #define PASSWORD "x"
    FieldShape(rb"(?m)^[\t ]*" + _DEFINE + _NAME + _LINE_VALUE, judge_plain),
    # variable "password" { default = "x" }
    FieldShape(_VARIABLE + _NAME + rb"""\"[\t ]*\{[^{}]*?\bdefault[\t ]*=[\t ]*"([^"\n]+)\"""", judge_element),
    # ${PASSWORD:-x}
    FieldShape(rb"""\$\{""" + _NAME + rb"""(?::[\-=]?|-)([^}\s]{1,200})\}""", judge_default),
    # the password is x, set `API_KEY` to `x`
    FieldShape(
        _NAME + rb"""(?:[\t ]+(?:for|of)[\t ]+[^\s:]{1,60})?[\t ]+(?:is|was)[\t ]+["'`]{0,2}([^\s"'`]{6,})""",
        judge_mixed,
    ),
    FieldShape(_NAME + rb"""["'`][\t ]+(?:to|as|with)[\t ]+["'`]([^\s"'`]{6,})""", judge_mixed),
    # --webhook_secret x
    FieldShape(rb"""(?:^|[\t "'`])--""" + _NAME + rb"""[\t ]+["']?([^\s"'`<>$\-][^\s"'`<>]{5,})""", judge_mixed),
    # (setq password "x"), {:password "x"}
    FieldShape(rb"""(?:[({\t ,]:|\((?:setq|defvar|defconst|defcustom|define|def)[\t ]+)""" + _NAME
        + rb"""[\t ]+"((?:[^"\\\n]|\\.)+)\"""", judge_element),
    # | password | x |
    FieldShape(
        rb"""(?m)(?:^[\t ]*\||\|[\t ]+)`?""" + _NAME + rb"""`?[\t ]*\|[\t ]*`?([^\s|`]{6,})`?[\t ]*\|""", judge_mixed
    ),
    # password: |
    #   x
    FieldShape(rb"""(?m)^[\t ]*(?:-[\t ]+)?["']?""" + _NAME + _BLOCK_VALUE, judge_element),
)  # fmt: skip

# Lines of these shapes may have their value on the next line.
CONTINUED: Final = (
    _NAME + _CLOSED + rb"(?:" + _TYPE + rb"[\t ]*=|[\t ]*(?:===?|!==?|:=|=>|->|\?=|\|\|=|[:=,])|\()"
    + rb"[\t (]*[A-Za-z@$&]?\n",
    _LABEL + rb"""["']?[\t ]*[:=][\t ]*["']?""" + _NAME + rb"""["']?[\t ,/]*\n""",
    rb"<[^<>\n]{0,80}" + CORE + rb"[^\n]*>[\t ]*\n",
    _VARIABLE + _NAME,
    rb"""(?m)^[\t ]*(?:-[\t ]+)?["']?""" + _NAME + rb"""["']?[\t ]*:[\t ]*[|>]""",
)  # fmt: skip
