"""A string that must not be shown: keys, tokens, the environment of a downstream server.

`Secret` is deliberately not a `str`, which a log line, a JSON encoder or a join would reveal. Code that needs the
value calls `reveal()`. `expand` is the only place where `${VAR}` is replaced, and its result is always a `Secret`. The
value of a variable is not expanded again, so variables that name each other cannot form a cycle.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from llmc.base.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import CoreSchema

__all__ = ["MASK", "Secret", "expand", "hide_secrets"]

MASK = "********"
HIDDEN = "[hidden]"
# Characters. Shorter values, such as a region, a level or the "x" that a local model server takes as its key, would be
# replaced inside ordinary words, and inside longer secrets, which would then no longer be recognised.
SHORTEST_SECRET = 6

# `$${` is a literal `${`; a lone `$` is itself.
_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)\}")


class Secret:
    """A hidden string. `missing` are the variables that were not set when it was read; the string is then empty."""

    __slots__ = ("_value", "missing")

    def __init__(self, value: str = "", missing: tuple[str, ...] = ()) -> None:
        self._value = value
        self.missing = missing

    def reveal(self) -> str:
        if self.missing:
            names = ", ".join(self.missing)
            raise ConfigError(
                "a secret is not available", reason=f"the environment has no {names}", hint=f"set {names}"
            )
        return self._value

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> CoreSchema:
        """A string in a file, whose `${VAR}` come from the environment in the validation context."""
        from pydantic_core import core_schema  # noqa: PLC0415 - the thin client imports this module

        check = core_schema.with_info_plain_validator_function(
            _validated, serialization=core_schema.to_string_ser_schema()
        )
        return core_schema.json_or_python_schema(core_schema.str_schema(), check)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self._value, self.missing) == (other._value, other.missing)

    def __hash__(self) -> int:
        return hash((self._value, self.missing))

    def __repr__(self) -> str:
        return f"Secret({MASK})" if self else "Secret()"

    def __str__(self) -> str:
        return MASK if self else ""


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text without these values, the longest first, since one may be part of another."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    return text


def _validated(raw: Any, info: Any) -> Secret:
    if isinstance(raw, Secret):
        return raw
    if not isinstance(raw, str) or "\0" in raw:
        raise ValueError("must be a string")  # the value is not repeated
    return expand(raw, getattr(info.context, "env", {}))


def expand(text: str, env: Mapping[str, str]) -> Secret:
    """Replace `${VAR}`. A variable that is not set is an error only when the value is needed: a search needs no key."""
    missing = tuple(name for name in _VARIABLE.findall(text) if name and name not in env)
    if missing:
        return Secret(missing=missing)
    return Secret(_VARIABLE.sub(lambda found: "${" if found[1] is None else env.get(found[1], ""), text))
