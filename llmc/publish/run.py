"""One run of `llmc publish`: combines settings, git source, embedder and redactor.

The embedder is required, since a shared index without vectors would rank worse for everybody. Redaction is always
enabled, whatever the settings for replies are.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base.errors import ConfigError, ConflictError
from llmc.embed import open_embedder
from llmc.envelope.redact.redactor import Redactor
from llmc.indexer.pool import DigestPool, Inline
from llmc.indexer.tasks import POOL_FILES, embeds_at_once
from llmc.publish.git_source import open_source
from llmc.publish.pipeline import PublishRequest, publish
from llmc.publish.tree import CommitTree, WorkTree
from llmc.store.shared.database import SharedDatabase
from llmc.store.shared.maintenance import needs_optimize, optimize
from llmc.store.shared.schema import Description

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmc.publish.git_source import GitSource
    from llmc.publish.pipeline import PublishResult
    from llmc.publish.tree import SourceTree
    from llmc.settings import Settings

    Report = Callable[[dict[str, Any]], None]

__all__ = ["PublishOptions", "run_publish"]


@dataclass(frozen=True, slots=True)
class PublishOptions:
    """`worktree` publishes the files as they are on disk instead of a commit."""

    root: str
    url: str
    repo: str = ""
    ref: str = ""
    commit: str = ""
    worktree: bool = False
    force: bool = False
    optimize: bool = True


def run_publish(
    options: PublishOptions, settings: Settings, environ: Mapping[str, str], report: Report = lambda _event: None
) -> PublishResult:
    source = open_source(options.root, environ, commit=options.commit, ref=options.ref, repo=options.repo)
    embedder = open_embedder(settings.embedder)
    redactor = Redactor.of(settings.redaction.model_copy(update={"enabled": True}))
    database = SharedDatabase.create(options.url, Description(embedder.name, embedder.dimension, redactor.fingerprint))
    in_pool = embeds_at_once(settings.embedder)
    tree = _tree(source, options, settings)
    digester = LazyDigester(settings, embed=in_pool)
    try:
        request = PublishRequest(
            repo=source.repo,
            ref=source.ref,
            tree=tree,
            redactor=redactor,
            digester=digester,
            embedder=embedder,
            chunked_bytes=settings.index.max_file_bytes,
            embed_in_pool=in_pool,
            force=options.force,
        )
        result = publish(database, request, report)
    finally:
        digester.close()
        tree.close()
    if options.optimize and result.written and needs_optimize(database, result.shard):
        report({"stage": "optimize"})
        try:
            optimize(database, shards=[result.shard])
        except ConflictError:  # another process optimizes already
            report({"stage": "note", "path": "another process is optimizing the shared index"})
    return result


def _tree(source: GitSource, options: PublishOptions, settings: Settings) -> SourceTree:
    commit = CommitTree(source.objects, source.commit, settings)
    if not options.worktree:
        return commit
    commit.close()
    if not source.folder:
        raise ConfigError("a bare repository has no work tree", hint="Omit --worktree.")
    return WorkTree(source.folder, f"{commit.commit}+worktree", commit.committed, settings)


class LazyDigester:
    """Digests in a pool of processes if the first batch is large, otherwise in this process."""

    def __init__(self, settings: Settings, *, embed: bool) -> None:
        self._settings = settings
        self._embed = embed
        self._chosen: DigestPool | Inline | None = None
        self.cpu = 0.0

    def submit(self, files: Any, *, embed: bool) -> Any:
        if self._chosen is None:
            self._chosen = self._choose(len(files))
        return self._chosen.submit(files, embed=embed)

    def _choose(self, files: int) -> DigestPool | Inline:
        if files >= POOL_FILES:
            workers = self._settings.index.workers or max(2, os.cpu_count() or 2)
            return DigestPool(self._settings, workers, embed=self._embed)
        return Inline(open_embedder(self._settings.embedder) if self._embed else None)

    def close(self) -> None:
        if self._chosen is not None:
            self._chosen.close()
