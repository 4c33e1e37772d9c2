"""Compacts the output of find, ls, tree and similar programs: each folder once, its names on one line.

    find src -name '*.py'      src/api/ chat.py solve.py
    find app -name page.tsx    app/*/page.tsx: chat solver settings
    ls -la                     src/ web/ README.md 12K        (modes, owners and times are omitted, and counted as such)
    tree                       one space per level instead of lines drawn

Only `ls -l` loses information. A reader returns None for an unexpected line, and the output is then shown unchanged.
`matches` reads rg and grep.
"""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING, Final

from llmc.base.listing_programs import MATCHING, program_of
from llmc.envelope.envelope import Envelope, Group, Item, Row
from llmc.envelope.logs.folders import by_folder
from llmc.envelope.logs.git import Compact
from llmc.envelope.logs.matches import read_matches
from llmc.envelope.phrases import plural
from llmc.envelope.render import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["read_listing", "regrouped_text", "shortest_listing"]

WORTH_IT: Final = 0.95
# Lines of matches are cut only as far as needed. Decision 131 has the measurements.
GOAL: Final = 0.58
WIDTHS: Final = (0, 72, 56, 44, 32)
NAMES_PER_ROW: Final = 24
SIBLINGS: Final = 3
KILO, TEN, UNITS = 1024, 10, "KMGT"
_LONG: Final = re.compile(
    r"(?P<kind>[-bcdlps])(?P<mode>[-rwxsStT]{9})[@+.]? +\d+ +\S+ +\S+ +(?P<size>[\d.]+[KMGT]?|\d+, +\d+) "
    r"+(?:\w{3} +\d{1,2} +[\d:]{4,5}|\d{4}-\d\d-\d\d [\d:.]+(?: [+-]\d{4})?) (?P<name>.+)"
)
_BRANCH: Final = re.compile(r"(?P<rails>(?:[│|][ \xa0]{3}|[ \xa0]{4})*)(?:[├└]── |[|`]-- )(?P<name>.+)")
_TREE_END: Final = re.compile(r"\d+ director(?:y|ies)(?:, \d+ files?)?")
# Actions of find with other output than one path per line.
_FIND_OTHERS: Final = ("-printf", "-print0", "-ls", "-fls", "-fprint", "-exec", "-ok", "-delete", "-quit0")


def read_listing(command: Sequence[str], lines: Sequence[str], width: int = 0) -> Compact | None:
    """A shorter form of the listing; None if the program, a flag or a line is unknown. Lines of matches are cut to
    about `width` characters (0: not at all)."""
    program = program_of(command)
    if not lines:
        return None
    if program in MATCHING:
        return read_matches(command, lines, paths_by_folder, width)
    reader = READERS.get(program)
    return reader(command[1:], lines) if reader else None


def shortest_listing(
    command: Sequence[str], lines: Sequence[str], raw: int, size: Callable[[Compact], int]
) -> tuple[Compact, int] | None:
    """The listing and its size, with lines cut only as far as needed for `GOAL` times the `raw` size. None if that
    would save too little, since the reader expects the output of the command."""
    found = None
    for width in WIDTHS:
        compact = read_listing(command, lines, width)
        if compact is None:
            break
        found = compact, size(compact)
        if found[1] <= raw * GOAL or program_of(command) not in MATCHING:
            break
    return found if found and found[1] < raw * WORTH_IT else None


def regrouped_text(command: Sequence[str], text: str) -> str | None:
    """The complete listing in fewer characters, or None; for a process without a daemon."""

    def rendered(compact: Compact) -> str:
        return render(Envelope("te", compact.found if compact.lost else "", compact.groups))

    lines = text.removesuffix("\n").split("\n")
    found = shortest_listing(command, lines, len(text), lambda compact: len(rendered(compact)))
    return rendered(found[0]) if found else None


def read_find(flags: Sequence[str], lines: Sequence[str]) -> Compact | None:
    if any(flag.startswith(_FIND_OTHERS) for flag in flags):
        return None
    return paths_by_folder(lines)


def paths_by_folder(lines: Sequence[str]) -> Compact | None:
    """One line for each folder with several paths, or for a name that occurs in several folders of one parent."""
    if any(not line or "\t" in line for line in lines):
        return None
    paths = [line.removeprefix("./") or line for line in lines]
    alike = same_name_in_siblings(paths)
    rows = [
        f"{quote(parent)}*/{quote(name)}: {row}"
        for (parent, name), siblings in alike.items()
        for row in chunks(siblings)
    ]
    listed = {f"{parent}{sibling}/{name}" for (parent, name), siblings in alike.items() for sibling in siblings}
    for folder, names in by_folder(path for path in paths if path not in listed):
        rows += folder_rows(folder, names)
    return Compact(plural(len(lines), "path"), one_group(rows))


