"""Defaults < user file < workspace file < environment < flags: one `Settings`, and where each value came from.

A workspace file may have come with a clone. It can only set what is indexed below it and the format of replies: roots
inside its own folder, but no programs, endpoints or secrets, unless the user's own file trusts that folder. Without
configured roots, the work tree of the current folder is the root. A folder is checked when it is opened, because one
bad root must not stop the others.

An invalid persona, delegate or server is skipped with a notice. Any other mistake is an error, because using the
default of a misspelled setting could index or send what the user excluded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.base.errors import RootError
from llmc.base.home import find_home
from llmc.settings.cross_checks import inconsistencies, warnings_of
from llmc.settings.documents import read_document
from llmc.settings.entries import ADDRESS_VARIABLES, RootEntry
from llmc.settings.fields import SettingField, settings_of
from llmc.settings.layer import Key, SettingsLayer, Value, build, dotted, skippable_entry
from llmc.settings.locations import FILE_NAMES, below, config_folder, find_file, implied_root, workspace_file
from llmc.settings.overrides import CONFIG_VARIABLE, read_environment, read_flags
from llmc.settings.problems import SettingSource, SettingsProblem, as_error, shown
from llmc.settings.sections import Settings
from llmc.settings.types import Kind, SettingsModel, ValueContext, absolute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Loaded", "examine", "load"]

Values = dict[Key, Value]

_NO_ROOTS = Value((), SettingSource("default"), user_only=False)
_NOTHING = Value((), SettingSource("default"), user_only=False)
_NOT_ALLOWED = "is not taken from a workspace file"


def settle_roots(given: Sequence[RootEntry], context: ValueContext) -> tuple[tuple[RootEntry, ...], RootError | None]:
    """The configured roots, without duplicates and with unique names; otherwise the implied root, or the error."""
    if not given:
        implied = implied_root(context.folder, context.env)
        return ((), implied) if isinstance(implied, RootError) else (_with_names([RootEntry(path=implied)]), None)
    distinct = {entry.path: entry for entry in given}
    return _with_names(list(distinct.values())), None


def named(roots: Sequence[RootEntry], source: SettingSource) -> list[SettingsProblem]:
    """A problem if two roots have the same name, since a reply could not distinguish them."""
    names = [root.name for root in roots]
    twice = sorted({name for name in names if names.count(name) > 1})
    return [SettingsProblem(source, "roots", f'two roots are named "{shown(name)}"', "rename one") for name in twice]


def check_inside(layer: SettingsLayer, hint: str) -> None:
    """Report roots in a workspace file that are outside its folder, without revealing what exists there."""
    value = layer.values[("roots",)].value
    assert isinstance(value, tuple)
    folder = Path(os.path.realpath(layer.context.folder))
    for place, entry in enumerate(value):
        if not below(entry.path, folder):
            layer.report(("roots", place), "a workspace file may only name roots inside its own folder", hint)


def is_trusted(folder: Path, trust: Sequence[str]) -> bool:
    if not trust:
        return False
    real = os.path.realpath(folder)
    return any(real == each or (each.endswith("/*") and real.startswith(each[:-1])) for each in trust)


def _with_names(roots: list[RootEntry]) -> tuple[RootEntry, ...]:
    taken = {root.name for root in roots if root.name}
    made: list[RootEntry] = []
    for root in roots:
        name = root.name or _free(root.path.name or "root", taken)
        taken.add(name)
        made.append(root.model_copy(update={"name": name}))
    return tuple(made)


def _free(name: str, taken: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(each for each in numbered if each not in taken)


@dataclass(frozen=True, slots=True)
class Assembled:
    settings: Settings
    sources: Mapping[str, SettingSource]
    notices: tuple[SettingsProblem, ...]
    problems: tuple[SettingsProblem, ...]
    no_root: RootError | None


@cache
def _defaults() -> Settings:
    return Settings.model_construct()


def assemble(values: Values, context: ValueContext, skipped: set[Key], found: Sequence[SettingsProblem]) -> Assembled:
    """Build the settings. `skipped` are the invalid entries, `found` the problems of all layers."""
    kept = {key: value for key, value in values.items() if skippable_entry(key) not in skipped} if skipped else values
    given: Any = kept.get(("roots",), _NO_ROOTS)
    roots, no_root = settle_roots(given.value, context)
    builder = _Builder(kept, [*found, *named(roots, given.source)])
    update = builder.tables() | {"home": Path(find_home(context.env).path), "roots": roots}
    settings, addresses = with_addresses(builder.consistent(_defaults().model_copy(update=update)), context.env)
    notices = [each for each in builder.problems if each.entry]
    notices += [builder.problem(key, reason, hint) for key, reason, hint in warnings_of(settings)]
    sources = {dotted(key): each.source for key, each in kept.items() if each.value is not None}
    sources |= addresses
    if context.env.get("LLMC_HOME"):
        sources["home"] = SettingSource("environment", "LLMC_HOME")
    return Assembled(settings, sources, tuple(notices), tuple(builder.problems), no_root)


def with_addresses(settings: Settings, env: Mapping[str, str]) -> tuple[Settings, dict[str, SettingSource]]:
    """Set the address of providers without one from the usual variable of their protocol, such as OPENAI_BASE_URL."""
    found: dict[str, Any] = {}
    sources: dict[str, SettingSource] = {}
    for name, provider in settings.providers.items():
        variable = ADDRESS_VARIABLES[provider.kind]
        if not provider.base_url and env.get(variable):
            found[name] = provider.model_copy(update={"base_url": env[variable]})
            sources[f"providers.{name}.base_url"] = SettingSource("environment", variable)
    if not found:
        return settings, sources
    return settings.model_copy(update={"providers": {**settings.providers, **found}}), sources


@dataclass(slots=True)
class _Builder:
    values: Values
    problems: list[SettingsProblem] = field(default_factory=list)

    def tables(self) -> dict[str, Any]:
        """The sections and entries with values; the others have their defaults."""
        touched = {key[0] for key in self.values}
        found = (each for each in settings_of(Settings).values() if (each.at.split(".")[0] or each.name) in touched)
        made: dict[str, Any] = {}
        for setting in found:
            key: Key = tuple(setting.at.split(".")) if setting.at else (setting.name,)
            if setting.model is not None and setting.kind is not Kind.TABLES:
                made[setting.name] = self._table(setting, key)
            elif key in self.values:
                made[setting.name] = self.values[key].value
        return made

    def consistent(self, settings: Settings) -> Settings:
        """The settings without entries that refer to unknown names; in other settings such references are problems."""
        invalid: dict[str, set[str]] = {}
        for key, reason, hint in inconsistencies(settings):
            known = any(problem.key.startswith(dotted(key)) for problem in self.problems)
            entry = skippable_entry(key)
            if not known:
                self.problems.append(self.problem(key, reason, hint, dotted(entry)))
            if entry:
                invalid.setdefault(str(entry[0]), set()).add(str(entry[-1]))
        if not invalid:
            return settings
        rest = {
            table: {name: each for name, each in getattr(settings, table).items() if name not in names}
            for table, names in invalid.items()
        }
        return settings.model_copy(update=rest)

    def problem(self, key: Key, reason: str, hint: str, entry: str = "") -> SettingsProblem:
        around = (self.values[key[:end]].source for end in range(len(key), 0, -1) if key[:end] in self.values)
        return SettingsProblem(next(around, SettingSource("default")), dotted(key), reason, hint, entry)

    def _table(self, setting: SettingField, key: Key) -> Any:
        assert setting.model is not None
        if setting.kind is Kind.SECTION:
            made = self._built(setting.model, self._section_values(setting.model, key), key)
            return setting.model.model_construct() if made is None else made
        names = [here for here, value in self.values.items() if here[:-1] == key and value.value is None]
        entries = {str(name[-1]): self._built(setting.model, self._entry_values(name), name) for name in names}
        return {name: entry for name, entry in entries.items() if entry is not None}

    def _section_values(self, model: type[SettingsModel], key: Key) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, setting in settings_of(model).items():
            here = (*key, name)
            if setting.kind is Kind.SECTION:
                given[name] = self._table(setting, here)
            elif here in self.values:
                given[name] = self.values[here].value
        return given

    def _entry_values(self, key: Key) -> dict[str, Any]:
        return {str(here[-1]): value.value for here, value in self.values.items() if here[:-1] == key}

    def _built(self, model: type[SettingsModel], given: dict[str, Any], key: Key) -> SettingsModel | None:
        made = build(model, given, key)
        if isinstance(made, SettingsModel):
            return made
        entry = dotted(skippable_entry(key))
        for at, reason, hint in made:
            if not any(problem.key.startswith(dotted(at)) and problem.key != dotted(key) for problem in self.problems):
                self.problems.append(self.problem(at, reason, hint, entry))
        return None


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, the source of every value that is not a default, and notices about what is ignored. `resolved`
    maps each path in the settings to its real path."""

    settings: Settings
    sources: Mapping[str, SettingSource]
    files: tuple[Path, ...] = ()
    notices: tuple[SettingsProblem, ...] = ()
    problems: tuple[SettingsProblem, ...] = ()
    no_root: RootError | None = None
    resolved: Mapping[str, str] = field(default_factory=dict)

    @property
    def skipped(self) -> tuple[SettingsProblem, ...]:
        """The reasons for skipped personas, delegates and servers, which are among the notices too."""
        return tuple(notice for notice in self.notices if notice.entry)

    def roots(self) -> tuple[RootEntry, ...]:
        """The roots; RootError if there is none. Commands that need no root do not call this."""
        if self.no_root is not None:
            raise self.no_root
        return self.settings.roots


