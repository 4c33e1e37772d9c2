"""The `{command, args, env}` record that starts llmc, for configuration files and for programs that start agents.

The command must also work when started by a GUI program without the user's PATH and variables. Therefore the path is
absolute, and variables that locate llmc's state and settings are included if set. `python -P` prevents the import of a
folder named `llmc` in the agent's current folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

from llmc.base.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ServerRecord", "codex_overrides", "mcp_servers_config", "program"]

TRUE = frozenset({"1", "true", "yes", "on"})
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# Existing users of the pruner profile may have set the JEEVES names; llmc's own names take precedence.
ENABLED = ("LLMC_MCP_ENABLED", "JEEVES_PRUNER_ENABLED")
PATHS = ("LLMC_MCP_PATH", "JEEVES_MCP_PRUNER_PATH")
PRUNER_URLS = ("LLMC_PRUNER_URL", "JEEVES_PRUNER_URL")
PRUNER_URL = "http://localhost:8000/prune"


class ServerRecord(TypedDict):
    """One MCP server over stdio."""

    command: str
    args: list[str]
    env: dict[str, str]


def mcp_servers_config(
    environ: Mapping[str, str] | None = None,
    *,
    name: str = "",
    profile: str = "",
    agent: str = "",
    roots: Sequence[str] = (),
    cwd: str = "",
    enabled: bool | None = None,
) -> dict[str, ServerRecord]:
    """The servers for an agent, `{name: {command, args, env}}`; empty if llmc is disabled.

    Without `enabled`, `LLMC_MCP_ENABLED` decides (1, true, yes, on; unset is on), or `JEEVES_PRUNER_ENABLED` where a
    runner has that (unset is off). `LLMC_MCP_PATH` names another executable. `cwd` is the folder of the run; `roots`
    default to it. With the pruner profile the server is called `pruner` and gets `PRUNER_URL` and `MCP_PRUNER_CWD`.
    An invalid executable or address also disables it, so that the run continues without llmc; `why_not` returns the
    reason.
    """
    environ = os.environ if environ is None else environ
    pruner = profile == "pruner"
    if problem_of(environ, pruner=pruner) if enabled else enabled is False or why_not(environ, profile=profile):
        return {}
    command, *first = program(environ)
    folders = [str(Path(root).absolute()) for root in roots or ([cwd] if cwd else [])]
    env = state_variables(environ)
    if pruner:
        env |= {"PRUNER_URL": pruner_url(environ), "MCP_PRUNER_CWD": str(Path(cwd or Path.cwd()).absolute())}
    args = [*first, *arguments(folders, profile, agent)]
    return {checked_name(name or ("pruner" if pruner else "llmc")): ServerRecord(command=command, args=args, env=env)}


def why_not(environ: Mapping[str, str] | None = None, *, profile: str = "") -> str:
    """Why there is no server: it is switched off or cannot be configured. A log message; empty if there is one."""
    environ = os.environ if environ is None else environ
    pruner = profile == "pruner"
    if not is_enabled(environ, pruner=pruner):
        own, runner = ENABLED
        name = own if own in environ or not pruner else runner
        return f"{name} is {environ[name]!r}" if name in environ else f"{name} is not set"
    return problem_of(environ, pruner=pruner)


def problem_of(environ: Mapping[str, str], *, pruner: bool) -> str:
    """Why the server cannot be configured."""
    named = first_of(environ, PATHS)
    if named and not runnable(named):
        return f"{named} is not an executable file"
    address = pruner_url(environ) if pruner else ""
    if address and (urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).netloc):
        return f"{address!r} is not an HTTP address"
    return ""


def codex_overrides(servers: Mapping[str, ServerRecord]) -> list[str]:
    """`--config` arguments that add these servers to one run of `codex exec` without a configuration file."""
    flags: list[str] = []
    for name, record in servers.items():
        prefix = f"mcp_servers.{checked_name(name)}"
        values = [f"{prefix}.command={toml_text(record['command'])}"]
        if record["args"]:
            values.append(f"{prefix}.args=[{','.join(toml_text(each) for each in record['args'])}]")
        values += [f"{prefix}.env.{checked_name(key)}={toml_text(value)}" for key, value in record["env"].items()]
        flags += [part for value in values for part in ("--config", value)]
    return flags


def arguments(roots: Sequence[str], profile: str, agent: str) -> list[str]:
    args = ["serve"]
    for root in roots:
        args += ["--root", root]
    if profile:
        args += ["--profile", profile]
    return [*args, "--agent", agent] if agent else args


def program(environ: Mapping[str, str]) -> list[str]:
    """The running llmc by a stable path: as it was called, next to the interpreter, or through the interpreter."""
    named = first_of(environ, PATHS)
    if named:
        return [str(Path(named).absolute())]
    called = Path(sys.argv[0])
    if called.name == "llmc" and (found := shutil.which(sys.argv[0])):
        return [str(Path(found).absolute())]
    beside = Path(sys.executable).with_name("llmc")
    return [str(beside)] if runnable(str(beside)) else [sys.executable, "-P", "-m", "llmc"]


def state_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that a client may not pass on: Codex passes only a few, and desktop programs lack the shell's."""
    env: dict[str, str] = {}
    if environ.get("LLMC_HOME") or environ.get("XDG_CACHE_HOME"):
        from llmc.base.home import find_home  # noqa: PLC0415 - rarely needed

        env["LLMC_HOME"] = find_home(environ).path
    return env | {name: environ[name] for name in ("LLMC_CONFIG", "XDG_CONFIG_HOME") if environ.get(name)}


def is_enabled(environ: Mapping[str, str], *, pruner: bool) -> bool:
    own, runner = (environ.get(name) for name in ENABLED)
    if own is not None:
        return own.strip().lower() in TRUE
    return (runner or "").strip().lower() in TRUE if pruner else True


def pruner_url(environ: Mapping[str, str]) -> str:
    """The default address if unset; set and empty means no pruning endpoint."""
    return next((environ[name] for name in PRUNER_URLS if name in environ), PRUNER_URL)


def first_of(environ: Mapping[str, str], names: Sequence[str]) -> str:
    return next((environ[name] for name in names if environ.get(name)), "")


def runnable(path: str) -> bool:
    return os.access(path, os.X_OK) and Path(path).is_file()


def checked_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not a valid server name", hint="Use at most 64 letters, digits, - and _.")
    return name


def toml_text(text: str) -> str:
    """A TOML string: JSON's quoting, without ASCII escapes and with DEL escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
