"""How a client starts llmc: the `{command, args, env}` record, for config files and for programs that start agents.

The command must work from a GUI program that has neither the user's PATH nor variables: an absolute path, and the
variables that say where llmc's state and settings are, if they are set. `python -P` keeps a folder named `llmc` in the
agent's current folder from being imported in our place.
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
# A program that wants the pruner profile may have these set already; llmc's own names come first.
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
    """The servers that an agent should get: `{name: {command, args, env}}`, or nothing when it is switched off.

    Without `enabled`, `LLMC_MCP_ENABLED` decides (1, true, yes, on; unset is on), or `JEEVES_PRUNER_ENABLED` where a
    runner has that (unset is off). `LLMC_MCP_PATH` names another executable. `cwd` is the folder of the run; `roots`
    default to it. With the pruner profile the server is called `pruner` and is told `PRUNER_URL` and `MCP_PRUNER_CWD`.
    An executable or address that cannot be used switches it off as well: a run goes on without it. `why_not` says why.
    """
    environ = os.environ if environ is None else environ
    pruner = profile == "pruner"
    if not (is_enabled(environ, pruner=pruner) if enabled is None else enabled) or why_not(environ, profile=profile):
        return {}
    command, *first = program(environ)
    folders = [str(Path(root).absolute()) for root in roots or ([cwd] if cwd else [])]
    env = state_variables(environ)
    if pruner:
        env |= {"PRUNER_URL": pruner_url(environ), "MCP_PRUNER_CWD": str(Path(cwd or Path.cwd()).absolute())}
    args = [*first, *arguments(folders, profile, agent)]
    return {checked_name(name or ("pruner" if pruner else "llmc")): ServerRecord(command=command, args=args, env=env)}


def why_not(environ: Mapping[str, str] | None = None, *, profile: str = "") -> str:
    """What keeps the server from being configured, in a sentence for a log; empty when nothing does."""
    environ = os.environ if environ is None else environ
    named = first_of(environ, PATHS)
    if named and not runnable(named):
        return f"{named} cannot be run"
    address = pruner_url(environ) if profile == "pruner" else ""
    if address and (urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).netloc):
        return f"{address!r} is not an http address"
    return ""


def codex_overrides(servers: Mapping[str, ServerRecord]) -> list[str]:
    """`--config` arguments that give `codex exec` these servers, for one run and without a file."""
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
    """The llmc that runs now, by a path that stays: as it was called, beside the interpreter, or the interpreter."""
    named = first_of(environ, PATHS)
    if named:
        return [str(Path(named).absolute())]
    called = Path(sys.argv[0])
    if called.name == "llmc" and (found := shutil.which(sys.argv[0])):
        return [str(Path(found).absolute())]
    beside = Path(sys.executable).with_name("llmc")
    return [str(beside)] if runnable(str(beside)) else [sys.executable, "-P", "-m", "llmc"]


def state_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """What a client may not hand on: Codex passes a short list of variables, a desktop has never seen the shell's."""
    env: dict[str, str] = {}
    if environ.get("LLMC_HOME") or environ.get("XDG_CACHE_HOME"):
        from llmc.base.home import find_home  # noqa: PLC0415 - seldom needed

        env["LLMC_HOME"] = find_home(environ).path
    return env | {name: environ[name] for name in ("LLMC_CONFIG", "XDG_CONFIG_HOME") if environ.get(name)}


def is_enabled(environ: Mapping[str, str], *, pruner: bool) -> bool:
    own, runner = (environ.get(name) for name in ENABLED)
    if own is not None:
        return own.strip().lower() in TRUE
    return (runner or "").strip().lower() in TRUE if pruner else True


def pruner_url(environ: Mapping[str, str]) -> str:
    """Unset is the usual address; set and empty means no pruning endpoint."""
    return next((environ[name] for name in PRUNER_URLS if name in environ), PRUNER_URL)


def first_of(environ: Mapping[str, str], names: Sequence[str]) -> str:
    return next((environ[name] for name in names if environ.get(name)), "")


def runnable(path: str) -> bool:
    return os.access(path, os.X_OK) and Path(path).is_file()


def checked_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot name a server", hint="Use letters, digits, - and _, at most 64.")
    return name


def toml_text(text: str) -> str:
    """JSON's quoting is TOML's, if characters stay themselves and DEL does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
