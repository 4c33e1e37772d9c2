"""From the hot tier into LanceDB, in large steps, by a worker that can afford to import it.

Which documents are folded is a column of the catalog, written after LanceDB has committed. A step that was cut short
is done again, and begins by deleting what it is about to add: no row comes twice. LanceDB's files are in the manifest
like all others; a table that does not check out is thrown away and folded anew, since the hot tier has every row.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from llmc.base.errors import CorruptStoreError
from llmc.store.integrity.checksums import check_files, crc_of
from llmc.store.values import Extent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.store.catalog.writer import CatalogWriter
    from llmc.store.lance import LanceVectors
    from llmc.store.parts import Parts
    from llmc.store.values import Embedding, Manifests

__all__ = ["fold"]

# Each write is a version with three files: fewer rows are not worth one.
LEAST_ROWS = 2_000
STEP_ROWS = 50_000


def fold(parts: Parts, ledger: CatalogWriter, *, everything: bool) -> int:
    """How many documents LanceDB took in. Without `everything`, only when it is worth a version."""
    target, catalog = parts.target, parts.catalog
    waiting, leaving = catalog.unfolded(target.number), catalog.leaving(target.number)
    rows = sum(chunks for _, chunks in waiting)
    if not (waiting or leaving) or (rows < LEAST_ROWS and not everything):
        return 0
    record = open_record(parts, ledger)
    waiting = catalog.unfolded(target.number)  # a table that was thrown away has more to take in
    for docs in steps(waiting):
        take_in(record, parts, docs, leaving)
        ledger.settle_folding(target.number, docs, leaving, record_manifest(parts.folder, target))
        leaving = set()
    record.tidy(force=everything)
    ledger.settle_folding(target.number, (), leaving, record_manifest(parts.folder, target))
    return len(waiting)


def take_in(record: LanceVectors, parts: Parts, docs: list[int], leaving: set[int]) -> None:
    table, languages = parts.table(parts.target), parts.catalog.languages(docs)
    record.delete({*docs, *leaving})
    record.add_rows(table.records(docs), languages)
    record.commit()


def steps(waiting: list[tuple[int, int]]) -> Iterator[list[int]]:
    docs: list[int] = []
    rows = 0
    for doc, chunks in waiting:
        docs.append(doc)
        rows += chunks
        if rows >= STEP_ROWS:
            yield docs
            docs, rows = [], 0
    yield docs


def open_record(parts: Parts, ledger: CatalogWriter) -> LanceVectors:
    from llmc.store.lance import LanceVectors  # noqa: PLC0415 only a worker pays for it

    target = parts.target
    folder = parts.folder / target.record
    try:
        check_files(folder, parts.catalog.moment().manifests.get(target.record, {}))
        return LanceVectors(folder, target.dimension)
    except CorruptStoreError:
        ledger.unfold(target.number)
        shutil.rmtree(folder, ignore_errors=True)
        return LanceVectors(folder, target.dimension)


def record_manifest(folder: Path, embedding: Embedding) -> Manifests:
    """Every file of LanceDB's table, by its path below the folder. Only the hint at the latest version is written
    again."""
    record, files = folder / embedding.record, {}
    for path in record.rglob("*"):
        if path.is_file():
            name, found = str(path.relative_to(record)), crc_of(path, changes=path.suffix == ".json")
            files[name] = Extent(name, found.size, found.crc)
    return {embedding.record: files}