def load(
    cwd: str | Path, env: Mapping[str, str], flags: Sequence[str] = (), config_file: str | Path | None = None
) -> Loaded:
    """The settings for a folder; ConfigError with every problem of every layer if there is any."""
    loaded = examine(cwd, env, flags, config_file)
    if loaded.problems:
        raise as_error(loaded.problems)
    return loaded


def examine(
    cwd: str | Path, env: Mapping[str, str], flags: Sequence[str] = (), config_file: str | Path | None = None
) -> Loaded:
    """Like `load`, but problems are returned together with settings from all valid values."""
    folder = Path(os.path.realpath(cwd))
    context = ValueContext(folder, env)
    user = _read_file(find_file(config_folder(env)), "user", context)
    near = _workspace(context, config_file)
    from_files = {**user.values, **near.values}
    variables, notices = read_environment(context, [key for key, value in from_files.items() if value.value is None])
    above = (variables, read_flags(flags, context))
    if near.source.layer == "workspace":
        notices += _confine(near, _merged((user, *above)), config_folder(env) / "llmc.toml")
    layers = (user, near, *above)
    notices += [notice for layer in layers for notice in (*layer.notices, *_unread(layer))]
    found = [problem for layer in layers for problem in sorted(layer.problems, key=lambda each: each.source.line)]
    skipped = {entry for layer in layers for entry in layer.skipped}
    made = assemble(_merged(layers), context, skipped, found)
    return Loaded(
        made.settings,
        made.sources,
        tuple(_files(layers)),
        (*notices, *made.notices),
        tuple(each for each in made.problems if not each.entry),
        made.no_root,
        context.resolved,
    )


