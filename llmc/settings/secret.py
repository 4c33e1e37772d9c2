"""A text that must not be seen: keys, tokens, the environment of a downstream server.

`Secret` is deliberately not a `str`: a log line, a JSON encoder or a join would give a `str` away. Whoever needs the
value says `reveal()`. `expand` is the only place where `${VAR}` is replaced, and what it makes is always a `Secret`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.base.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MASK", "Secret", "expand"]

MASK = "********"

# `$${` is a literal `${`; a lone `$` is itself.
_VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)\}")


class Secret:
    """A hidden text. `missing` names the variables that were not set when it was read; then it is empty."""

    __slots__ = ("_value", "missing")

    def __init__(self, value: str = "", missing: tuple[str, ...] = ()) -> None:
        self._value = value
        self.missing = missing

    def reveal(self) -> str:
        if self.missing:
            names = ", ".join(self.missing)
            raise ConfigError("a secret is not there", reason=f"the environment has no {names}", hint=f"set {names}")
        return self._value

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


def expand(text: str, env: Mapping[str, str]) -> Secret:
    """Replace `${VAR}`. A variable that is not set is no error until the value is needed: a search needs no key."""
    missing = tuple(name for name in _VARIABLE.findall(text) if name and name not in env)
    if missing:
        return Secret(missing=missing)
    return Secret(_VARIABLE.sub(lambda found: "${" if found[1] is None else env.get(found[1], ""), text))
