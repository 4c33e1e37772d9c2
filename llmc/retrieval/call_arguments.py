"""Calls of a function that pass an argument: `requests.get` with `verify=False`, by keyword or by position.

A keyword is found in every notation that languages have for one (`verify=False`, `verify: false`, `{ verify: false }`);
a position is known from the signature, where the repository defines the function, or is given as a number (`2=False`).
Values are compared as text, without white space and whatever quotes they have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from llmc.base.errors import LlmcError, QueryError
from llmc.base.text import Binary, decode
from llmc.retrieval.structure import LARGEST_FILE, VARIABLE, parsed, rule_for, shown, spaced_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.base.model import Symbol
    from llmc.retrieval.view import View

__all__ = ["ArgumentCondition", "CallShape", "call_shape", "parameters"]

NAME: Final = re.compile(r"(?:[^\W\d][\w$]*(?:\.|::|->|#))*[^\W\d][\w$]*!?")
JOINTS: Final = re.compile(r"::|->|[.#]")
CONDITION: Final = re.compile(r"\s*([\w$-]+)\s*(?:(==?|!=)\s*(.*))?", re.DOTALL)
_QUOTES: Final = re.compile(r"^[rbuf]?(?:\"{3}|'{3}|[\"'`])(.*?)(?:\"{3}|'{3}|[\"'`])$", re.DOTALL | re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")
# A name, one of these signs and a value make a keyword in every grammar.
KEYWORDS: Final = frozenset(
    {"keyword_argument", "argument", "value_argument", "pair", "assignment_expression", "field", "keyed_element"}
    | {"initializer_pair", "named_argument", "field_initializer"}
)
SIGNS: Final = frozenset({"=", ":", "=>"})
# Objects, tables and structures whose entries are options: `get(url, { verify: false })`, `Get(url, &Options{…})`.
OBJECTS: Final = frozenset(
    {"object", "hash", "table_constructor", "initializer_list", "composite_literal", "literal_value"}
    | {"unary_expression", "argument", "array_creation_expression"}
)
CONSTANTS: Final = frozenset({"true", "false", "none", "null", "nil"})  # `False` and `false` are the same
CONSTRUCTORS: Final = ("__init__", "constructor", "initialize", "__construct")
TYPE_FIRST: Final = frozenset({"java", "csharp", "c", "cpp", "dart"})
# Patterns of a call, by the separator between a name and its qualifier.
FORMS: Final = ("{}($$$ARGS)", "$R.{}($$$ARGS)", "$R->{}($$$ARGS)", "$R::{}($$$ARGS)", "$R?.{}($$$ARGS)")
# Constructors, and literals of structures in Go and Rust.
NEW: Final = ("new {}($$$ARGS)", "new $R.{}($$$ARGS)", "{}{{$$$ARGS}}")
MOST_DEFINITIONS: Final = 40
LONGEST_SIGNATURE: Final = 40  # lines


@dataclass(frozen=True, slots=True)
class ArgumentCondition:
    """`value` None: whatever its value; `negated`: anything but that value, or, without one, not passed at all."""

    name: str
    value: str | None = None
    negated: bool = False

    @property
    def position(self) -> int | None:
        """`2=x` means the second argument."""
        return int(self.name) - 1 if self.name.isdecimal() else None


@dataclass(frozen=True, slots=True)
class CallArgument:
    keyword: str
    value: str


@dataclass
class CallShape:
    """Calls of `name` that fulfil all conditions. `by_keyword_alone`: some passed arguments by position, and no
    signature in the repository says which these are."""

    name: str
    conditions: tuple[ArgumentCondition, ...]
    by_keyword_alone: bool = False
    _positions: dict[tuple[str, str, str], int | None] = field(default_factory=dict)

    @property
    def words(self) -> frozenset[str]:
        return frozenset(part.rstrip("!") for part in JOINTS.split(self.name) if part)

    def may_match(self, text: str) -> bool:
        return self._called.search(text) is not None

    @cached_property
    def _called(self) -> re.Pattern[str]:
        name = spaced_name(self.name.rstrip("!")).pattern.removesuffix(r"\b")
        return re.compile(rf"{name}!?\s*(?:::)?(?:<[^()\n]*>)?\s*[(\[{{]")

    def check(self, languages: Iterable[str]) -> None:
        """A name is valid code in every language."""

    def matches(self, view: View, text: str, language: str) -> Iterator[tuple[int, str]]:
        rules = [rule for pattern in call_patterns(self.name) if (rule := rule_for(pattern, language))]
        readings = [reading for rule in rules for reading in rule.readings]
        for node in parsed(text, language).find_all({"rule": {"any": readings}}) if readings else ():
            if self._fulfils(view, list(arguments(node)), language):
                yield node.range().start.line + 1, shown(node)

    def _fulfils(self, view: View, given: list[CallArgument], language: str) -> bool:
        return all(self._holds(view, condition, given, language) for condition in self.conditions)

    def _holds(self, view: View, condition: ArgumentCondition, given: list[CallArgument], language: str) -> bool:
        passed = self._argument(view, condition, given, language)
        if passed is None and condition.position is None and any(not one.keyword for one in given):
            self.by_keyword_alone |= self._position(view, condition.name, language) is None
        if condition.value is None:
            return (passed is None) is condition.negated
        return passed is not None and same_value(passed.value, condition.value) is not condition.negated

    def _argument(
        self, view: View, condition: ArgumentCondition, given: list[CallArgument], language: str
    ) -> CallArgument | None:
        named = next((one for one in given if one.keyword == condition.name), None)
        position = condition.position
        if named is None and position is None:
            position = self._position(view, condition.name, language)
        if named is not None or position is None or not 0 <= position < len(given):
            return named
        return given[position] if not given[position].keyword else None

    def _position(self, view: View, parameter: str, language: str) -> int | None:
        """The position of a parameter, if all definitions of the name in the repository agree."""
        key = (view.root.id, language, parameter)
        if key not in self._positions:
            listed = [parameters(text, language) for text in signatures(view, self.name)]
            places = {names.index(parameter) for names in listed if parameter in names}
            self._positions[key] = places.pop() if len(places) == 1 else None
        return self._positions[key]


def call_shape(name: str, given: Sequence[str], missing: Sequence[str]) -> CallShape:
    """`given` are conditions such as `verify=False`, `verify!=True` or `verify`; `missing` are names of arguments."""
    if not NAME.fullmatch(name.removesuffix("()")):
        raise QueryError(
            f"{name[:60]!r} is not the name of a function",
            reason="arguments are looked for in calls of a name",
            hint="Give a name such as requests.get; patterns in code need no `with`.",
        )
    conditions = [condition_of(text) for text in given]
    conditions += [ArgumentCondition(text.strip(), negated=True) for text in missing]
    return CallShape(name.removesuffix("()"), tuple(conditions))


def condition_of(text: str) -> ArgumentCondition:
    found = CONDITION.fullmatch(text)
    if found is None:
        hint = "Write verify, verify=False, verify!=True or 2=False."
        raise QueryError(f"{text[:60]!r} is not an argument", hint=hint)
    name, sign, value = found.groups()
    value = None if value is None or VARIABLE.fullmatch(value.strip()) else value.strip()
    return ArgumentCondition(name, value, negated=sign == "!=")


def call_patterns(name: str) -> list[str]:
    """`requests.get` → calls of it, also of `self.requests.get`."""
    last = JOINTS.split(name)[-1]
    return [form.format(name) for form in (*FORMS, *(NEW if last[:1].isupper() else ()))]


def arguments(call: Any) -> Iterator[CallArgument]:
    for node in call.get_multiple_matches("ARGS"):
        if node.is_named() and "comment" not in node.kind():
            options = list(entries(node, DEEPEST_OPTIONS))
            yield from options or [keyword_of(node) or CallArgument("", node.text())]


def entries(node: Any, depth: int) -> Iterator[CallArgument]:
    """The options in an object that is passed."""
    if node.kind() in OBJECTS and depth and keyword_of(node) is None:
        for child in node.children():
            found = keyword_of(child)
            yield from (found,) if found else entries(child, depth - 1)


DEEPEST_OPTIONS: Final = 3


def keyword_of(node: Any) -> CallArgument | None:
    if node.kind() == "shorthand_property_identifier":
        return CallArgument(node.text(), node.text())
    parts = node.children() if node.kind() in KEYWORDS else []
    if len(parts) != 3 or parts[1].kind() not in SIGNS:  # noqa: PLR2004 - name, sign, value
        return None
    return CallArgument(parts[0].text().strip(":.\"'` "), parts[2].text())


def same_value(passed: str, wanted: str) -> bool:
    return plain(passed) == plain(wanted)


def plain(value: str) -> str:
    value = _SPACE.sub("", value.strip().rstrip(","))
    quoted = _QUOTES.fullmatch(value)
    if quoted:
        return f'"{quoted[1]}"'
    return value.lower() if value.lower() in CONSTANTS else value


def signatures(view: View, name: str) -> Iterator[str]:
    """The text of each definition of the name, up to the end of its parameters."""
    parts = JOINTS.split(name.rstrip("!"))
    catalog = view.store.catalog
    places = catalog.places(view.root.id)
    wanted = [parts[-1], *(f"{parts[-1]}.{one}" for one in CONSTRUCTORS)]
    found = [one for each in wanted for one in catalog.symbols(name=each)]
    callable_ = [one for one in found if one.symbol.kind in {"function", "method", "constructor", "macro"}]
    for one in callable_[:MOST_DEFINITIONS]:
        if (path := places.get(one.doc)) is not None:
            yield signature_text(view, path, one.symbol)


def signature_text(view: View, path: str, symbol: Symbol) -> str:
    if symbol.signature.count("(") <= symbol.signature.count(")"):
        return symbol.signature
    try:
        text = decode(view.root_fs.read(path, LARGEST_FILE)[0])
    except (LlmcError, OSError):
        return ""
    if isinstance(text, Binary):
        return ""
    return "\n".join(text.text.split("\n")[symbol.start_line - 1 : symbol.start_line - 1 + LONGEST_SIGNATURE])


def parameters(signature: str, language: str) -> list[str]:
    """The names of the parameters in order, without the receiver: `def get(self, url, verify=True)` → url, verify."""
    names = []
    for part in split_parameters(inside(signature, language)):
        name = parameter_name(part, language)
        if name and name not in {"self", "cls", "this"}:
            names.append(name)
    return names


def inside(signature: str, language: str) -> str:
    """The text in the parentheses of the parameters; of a method in Go the first ones are its receiver."""
    start = signature.find("(")
    if language == "go" and signature.lstrip().startswith("func ("):
        start = signature.find("(", signature.find(")"))
    depth = 0
    for at in range(max(start, 0), len(signature)):
        depth += signature[at] in "([{"
        depth -= signature[at] in ")]}"
        if depth == 0:
            return signature[start + 1 : at]
    return signature[start + 1 :]


def split_parameters(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += letter in "([{<"
        depth -= letter in ")]}" or (letter == ">" and text[at - 1 : at] not in ("-", "="))
        if letter == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


_IDENTIFIER: Final = re.compile(r"[^\W\d][\w$]*")


def parameter_name(part: str, language: str) -> str:
    bare = part.partition("=")[0].partition("//")[0].strip()
    if language in TYPE_FIRST:
        words = _IDENTIFIER.findall(bare)
        return words[-1] if words else ""
    if language not in {"go", "ruby", "lua"}:
        bare = bare.partition(":")[0]
    words = [word for word in _IDENTIFIER.findall(bare) if word not in {"mut", "ref"}]
    return words[0] if words and language in {"go", "rust"} else words[-1] if words else ""
