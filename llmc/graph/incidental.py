"""Calls that are part of almost every function and of no flow: copies, conversions, errors, measurements, logging,
database sessions.

Some are recognised by name, since each language has its own. Others are known by their use: a short function that a
large share of all files calls is part of the plumbing, whatever it is called. `trees` leaves them out, and `calls`
names them in one line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.graph.facts import CALLABLE_KINDS
from llmc.graph.library_names import LIBRARY_NAMES
from llmc.store.keywords.trigrams import trigrams
from llmc.store.protocols import Trigrams

if TYPE_CHECKING:
    from llmc.graph.entities import GraphNode
    from llmc.graph.facts import Facts
    from llmc.graph.project import Project

__all__ = ["is_incidental", "is_plumbing", "plumbing_name"]

# A function is plumbing if at least this share and this number of files call it. On gitea, 5 % call the getter of the
# database engine and 1.5 % the query for a repository; steps of a flow are called from fewer than 0.5 %.
PLUMBING_SHARE, PLUMBING_FILES = 0.015, 20
PLUMBING_LINES = 20  # a longer function does something of its own
SAME_NAME = 3  # files that define a name: where more do, calls by name tell nothing about one of them
# Folders and files for what every part of a program uses. A file called `log` often is about logs that users read.
_FILES = frozenset(["logger", "loggers", "logging", "tracing", "telemetry", "metrics", "otel", "sentry", "assert"])
_FOLDERS = _FILES | {"log", "logs"}

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
_ERRORS = re.compile(r"(?:Error|Exception|Failure)$|^(?:Is)?Err[A-Z]|^(?:[Nn]ew|[Ww]rap)\w*Err(?:or)?(?:f|[A-Z]\w*)?$")
_MEASURES = re.compile(
    r"(?:Measurement|Telemetry|Metrics?|HwCounter|CounterCell|MeasurementAcc|Stopwatch|Histogram)\w*$"
)
# Calls on a logger. A function or method called `log` of anything else may be an audit log.
_LOGGERS = re.compile(r"(?!.*audit)(?:\w*logg(?:er|ing)|[ks]?log|console)$", re.IGNORECASE)
_LEVELS = re.compile(
    r"(?:log|trace|debug|info|notice|verbose|warn|warning|error|exception|critical|fatal|panic|print)(?:f|ln|w|s|Context)?$",
    re.IGNORECASE,
)
_MAKES_LOGGER = re.compile(r"(?:get_?logger|logger|logging)$", re.IGNORECASE)
_PRINTS = re.compile(r"(?:e?print(?:f|ln)?|debug|warn|warning)$")
_LOG = re.compile(r"log(?:_\w+|[A-Z]\w*)?$")
_CHECKS = re.compile(r"(?:assert|panic|get_?env|env_?or)(?:[A-Z_]\w*)?$", re.IGNORECASE)


def is_incidental(node: GraphNode) -> bool:
    owner, _, name = node.qualified.rpartition(".")
    kind = owner.rpartition(".")[2]
    if owner and name in _COPIES:
        return True
    if _ERRORS.search(kind) or (not owner and _ERRORS.search(name)):
        return True
    if _MEASURES.search(kind):
        return name in _CREATES or name.startswith("new_")
    if owner:
        return bool((_LOGGERS.match(kind) and _LEVELS.match(name)) or _MAKES_LOGGER.match(name))
    return bool(_PRINTS.match(name) or _MAKES_LOGGER.match(name) or _CHECKS.match(name))


def is_plumbing(project: Project, node: GraphNode, caller: int) -> bool:
    """Whether a call from the document `caller` is not a step of a flow. A definition in the same file always is a
    step, unless its name is that of plumbing."""
    if is_incidental(node):
        return True
    facts = project.facts(node.doc)
    if facts is None or node.doc == caller or facts.kind(node.qualified) not in CALLABLE_KINDS:
        return False
    if _LOG.match(node.qualified) and not _is_in_package(facts, node):  # called as log(…), not on a logger
        return False
    if _is_for_everyone(facts, node, project.path(caller)):
        return True
    symbol = facts.symbol(node.qualified)
    return (
        symbol is not None
        and symbol.end_line - symbol.start_line < PLUMBING_LINES
        and _is_everywhere(project, facts, node)
    )


def _is_for_everyone(facts: Facts, node: GraphNode, caller: str) -> bool:
    """Whether it is in a module for logs or metrics, and the caller is not."""
    if facts.path.rpartition("/")[0] == caller.rpartition("/")[0] or "audit" in facts.path:
        return False
    folder, stem = _place(facts.path)
    return folder in _FOLDERS or (stem in _FILES and not _is_in_package(facts, node))


def _place(path: str) -> tuple[str, str]:
    """The folder and file name, without the extension."""
    *folders, file = path.split("/")
    return folders[-1] if folders else "", file.partition(".")[0]


def _is_everywhere(project: Project, facts: Facts, node: GraphNode) -> bool:
    """Whether a large share of all files calls it by name."""
    key = ("everywhere", node)
    if key not in project.memo:
        called = f"{plumbing_name(facts, node)}(" if _is_in_package(facts, node) else f"{node.name}("
        is_unclear = called == f"{node.name}(" and (
            node.name in LIBRARY_NAMES or len(project.defining(node.name)) > SAME_NAME
        )
        wanted = frozenset() if is_unclear else trigrams(called)
        files = len(project.places.keep(project.keywords.candidates(Trigrams(all=wanted)))) if wanted else 0
        project.memo[key] = files >= max(PLUMBING_FILES, PLUMBING_SHARE * len(project.places))
    found: bool = project.memo[key]
    return found


def _is_in_package(facts: Facts, node: GraphNode) -> bool:
    """Whether callers in other folders write the package name before it, as in Go."""
    return facts.language == "go" and "." not in node.qualified


def plumbing_name(facts: Facts | None, node: GraphNode) -> str:
    """The name as callers write it: `log.Error` in Go, else its last parts."""
    if facts is not None and _is_in_package(facts, node):
        return f"{_place(facts.path)[0]}.{node.name}"
    return ".".join(node.qualified.split(".")[-2:])
