"""Expressions and types as *chains*: the short form in which the code graph reads receivers, values and annotations.

A chain consists of names joined by dots, each possibly called or indexed: `self.pool.get().items[]`. It contains no
arguments, and a dot replaces `::`, `->` and `?.`; `new Foo(x)`, `&Foo{}` and `Foo(x)` all become `Foo()`. A literal is
`'`, type arguments are a backquote, and any other expression is `?`. A type is a chain too: `Optional[Foo]` is
`Foo`, a list of them `Foo[]`, and alternatives are joined by `|`.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["GENERIC", "LITERAL", "UNKNOWN", "chain", "type_chain"]

UNKNOWN, LITERAL, GENERIC = "?", "'", "`"
LONGEST_CHAIN = 160
# Longer expressions are tables, or whole programs in an argument.
LONGEST_TEXT = 6_000
MOST_ALTERNATIVES = 3

_PLAIN = re.compile(r"[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*")
_NAME = re.compile(r"[@$#]?[^\W\d][\w$]*!?")
_PREFIX = re.compile(r"(?:(?:await|new|yield|move|throw|typeof|ref|out|in|co_await)\b\s*|&mut\b\s*|[&*]\s*)+")
_LITERAL = re.compile(r"(?:[rbfuBRFU@$]{0,2}[\"'`]|\d|\[|\{|(?:true|false|null|None|True|False|nil|undefined)\b)")
_JOINT = re.compile(r"\s*(?:\?\.|!\.|\.|::|->)\s*")
_GENERIC = re.compile(r"\s*(?:::)?<[^()<>]*(?:<[^()<>]*(?:<[^()<>]*>[^()<>]*)*>[^()<>]*)*>(?=\s*[({:.])")
_BRACKET = re.compile(r"[()\[\]{}]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL)
_OPENING, _CLOSING = "([{", ")]}"


@lru_cache(maxsize=8_192)
def chain(text: str) -> str:
    """The chain of an expression."""
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return text if len(text) <= LONGEST_CHAIN else UNKNOWN
    found = _read(text) if len(text) <= LONGEST_TEXT else UNKNOWN
    return found if len(found) <= LONGEST_CHAIN else UNKNOWN


def _read(text: str) -> str:
    prefix = _PREFIX.match(text)
    at = prefix.end() if prefix else 0
    if text[at : at + 1] == "(":
        end = _closing(text, at)
        parts, at = [_read(text[at + 1 : end - 1].strip())] if end else [UNKNOWN], end
    elif found := _LITERAL.match(text, at):
        parts, at = [LITERAL], _after_literal(text, found.start())
    elif name := _NAME.match(text, at):
        parts, at = [name[0].rstrip("!")], name.end()
    else:
        return UNKNOWN
    return _rest(text, at, parts) if parts[0] != UNKNOWN and at else UNKNOWN


def _rest(text: str, at: int, parts: list[str]) -> str:
    while at < len(text):
        sign = text[at]
        if sign in _OPENING:
            at = _closing(text, at)
            if not at:
                return UNKNOWN
            if sign != "{" or parts[-1] != "()":  # `new Foo() { … }` adds nothing to the call
                parts.append("[]" if sign == "[" else "()")
        elif joint := _JOINT.match(text, at):
            at = joint.end()
            name = _NAME.match(text, at)
            if name is None:
                if generic := _GENERIC.match(text, max(at - 2, 0)):  # parse::<T>()
                    at = generic.end()
                    continue
                return UNKNOWN
            parts.append(f".{name[0].rstrip('!')}")
            at = name.end()
        elif generic := _GENERIC.match(text, at):
            at = generic.end()
            parts.append(GENERIC)
        elif sign in "?!;" or sign.isspace():
            at += 1
        else:
            return UNKNOWN
    return "".join(parts)


def _after_literal(text: str, at: int) -> int:
    if text[at] in _OPENING:
        return _closing(text, at)
    found = re.compile(r"\w*(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|[\w.]+)", re.DOTALL).match(
        text, at
    )
    return found.end() if found else 0


def _closing(text: str, at: int) -> int:
    """The end of the bracket that opens here; 0 if it does not close."""
    depth = 0
    for found in _BRACKET.finditer(text, at):
        sign = found[0]
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
            if depth == 0:
                return found.end()
    return 0


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TYPE_PREFIX = re.compile(
    r"(?:(?:mut|dyn|impl|const|readonly|final|struct|ref|out|in|params|static|volatile|keyof|asserts|class|enum|typename"
    r"|unique|scoped|unsafe|extern|inline|register)\b\s*|'\w+\s*|[&*:]\s*|->\s*|\w+\s+is\s+)+"
)
# Wrapper types: a call on the value is resolved as a call on its content.
_WRAPPERS = _words(
    """
    Optional Annotated Final ClassVar Awaitable Coroutine Promise PromiseLike Task ValueTask Option Result Box
    Arc Rc Ref RefMut Cow Pin RefCell Cell Mutex RwLock MutexGuard RwLockReadGuard RwLockWriteGuard OwnedMutexGuard
    OwnedRwLockReadGuard OwnedRwLockWriteGuard OnceCell OnceLock LazyLock Weak NonNull shared_ptr unique_ptr weak_ptr
    Readonly Partial Required NonNullable CompletableFuture Future Lazy Nullable NotRequired ReadOnly Provider
    Supplier BoxFuture LocalBoxFuture
    """
)
_CONTAINERS = _words(
    """
    List list Sequence MutableSequence Iterable Iterator Generator AsyncIterator AsyncIterable AsyncGenerator
    Collection Set set FrozenSet frozenset AbstractSet MutableSet Tuple tuple Deque deque Array ReadonlyArray
    Vec VecDeque HashSet BTreeSet IEnumerable IList ICollection IReadOnlyList IReadOnlyCollection
    IAsyncEnumerable ArrayList LinkedList Queue Stack Stream vector array span Span ImmutableArray
    """
)
_MAPS = _words(
    """
    Dict dict Mapping MutableMapping DefaultDict defaultdict OrderedDict Map ReadonlyMap Record HashMap BTreeMap
    ConcurrentHashMap TreeMap LinkedHashMap ConcurrentMap Dictionary IDictionary IReadOnlyDictionary
    ConcurrentDictionary WeakMap map unordered_map
    """
)
# Types without information about a value.
_NOTHING = _words("None null undefined void nil NoneType never object Any any unknown Object var auto type") | {""}
_PRIMITIVE = _words(
    """
    str int float bool bytes string number boolean symbol bigint error byte rune uint
    usize isize char double long short String Integer Boolean Long Double u8 u16 u32 u64 u128 i8 i16 i32
    i64 i128 f32 f64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 uintptr float32 float64 decimal
    bytearray complex
    """
)
_LIFETIME = re.compile(r"\s*'\w+\s*")
_MARKER = re.compile(
    r"\s*(?:(?:dyn|impl)\s+)?(?:'\w+|\??Sized|Send|Sync|Unpin|Clone|Copy|Debug|Default|Eq|PartialEq|Hash)\s*"
)
_ASSOCIATED = re.compile(r"\s*(?:Output|Item)\s*=\s*")  # Iterator<Item = Parcel>
_GO_LIST, _GO_MAP = re.compile(r"\[\w*\]|\.\.\.|chan\s+|<-\s*chan\s+"), re.compile(r"map\[[^\]]*\]")


@lru_cache(maxsize=8_192)
def type_chain(text: str) -> str:
    """The chain of a type, as it is annotated."""
    text = text.strip().strip("\"'").strip()
    if len(text) > LONGEST_TEXT:
        return UNKNOWN
    alternatives = _split(text, "|")
    if len(alternatives) > 1:
        chains = dict.fromkeys(type_chain(one) for one in alternatives if one.strip() not in _NOTHING)
        return "|".join([one for one in chains if one != UNKNOWN][:MOST_ALTERNATIVES]) or UNKNOWN
    bounds = _split(text, "+")
    if len(bounds) > 1:  # dyn Storage + Send + 'static
        text = next((one.strip() for one in bounds if not _MARKER.fullmatch(one)), bounds[0])
    found = _one_type(text)
    return found if len(found) <= LONGEST_CHAIN else UNKNOWN


def _one_type(text: str) -> str:
    if prefix := _TYPE_PREFIX.match(text):
        text = text[prefix.end() :]
    if found := _GO_LIST.match(text) or _GO_MAP.match(text):
        inner = type_chain(text[found.end() :])
        return inner if inner in (UNKNOWN, LITERAL) else f"{inner}[]"
    text = text.rstrip("?!&* ")
    if text.endswith("[]"):
        inner = type_chain(text[:-2])
        return inner if inner in (UNKNOWN, LITERAL) else f"{inner}[]"
    head = re.match(r"[^\W\d][\w$]*(?:(?:\.|::)[^\W\d][\w$]*)*", text)
    if head is None:
        return _first_of(text[1:-1]) if text[:1] == "(" and text[-1:] == ")" and "=>" not in text else UNKNOWN
    name, rest = head[0].replace("::", "."), text[head.end() :].strip()
    if not rest:
        return LITERAL if name in _PRIMITIVE else UNKNOWN if name in _NOTHING else name
    return _generic(name, rest)


def _first_of(text: str) -> str:
    """The first of several results, which Go may name."""
    first = _split(text, ",")[0].strip()
    named = re.fullmatch(r"(?!chan\b|map\b|func\b|struct\b|interface\b)\w+\s+(\S.*)", first)
    return type_chain(named[1] if named else first)


def _generic(name: str, rest: str) -> str:
    last = name.rpartition(".")[2]
    if rest[0] not in "[<" or rest[-1] not in "]>":
        return name + GENERIC if rest[0] in "[<" else UNKNOWN
    inner = [_ASSOCIATED.sub("", one) for one in _split(rest[1:-1], ",") if not _LIFETIME.fullmatch(one)] or [""]
    if last in ("Union", "Either"):
        return type_chain("|".join(inner))
    if last in ("Callable", "Type", "type", "Literal", "Func", "Action"):
        return UNKNOWN
    if last in _WRAPPERS:
        return type_chain(inner[-1] if last == "Coroutine" else inner[0])
    if last in _CONTAINERS or last in _MAPS:
        element = type_chain(inner[-1] if last in _MAPS else inner[0])
        return element if element in (UNKNOWN, LITERAL) else f"{element}[]"
    return name + GENERIC


def _split(text: str, sign: str) -> list[str]:
    """Split at each `sign` outside brackets."""
    if sign not in text:
        return [text]
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[at - 1 : at] not in ("=", "-")):
            depth -= 1
        elif character == sign and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
