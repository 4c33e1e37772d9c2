"""What `llmc doctor` looks at: each check says ok, warn or fail, and the fix.

A check never raises: whatever goes wrong inside it is its finding. Those that look into the index stand in
`index_checks`. Nothing here needs a daemon, since a daemon that does not start is what people come with.
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
from llmc.base.errors import DaemonError
from llmc.base.paths import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmc.cli._options import Options
    from llmc.settings import Loaded

__all__ = ["CheckContext", "CheckResult", "check_daemon", "check_home", "check_log", "check_packages", "check_python"]

MIB = 1 << 20
FREE_WARN, FREE_FAIL = 1024 * MIB, 100 * MIB
DESCRIPTORS = 1_024
IMPORT_SECONDS = 120.0
# What the program imports, and the package that carries it.
MODULES = {
    "click": "click", "diskcache": "diskcache", "httpx": "httpx", "lancedb": "lancedb",
    "numpy": "numpy", "orjson": "orjson", "psutil": "psutil",
    "pyarrow": "pyarrow", "re2": "google-re2", "rich": "rich", "tantivy": "tantivy", "regex": "regex",
    "tree_sitter": "tree-sitter", "tree_sitter_language_pack": "tree-sitter-language-pack",
    "watchdog.observers": "watchdog",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheckResult:
    name: str
    state: str  # ok, warn, fail
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What is examined: the options of the command, and the settings as far as they could be read."""

    options: Options
    loaded: Loaded


def check_python(_patient: CheckContext) -> Iterator[CheckResult]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield CheckResult(
        "python", "ok", f"{version} at {sys.executable}; llmc {__version__} at {Path(__file__).parents[1]}"
    )
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        yield CheckResult("open files", "warn", f"at most {hard}", f"raise the limit: ulimit -Hn {4 * DESCRIPTORS}")
    else:
        yield CheckResult("open files", "ok", "no limit" if hard == resource.RLIM_INFINITY else f"up to {hard:,}")


def check_packages(_patient: CheckContext) -> Iterator[CheckResult]:
    """In a process of its own: a binary that this processor cannot run ends whoever imports it."""
    script = (
        "import importlib, sys\nfor name in sys.argv[1:]:\n print(name, flush=True)\n importlib.import_module(name)"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", "-c", script, *MODULES],
            capture_output=True, text=True, timeout=IMPORT_SECONDS, check=False, cwd="/",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        yield CheckResult("packages", "fail", f"importing them took over {IMPORT_SECONDS:.0f} s", "install llmc anew")
        return
    if done.returncode == 0:
        yield CheckResult("packages", "ok", ", ".join(f"{package} {_version(package)}" for package in MODULES.values()))
        return
    last = (done.stdout.split() or ["?"])[-1]
    why = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    yield CheckResult(
        "packages", "fail", f"{last} cannot be imported: {why}", f"install {MODULES.get(last, last)} anew"
    )


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def check_home(patient: CheckContext) -> Iterator[CheckResult]:
    home = patient.options.home
    folder = Path(home.path)
    try:
        home.make()
        probe = folder / f"probe-{os.getpid()}"
        probe.write_bytes(b"x")
        probe.unlink()
    except (DaemonError, OSError) as error:
        reason = error.reason if isinstance(error, DaemonError) else error.strerror
        fix = "set LLMC_HOME to a folder that you may write, or use --no-daemon"
        yield CheckResult("home", "fail", f"{shown(home.path)} cannot be written: {reason}", fix)
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    yield CheckResult("home", "ok", f"{shown(home.path)}, mode {mode:o}, socket {shown(home.socket)}")
    free = shutil.disk_usage(folder).free
    state = "fail" if free < FREE_FAIL else "warn" if free < FREE_WARN else "ok"
    fix = "" if state == "ok" else "make room: without any the index is read-only"
    yield CheckResult("disk", state, f"{free // MIB:,} MiB free", fix)
    for root in patient.loaded.settings.roots:
        if folder.is_relative_to(root.path):
            yield CheckResult("home", "warn", f"it lies in the root {shown(str(root.path))}", "set LLMC_HOME elsewhere")


def check_daemon(patient: CheckContext) -> Iterator[CheckResult]:
    options = patient.options
    owner = read_owner(options.home)
    if owner is None:
        yield CheckResult("daemon", "ok", "not running; any command starts it")
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
        fix = "`llmc stop`; the next command starts this one's"
        yield CheckResult("daemon", "warn", f"{text}; it is of another build than this llmc", fix)


def check_log(patient: CheckContext) -> Iterator[CheckResult]:
    path = patient.options.home.log
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    errors = [entry for entry in map(_entry, logs.tail(path, 2_000)) if entry.get("level") == "error"]
    recent = [entry for entry in errors if str(entry.get("time", "")) >= since]
    if not recent:
        yield CheckResult("log", "ok", f"no error in the last day: {shown(path)}")
        return
    last = recent[-1]
    trace = last.get("trace")
    why = f": {trace[-1]}" if isinstance(trace, list) and trace else ""
    text = f"{len(recent)} in the last day, the last at {last.get('time')}: {last.get('event')}{why}"
    yield CheckResult("log", "warn", shown(text), f"see {shown(path)}")


def _entry(line: str) -> dict[str, object]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
