"""The arguments of a tool as a pydantic model: types, bounds, descriptions, JSON schema, lenient validation.

Language models send "5" for 5, "true" for true, one string for a list, and JSON inside a string; pydantic's lenient
mode and the validators here accept that. Any other wrong type is rejected with the nearest valid name or the argument's
description. A model is created from a tool's `Argument`s at its first call; `tool_arguments` then checks lengths and
characters of strings.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic_core import PydanticCustomError

from llmc.base.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import ErrorDetails

    from llmc.tool_arguments import Argument

__all__ = ["schema_of", "validated"]

_LONGEST_NAME = 80  # of a wrong argument, in a message


def _reject_boolean(value: Any) -> Any:
    """Reject booleans, since pydantic would convert True to 1."""
    if isinstance(value, bool):
        raise PydanticCustomError("switch", "must not be true or false")
    return value


def _from_json(opening: str) -> BeforeValidator:
    """Parse a string that contains JSON of the expected type; other values are not changed."""

    def parse(value: Any) -> Any:
        if not isinstance(value, str) or not value.lstrip().startswith(opening):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value

    return BeforeValidator(parse)


def _one_as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_INTEGER = Annotated[int, BeforeValidator(_reject_boolean)]
# Left to right, so that 5 stays an integer: a downstream server may distinguish 5 and 5.0.
_NUMBER = Annotated[
    int | float, Field(union_mode="left_to_right"), BeforeValidator(_reject_boolean, json_schema_input_type=float)
]
_STRINGS = Annotated[list[str], BeforeValidator(_one_as_list, json_schema_input_type=str | list[str]), _from_json("[")]
_TYPES: dict[str, Any] = {
    "string": str,
    "integer": _INTEGER,
    "number": _NUMBER,
    "boolean": bool,
    "strings": _STRINGS,
    "object": Annotated[dict[str, Any], _from_json("{")],
    "value": Any,
}
_EXPECTED = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "strings": "a list of strings",
    "object": "an object",
    "value": "a value",
}


def validated(
    tool: str, arguments: tuple[Argument, ...], given: Mapping[str, Any], *, is_open: bool = False
) -> dict[str, Any]:
    """The validated arguments without those that are None; QueryError if one is invalid. `is_open` allows unknown
    arguments."""
    known = {argument.name: argument for argument in arguments}
    if not is_open:
        _check_names(tool, known, given)
    sent = {
        name: value for name, value in given.items() if value is not None and not _is_missing(known.get(name), value)
    }
    try:
        made = model_of(tool, arguments).model_validate({name: sent[name] for name in known if name in sent})
    except ValidationError as error:
        raise _refusal(tool, known, min(error.errors(include_url=False), key=_importance)) from None
    except ValueError:  # Python does not convert an integer of more than 4,300 digits to a string
        raise QueryError(f"{tool} was given a number of thousands of digits", hint="Send it as a string.") from None
    fields = type(made).model_fields
    named = {str(fields[name].alias): getattr(made, name) for name in made.model_fields_set}
    if missing := next((name for name, value in named.items() if _is_missing(known[name], value)), ""):
        raise _missing(tool, known[missing])  # such as "[]"
    return {name: named.get(name, value) for name, value in sent.items()}


def schema_of(tool: str, arguments: tuple[Argument, ...]) -> dict[str, Any]:
    """The JSON schema of the arguments, without the titles that pydantic derives from names."""
    schema = model_of(tool, arguments).model_json_schema()
    schema.pop("title", None)
    for each in schema["properties"].values():
        each.pop("title", None)
        each.pop("default", None)
    return schema


@lru_cache(maxsize=512)
def model_of(tool: str, arguments: tuple[Argument, ...]) -> type[BaseModel]:
    """The model. Fields are numbered and have the argument's name as alias, since downstream tools use names such as
    `json` or `_id`."""
    config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False)
    fields: dict[str, Any] = {f"a{number}": _field(one) for number, one in enumerate(arguments)}
    return create_model(tool, __config__=config, **fields)


def _field(argument: Argument) -> tuple[Any, Any]:
    options: dict[str, Any] = {"alias": argument.name, "description": argument.help}
    if argument.kind == "integer":
        options |= {"ge": argument.low, "le": argument.high}
    if not argument.required:
        options["default"] = None
    return _TYPES[argument.kind], Field(**options)


def _check_names(tool: str, known: Mapping[str, Argument], given: Mapping[str, Any]) -> None:
    """Reject unknown names. This comes first, since a misspelled name explains a missing required argument."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1) if len(name) <= _LONGEST_NAME else []
            hint = f"Did you mean {near[0]}?" if near else f"{tool} takes {', '.join(known)}."
            raise QueryError(f"{tool} has no argument {name[:_LONGEST_NAME]!r}", hint=hint)


def _is_missing(argument: Argument | None, value: Any) -> bool:
    if argument is None or not argument.required:
        return False
    return value in ([], ()) or (value == "" and not argument.may_be_empty)


def _missing(tool: str, argument: Argument) -> QueryError:
    return QueryError(f"{tool} needs {argument.name!r}", hint=argument.help)


def _importance(error: ErrorDetails) -> bool:
    return error["type"] != "missing"


def _refusal(tool: str, known: Mapping[str, Argument], error: ErrorDetails) -> QueryError:
    argument, context = known[str(error["loc"][0])], error.get("ctx", {})
    if error["type"] == "missing":
        return _missing(tool, argument)
    expected = _EXPECTED[argument.kind]
    if error["type"] == "greater_than_equal":
        expected = f"at least {context['ge']:,}"
    elif error["type"] == "less_than_equal":
        expected = f"at most {context['le']:,}"
    return QueryError(f"{argument.name!r} of {tool} must be {expected}", hint=argument.help)
