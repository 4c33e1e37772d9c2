"""What an installation changes: a list of (file, edit) for a client, from what the user asked for.

The list is made first and wholly; then each edit is applied by `files.change`. Uninstalling is the same list with the
edits that take things out again.
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
from llmc.settings.roots import implied_root

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

__all__ = ["InstallOptions", "InstallStep", "client_named", "entry_of", "snippet", "steps"]


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """What the user asked for. `roots` are absolute; `project`: the project's files instead of the user's."""

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
    """`what` names the thing in a sentence: "added {what} to {path}"."""

    path: Path
    what: str
    edit: Edit


def client_named(name: str) -> McpClient:
    if name not in CLIENTS:
        from difflib import get_close_matches  # noqa: PLC0415 - only for a wrong name

        near = get_close_matches(name, CLIENTS, 1, 0.4)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise ConfigError(f"llmc knows no client {name!r}", hint=f"{hint}It knows {', '.join(CLIENTS)}.")
    return CLIENTS[name]


def steps(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    """Everything that is to be changed for one client."""
    path = config_file(client, wanted, places)
    edit = remove_entry(client, wanted) if wanted.uninstall else add_entry(client, wanted, places)
    made = [InstallStep(path, f"the server {wanted.name}", edit)]
    if wanted.hooks or wanted.uninstall:
        made += note_steps(client, wanted, places)
    if wanted.subagents or wanted.uninstall:
        made += agent_steps(client, wanted, places)
    return made


def config_file(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> Path:
    if not wanted.project:
        return client.file(places)
    if not client.project:
        raise ConfigError(f"{client.title} has no file for a project", hint="Leave out --project.")
    return places.project / client.project


# ---- the entry ----


def entry_of(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> dict[str, Any]:
    command, *first = program(places.environ)
    roots = roots_for(client, wanted, places)
    args = [*first, *arguments(roots, wanted.profile, wanted.agent)]
    return client.shape(ServerRecord(command=command, args=args, env=state_variables(places.environ)))


def roots_for(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> Sequence[str]:
    """How the server learns which project it is for; see `clients`."""
    if wanted.roots:
        return wanted.roots
    if client.root == "cwd":
        return ()
    if client.root != "ask":
        return (client.root,)
    folder = implied_root(places.project, {**places.environ, "HOME": str(places.home)})
    if isinstance(folder, RootError):
        raise ConfigError(
            f"{client.title} starts its servers in no project",
            reason=folder.reason,
            hint=f"Name the folder: llmc install {client.name} --root DIR",
            needs="root",
        )
    return (str(folder),)


def snippet(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> str:
    entry = {client.key: {wanted.name: entry_of(client, wanted, places)}}
    if client.file(places).suffix == ".toml":
        return toml.rendered((client.key, wanted.name), entry[client.key][wanted.name])
    return json.dumps(entry, indent=2, ensure_ascii=False) + "\n"


def add_entry(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> Edit:
    form, path = form_of(client, wanted, places), (client.key, checked_name(wanted.name))
    entry = entry_of(client, wanted, places)

    def apply(text: str | None, _old: str | None) -> str | None:
        edited: str = form.put(text or "", path, entry)
        return edited

    return Edit(apply, lambda text: form.find(text, path) is not None)


def remove_entry(client: McpClient, wanted: InstallOptions) -> Edit:
    """What it was before llmc came, if nobody else has changed it since; without the entry otherwise."""
    form, path = (toml if client.name == "codex" else jsonc), (client.key, checked_name(wanted.name))

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


def form_of(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> ModuleType:
    return toml if config_file(client, wanted, places).suffix == ".toml" else jsonc


# ---- instructions and sub-agents ----


def note_steps(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    user, project = client.notes
    made: list[InstallStep] = []
    if user is not None and not wanted.project:
        made.append(InstallStep(user(places), "lines for agents", remove_lines() if wanted.uninstall else add_lines()))
    elif project and (wanted.hooks or wanted.project):  # other clients may share the project's lines
        path = places.project / project
        made.append(InstallStep(path, "lines for agents", remove_lines() if wanted.uninstall else add_lines()))
    if client.name == "claude-code":
        folder = (
            places.project / ".claude" if wanted.project else places.named("CLAUDE_CONFIG_DIR", places.home / ".claude")
        )
        edit = remove_hook() if wanted.uninstall else add_hook(program(places.environ))
        made.append(InstallStep(folder / "settings.json", "a hook before searches by hand", edit))
    return made


def agent_steps(client: McpClient, wanted: InstallOptions, places: ClientLocations) -> list[InstallStep]:
    user, project = client.agents
    if not project:
        return []
    folder = user(places) if user is not None and not wanted.project else places.project / project
    edit = remove_agent() if wanted.uninstall else write_agent(agent_file(client, wanted.name))
    return [InstallStep(folder / agent_name(client), "the sub-agent llmc-scout", edit)]
