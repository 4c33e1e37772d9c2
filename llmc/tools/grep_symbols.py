"""`grep --symbols`: the symbols around the matches. Imports are counted, and files without symbols share a line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.envelope import Group, Item
from llmc.envelope.phrases import plural
from llmc.retrieval.line_kinds import IMPORT
from llmc.tools.grep_layout import Layout
from llmc.tools.grep_rows import symbol_lists
from llmc.tools.sibling_files import sibling_files, sibling_group

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llmc.retrieval.grep_groups import FileGroups, SymbolMatches

__all__ = ["symbol_layout"]


def symbol_layout(files: Sequence[FileGroups], names: Callable[[str, str], str]) -> Layout:
    used = [without_imports(file) for file in files]
    if not any(file.symbols for file in used):
        return Layout(tuple(symbol_lists(files, names)))
    importing = [file for file, rest in zip(files, used, strict=True) if not rest.symbols]
    listed = [file for file in used if file.symbols]
    alike = sibling_files(file for file in listed if all(one.symbol is None for one in file.symbols))
    taken = {(file.root, file.path) for one in alike for file in one.files}
    others = [file for file in listed if (file.root, file.path) not in taken]
    hidden = [*(file for one in alike for file in one.files), *importing]
    shown = [*symbol_lists(others, names), *(sibling_group(one, names, counts=True) for one in alike)]
    left_out = sum(file.count for file in files) - sum(file.count for file in used)
    return Layout((*shown, *imports(left_out, len(importing))), tuple(symbol_lists(hidden, names)))


def without_imports(file: FileGroups) -> FileGroups:
    """The file without what is in no symbol, if that is imports alone."""
    kept = tuple(one for one in file.symbols if not is_import(one))
    return replace(file, symbols=kept)


def is_import(one: SymbolMatches) -> bool:
    return one.symbol is None and set(one.kinds.values()) == {IMPORT}


def imports(matches: int, files: int) -> list[Group]:
    if not matches:
        return []
    only = f", {plural(files, 'file')} with nothing else" if files else ""
    return [Group(f"{plural(matches, 'import')} not listed{only}", (Item(level=1),))]
