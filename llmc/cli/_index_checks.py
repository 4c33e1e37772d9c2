"""What `llmc doctor` looks at in the workspace and its index: settings, roots, watching, models, stores."""

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

# Enough to say "more than the limit" without walking a whole disk.
MOST_FOLDERS = 2_000_000
WATCH_LIMIT = "/proc/sys/fs/inotify/max_user_watches"


def check_settings(patient: CheckContext) -> Iterator[CheckResult]:
    loaded = patient.loaded
    files = ", ".join(shown(str(path)) for path in loaded.files) or "no file, all defaults"
    if not loaded.problems:
        yield CheckResult("settings", "ok", files)
    for problem in loaded.problems:
        yield CheckResult("settings", "fail", str(problem), "`llmc config check` names the place")
    for notice in loaded.notices:
        yield CheckResult("settings", "warn", str(notice))


def check_roots(patient: CheckContext) -> Iterator[CheckResult]:
    from llmc.base.roots import make_root

    if patient.loaded.no_root is not None:
        error = patient.loaded.no_root
        yield CheckResult(
            "roots", "warn", f"{error.message}: {error.reason}" if error.reason else error.message, error.hint
        )
    for entry in patient.loaded.settings.roots:
        try:
            root = make_root(str(entry.path), entry.name)
        except LlmcError as error:
            yield CheckResult("root", "fail", f"{error.message}: {error.reason}", error.hint)
            continue
        yield CheckResult("root", "ok", f"{shown(root.path)} ({root.name}, family {root.family})")
        yield from _check_worktree(root.path)


def _check_worktree(path: str) -> Iterator[CheckResult]:
    """A linked work tree whose repository was moved or removed: git itself no longer works there."""
    from llmc.base.root_fs import RootFs
    from llmc.base.roots import checkout

    with RootFs(path) as root_fs:
        found = checkout(root_fs)
    if found is not None and not Path(found.repository).exists():
        text = f"{shown(path)} belongs to a repository that is gone: {shown(found.repository)}"
        yield CheckResult("git", "warn", text, "`git worktree repair` in the repository mends it")


def check_watching(patient: CheckContext) -> Iterator[CheckResult]:
    if sys.platform != "linux":
        yield CheckResult("watching", "ok", "events come from the system")
        return
    limit = int(Path(WATCH_LIMIT).read_text())
    need = sum(_folders(str(root.path)) for root in patient.loaded.settings.roots)
    text = f"{need:,} folders in the roots (ignored ones included), {limit:,} inotify watches"
    if need > limit:
        fix = "sysctl fs.inotify.max_user_watches=1048576; until then those roots are polled"
        yield CheckResult("watching", "warn", text, fix)
    else:
        yield CheckResult("watching", "ok", text)


def _folders(root: str) -> int:
    """Names only, links not followed; nothing is opened but folders."""
    number = 0
    for _, folders, _ in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        number += 1
        if number >= MOST_FOLDERS:
            break
    return number


def check_grammars(_patient: CheckContext) -> Iterator[CheckResult]:
    """Each must come out of the wheel: nothing is downloaded at run time."""
    from llmc.base.languages import GRAMMARS
    from llmc.indexer.syntax.grammar import language

    names = sorted(set(GRAMMARS.values()))
    broken: list[str] = []
    for name in names:
        try:
            language(name)
        except Exception as error:  # noqa: BLE001 - whatever a broken binary raises is the finding
            broken.append(f"{name} ({error})")
    if broken:
        yield CheckResult("grammars", "fail", ", ".join(broken), "install tree-sitter-language-pack anew")
    else:
        yield CheckResult("grammars", "ok", f"{len(names)} load offline")


def check_embedder(patient: CheckContext) -> Iterator[CheckResult]:
    from llmc.embed import open_embedder

    settings = patient.loaded.settings.embedder
    try:
        embedder = open_embedder(settings)
        embedder.embed_query("where is the door?")
    except EmbedError as error:
        text = f"{error.message}: {error.reason}" if error.reason else error.message
        yield CheckResult("embedder", "fail", text, error.hint or '`embedder.kind = "builtin"` needs nothing else')
    else:
        yield CheckResult("embedder", "ok", f"{embedder.name}, {embedder.dimension} dimensions")


def check_stores(patient: CheckContext) -> Iterator[CheckResult]:
    from llmc.store import Store

    folders = sorted(Path(patient.options.home.stores).glob("*/"))
    if not folders:
        yield CheckResult("index", "ok", "nothing is indexed yet")
    for folder in folders:
        try:
            with Store.open(folder) as store:
                differences = store.verify()
                counts = store.counts()
        except LlmcError as error:
            text = f"{folder.name}: {error.message}: {error.reason}"
            yield CheckResult("index", "fail", text, error.hint or "`llmc index --rebuild` makes it anew")
            continue
        if differences:
            text = f"{folder.name}: {len(differences)} documents differ between the stores"
            yield CheckResult("index", "warn", text, "a daemon that writes now mends it; else `llmc index --verify`")
        else:
            yield CheckResult("index", "ok", f"{folder.name}: {counts.documents:,} documents, {counts.chunks:,} chunks")
