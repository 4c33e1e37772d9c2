"""Calls that are part of almost every function and of no flow: copies, conversions, errors, measurements, logging.

Told by name, since each language has its own. `trees` does not follow them, and `calls` lists their names alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmc.graph.entities import GraphNode

__all__ = ["is_incidental"]

_COPIES = frozenset(
    [
        "clone",
        "copy",
        "__copy__",
        "__deepcopy__",
        "from",
        "into",
        "try_from",
        "try_into",
        "From",
        "Into",
        "to_string",
        "toString",
        "ToString",
        "String",
        "__str__",
        "__repr__",
        "fmt",
        "as_ref",
        "as_str",
        "to_owned",
    ]
)
_CREATES = frozenset(["new", "default", "__init__", "constructor", "create", "start"])
_ERRORS = re.compile(r"(?:Error|Exception|Failure)$")
_MEASURES = re.compile(
    r"(?:Measurement|Telemetry|Metrics?|HwCounter|CounterCell|MeasurementAcc|Stopwatch|Histogram)\w*$"
)
_LOGS = re.compile(r"(?:log|logger|logging|get_?[lL]ogger|log_\w+|\w+_log|debug|trace|warn|warning)$")


def is_incidental(node: GraphNode) -> bool:
    owner, _, name = node.qualified.rpartition(".")
    kind = owner.rpartition(".")[2]
    if owner and name in _COPIES:
        return True
    if _ERRORS.search(kind) or (not owner and _ERRORS.search(name)):
        return True
    if _MEASURES.search(kind):
        return name in _CREATES or name.startswith("new_")
    return bool(_LOGS.match(name))
