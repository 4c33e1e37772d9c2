"""Reads one layer of settings (a file, the environment, the flags) and finds its unknown keys and wrong values.

A layer is validated value by value, before the layers are merged, so that each problem has its file and line and the
remaining values can still be used. pydantic validates a value; its errors are translated to messages with a remedy.
`loader` decides which layer takes precedence and what it may set.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from llmc.settings.fields import SettingField, settings_of, walk
from llmc.settings.problems import SettingSource, SettingsProblem, WrongValueError, describe_type, nearest, shown
from llmc.settings.renamed import move_old_keys
from llmc.settings.sections import Settings
from llmc.settings.types import Kind, SettingsModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic_core import ErrorDetails

    from llmc.settings.types import ValueContext

__all__ = ["Key", "OverrideText", "SettingsLayer", "Value", "build", "dotted", "skippable_entry"]

_LISTS = frozenset({Kind.TEXTS, Kind.NAMES, Kind.PATHS, Kind.TABLES})
_COMPOUND = _LISTS | {Kind.SECRETS, Kind.LISTS, Kind.OBJECT, Kind.ENTRIES, Kind.SECTION}
_HIDDEN = frozenset({Kind.SECRET, Kind.SECRETS})
_OWN_MESSAGES = frozenset({"nul", "path_type", "inconsistent"})
Key = tuple[str | int, ...]
Finding = tuple[Key, str, str]  # key, reason, hint

# Other programs' JSON files call the delegates `tools`, in a list; `tools.script` has the tools written in Lua. An
# editor's schema hint is not a setting.
_ALIASES = {"tools": "delegates"}
_IGNORED = frozenset({"$schema"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")  # it becomes part of a tool's name, a URL, a variable


# A wrong persona or server must not stop `grep`, so invalid entries of these tables are skipped.
_SKIPPABLE: tuple[Key, ...] = (("agents", "script"), ("agents",), ("mcps",), ("delegates",), ("tools", "script"))


@dataclass(frozen=True, slots=True)
class OverrideText:
    """A value from a variable or flag, as text. A repeated flag adds to a list.

    A variable may contain several paths, separated as in PATH; a flag has one, which may contain any character.
    """

    texts: tuple[str, ...]
    split_paths: bool

    def raw(self, kind: Kind) -> Any:
        parts = [_from_text(kind, text, split_paths=self.split_paths) for text in self.texts]
        if all(isinstance(part, list) for part in parts):
            return [item for part in parts for item in part]
        return parts[-1]


def validate(setting: SettingField, raw: Any, context: ValueContext) -> object:
    """The typed value, or WrongValueError with the reason. Text may be "5" for 5 or "off" for false."""
    from_text = isinstance(raw, OverrideText)
    raw = raw.raw(setting.kind) if from_text else raw
    try:
        return setting.adapter.validate_python(raw, strict=False if from_text else None, context=context)
    except ValidationError as error:
        raise WrongValueError(explain(setting, error.errors(include_url=False)[0], raw)) from None


def explain(setting: SettingField, error: ErrorDetails, raw: Any) -> str:
    """The end of the sentence "index.workers …"."""
    kind, found, context = error["type"], error["input"], error.get("ctx", {})
    if setting.kind in _HIDDEN:
        return f"must be {setting.kind}"
    if kind == "float_type" and type(found) is int:  # one with thousands of digits
        kind = "finite_number"
    reasons: dict[str, Callable[[], str]] = {
        **dict.fromkeys(_OWN_MESSAGES, lambda: error["msg"]),
        "literal_error": lambda: _choice(setting, raw),
        "greater_than_equal": lambda: f"must be at least {context['ge']:,}, not {shown(found)}",
        "less_than_equal": lambda: f"must be at most {context['le']:,}, not {shown(found)}",
        "string_too_short": lambda: "must not contain an empty string" if error["loc"] else "must not be empty",
        "too_short": lambda: "must not be empty",
        "finite_number": lambda: "must be a finite number",
    }
    return reasons.get(kind, lambda: f"must be {setting.kind}, not {_quoted(raw)}")()


def _choice(setting: SettingField, raw: Any) -> str:
    meant = nearest(raw, setting.choices) if isinstance(raw, str) else ""
    offered = f"; did you mean {meant}?" if meant else ""
    return f"must be one of {', '.join(filter(None, setting.choices))}, not {_quoted(raw)}{offered}"


def _quoted(raw: object) -> str:
    if isinstance(raw, str):
        return f'"{shown(raw)}"'
    return shown(raw) if isinstance(raw, int | float) else describe_type(raw)


def _from_text(kind: Kind, text: str, *, split_paths: bool) -> Any:
    if kind not in _COMPOUND:
        return text.strip() if kind in (Kind.SWITCH, Kind.WHOLE, Kind.NUMBER) else text
    if text.lstrip().startswith(("[", "{")):
        import json  # noqa: PLC0415 - rarely needed

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass  # a pattern such as `[ab]*.py` is not JSON, but a list of one item
    if kind not in _LISTS:
        return text
    words = kind in (Kind.TEXTS, Kind.NAMES)
    if not words and not split_paths:
        return [text]
    separator = "," if words else os.pathsep
    return [part.strip() for part in text.split(separator) if part.strip()]


@dataclass(frozen=True, slots=True)
class Value:
    """A validated value. None means "this entry exists"; its own keys carry the values."""

    value: object
    source: SettingSource
    user_only: bool


def dotted(key: Key) -> str:
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def skippable_entry(key: Key) -> Key:
    """The skippable entry around the key; empty if there is none."""
    above = next((each for each in _SKIPPABLE if key[: len(each)] == each), None)
    return key[: len(above) + 1] if above is not None and len(key) > len(above) else ()


def build(model: type[SettingsModel], values: Mapping[str, object], key: Key) -> SettingsModel | list[Finding]:
    """A table of validated values as its model, or (key, reason, hint) for missing and inconsistent values."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        return [_as_problem(model, each, key) for each in error.errors(include_url=False)]


