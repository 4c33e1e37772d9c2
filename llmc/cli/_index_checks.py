"""The checks of `llmc doctor` for the workspace and its index: settings, roots, watching, models, stores."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base.errors import EmbedError, LlmcError
from llmc.base.paths import shown
from llmc.cli._checks import CheckContext, CheckResult

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_embedder", "check_grammars", "check_roots", "check_settings", "check_stores", "check_watching"]

# Enough to exceed the watch limit without walking a whole disk.
MOST_FOLDERS = 2_000_000
WATCH_LIMIT = "/proc/sys/fs/inotify/max_user_watches"


def check_settings(context: CheckContext) -> Iterator[CheckResult]:
    loaded = context.loaded
    files = ", ".join(shown(str(path)) for path in loaded.files) or "no file, all defaults"
    if not loaded.problems:
        yield CheckResult("settings", "ok", files)
    for problem in loaded.problems:
        yield CheckResult("settings", "fail", str(problem), "`llmc config check` shows the location")
    for notice in loaded.notices:
        yield CheckResult("settings", "warn", str(notice))


def check_roots(context: CheckContext) -> Iterator[CheckResult]:
    from llmc.base.roots import make_root

    if context.loaded.no_root is not None:
        error = context.loaded.no_root
        yield CheckResult(
            "roots", "warn", f"{error.message}: {error.reason}" if error.reason else error.message, error.hint
        )
    for entry in context.loaded.settings.roots:
        try:
            root = make_root(str(entry.path), entry.name)
        except LlmcError as error:
            yield CheckResult("root", "fail", f"{error.message}: {error.reason}", error.hint)
            continue
        yield CheckResult("root", "ok", f"{shown(root.path)} ({root.name}, family {root.family})")
        yield from _check_worktree(root.path)


def _check_worktree(path: str) -> Iterator[CheckResult]:
    """Warn about a linked work tree whose repository was moved or removed; git does not work there either."""
    from llmc.base.root_fs import RootFs
    from llmc.base.roots import checkout

    with RootFs(path) as root_fs:
        worktree = checkout(root_fs)
    if worktree is not None and not Path(worktree.repository).exists():
        text = f"{shown(path)} belongs to a repository that no longer exists: {shown(worktree.repository)}"
        yield CheckResult("git", "warn", text, "run `git worktree repair` in the repository")


def check_watching(context: CheckContext) -> Iterator[CheckResult]:
    if sys.platform != "linux":
        yield CheckResult("watching", "ok", "uses the system's file events")
        return
    limit = int(Path(WATCH_LIMIT).read_text())
    need = sum(_folders(str(root.path)) for root in context.loaded.settings.roots)
    text = f"{need:,} folders in the roots (ignored ones included), {limit:,} inotify watches"
    if need > limit:
        fix = "sysctl fs.inotify.max_user_watches=1048576; until then those roots are polled"
        yield CheckResult("watching", "warn", text, fix)
    else:
        yield CheckResult("watching", "ok", text)


def _folders(root: str) -> int:
    """Count folders without following links or opening files."""
    number = 0
    for _, folders, _ in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        number += 1
        if number >= MOST_FOLDERS:
            break
    return number


def check_grammars(_context: CheckContext) -> Iterator[CheckResult]:
    """Every grammar must load from the wheel: nothing is downloaded at run time."""
    from llmc.base.languages import GRAMMARS
    from llmc.indexer.syntax.grammar import language

    names = sorted(set(GRAMMARS.values()))
    broken: list[str] = []
    for name in names:
        try:
            language(name)
        except Exception as error:  # noqa: BLE001 - a broken binary may raise anything
            broken.append(f"{name} ({error})")
    if broken:
        yield CheckResult("grammars", "fail", ", ".join(broken), "reinstall tree-sitter-language-pack")
    else:
        yield CheckResult("grammars", "ok", f"{len(names)} load offline")


def check_embedder(context: CheckContext) -> Iterator[CheckResult]:
    from llmc.embed import open_embedder

    settings = context.loaded.settings.embedder
    try:
        embedder = open_embedder(settings)
        embedder.embed_query("where is the parser?")
    except EmbedError as error:
        text = f"{error.message}: {error.reason}" if error.reason else error.message
        yield CheckResult(
            "embedder", "fail", text, error.hint or '`embedder.kind = "builtin"` works without other software'
        )
    else:
        yield CheckResult("embedder", "ok", f"{embedder.name}, {embedder.dimension} dimensions")


def check_stores(context: CheckContext) -> Iterator[CheckResult]:
    from llmc.store import Store

    folders = sorted(Path(context.options.home.stores).glob("*/"))
    if not folders:
        yield CheckResult("index", "ok", "nothing is indexed yet")
    for folder in folders:
        try:
            with Store.open(folder) as store:
                differences = store.verify()
                counts = store.counts()
        except LlmcError as error:
            text = f"{folder.name}: {error.message}: {error.reason}"
            yield CheckResult("index", "fail", text, error.hint or "run `llmc index --rebuild`")
            continue
        if differences:
            text = f"{folder.name}: {len(differences)} documents differ between the stores"
            yield CheckResult("index", "warn", text, "the next write repairs this; otherwise run `llmc index --verify`")
        else:
            yield CheckResult("index", "ok", f"{folder.name}: {counts.documents:,} documents, {counts.chunks:,} chunks")
