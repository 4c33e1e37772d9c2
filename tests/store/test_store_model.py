"""Thousands of random batches, roots, sweeps, kills and rebuilds against a dict: the store never differs from it."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from store_world import batch, contents, document, found_by_substring, found_by_word, reader, writer

from llmc.store.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.store import Batch, Store

ROOTS = ("/work/one", "/work/two")
PATHS = tuple(f"src/{name}.py" for name in "abcdef")
WORDS = ("zebra", "quagga", "okapi", "gnu")

paths = st.sampled_from(PATHS)
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(lambda words: "".join(f"{word}\n" for word in words))
STEPS = ("reserved", "buffered", "keywords", "vectors", "condemned", "keywords purged", "vectors purged")


class PulledPlug(BaseException):
    """Not an error that any code below would handle."""


class Machine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.wanted: dict[str, dict[str, str]] = {root: {} for root in ROOTS}
        self.store = writer(self.folder)
        self.reading = reader(self.folder)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.reading.close()
            shutil.rmtree(self.folder)

    @rule(root=st.sampled_from(ROOTS), files=st.dictionaries(paths, st.none() | texts, max_size=4))
    def apply(self, root: str, files: dict[str, str | None]) -> None:
        self.store.apply(self._batch(root, files))
        self._expect(root, files)

    def _batch(self, root: str, files: dict[str, str | None]) -> Batch:
        """As the indexer does: only the documents that the store does not have."""
        made = batch(files, root)
        known = self.store.catalog.numbers([one.key for one in made.documents])
        return replace(made, documents=tuple(one for one in made.documents if one.key not in known))

    def _expect(self, root: str, files: dict[str, str | None]) -> None:
        merged = {**self.wanted[root], **files}
        self.wanted[root] = {path: text for path, text in merged.items() if text is not None}

    @rule(
        root=st.sampled_from(ROOTS),
        files=st.dictionaries(paths, st.none() | texts, min_size=1, max_size=4),
        step=st.sampled_from(STEPS),
    )
    def pull_the_plug(self, root: str, files: dict[str, str | None], step: str) -> None:
        """A batch or a sweep stops at a step and the process ends; another one opens the store."""
        self._stop_at(step, lambda: self.store.apply(self._batch(root, files)), lambda: self._expect(root, files))
        self._stop_at(step, lambda: self.store.sweep(max_age=0), lambda: None)

    def _stop_at(self, step: str, action: Callable[[], object], expect: Callable[[], object]) -> None:
        def reached(at: str) -> None:
            if at == step:
                raise PulledPlug

        try:
            with pytest.MonkeyPatch.context() as plug:
                plug.setattr(Writer, "reached", staticmethod(reached))
                action()
                expect()
        except PulledPlug:
            self._abandon()

    def _abandon(self) -> None:
        """As a kill would: no closing, no checksums; the kernel releases the lock."""
        lost = self.store
        lost._writing.catalog_writer.db.close()
        lost._writing._lock.release()
        lost._parts.close()
        self.store = writer(self.folder)

    @rule()
    def close_and_open(self) -> None:
        self.store.close()
        self.store = writer(self.folder)

    @rule(age=st.sampled_from([0.0, 1e9]), share=st.sampled_from([0.0, 0.3, 1.0]))
    def sweep(self, age: float, share: float) -> None:
        self.store.sweep(max_age=age, max_share=share)

    @rule(root=st.sampled_from(ROOTS))
    def drop_root(self, root: str) -> None:
        self.store.drop_root(root)
        self.wanted[root] = {}

    @precondition(lambda self: hasattr(self, "store"))
    @invariant()
    def agrees(self) -> None:
        self.reading.refresh()
        for store in (self.store, self.reading):
            for root, files in self.wanted.items():
                self._agrees(store, root, files)
        assert self.store.verify() == []

    def _agrees(self, store: Store, root: str, files: dict[str, str]) -> None:
        assert contents(store, root) == {path: document(path, text).key for path, text in files.items()}
        for word in WORDS:
            holding = {path for path, text in files.items() if word in text}
            assert found_by_word(store, word, root) == holding
            assert found_by_substring(store, word, root) == holding


TestStore = Machine.TestCase
TestStore.settings = settings(
    max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
