"""Calls that are connected by a key: `emit('saved')` and `on('saved', handler)`, `queue_event("thumbnail")` and
`@assign_queue("thumbnail")`, `post_save.send()` and `@receiver(post_save)`, `dispatch({type: 'saved'})` and `case
'saved'`, a channel that one function writes and another reads.

Whether a call sends or receives is decided by the words of its name. Only calls with a key are recorded: a string, a
constant, the object that the call is made on, or a channel. `llmc.graph.events` matches the two ends.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from llmc.base import words
from llmc.base.model import ResolutionLink
from llmc.indexer.syntax.chains import UNKNOWN, chain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from llmc.indexer.syntax.names import Captures, DefinitionTree

__all__ = ["keyed_links"]

MOST = 2_000  # of one file
MOST_KEYS = 6  # of one call: `emit(['saved', `${scope}.saved`])`
MOST_HANDLERS = 4
LONGEST_ARGUMENT = 400
MOST_CHILDREN = 8


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SENDS = _words(
    """
    emit dispatch publish enqueue queue send trigger fire notify broadcast produce raise schedule invoke submit
    """
)
# Verbs of registries and hooks, which count only together with a noun: `getDriver('s3')`, not `get('s3')`.
_FETCHES = _words("get create make resolve load build find lookup inject do apply call run execute perform post")
_RECEIVES = _words(
    """
    on once listen subscribe register assign connect receiver receive handle consume process hook bind provide define
    observe intercept attach prepend append
    """
)
_RECEIVERS = _words(
    "listener handler subscriber consumer worker processor receiver pattern task job hook observer event"
)
# Signals are objects: `post_save.send(...)`, `post_save.connect(handler)`.
_OBJECT_SENDS = _words("send send_robust asend emit fire notify trigger publish dispatch invoke raise next")
_OBJECT_RECEIVES = _words("connect subscribe receiver add_listener addListener listen register")
# A queue is an object with a handler: `jobs = NewQueue("jobs", handle)`, `jobs.Push(one)`. Both are in one package.
_PUTS = _words("push add put enqueue submit send publish post")
_QUEUES = _words("queue pool worker workers dispatcher consumer")
_ASSIGNED_TO = re.compile(rb"(?:^|[\s.(])(\w+)(?:[ \t]*,[ \t]*\w+)?[ \t]*:?=[ \t]*(?:new|await|&)?[ \t]*$")
LONGEST_LEFT_SIDE = 120
_NAMES = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_OWN_EVENT = re.compile(r"on(?:Did|Will)[A-Z]\w*")

_KEY = re.compile(r"[\w.:/@#$*-]{2,80}")
_STRING = re.compile(r"""[rbfu@$]{0,2}(["'`])((?:(?!\1)[^\\\n]|\\.){2,80})\1""")
_HOLE = re.compile(r"\$\{[^}]*\}|\{[^}]*\}")
_CONSTANT = re.compile(r"(?:\w+(?:\.|::))*?([A-Z]\w*(?:\.|::)[A-Z]\w*|[A-Z][A-Z0-9_]{3,})(?![\w.(])")
_VARIANT = re.compile(r"\b([A-Z]\w*)::([A-Z]\w*)")
_NAMED_KEY = re.compile(
    r"(?:name|queue|queues|topic|topics|event|events|signal|key|channel|destination|value|type|action)\s*[=:]\s*"
)
_MESSAGE_TYPE = re.compile(r"""[{,(]\s*["']?(?:type|event|action|kind|op|command|cmd)["']?\s*[:=]\s*""")
_NAMED = re.compile(r"\w+\s*(?:=|:)\s*(?![=:])")
_CHANNEL = re.compile(
    r"(?:ch|chan|c|queue|jobs?|events?|updates?|messages?|msgs?|work|tasks?|requests?|results?|signals?|done|stop|quit|err\w*)$|(?:Ch|Chan|Queue|Channel|Events?|Updates?|Jobs|C)$"
)
_CLOSURES = frozenset(
    {
        "arrow_function",
        "function_expression",
        "lambda",
        "func_literal",
        "closure_expression",
        "lambda_expression",
        "anonymous_method_expression",
    }
)
_LISTS = frozenset(
    {"array", "list", "tuple", "set", "ternary_expression", "conditional_expression", "array_initializer"}
)
_DECORATES = frozenset({"decorator", "annotation", "attribute"})
HERE = "{}"  # an inline handler


class CallSite(NamedTuple):
    call: Node
    arguments: list[Node]
    name: str
    is_decorator: bool


@lru_cache(maxsize=8_192)
def _role(name: bytes) -> str:
    """`send`, `receive`, either (`both`), or empty, by the words of a name."""
    text = name.decode("utf-8", "replace")
    parts = words.split(text)
    if not parts:
        return ""
    if _OWN_EVENT.fullmatch(text):
        return "receive"
    if parts[0] == "add":
        return "both" if len(parts) == 1 else "receive"
    if parts[0] == "try" and len(parts) > 1:
        parts = parts[1:]
    if parts[0] in _SENDS or (parts[0] in _FETCHES and len(parts) > 1):
        return "send"
    return "receive" if parts[0] in _RECEIVES or parts[-1] in _RECEIVERS else ""


@lru_cache(maxsize=8_192)
def _queue_role(name: bytes) -> str:
    """`send` for `Push` and the like, `receive` for what makes a queue, `CreateUniqueQueue`; else empty."""
    parts = words.split(name.decode("utf-8", "replace"))
    if not parts:
        return ""
    return "send" if parts[0] in _PUTS else "receive" if parts[-1] in _QUEUES else ""


class _Keyed:
    def __init__(self, data: bytes, lines: list[int], defined: DefinitionTree, scope: Callable[[int], str]) -> None:
        self._data = data
        self._defined = defined
        self._scope = scope
        self._starts = [one.start for one in defined.all]
        self._lines = lines

    def _line(self, node: Node) -> int:
        """Not by `start_point`, which crashes the binding (tree-sitter 0.26 on Python 3.11)."""
        return bisect_right(self._lines, node.start_byte)

    def _text(self, node: Node) -> str:
        end = min(node.end_byte, node.start_byte + LONGEST_ARGUMENT)
        return self._data[node.start_byte : end].decode("utf-8", "replace")

    def calls(self, names: list[Node]) -> Iterator[ResolutionLink]:
        for node in names:
            role = _role(self._data[node.start_byte : node.end_byte])
            if role and (site := self._site(node)) is not None:
                yield from self._links(site, role)

    def queues(self, names: list[Node]) -> Iterator[ResolutionLink]:
        for node in names:
            role = _queue_role(self._data[node.start_byte : node.end_byte])
            site = self._site(node) if role else None
            if site is None or site.is_decorator or (api := chain(site.name)) == UNKNOWN:
                continue
            owner = api.rpartition(".")[0].rpartition(".")[2] if role == "send" else self._assigned_to(site.call)
            given = [one for one in site.arguments if one.child_by_field_name("arguments") is None]
            handlers = self._handlers(site, given) if role == "receive" else []
            if set(words.split(owner)) & _QUEUES and (handlers or role == "send"):
                value = "\t".join([str(self._line(site.call)), api, ",".join(handlers)])
                yield ResolutionLink(role, self._scope(site.call.start_byte), f"<-{owner}", value)

    def _assigned_to(self, call: Node) -> str:
        """The variable or field that takes the result of a call."""
        before = self._data[max(0, call.start_byte - LONGEST_LEFT_SIDE) : call.start_byte].rpartition(b"\n")[2]
        found = _ASSIGNED_TO.search(before)
        return found[1].decode("utf-8", "replace") if found else ""

    def annotations(self, nodes: list[Node]) -> Iterator[ResolutionLink]:
        """The links of Java annotations, which are not calls in the syntax tree."""
        for node in nodes:
            name, inner = node.child_by_field_name("name"), node.child_by_field_name("arguments")
            if name is not None and inner is not None and _role(self._data[name.start_byte : name.end_byte]):
                site = CallSite(node, _children(inner), self._text(name), is_decorator=True)
                yield from self._links(site, "receive")

    def _site(self, name: Node) -> CallSite | None:
        call: Node | None = name.parent
        for _ in range(3):
            if call is None:
                return None
            inner = call.child_by_field_name("arguments")
            if inner is not None:
                decorates = call.parent is not None and call.parent.type in _DECORATES
                written = self._data[call.start_byte : name.end_byte].decode("utf-8", "replace")
                return CallSite(call, _children(inner), written, decorates)
            call = call.parent
        return None

    def _links(self, site: CallSite, role: str) -> Iterator[ResolutionLink]:
        api = chain(site.name.removeprefix("@"))
        if api == UNKNOWN:
            return
        keys, used = self._keys(site, role, api)
        if not keys:
            return
        others = [one for at, one in enumerate(site.arguments) if at != used]
        handlers = self._handlers(site, others) if role != "send" else []
        if role == "both":
            role = "receive" if handlers else "send"
        if role == "receive" and not handlers:
            return
        line = self._line(site.call)
        scope = self._scope(site.call.start_byte)
        for key in keys:
            yield ResolutionLink(role, scope, key, "\t".join([str(line), api, ",".join(handlers)]))

    def _keys(self, site: CallSite, role: str, api: str) -> tuple[list[str], int]:
        """The keys of a call, and the index of the argument that contains them."""
        for at, argument in enumerate(site.arguments[:3]):
            text = self._text(argument)
            if at and not _NAMED_KEY.match(text):
                continue
            if keys := _written_keys(argument, text):
                return keys, at
            if role == "send" and argument.type in ("object", "dictionary") and (found := _MESSAGE_TYPE.search(text)):
                return _strings(text[found.end() : found.end() + 80])[:1] or _constant(text[found.end() :]), at
        return self._object_key(site, role, api)

    def _object_key(self, site: CallSite, role: str, api: str) -> tuple[list[str], int]:
        """The signal that a call is made on, or that a decorator names."""
        owner, _, name = api.rpartition(".")
        if site.is_decorator:
            if role != "receive" or not site.arguments or name not in _OBJECT_RECEIVES:
                return [], -1
            names = _NAMES.findall(self._text(site.arguments[0]))
            return [f"@{one.rpartition('.')[2]}" for one in names[:MOST_KEYS]], 0
        if _OWN_EVENT.fullmatch(name):
            return [f"@{name}"], -1
        last = owner.rpartition(".")[2].lstrip("_")
        wanted = _OBJECT_SENDS if role == "send" else _OBJECT_RECEIVES
        # With a second argument the first one would be a key that is only known at run time.
        positional = [one for one in site.arguments if one.type != "keyword_argument"]
        is_signal = name in wanted and len(positional) <= 1 and len(last) > 2 and last.isidentifier()  # noqa: PLR2004
        return ([f"@{last}"] if is_signal else []), -1

    def _handlers(self, site: CallSite, arguments: list[Node]) -> list[str]:
        if site.is_decorator:
            decorated = self._decorated(site.call)
            return [f"={decorated}"] if decorated else []
        found: list[str] = []
        for one in arguments[:MOST_HANDLERS]:
            found += self._handler(one)
        return list(dict.fromkeys(found))[:MOST_HANDLERS]

    def _handler(self, node: Node, depth: int = 0) -> list[str]:
        if node.type in _CLOSURES:
            return [HERE]
        if node.type in ("argument", "keyword_argument", "pair", "spread_element") and node.named_child_count:
            return self._handler(_children(node)[-1], depth)
        inner = node.child_by_field_name("arguments")
        if inner is not None and depth < 2:  # noqa: PLR2004 - wrappers: asyncHandler(fn), this.run.bind(this)
            called = chain(self._text(node))
            bound = [called.removesuffix(".bind()")] if called.endswith(".bind()") else []
            made = [called] if called.endswith("()") and called.rpartition(".")[2][:1].isupper() else []
            return [*bound, *made] or [each for one in _children(inner)[:3] for each in self._handler(one, depth + 1)]
        written = self._text(node).replace("::", ".") if node.type == "method_reference" else self._text(node)
        found = chain(written)
        return [found] if found not in (UNKNOWN, "'") and "," not in found else []

    def _decorated(self, call: Node) -> str:
        """The definition that a decorator or annotation belongs to: the one around it, or the next one."""
        inner = self._defined.around(call.start_byte)
        if inner is not None and inner.names and inner.names[0].start > call.end_byte:
            return inner.qualified
        at = bisect_left(self._starts, call.end_byte)
        return self._defined.all[at].qualified if at < len(self._starts) else ""

    def labels(self, nodes: list[Node]) -> Iterator[ResolutionLink]:
        """Labels of a switch: the function around them receives the messages that they name."""
        for node in nodes:
            scope = self._scope(node.start_byte)
            for key in _strings(self._text(node))[:1] if scope else ():
                yield ResolutionLink("receive", scope, key, f"{self._line(node)}\tswitch\t={scope}")

    def channels(self, nodes: list[Node], role: str) -> Iterator[ResolutionLink]:
        for node in nodes:
            found = chain(self._text(node))
            name = found.rpartition(".")[2]
            scope = self._scope(node.start_byte)
            if scope and name.isidentifier() and (role == "send" or _CHANNEL.search(name)):
                handlers = f"={scope}" if role == "receive" else ""
                yield ResolutionLink(role, scope, f"<-{name}", f"{self._line(node)}\t{found}\t{handlers}")


def _children(node: Node) -> list[Node]:
    return [one for one in node.named_children[:MOST_CHILDREN] if one.type != "comment"]


def _written_keys(node: Node, text: str) -> list[str]:
    text = (
        _NAMED.sub("", text, count=1) if node.type in ("keyword_argument", "element_value_pair", "argument") else text
    )
    if text[:1] in "\"'`" or text[1:2] in ("'", '"') or node.type in _LISTS or text[:1] in "[{(":
        if node.type in ("object", "dictionary"):
            return []
        return _strings(text)[:MOST_KEYS] or _constant(text)
    return _constant(text)


def _strings(text: str) -> list[str]:
    found = (_HOLE.sub("*", one[2]) for one in _STRING.finditer(text))
    return list(dict.fromkeys(key for key in found if _KEY.fullmatch(key) and len(key.replace("*", "")) > 1))


def _constant(text: str) -> list[str]:
    """`Events.UserCreated`, `Signal::Stop(now)`, `USER_CREATED`."""
    if found := _VARIANT.match(text.strip().removeprefix("Some(").removeprefix("Ok(")):
        return [f"#{found[1]}.{found[2]}"]
    found = _CONSTANT.match(text.strip())
    return [f"#{found[1].replace('::', '.')}"] if found else []


def keyed_links(
    data: bytes, lines: list[int], captures: Captures, defined: DefinitionTree, scope: Callable[[int], str]
) -> Iterator[ResolutionLink]:
    """`lines` are the offsets of lines, `scope` returns the definition around an offset."""
    keyed = _Keyed(data, lines, defined, scope)
    count = 0
    for links in (
        keyed.calls(captures.get("call", [])),
        keyed.queues(captures.get("call", [])),
        keyed.annotations([one for one in captures.get("mark", ()) if one.type == "annotation"]),
        keyed.labels(captures.get("label", [])),
        keyed.channels(captures.get("chan.send", []), "send"),
        keyed.channels(captures.get("chan.receive", []), "receive"),
    ):
        for link in links:
            count += 1
            if count > MOST:
                return
            yield link
