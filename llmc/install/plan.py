"""Plans an installation: a list of (file, edit) for a client, from the user's options.

The whole list is built first; then `files.change` applies each edit. Uninstalling uses the same list with edits that
remove the entries.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmc.base.errors import ConfigError, RootError
from llmc.install import jsonc, toml
from llmc.install.agents import agent_file, agent_name, remove_agent, write_agent
from llmc.install.clients import CLIENTS, ClientLocations, McpClient
from llmc.install.files import Edit
from llmc.install.notes import add_hook, add_lines, remove_hook, remove_lines
from llmc.install.record import ServerRecord, arguments, checked_name, program, state_variables
from llmc.settings.locations import implied_root

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

__all__ = ["InstallOptions", "InstallStep", "client_named", "entry_of", "snippet", "steps"]


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """The user's choices. `roots` are absolute; `project`: edit the project's files instead of the user's."""

    name: str = "llmc"
    roots: tuple[str, ...] = ()
    profile: str = ""
    agent: str = ""
    project: bool = False
    hooks: bool = False
    subagents: bool = False
    uninstall: bool = False


@dataclass(frozen=True, slots=True)
class InstallStep:
    """`what` completes the message "added {what} to {path}"."""

    path: Path
    what: str
    edit: Edit


def client_named(name: str) -> McpClient:
    if name not in CLIENTS:
        from difflib import get_close_matches  # noqa: PLC0415 - only needed for unknown names

        near = get_close_matches(name, CLIENTS, 1, 0.4)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise ConfigError(f"unknown client {name!r}", hint=f"{hint}Available: {', '.join(CLIENTS)}.")
    return CLIENTS[name]


def steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    """All changes for one client."""
    path = config_file(client, options, places)
    edit = remove_entry(client, options) if options.uninstall else add_entry(client, options, places)
    planned = [InstallStep(path, f"the server {options.name}", edit)]
    if options.hooks or options.uninstall:
        planned += note_steps(client, options, places)
    if options.subagents or options.uninstall:
        planned += agent_steps(client, options, places)
    return planned


def config_file(client: McpClient, options: InstallOptions, places: ClientLocations) -> Path:
    if not options.project:
        return client.file(places)
    if not client.project:
        raise ConfigError(f"{client.title} has no project configuration", hint="Run the command without --project.")
    return places.project / client.project


# ---- the entry ----


def entry_of(client: McpClient, options: InstallOptions, places: ClientLocations) -> dict[str, Any]:
    command, *first = program(places.environ)
    roots = roots_for(client, options, places)
    args = [*first, *arguments(roots, options.profile, options.agent)]
    return client.shape(ServerRecord(command=command, args=args, env=state_variables(places.environ)))


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


def add_entry(client: McpClient, options: InstallOptions, places: ClientLocations) -> Edit:
    form, path = form_of(client, options, places), (client.key, checked_name(options.name))
    entry = entry_of(client, options, places)

    def apply(text: str | None, _old: str | None) -> str | None:
        edited: str = form.put(text or "", path, entry)
        return edited

    return Edit(apply, lambda text: form.find(text, path) is not None)


def remove_entry(client: McpClient, options: InstallOptions) -> Edit:
    """Restore the backup if only llmc has changed the file since; otherwise remove the entry."""
    form, path = (toml if client.name == "codex" else jsonc), (client.key, checked_name(options.name))

    def apply(text: str | None, old: str | None) -> str | None:
        entry = form.find(text or "", path)
        if text is None or entry is None:
            return text
        return old if came_from(text, old, entry) else form.take(text, path)

    def came_from(text: str, old: str | None, entry: dict[str, Any]) -> bool:
        try:
            return form.find(old or "", path) is None and bool(form.put(old or "", path, entry) == text)
        except jsonc.BrokenError:
            return False

    return Edit(apply, lambda text: form.find(text, path) is not None)


def form_of(client: McpClient, options: InstallOptions, places: ClientLocations) -> ModuleType:
    return toml if config_file(client, options, places).suffix == ".toml" else jsonc


# ---- instructions and sub-agents ----


def note_steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    user, project = client.notes
    planned: list[InstallStep] = []
    lines = remove_lines() if options.uninstall else add_lines()
    if user is not None and not options.project:
        planned.append(InstallStep(user(places), "instructions for agents", lines))
    elif project and (options.hooks or options.project):  # other clients may use the project's instructions too
        planned.append(InstallStep(places.project / project, "instructions for agents", lines))
    if client.name == "claude-code":
        user_folder = places.named("CLAUDE_CONFIG_DIR", places.home / ".claude")
        folder = places.project / ".claude" if options.project else user_folder
        edit = remove_hook() if options.uninstall else add_hook(program(places.environ))
        planned.append(InstallStep(folder / "settings.json", "a hook for shell searches", edit))
    return planned


def agent_steps(client: McpClient, options: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    user, project = client.agents
    if not project:
        return []
    folder = user(places) if user is not None and not options.project else places.project / project
    edit = remove_agent() if options.uninstall else write_agent(agent_file(client, options.name))
    return [InstallStep(folder / agent_name(client), "the sub-agent llmc-scout", edit)]