def same_name_in_siblings(paths: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """(parent, name) → at least three of its folders, of which this file is the only one listed."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        folders.setdefault(folder + slash, []).append(name)
    alike: dict[tuple[str, str], list[str]] = {}
    for folder, names in folders.items():
        if folder and len(names) == 1:
            parent, slash, last = folder.removesuffix("/").rpartition("/")
            alike.setdefault((parent + slash, names[0]), []).append(last)
    return {key: siblings for key, siblings in alike.items() if len(siblings) >= SIBLINGS}


def folder_rows(folder: str, names: Sequence[str]) -> Iterable[str]:
    if len(names) == 1 or not folder:
        yield from (quote(folder + name) for name in names) if folder else chunks(names)
        return
    for row in chunks(names):
        yield f"{quote(folder)} {row}"


def chunks(names: Sequence[str]) -> Iterable[str]:
    """Rows that are short enough to be cut off one by one."""
    for at in range(0, len(names), NAMES_PER_ROW):
        yield " ".join(quote(name) for name in names[at : at + NAMES_PER_ROW])


def read_ls(flags: Sequence[str], lines: Sequence[str]) -> Compact | None:
    short = "".join(flag[1:] for flag in flags if flag.startswith("-") and not flag.startswith("--"))
    if set(short) & set("sibZmxCfFp") or any(flag.startswith(("--format", "--inode", "--time")) for flag in flags):
        return None
    folders = sections(lines)
    if folders is None:
        return None
    found = 0
    groups: list[Group] = []
    for folder, entries in folders:
        rows = long_rows(entries) if "l" in short else list(chunks(entries))
        if rows is None:
            return None
        found += len(entries)
        groups.append(Group(folder, (Item(tuple(Row(row) for row in rows)),)))
    lost = "l" in short
    omitted = " · modes, owners, times omitted" if lost else ""
    return Compact(plural(found, "entry") + omitted, tuple(groups), in_order=True, lost=lost)


def sections(lines: Sequence[str]) -> list[tuple[str, list[str]]] | None:
    """(folder, entries); `ls a b` and `ls -R` print the name of each folder before its entries."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for at, line in enumerate(lines):
        if not line:
            if at + 1 < len(lines) and not lines[at + 1].endswith(":"):
                return None
        elif line.endswith(":") and (at == 0 or not lines[at - 1]):
            found.append((line.removesuffix(":").removeprefix("./") + "/", []))
        elif not re.fullmatch(r"total [\d.]+[KMGT]?", line):
            found[-1][1].append(line)
    return [one for one in found if one[1] or one[0]]


def long_rows(entries: Sequence[str]) -> list[str] | None:
    """Folders, then files with their sizes."""
    folders: list[str] = []
    files: list[str] = []
    for line in entries:
        entry = _LONG.fullmatch(line)
        if entry is None:
            return None
        name = entry["name"]
        if name in {".", ".."}:
            continue
        if entry["kind"] == "d":
            folders.append(f"{quote(name)}/")
        elif entry["kind"] == "l":
            files.append(name)
        else:
            mark = "*" if "x" in entry["mode"] else ""
            files.append(f"{quote(name)}{mark} {short_size(entry['size'])}")
    rows = [" ".join(folders[at : at + NAMES_PER_ROW]) for at in range(0, len(folders), NAMES_PER_ROW)]
    return rows + ["  ".join(files[at : at + NAMES_PER_ROW]) for at in range(0, len(files), NAMES_PER_ROW)]


def short_size(size: str) -> str:
    """1234567 → 1.2M; `ls -h` has shortened it already."""
    if not size.isdecimal() or int(size) < KILO:
        return size
    steps = min(len(UNITS), (int(size).bit_length() - 1) // 10)
    number = int(size) / KILO**steps
    return f"{number:.{number < TEN:d}f}{UNITS[steps - 1]}"


def read_tree(flags: Sequence[str], lines: Sequence[str]) -> Compact | None:
    if any(flag.startswith(("-J", "-X", "-H", "-o", "-p", "-s", "-h", "-D", "-u", "-g")) for flag in flags):
        return None
    rows: list[str] = []
    for line in lines:
        branch = _BRANCH.fullmatch(line)
        if branch is not None:
            rows.append(" " * (len(branch["rails"]) // 4) + branch["name"])
        elif line and not _TREE_END.fullmatch(line):
            rows.append(line)
    totals = [line for line in lines if _TREE_END.fullmatch(line)]
    return Compact(totals[-1], one_group(rows, each=False), in_order=True) if totals else None


def one_group(rows: Iterable[str], *, each: bool = True) -> tuple[Group, ...]:
    """A group of rows. `each`: every row is a separate item, so that rows can be omitted one by one."""
    items = [Row(row) for row in rows]
    return (Group("", tuple(Item((row,)) for row in items) if each else (Item(tuple(items)),)),)


READERS: Final[dict[str, Callable[[Sequence[str], Sequence[str]], Compact | None]]] = {
    "find": read_find, "fd": read_find, "ls": read_ls, "tree": read_tree,
}  # fmt: skip
