"""From validated values to `Settings`: pydantic builds each section and entry, and what does not go together is found.

`load` reads and merges the layers; this decides what becomes of an invalid table. A persona, delegate or server is left
out; anything else is a problem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.base.home import find_home
from llmc.settings.cross_checks import disagreements, doubts
from llmc.settings.fields import SettingField, settings_of
from llmc.settings.layer import Key, Value, build, dotted, skippable_entry
from llmc.settings.problems import SettingSource, SettingsProblem
from llmc.settings.roots import named, settle_roots
from llmc.settings.sections import Settings
from llmc.settings.types import Kind, SettingsModel
from llmc.settings.vendors import ADDRESS_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmc.base.errors import RootError
    from llmc.settings.types import ValueContext

__all__ = ["Assembled", "Values", "assemble"]

Values = dict[Key, Value]

_NO_ROOTS = Value((), SettingSource("default"), user_only=False)


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
    """`skipped` are the entries that a layer found wrong, `found` the problems of all layers."""
    kept = {key: value for key, value in values.items() if skippable_entry(key) not in skipped} if skipped else values
    given: Any = kept.get(("roots",), _NO_ROOTS)
    roots, no_root = settle_roots(given.value, context)
    builder = _Builder(kept, [*found, *named(roots, given.source)])
    update = builder.tables() | {"home": Path(find_home(context.env).path), "roots": roots}
    settings, addresses = with_addresses(builder.consistent(_defaults().model_copy(update=update)), context.env)
    notices = [each for each in builder.problems if each.entry]
    notices += [builder.problem(key, reason, hint) for key, reason, hint in doubts(settings)]
    sources = {dotted(key): each.source for key, each in kept.items() if each.value is not None}
    sources |= addresses
    if context.env.get("LLMC_HOME"):
        sources["home"] = SettingSource("environment", "LLMC_HOME")
    return Assembled(settings, sources, tuple(notices), tuple(builder.problems), no_root)


def with_addresses(settings: Settings, env: Mapping[str, str]) -> tuple[Settings, dict[str, SettingSource]]:
    """Providers without an address have the one of their protocol's usual variable, such as OPENAI_BASE_URL."""
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
        """The sections and entries that have a value; the others keep their defaults."""
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
        """Without the entries that refer to something that does not exist; other such references are problems."""
        invalid: dict[str, set[str]] = {}
        for key, reason, hint in disagreements(settings):
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