def _workspace(context: ValueContext, config_file: str | Path | None) -> SettingsLayer:
    named = config_file or context.env.get(CONFIG_VARIABLE)
    if named:
        return _read_file(absolute(str(named), context), "file", context)
    return _read_file(workspace_file(context.folder), "workspace", context)


def _read_file(path: Path | None, name: str, context: ValueContext) -> SettingsLayer:
    if path is None:
        return SettingsLayer(SettingSource(name), context)
    found = read_document(path, name, follow=name != "workspace")
    # The folder of the link, not that of its target: dotfiles are often links.
    layer = SettingsLayer(SettingSource(name, str(path)), ValueContext(path.parent, context.env, context.resolved))
    if isinstance(found, SettingsProblem):
        layer.problems.append(found)
        return layer
    table, layer.places = found
    layer.read(table)
    return layer


def _confine(layer: SettingsLayer, others: Values, user_file: Path) -> list[SettingsProblem]:
    """Remove from a workspace file what only the user may set, with a notice."""
    folder = layer.context.folder
    given: Any = others.get(("trust",), _NOTHING).value
    trusted = is_trusted(folder, given)
    hint = f"put it into {user_file}, or trust this folder there: trust = ['{shown(folder, 400)}']"
    if not trusted and ("roots",) in layer.values:
        check_inside(layer, hint)
    pruner_variables = {key for key, value in layer.values.items() if not trusted and _is_foreign(key, value, others)}
    wrong = pruner_variables | ({("trust",)} & layer.values.keys())
    taken = {key: layer.values.pop(key) for key in sorted(wrong, key=dotted)}
    # An entry is reported once, not part by part.
    whole = {key: each for key, each in taken.items() if not any(key[:end] in wrong for end in range(1, len(key)))}
    return [SettingsProblem(each.source, dotted(key), _NOT_ALLOWED, hint) for key, each in whole.items()]


def _is_foreign(key: Key, value: Value, others: Values) -> bool:
    """Whether only the user may set the key, or it belongs to an entry that the user defined."""
    made = (key[:end] for end in range(1, len(key) + 1))
    return value.user_only or any(part in others and others[part].value is None for part in made)


def _unread(layer: SettingsLayer) -> list[SettingsProblem]:
    """A notice for the JSON file if a folder also has a TOML file, since only that is read."""
    path = Path(layer.source.name or os.devnull)
    if layer.source.layer == "file" or path.name != FILE_NAMES[0] or not os.path.lexists(path.with_name(FILE_NAMES[1])):
        return []
    return [
        SettingsProblem(
            SettingSource(layer.source.layer, str(path.with_name(FILE_NAMES[1]))), "", f"is not read beside {path.name}"
        )
    ]


def _merged(layers: Sequence[SettingsLayer]) -> Values:
    merged: Values = {}
    for layer in layers:
        for key, value in layer.values.items():
            # An entry that a higher layer modifies keeps the source of its definition.
            if value.value is not None or key not in merged:
                merged[key] = value
    return merged


def _files(layers: Sequence[SettingsLayer]) -> list[Path]:
    return [Path(layer.source.name) for layer in layers if layer.source.name]
