"""The checks of `llmc doctor`: the installation (Python, packages, home folder, daemon, log), then the workspace and
its index (settings, roots, watching, models, stores).

A check yields results with the state ok, warn or fail, and a fix. No check needs a running daemon, since a daemon that
does not start is a common reason to run doctor.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from llmc import __version__
from llmc.base import logs
from llmc.base.daemon_lock import read_owner
from llmc.base.errors import DaemonError, EmbedError, LlmcError
from llmc.base.paths import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.cli._options import Options
    from llmc.settings import Loaded

__all__ = [
    "CheckContext",
    "CheckResult",
    "check_daemon",
    "check_embedder",
    "check_grammars",
    "check_home",
    "check_log",
    "check_packages",
    "check_python",
    "check_roots",
    "check_settings",
    "check_stores",
    "check_watching",
]

MIB = 1 << 20
FREE_WARN, FREE_FAIL = 1024 * MIB, 100 * MIB
DESCRIPTORS = 1_024
IMPORT_SECONDS = 120.0
# Imported module: the package that provides it.
MODULES = {
    "click": "click", "diskcache": "diskcache", "httpx": "httpx", "lancedb": "lancedb",
    "numpy": "numpy", "orjson": "orjson", "psutil": "psutil",
    "pyarrow": "pyarrow", "re2": "google-re2", "rich": "rich", "tantivy": "tantivy", "regex": "regex",
    "tree_sitter": "tree-sitter", "tree_sitter_language_pack": "tree-sitter-language-pack",
    "watchdog.observers": "watchdog",
}  # fmt: skip
# Enough to exceed the watch limit without walking a whole disk.
MOST_FOLDERS = 2_000_000
WATCH_LIMIT = "/proc/sys/fs/inotify/max_user_watches"


@dataclass(frozen=True, slots=True)
class CheckResult:
    name: str
    state: str  # ok, warn, fail
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Input of every check: the command's options, and the settings as far as they are valid."""

    options: Options
    loaded: Loaded


def check_python(_context: CheckContext) -> Iterator[CheckResult]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield CheckResult(
        "python", "ok", f"{version} at {sys.executable}; llmc {__version__} at {Path(__file__).parents[1]}"
    )
    if (other := _version("llmc")) != "?":
        problem = f"another project, llmc {other}, is installed in the same environment and has the same files"
        fix = f"{sys.executable} -m pip uninstall llmc, then reinstall llmc-index"
        yield CheckResult("distribution", "warn", problem, fix)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        yield CheckResult("open files", "warn", f"at most {hard}", f"raise the limit: ulimit -Hn {4 * DESCRIPTORS}")
    else:
        yield CheckResult("open files", "ok", "no limit" if hard == resource.RLIM_INFINITY else f"up to {hard:,}")


def check_packages(_context: CheckContext) -> Iterator[CheckResult]:
    """In a separate process: importing a binary that this CPU cannot run kills the process."""
    script = (
        "import importlib, sys\nfor name in sys.argv[1:]:\n print(name, flush=True)\n importlib.import_module(name)"
    )
    try:
        result = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", "-c", script, *MODULES],
            capture_output=True, text=True, timeout=IMPORT_SECONDS, check=False, cwd="/",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        yield CheckResult("packages", "fail", f"imports took over {IMPORT_SECONDS:.0f} s", "reinstall llmc")
        return
    if result.returncode == 0:
        yield CheckResult("packages", "ok", ", ".join(f"{package} {_version(package)}" for package in MODULES.values()))
        return
    last = (result.stdout.split() or ["?"])[-1]
    reason = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
    yield CheckResult(
        "packages", "fail", f"{last} cannot be imported: {reason}", f"reinstall {MODULES.get(last, last)}"
    )


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def check_home(context: CheckContext) -> Iterator[CheckResult]:
    home = context.options.home
    folder = Path(home.path)
    try:
        home.make()
        probe = folder / f"probe-{os.getpid()}"
        probe.write_bytes(b"x")
        probe.unlink()
    except (DaemonError, OSError) as error:
        reason = error.reason if isinstance(error, DaemonError) else error.strerror
        fix = "set LLMC_HOME to a writable folder, or use --no-daemon"
        yield CheckResult("home", "fail", f"{shown(home.path)} cannot be written: {reason}", fix)
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    yield CheckResult("home", "ok", f"{shown(home.path)}, mode {mode:o}, socket {shown(home.socket)}")
    free = shutil.disk_usage(folder).free
    state = "fail" if free < FREE_FAIL else "warn" if free < FREE_WARN else "ok"
    fix = "" if state == "ok" else "free some disk space; on a full disk the index is read-only"
    yield CheckResult("disk", state, f"{free // MIB:,} MiB free", fix)
    for root in context.loaded.settings.roots:
        if folder.is_relative_to(root.path):
            yield CheckResult(
                "home", "warn", f"inside the root {shown(str(root.path))}", "set LLMC_HOME to a folder outside"
            )


def check_daemon(context: CheckContext) -> Iterator[CheckResult]:
    options = context.options
    owner = read_owner(options.home)
    if owner is None:
        yield CheckResult("daemon", "ok", "not running; the next command starts it")
        return
    try:
        with options.connect(start=False) as connection:
            hello = connection.hello
    except DaemonError as error:
        fix = "`llmc stop --force`, then run any command"
        yield CheckResult("daemon", "fail", f"{owner.describe()}; {error.message}: {error.reason}", fix)
        return
    caller = options.caller.about
    same = (hello["version"], hello["build"]) == (caller["version"], caller["build"])
    text = owner.describe()
    if same:
        yield CheckResult("daemon", "ok", text)
    else:
        fix = "`llmc stop`; the next command starts the current build"
        yield CheckResult("daemon", "warn", f"{text}; its build differs from this llmc", fix)


def check_log(context: CheckContext) -> Iterator[CheckResult]:
    path = context.options.home.log
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    errors = [entry for entry in map(_entry, logs.tail(path, 2_000)) if entry.get("level") == "error"]
    recent = [entry for entry in errors if str(entry.get("time", "")) >= since]
    if not recent:
        yield CheckResult("log", "ok", f"no errors in the last day: {shown(path)}")
        return
    last = recent[-1]
    trace = last.get("trace")
    reason = f": {trace[-1]}" if isinstance(trace, list) and trace else ""
    text = f"errors in the last day: {len(recent)}, the latest at {last.get('time')}: {last.get('event')}{reason}"
    yield CheckResult("log", "warn", shown(text), f"see {shown(path)}")


def _entry(line: str) -> dict[str, object]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


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
        yield CheckResult("roots", "warn", error.without_hint, error.hint)
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
        text = error.without_hint
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
