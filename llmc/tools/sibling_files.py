"""Files of the same names in sibling folders, such as templates in several languages: one line for all of them.

`templates/{de,en,fr}/{alarm,media}.vm` names every file, so that nothing is lost where they are listed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from llmc.envelope import Group, Item
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["SiblingFiles", "sibling_files", "sibling_group"]

FEW = 4  # files that have a line each
LONGEST_LIST = 40  # names in one pair of braces


class Found(Protocol):
    @property
    def root(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def count(self) -> int: ...


F = TypeVar("F", bound=Found)


@dataclass(frozen=True, slots=True)
class SiblingFiles(Generic[F]):
    """Every name is in every folder; the folders are those of one parent, which ends with a slash."""

    parent: str
    folders: tuple[str, ...]
    names: tuple[str, ...]
    files: tuple[F, ...]

    @property
    def path(self) -> str:
        return f"{self.parent}{braces(self.folders)}/{braces(self.names)}"


def sibling_files(files: Iterable[F]) -> list[SiblingFiles[F]]:
    """The files that share a line. Those with a name of their own are in none."""
    by_name: defaultdict[tuple[str, str, str], dict[str, F]] = defaultdict(dict)
    for file in files:
        folder, _, name = file.path.rpartition("/")
        parent, slash, last = folder.rpartition("/")
        if last:
            by_name[file.root, parent + slash, name][last] = file
    grids: defaultdict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for root, parent, name in sorted(by_name):
        folders = tuple(sorted(by_name[root, parent, name]))
        if 1 < len(folders) <= LONGEST_LIST:
            grids[root, parent, folders].append(name)
    return [
        SiblingFiles(parent, folders, tuple(some), found)
        for (root, parent, folders), names in grids.items()
        for some in parts(names)
        if len(found := tuple(by_name[root, parent, name][one] for name in some for one in folders)) >= FEW
    ]


def parts(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[at : at + LONGEST_LIST] for at in range(0, len(names), LONGEST_LIST)]


def sibling_group(one: SiblingFiles[F], names: Callable[[str, str], str], *, counts: bool) -> Group:
    total = sum(file.count for file in one.files)
    said = plural(len(one.files), "file") + (f", {plural(total, 'match')}" if counts else "")
    return Group(f"{names(one.files[0].root, one.path)}: {said}", (Item(level=1),))


def braces(names: Sequence[str]) -> str:
    """`{alarm,media}.vm`: an ending that all have is written once."""
    if len(names) == 1:
        return names[0]
    endings = {name.rpartition(".")[2] if "." in name[1:] else "" for name in names}
    (ending,) = endings if len(endings) == 1 else ("",)
    listed = ",".join(name.removesuffix(f".{ending}") if ending else name for name in names)
    return f"{{{listed}}}{f'.{ending}' if ending else ''}"