def _as_problem(model: type[SettingsModel], error: ErrorDetails, key: Key) -> Finding:
    settings = settings_of(model)
    name = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "missing":
        return key, f"{name} is missing: {_within_sentence(settings[name].doc)}", ""
    if error["type"] == "inconsistent":
        context = error["ctx"]
        return ((*key, context["field"]) if context["field"] else key), context["reason"], context["hint"]
    return (*key, *error["loc"]), explain(settings[name], error, error["input"]), ""


def _within_sentence(doc: str) -> str:
    """The description of a setting as part of a message."""
    small = doc[:1].lower() if doc[1:2].islower() else doc[:1]
    return (small + doc[1:]).removesuffix(".")


@dataclass(slots=True)
class SettingsLayer:
    """`places` are the file lines, variables or flags of the keys."""

    source: SettingSource
    context: ValueContext
    places: dict[Key, SettingSource] = field(default_factory=dict)
    values: dict[Key, Value] = field(default_factory=dict)
    problems: list[SettingsProblem] = field(default_factory=list)
    notices: list[SettingsProblem] = field(default_factory=list)
    skipped: set[Key] = field(default_factory=set)

    def read(self, table: Mapping[str, Any]) -> None:
        """Read a whole document."""
        given = {key: dict(each) if isinstance(each, dict) else each for key, each in table.items()}
        for old, new, ignored in move_old_keys(given):
            key = tuple(old.split("."))
            if new:
                self._rename(key, tuple(new.split(".")))
            reason = f"was renamed to {new}" if new else "was removed"
            hint = ignored or "the old name works until the next release"
            self.notices.append(SettingsProblem(self.place(key), old, reason, hint))
        tools = given.get("tools")
        if isinstance(tools, dict) and "script" in tools:
            scripts = tools.pop("script")
            self._put(settings_of(Settings)["tool_scripts"], scripts, ("tools", "script"), user_only=False)
            given = given if tools else {key: each for key, each in given.items() if key != "tools"}
        self._section(Settings, {key: each for key, each in given.items() if key not in _IGNORED}, ())

    def report(self, key: Key, reason: str, hint: str = "") -> None:
        """Add a problem. In a file or variable it only skips the entry, if that is possible; a wrong flag stops the
        command."""
        entry = () if self.source.layer == "flag" else skippable_entry(key)
        self.problems.append(SettingsProblem(self.place(key), dotted(key), reason, hint, dotted(entry)))
        if entry:
            self.skipped.add(entry)

    def place(self, key: Key) -> SettingSource:
        """The position of the key, or of the nearest table around it."""
        around = (self.places[key[:end]] for end in range(len(key), 0, -1) if key[:end] in self.places)
        return next(around, self.source)

    def _put(self, setting: SettingField, raw: Any, key: Key, *, user_only: bool) -> None:
        user_only = user_only or setting.user_only
        if isinstance(raw, OverrideText) and setting.model is not None:
            raw = raw.raw(setting.kind)
        if key == ("home",):
            self.report(key, "can only be set in the environment", "LLMC_HOME=PATH")
        elif setting.kind is Kind.SECTION:
            assert setting.model is not None
            self._section(setting.model, raw, key, user_only=user_only)
        elif setting.kind is Kind.ENTRIES:
            self._entries(setting, raw, key, user_only=user_only)
        else:
            self._value(setting, raw, key, user_only=user_only)

    def _value(self, setting: SettingField, raw: Any, key: Key, *, user_only: bool) -> None:
        try:
            is_list = setting.kind is Kind.TABLES
            value = self._tables(setting, raw, key) if is_list else validate(setting, raw, self.context)
        except WrongValueError as wrong:
            self.report(key, str(wrong))
            return
        self.values[key] = Value(value, self.place(key), user_only)

    def _section(self, model: type[SettingsModel], table: Any, key: Key, *, user_only: bool = False) -> None:
        if not isinstance(table, dict):
            self.report(key, f"must be a table, not {describe_type(table)}")
            return
        for name, setting in self._matched(model, table, key).items():
            self._rename((*key, name), (*key, setting.name))
            self._put(setting, table[name], (*key, setting.name), user_only=user_only)

    def _matched(self, model: type[SettingsModel], table: dict[str, Any], key: Key) -> dict[str, SettingField]:
        """The setting of each key as it is spelled in the table; a key without one is a problem."""
        settings, seen, matched = settings_of(model), dict[str, str](), dict[str, SettingField]()
        for name in table:
            right = _canonical(name, settings)
            if right is None:
                self.report((*key, name), "no such setting", _suggestion(name, settings, key))
            elif right in seen:
                self.report((*key, name), f"is another spelling of {seen[right]}", "set it once")
            else:
                seen[right], matched[name] = name, settings[right]
        return matched

    def _rename(self, old: Key, new: Key) -> None:
        """Values are stored under canonical names; the places were recorded under the names in the file."""
        if old != new:
            moved = {(*new, *key[len(old) :]): each for key, each in self.places.items() if key[: len(old)] == old}
            self.places.update(moved)

    def _entries(self, setting: SettingField, raw: Any, key: Key, *, user_only: bool) -> None:
        assert setting.model is not None
        raw = self._by_name(raw, key) if isinstance(raw, list) else raw
        if not isinstance(raw, dict):
            self.report(key, f"must be {Kind.ENTRIES}, not {describe_type(raw)}")
            return
        for name, table in raw.items():
            nested = _nested(key, name)
            if nested is not None:
                self._put(nested, table, (*key, name), user_only=user_only)
            elif not _NAME.fullmatch(name):
                self.report((*key, name), "a name consists of letters, digits, dots, dashes and underscores")
            elif not isinstance(table, dict):
                self.report((*key, name), f"must be a table, as in [{dotted(key)}.NAME], not {describe_type(table)}")
            else:
                self._entry(setting.model, table, (*key, name), user_only=user_only)

    def _by_name(self, raw: list[Any], key: Key) -> dict[str, Any]:
        """Entries may also be a list of tables, each with a `name`."""
        found: dict[str, Any] = {}
        for place, table in enumerate(raw):
            name = table.get("name") if isinstance(table, dict) else None
            if not isinstance(name, str) or not name or name in found:
                self.report((*key, place), "must be a table with a unique name")
            else:
                self._rename((*key, place), (*key, name))
                found[name] = {part: each for part, each in table.items() if part != "name"}
        return found

    def _entry(self, model: type[SettingsModel], table: dict[str, Any], key: Key, *, user_only: bool) -> None:
        """One named table. An empty one is an entry too, with all defaults."""
        self.values.setdefault(key, Value(None, self.place(key), user_only))
        if model.model_config.get("extra") == "allow":
            known = settings_of(model)
            further = {name: each for name, each in table.items() if _canonical(name, known) is None}
            for name, each in further.items():
                raw = each.raw(Kind.OBJECT) if isinstance(each, OverrideText) else each
                self.values[*key, name] = Value(raw, self.place((*key, name)), user_only)
            table = {name: each for name, each in table.items() if name not in further}
        self._section(model, table, key, user_only=user_only)

    def _tables(self, setting: SettingField, raw: Any, key: Key) -> tuple[SettingsModel, ...]:
        if not isinstance(raw, list):
            raise WrongValueError(f"must be {Kind.TABLES}, not {describe_type(raw)}")
        made = (self._table(setting, each, (*key, place)) for place, each in enumerate(raw))
        return tuple(each for each in made if each is not None)

    def _table(self, setting: SettingField, raw: Any, key: Key) -> SettingsModel | None:
        assert setting.model is not None
        if isinstance(raw, str) and setting.shorthand:
            raw = {setting.shorthand: raw}
        inner = SettingsLayer(self.source, self.context, self.places)
        inner._section(setting.model, raw, key)
        if not inner.problems:
            made = build(setting.model, {str(path[-1]): each.value for path, each in inner.values.items()}, key)
            if isinstance(made, SettingsModel):
                return made
            inner.report_all(made)
        self.problems += inner.problems
        self.skipped |= inner.skipped
        return None

    def report_all(self, found: Iterable[Finding]) -> None:
        for key, reason, hint in found:
            self.report(key, reason, hint)


def _canonical(name: str, settings: Mapping[str, SettingField]) -> str | None:
    """The setting's name for a key: as it is, from camelCase, or by an alias."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    found = next((each for each in (name, snake, _ALIASES.get(name, "")) if each in settings), None)
    return None if found is None or settings[found].at else found


def _nested(key: Key, name: str) -> SettingField | None:
    """`agents.script` looks like an entry of `agents`, but is another table of entries."""
    wanted = dotted((*key, name))
    return next((setting for setting in settings_of(Settings).values() if setting.at == wanted), None)


def _suggestion(name: str, settings: Mapping[str, SettingField], key: Key) -> str:
    here = nearest(name, settings)
    if here:
        return f"did you mean {dotted((*key, here))}?"
    last = name.rpartition(".")[2]
    elsewhere = [setting.name for setting in walk(Settings) if setting.name.rpartition(".")[2] == last]
    return f"did you mean {elsewhere[0]}?" if elsewhere else f"available here: {', '.join(settings)}"
