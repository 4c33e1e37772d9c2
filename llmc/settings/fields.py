"""The properties of each setting, taken from the settings models: name, type, default, bounds, description.

Checks, the JSON schema and the reference page all come from pydantic's fields, so that the documentation of a setting
matches its behaviour. The models are in `sections` and `entries`.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter

from llmc.settings.secret import Secret
from llmc.settings.types import At, Kind, SettingsModel, Shorthand, UserOnly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

__all__ = ["SettingField", "settings_of", "walk"]

M = TypeVar("M")

_BY_TYPE: dict[Any, Kind] = {bool: Kind.SWITCH, int: Kind.WHOLE, float: Kind.NUMBER, Secret: Kind.SECRET}
_VALUE_CONFIG = ConfigDict(strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class SettingField:
    """One field of a settings model. `model` is the model of a section, of an entry, or of the tables in a list."""

    name: str
    kind: Kind
    info: FieldInfo
    model: type[SettingsModel] | None
    user_only: bool
    at: str = ""
    shorthand: str = ""

    @property
    def doc(self) -> str:
        return self.info.description or (inspect.cleandoc(self.model.__doc__ or "") if self.model else "")

    @property
    def required(self) -> bool:
        return self.info.is_required()

    @property
    def default(self) -> Any:
        return None if self.required else self.info.get_default(call_default_factory=True, validated_data={})

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self.info.annotation) if get_origin(self.info.annotation) is Literal else ()

    @property
    def low(self) -> float | None:
        return self._bound("ge")

    @property
    def high(self) -> float | None:
        return self._bound("le")

    def _bound(self, name: str) -> float | None:
        return next((getattr(each, name) for each in self.info.metadata if hasattr(each, name)), None)

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Validates this value alone: each layer is checked before the layers are merged."""
        annotated: Any = Annotated[self.info.annotation, self.kind, *self.info.metadata]
        return TypeAdapter(annotated, config=_VALUE_CONFIG)


@cache
def settings_of(model: type[SettingsModel]) -> dict[str, SettingField]:
    """The settings of one table, in order."""
    return {name: _setting(name, info) for name, info in model.model_fields.items()}


def walk(model: type[SettingsModel], prefix: str = "", *, user_only: bool = False) -> Iterator[SettingField]:
    """Every setting below a table with its dotted name: `index.hidden`, `mcps.*.command`, `roots[].path`."""
    for name, found in settings_of(model).items():
        here = replace(found, name=f"{prefix}{found.at or name}", user_only=user_only or found.user_only)
        if here.kind is not Kind.SECTION:
            yield here
        if here.model is not None:
            ending = {Kind.ENTRIES: ".*.", Kind.TABLES: "[]."}.get(here.kind, ".")
            yield from walk(here.model, here.name + ending, user_only=here.user_only)


def _setting(name: str, info: FieldInfo) -> SettingField:
    kind, model = _shape(info)
    at, shorthand = _marker(info, At), _marker(info, Shorthand)
    return SettingField(
        name,
        kind,
        info,
        model,
        user_only=_marker(info, UserOnly) is not None,
        at=at.key if at else "",
        shorthand=shorthand.key if shorthand else "",
    )


def _marker(info: FieldInfo, of: type[M]) -> M | None:
    return next((each for each in info.metadata if isinstance(each, of)), None)


def _shape(info: FieldInfo) -> tuple[Kind, type[SettingsModel] | None]:
    if kinds := [each for each in info.metadata if isinstance(each, Kind)]:
        return kinds[-1], None  # an alias of an alias adds its own kind last
    annotation: Any = info.annotation
    if get_origin(annotation) is Literal:
        return Kind.TEXT, None
    if _is_model(annotation):
        return Kind.SECTION, annotation
    inner = [each for each in get_args(annotation) if _is_model(each)]
    if inner:
        return Kind.TABLES if get_origin(annotation) is tuple else Kind.ENTRIES, inner[0]
    return _BY_TYPE[annotation], None


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, SettingsModel)
