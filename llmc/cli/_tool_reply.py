"""What every tool command does with its arguments and with the reply, whatever prints it. Without click."""

from __future__ import annotations

from typing import Any

from llmc.base.errors import NOT_KNOWN_YET, error_from_fields

__all__ = ["error_of", "exit_code", "set_arguments"]

NOTHING_FOUND = 1


def exit_code(reply: dict[str, Any], found: int) -> int:
    """0 if something was found, 1 if nothing exists, 75 if nothing was found so far and not everything was checked."""
    return 0 if found else NOT_KNOWN_YET if reply["provisional"] else NOTHING_FOUND


def set_arguments(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments that were given; a budget of 0 counts as given."""
    return {key: value for key, value in args.items() if value is not None and value is not False and value != ()}


def error_of(reply: dict[str, Any]) -> Exception:
    """The error that the reply reports, as an exception."""
    return error_from_fields(reply["data"]["error"])
