"""The vector tables as the store's writer uses them: adding, deleting, optimizing, and replacing damaged tables.

This module also updates the catalog's entries for the tables, in an order that can be repaired after a crash. An
unusable table is dropped, never patched: its documents then have no vectors and are embedded again. Without LanceDB all
other stores are still written.
"""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING

from llmc.base import logs
from llmc.base.errors import CorruptVectorsError, StoreFullError, VectorsUnavailableError
from llmc.store.vectors.vector_index import VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from llmc.base.model import Vectors
    from llmc.store.catalog.writer import CatalogWriter
    from llmc.store.parts import Parts
    from llmc.store.values import Embedding, Manifests

__all__ = ["VectorTables"]

log = logs.get("store")


class VectorTables:
    """`seal` records a new generation; `reached` is called after each step, for the tests. `lost` is the reason why a
    table was dropped; empty if none was."""

    def __init__(
        self, parts: Parts, catalog_writer: CatalogWriter, seal: Callable[[int], None], reached: Callable[[str], None]
    ) -> None:
        self._parts = parts
        self._catalog_writer = catalog_writer
        self._seal = seal
        self._reached = reached
        self._tables: dict[Embedding, VectorIndex] = {}
        self.lost = ""

    def open(self) -> None:
        """Open the tables of every embedder in the catalog."""
        known, folder = self._parts.catalog.moment().embeddings.values(), self._parts.folder
        self._tables = {one: self._tables[one] if one in self._tables else VectorIndex(folder, one) for one in known}

    def manifests(self) -> Manifests:
        return {embedding.store: table.manifest() for embedding, table in self._tables.items()}

    def rollback(self) -> None:
        for table in self._tables.values():
            table.rollback()

    # --- rows

    def add(self, vectors: Mapping[int, Vectors]) -> None:
        """Add rows of the target embedder. VectorsUnavailableError without LanceDB."""
        if not vectors:
            return
        try:
            self._commit(vectors)
        except CorruptVectorsError as error:
            self.drop(self._parts.target, error.reason or error.message)
            self._commit(vectors)

    def _commit(self, vectors: Mapping[int, Vectors]) -> None:
        table = self._tables[self._parts.target]
        for doc, rows in vectors.items():
            table.add(doc, rows)
        table.commit()

    def delete(self, docs: Collection[int]) -> None:
        """Delete rows. Without LanceDB they stay until `optimize`, since readers ignore documents that are not in the
        catalog."""
        for embedding, table in list(self._tables.items()):
            table.delete(docs)
            try:
                table.commit()
            except VectorsUnavailableError:
                table.rollback()
            except CorruptVectorsError as error:
                self.drop(embedding, error.reason or error.message)

    # --- damage

    def drop(self, embedding: Embedding, reason: str) -> None:
        """Forget a table that cannot be used."""
        self.lost = reason
        log.warning("rebuilding the vectors", folder=str(self._parts.folder), reason=reason)
        self._seal(self._catalog_writer.forget_vectors(embedding))
        self._reached("vectors forgotten")
        self._parts.moment = self._parts.catalog.moment()
        self.open()
        self.drop_unnamed()

    def check(self) -> None:
        """Drop damaged tables. If the catalog does not list the files of a table, its writer died while optimizing, and
        the number of rows shows whether the table is complete."""
        for embedding, table in list(self._parts.tables().items()):
            documents, rows = self._parts.catalog.embedded_total(embedding.number)
            if table.damage:
                self.drop(embedding, table.damage)
            elif documents and not self._parts.moment.table_files(embedding):
                self._check_rows(embedding, rows)

    def _check_rows(self, embedding: Embedding, rows: int) -> None:
        try:
            found = self._tables[embedding].row_count()
        except VectorsUnavailableError:
            return
        except CorruptVectorsError as error:
            self.drop(embedding, error.reason or error.message)
            return
        if found < rows:
            self.drop(embedding, f"{rows - found:,} of {rows:,} vectors are missing")
        else:
            self._seal(self._catalog_writer.put_manifests(self.manifests()))

    def drop_unnamed(self) -> None:
        """Remove the tables of embedders that were replaced."""
        folder = self._parts.folder
        named = {one.store for one in self._parts.catalog.moment().embeddings.values()}
        for path in (folder / "vectors").glob("*"):
            if f"vectors/{path.name}" not in named:
                shutil.rmtree(path, ignore_errors=True)

    # --- optimizing

    def optimize(self) -> bool:
        """Merge the files of tables that have many, and index large tables; False if no table needed it."""
        done = False
        for embedding, table in list(self._tables.items()):
            if table.needs_optimize(partial(self._rows_of, embedding)):
                self._optimize(embedding, table)
                done = True
        return done

    def _rows_of(self, embedding: Embedding) -> int:
        return self._parts.catalog.embedded_total(embedding.number)[1]

    def _optimize(self, embedding: Embedding, table: VectorIndex) -> None:
        """Optimizing replaces files, so the catalog lists none of them meanwhile (see `check`). On a full disk the
        table stays as it was."""
        self._seal(self._catalog_writer.put_manifests({embedding.store: {}}))
        self._reached("vectors unsealed")
        try:
            strays = table.docs() - self._parts.catalog.embedded(embedding.number)
            if strays:
                table.delete(strays)
                table.commit()
            table.optimize()
        except CorruptVectorsError as error:
            self.drop(embedding, error.reason or error.message)
            return
        except (StoreFullError, VectorsUnavailableError) as error:
            log.warning("the vectors were not optimized", folder=str(self._parts.folder), error=str(error))
        self._reached("vectors optimized")
        self._seal(self._catalog_writer.put_manifests(self.manifests()))
