"""The values that are passed between stages: frozen, comparable, without behaviour.

A *root* is an allowlisted folder. A *file* is a root-relative path on disk. A *document* is the unit of indexing: one
content at one relative path, shared by every root (work tree) that has it there. A *chunk* is a run of lines of a
document. `indexer` creates them, `store` stores them, and `retrieval` returns them.

Paths are `str`, relative to their root, with `/` and without a leading `./`. A name that is not UTF-8 keeps its bytes
through `surrogateescape` (`os.fsdecode`); code that prints a path must escape it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

__all__ = [
    "CALLABLES",
    "Chunk",
    "ChunkPlace",
    "Document",
    "FileState",
    "FileStatus",
    "Parsed",
    "Reference",
    "ResolutionLink",
    "Root",
    "Stamp",
    "Symbol",
]


# Kinds of symbols that have a body of statements.
CALLABLES = frozenset({"function", "method", "constructor", "macro", "test", "handler"})


@dataclass(frozen=True, slots=True)
class Root:
    """An allowlisted folder. `family` names the store: work trees of one repository share it."""

    path: str
    name: str
    family: str

    @property
    def id(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class Stamp:
    """The `stat` result of a file; equal stamps mean that the content need not be read again."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class FileStatus(StrEnum):
    """INDEXED: searchable. SKIPPED: excluded by the rule in the reason. FAILED: could not be read or parsed."""

    INDEXED = "indexed"
    SKIPPED = "skipped"
    FAILED = "failed"


# Reasons that other code depends on.
TOO_LARGE = "too large"
CONTROLS = "control characters"
HOLDS_NUL = "holds a NUL byte"


@dataclass(frozen=True, slots=True)
class FileState:
    """A row of the catalog: the last known state of the file at `path`. `key` is its document, None unless INDEXED.

    An INDEXED file has a reason only if it is `HOLDS_NUL`: it is indexed as text, but ripgrep searches only part of it.
    """

    path: str
    stamp: Stamp
    status: FileStatus
    key: str | None = None
    reason: str = ""


class Symbol(NamedTuple):
    """A definition. `container` is the dotted chain of enclosing names, empty at the top of the file.

    A tuple, since a document has thousands of symbols, references and places, and creating a dataclass takes three
    times as long.
    """

    name: str
    kind: str  # function, method, class, interface, struct, enum, trait, type, constant, variable, module, heading, ...
    container: str
    start_line: int  # 1-based
    end_line: int  # inclusive
    signature: str

    @property
    def qualified(self) -> str:
        return f"{self.container}.{self.name}" if self.container else self.name


class Reference(NamedTuple):
    """A use of a name that is not its definition."""

    name: str
    kind: str  # call, import, inherit, type, use, write
    line: int
    container: str  # qualified name of the enclosing definition, empty at the top
    receiver: str = ""  # the expression before the name, as a chain (`syntax/chains.py`): `self.client`, `Parser()`


class ResolutionLink(NamedTuple):
    """A fact that name resolution needs besides definitions and references.

    | kind   | scope                | name               | value                                        |
    |--------|----------------------|--------------------|----------------------------------------------|
    | import | enclosing definition | local name         | `module#name`; `#` alone: the module itself  |
    | export | empty                | exported name      | `module#name`, or `#name` of this file       |
    | base   | the type             | how: extends, ...  | chain of the base                            |
    | bound  | enclosing definition | type parameter     | chain of the type that it must be            |
    | bind   | enclosing definition | variable           | chain of the assigned value, `?` if unknown  |
    | attr   | the method           | attribute of self  | chain of the assigned value                  |
    | type   | enclosing definition | variable           | chain of the annotated type                  |
    | atype  | the method           | attribute of self  | chain of the annotated type                  |
    | return | the function         | declared, inferred | chain of the type, or of the returned value  |
    | module | empty                | empty              | package or namespace of the file             |
    | test   | the function         | empty              | what marks it as a test                      |
    | property | the method         | empty              | empty: reading the attribute runs it         |
    | send, receive | enclosing definition | key         | line, called chain and handlers (`syntax/keyed.py`) |
    """

    kind: str
    scope: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of whole lines. `capsule` is text for retrieval only (enclosing names, signatures), never shown."""

    ordinal: int
    start_line: int
    end_line: int
    kind: str  # the kind of the symbol it holds, or "text", "heading", "cell", "config"
    name: str  # qualified name of the symbol it holds, empty for a gap between definitions
    text: str
    capsule: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of parsing a content, independent of its path: every line is in exactly one chunk."""

    language: str
    lines: int
    chunks: tuple[Chunk, ...]
    symbols: Sequence[Symbol]
    references: Sequence[Reference]
    links: Sequence[ResolutionLink] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed content at a path, ready for the stores. `vectors` has one unit row for each chunk, or is None."""

    key: str  # blake2b(path, content hash): equal in every work tree that holds this content here
    path: str
    content_hash: str
    size: int
    text: str
    parsed: Parsed
    vectors: Vectors | None = field(default=None, compare=False)


class ChunkPlace(NamedTuple):
    """The location of a chunk, as stored in the catalog (without its text)."""

    doc: int
    ordinal: int
    start_line: int
    end_line: int
    kind: str
    name: str
