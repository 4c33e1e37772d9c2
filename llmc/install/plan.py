"""Plans an installation: a list of (file, edit) for a client, from the user's options.

The whole list is built first; then `files.change` applies each edit. Uninstalling uses the same list with edits that
remove the entries.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llmc.base.errors import ConfigError, RootError
from llmc.install import jsonc, toml
from llmc.install.agents import AGENT_MARK, SKILL, SKILL_MARK, agent_file, agent_name
from llmc.install.clients import CLIENTS, ClientLocations, McpClient
from llmc.install.edits import (
    add_block,
    add_items,
    combined,
    own_file,
    remove_block,
    remove_file,
    remove_items,
    set_entry,
    unset_entry,
)
from llmc.install.hooks import HOOKS, hook_edits
from llmc.install.record import ServerRecord, arguments, checked_name, program, state_variables
from llmc.settings.locations import implied_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from types import ModuleType

    from llmc.install.edits import Edit

__all__ = ["InstallOptions", "InstallStep", "client_named", "config_file", "entry_of", "snippet", "steps"]

# Instructions that every session of an agent reads, so they are short.
BEGIN, END = "<!-- llmc begin -->", "<!-- llmc end -->"
INSTRUCTIONS = (
    "To find or read code, use the llmc tools first: `search` (a question, a name or a pasted error), `grep` (a "
    "pattern), `read` (`path:10-40`, `path::symbol`). They answer from an index and cost few tokens. `+8 more → h4k2` "
    "at the end of a reply means more results: call `read h4k2`. Without MCP: `llmc search|grep|read` in a shell."
)
READING_TOOLS = ("search", "grep", "read", "llmc")
POLICY_MARK = "# written by llmc install"
# Gemini CLI asks before every call of an MCP tool unless a policy allows it.
POLICY = """{mark}; llmc install gemini --uninstall removes it
[[rule]]
mcpName = "{name}"
toolName = "*"
toolAnnotations = {{ readOnlyHint = true }}
decision = "allow"
priority = 100
"""


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """The user's choices. `roots` are absolute; `project`: edit the project's files instead of the user's.

    `http` is the address of a running server and `token` its token. `ask`: do not write the rules with which the client
    calls reading tools without asking. `hooks` is a mode, empty to leave hooks as they are.
    """

    name: str = "llmc"
    roots: tuple[str, ...] = ()
    profile: str = ""
    agent: str = ""
    http: str = ""
    token: str = ""
    project: bool = False
    ask: bool = False
    hooks: str = ""
    subagents: bool = False
    skill: bool = False
    uninstall: bool = False


@dataclass(frozen=True, slots=True)
class InstallStep:
    """`what` completes the message "added {what} to {path}"."""

    path: Path
    what: str
    edit: Edit
    private: bool = False


def client_named(name: str) -> McpClient:
    if name not in CLIENTS:
        from difflib import get_close_matches  # noqa: PLC0415 - only needed for unknown names

        near = get_close_matches(name, CLIENTS, 1, 0.4)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise ConfigError(f"unknown client {name!r}", hint=f"{hint}Available: {', '.join(CLIENTS)}.")
    return CLIENTS[name]


def steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    """All changes for one client, one step per file."""
    planned = [
        server_step(client, options, places),
        *permission_steps(client, options, places),
        *instruction_steps(client, options, places),
        *hook_steps(client, options, places),
        *agent_steps(client, options, places),
        *skill_steps(client, options, places),
    ]
    return merged(planned)


def merged(planned: Iterable[InstallStep]) -> list[InstallStep]:
    """Merge steps that edit the same file, so that its backup is the file from before all of them."""
    files: dict[Path, list[InstallStep]] = {}
    for step in planned:
        files.setdefault(step.path, []).append(step)
    return [
        found[0]
        if len(found) == 1
        else InstallStep(
            path, " and ".join(dict.fromkeys(step.what for step in found)), combined([step.edit for step in found])
        )
        for path, found in files.items()
    ]


# ---- the server's entry ----


def server_step(client: McpClient, options: InstallOptions, places: ClientLocations) -> InstallStep:
    path = config_file(client, options, places)
    form: ModuleType = toml if path.suffix == ".toml" else jsonc
    what = f"the server {options.name}".rstrip()
    if options.uninstall:
        return InstallStep(path, what, unset_entry(form, client.key, lambda name, entry: is_ours(name, entry, options)))
    entry = entry_of(client, options, places)
    private = bool(options.http) and not options.project
    return InstallStep(path, what, set_entry(form, (client.key, checked_name(options.name)), entry), private)


def is_ours(name: str, entry: Any, options: InstallOptions) -> bool:
    """The entry of this name; `--name ''` means every entry that starts llmc."""
    if options.name:
        return name == options.name
    words = json.dumps(entry)
    return name == "llmc" or bool(
        re.search(r'(?:/llmc|"llmc)"(?:, *"args": *\[|, *)"serve"|"-m", *"llmc", *"serve"', words)
    )


def entry_names(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[str]:
    """The names under which llmc is installed; `llmc` is always one of them."""
    path = config_file(client, options, places)
    try:
        entries = jsonc.find(path.read_text("utf-8"), (client.key,)) or {}
    except (OSError, ValueError):
        entries = {}
    return ["llmc", *(name for name, entry in entries.items() if is_ours(name, entry, options))]


def config_file(client: McpClient, options: InstallOptions, places: ClientLocations) -> Path:
    if not options.project:
        return client.file(places)
    if not client.project:
        raise ConfigError(f"{client.title} has no project configuration", hint="Run the command without --project.")
    return places.project / client.project


def entry_of(client: McpClient, options: InstallOptions, places: ClientLocations) -> dict[str, Any]:
    if options.http:
        return http_entry(client, options)
    command, *first = program(places.environ)
    roots = roots_for(client, options, places)
    args = [*first, *arguments(roots, options.profile, options.agent)]
    return client.shape(ServerRecord(command=command, args=args, env=state_variables(places.environ)))


def http_entry(client: McpClient, options: InstallOptions) -> dict[str, Any]:
    if client.http is None:
        raise ConfigError(
            f"{client.title} cannot use an HTTP server from its configuration file", hint="Install without --http."
        )
    address = options.http if "://" in options.http else f"http://{options.http}"
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"{options.http!r} is not an HTTP address", hint="Write HOST:PORT or http://HOST:PORT/mcp.")
    query = "&".join(f"{key}={value}" for key in ("profile", "agent") if (value := getattr(options, key)))
    url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/mcp'}{'?' + query if query else ''}"
    # Files of a project are shared, so they get the name of a variable instead of the token.
    return client.http(url, {"Authorization": f"Bearer {'${LLMC_TOKEN}' if options.project else options.token}"})


def roots_for(client: McpClient, options: InstallOptions, places: ClientLocations) -> Sequence[str]:
    """The roots to put into the entry; see `clients` for the ways in which a server finds its project."""
    if options.roots:
        return options.roots
    if client.root == "cwd":
        return ()
    if client.root != "ask":
        return (client.root,)
    folder = implied_root(places.project, {**places.environ, "HOME": str(places.home)})
    if isinstance(folder, RootError):
        raise ConfigError(
            f"{client.title} does not start servers in a project folder",
            reason=folder.reason,
            hint=f"Give the folder: llmc install {client.name} --root DIR",
            needs="root",
        )
    return (str(folder),)


def snippet(client: McpClient, options: InstallOptions, places: ClientLocations) -> str:
    entry = {client.key: {options.name: entry_of(client, options, places)}}
    if client.file(places).suffix == ".toml":
        return toml.rendered((client.key, options.name), entry[client.key][options.name])
    return json.dumps(entry, indent=2, ensure_ascii=False) + "\n"


# ---- permissions, instructions, hooks, sub-agents, skills ----


def permission_steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    """Rules that allow the reading tools without confirmation; other clients honour `readOnlyHint`."""
    what = "permission for the reading tools"
    if options.ask and not options.uninstall:
        return []
    if client.name == "claude-code":
        names = [options.name] if options.name else entry_names(client, options, places)
        rules = {f"mcp__{name}__{tool}": None for name in names for tool in READING_TOOLS}
        path, ours = ("permissions", "allow"), lambda rule: isinstance(rule, str) and rule in rules
        edit = remove_items(path, ours) if options.uninstall else add_items(path, list(rules), ours)
        return [InstallStep(own_folder(client, options, places) / "settings.json", what, edit)]
    if client.name == "gemini" and not options.project:
        file = own_folder(client, options, places) / "policies" / f"{options.name or 'llmc'}.toml"
        policy = own_file(POLICY.format(mark=POLICY_MARK, name=options.name), POLICY_MARK)
        return [InstallStep(file, what, remove_file(POLICY_MARK) if options.uninstall else policy)]
    return []


def instruction_steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    """Instructions are added and removed together with hooks."""
    if not options.uninstall and not options.hooks:
        return []
    removes = options.uninstall or options.hooks == "off"
    edit = remove_block(BEGIN, END) if removes else add_block(INSTRUCTIONS, BEGIN, END)
    user, project = client.notes
    if user is not None and not options.project:
        return [InstallStep(user(places), "instructions for agents", edit)]
    if project and (options.hooks or options.project):  # other clients may use the project's instructions too
        return [InstallStep(places.project / project, "instructions for agents", edit)]
    return []


def hook_steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    mode = "off" if options.uninstall else options.hooks
    if not mode or client.name not in HOOKS:
        return []
    edits = hook_edits(client.name, mode, program(places.environ))
    file = own_folder(client, options, places) / HOOKS[client.name].file
    return [InstallStep(file, f"a hook for shell searches ({mode})" if mode != "off" else "the hook", combined(edits))]


def agent_steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    user, project = client.agents
    if not project or not (options.subagents or options.uninstall):
        return []
    folder = user(places) if user is not None and not options.project else places.project / project
    edit = remove_file(AGENT_MARK)
    if not options.uninstall:
        edit = own_file(agent_file(client, options.name), AGENT_MARK)
    return [InstallStep(folder / agent_name(client), "the sub-agent llmc-scout", edit)]


def skill_steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    if not (options.skill or options.uninstall):
        return []
    user, project = client.skills
    folder = places.project / project if options.project else user(places)
    edit = remove_file(SKILL_MARK) if options.uninstall else own_file(SKILL, SKILL_MARK)
    return [InstallStep(folder / "llmc" / "SKILL.md", "the skill llmc", edit)]


def own_folder(client: McpClient, options: InstallOptions, places: ClientLocations) -> Path:
    user, project = client.folder
    assert user is not None, client.name
    return places.project / project if options.project else user(places)


def every_entry(options: InstallOptions) -> InstallOptions:
    """Options that remove every entry that starts llmc, whatever its name."""
    return replace(options, name="", uninstall=True)
