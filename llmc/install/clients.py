"""The supported clients: configuration file, key and entry format, and the folder in which servers are started.

There is one row per client. `root` defines how `llmc serve` finds the project: with `cwd` the client starts it in the
project, with `${workspaceFolder}` the client inserts the path, with `ask` the client has no projects and the folder is
fixed at install time. `http` is the entry for a server that is running already (`llmc serve --http`).
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.settings.locations import user_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llmc.install.record import ServerRecord

__all__ = ["CLIENTS", "ClientLocations", "McpClient"]

WORKSPACE = "${workspaceFolder}"


@dataclass(frozen=True, slots=True)
class ClientLocations:
    """The user's folders. `project` is the project's top folder, for files that belong to it."""

    environ: Mapping[str, str]
    project: Path
    platform: str = sys.platform

    @property
    def home(self) -> Path:
        return user_folder(self.environ)

    @property
    def config(self) -> Path:
        folder = Path(self.environ.get("XDG_CONFIG_HOME", ""))
        return folder if folder.is_absolute() else self.home / ".config"

    @property
    def support(self) -> Path:
        """The folder where desktop programs store their settings."""
        return self.home / "Library/Application Support" if self.platform == "darwin" else self.config

    def named(self, variable: str, default: Path) -> Path:
        return Path(self.environ[variable]) if self.environ.get(variable) else default


@dataclass(frozen=True, slots=True)
class McpClient:
    """One client. `signs` are paths that show that it is installed, besides its file and the `program`.

    `folder` is where its further settings are (the user's, the project's): hooks, permissions. `notes` are the
    instruction files that it reads, `agents` its sub-agent folders, `skills` those of skills.
    """

    name: str
    title: str
    key: str
    file: Callable[[ClientLocations], Path]
    shape: Callable[[ServerRecord], dict[str, Any]]
    http: Callable[[str, dict[str, str]], dict[str, Any]] | None = None
    root: str = "cwd"
    project: str = ""
    program: str = ""
    signs: Callable[[ClientLocations], tuple[Path, ...]] = field(default=lambda _: ())
    folder: tuple[Callable[[ClientLocations], Path] | None, str] = (None, "")
    notes: tuple[Callable[[ClientLocations], Path] | None, str] = (None, "AGENTS.md")
    agents: tuple[Callable[[ClientLocations], Path] | None, str] = (None, "")
    skills: tuple[Callable[[ClientLocations], Path], str] = (
        lambda places: places.home / ".agents/skills",
        ".agents/skills",
    )
    next_step: str = "Restart the client."

    def is_here(self, places: ClientLocations) -> bool:
        paths = (self.file(places), *self.signs(places))
        return any(path.exists() for path in paths) or bool(
            self.program and shutil.which(self.program, path=places.environ.get("PATH"))
        )


def plain(record: ServerRecord) -> dict[str, Any]:
    return {"command": record["command"], "args": record["args"], **with_env(record)}


def with_env(record: ServerRecord, key: str = "env") -> dict[str, Any]:
    return {key: record["env"]} if record["env"] else {}


def typed(record: ServerRecord) -> dict[str, Any]:
    return {"type": "stdio", **plain(record)}


def local_tools(record: ServerRecord) -> dict[str, Any]:
    return {"type": "local", **plain(record), "tools": ["*"]}


def local_command(record: ServerRecord) -> dict[str, Any]:
    command = [record["command"], *record["args"]]
    return {"type": "local", "command": command, **with_env(record, "environment"), "enabled": True}


def http_plain(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"url": url, "headers": headers}


def http_typed(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"type": "http", **http_plain(url, headers)}


def http_codex(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"url": url, "http_headers": headers}


def http_gemini(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"httpUrl": url, "headers": headers}


def http_windsurf(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"serverUrl": url, "headers": headers}


def http_copilot(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {**http_typed(url, headers), "tools": ["*"]}


def http_opencode(url: str, headers: dict[str, str]) -> dict[str, Any]:
    return {"type": "remote", **http_plain(url, headers), "enabled": True}


def claude(places: ClientLocations) -> Path:
    return places.named("CLAUDE_CONFIG_DIR", places.home / ".claude")


def codex(places: ClientLocations) -> Path:
    return places.named("CODEX_HOME", places.home / ".codex")


def copilot(places: ClientLocations) -> Path:
    return places.named("COPILOT_HOME", places.home / ".copilot")


def opencode(places: ClientLocations) -> Path:
    """The existing one of its two file names."""
    folder = places.config / "opencode"
    return folder / ("opencode.jsonc" if (folder / "opencode.jsonc").exists() else "opencode.json")


def claude_file(places: ClientLocations) -> Path:
    """Next to `~/.claude`, or inside the folder that CLAUDE_CONFIG_DIR names."""
    moved = places.environ.get("CLAUDE_CONFIG_DIR")
    return Path(moved) / ".claude.json" if moved else places.home / ".claude.json"


def zed(places: ClientLocations) -> Path:
    """In `~/.config`, also on macOS."""
    return places.home / ".config/zed" if places.platform == "darwin" else places.config / "zed"


CLIENTS = {
    client.name: client
    for client in (
        McpClient(
            "claude-code",
            "Claude Code",
            "mcpServers",
            claude_file,
            typed,
            project=".mcp.json",
            program="claude",
            signs=lambda places: (claude(places),),
            notes=(lambda places: claude(places) / "CLAUDE.md", "CLAUDE.md"),
            agents=(lambda places: claude(places) / "agents", ".claude/agents"),
            http=http_typed,
            folder=(claude, ".claude"),
            skills=(lambda places: claude(places) / "skills", ".claude/skills"),
            next_step="Start a new session; /mcp lists the server.",
        ),
        McpClient(
            "claude-desktop",
            "Claude Desktop",
            "mcpServers",
            lambda places: places.support / "Claude/claude_desktop_config.json",
            plain,
            root="ask",
            signs=lambda places: (places.support / "Claude",),
            notes=(None, ""),
            next_step="Quit Claude Desktop completely and start it again.",
        ),
        McpClient(
            "cursor",
            "Cursor",
            "mcpServers",
            lambda places: places.home / ".cursor/mcp.json",
            plain,
            root=WORKSPACE,
            project=".cursor/mcp.json",
            program="cursor",
            signs=lambda places: (places.home / ".cursor",),
            agents=(lambda places: places.home / ".cursor/agents", ".cursor/agents"),
            http=http_plain,
            folder=(lambda places: places.home / ".cursor", ".cursor"),
            next_step="Enable the server under Settings, MCP.",
        ),
        McpClient(
            "vscode",
            "VS Code",
            "servers",
            lambda places: places.support / "Code/User/mcp.json",
            typed,
            root=WORKSPACE,
            project=".vscode/mcp.json",
            program="code",
            signs=lambda places: (places.support / "Code",),
            http=http_typed,
            next_step="Run `MCP: List Servers` and start the server.",
        ),
        McpClient(
            "codex",
            "Codex",
            "mcp_servers",
            lambda places: codex(places) / "config.toml",
            plain,
            project=".codex/config.toml",
            program="codex",
            signs=lambda places: (codex(places),),
            notes=(lambda places: codex(places) / "AGENTS.md", "AGENTS.md"),
            http=http_codex,
            folder=(codex, ".codex"),
            next_step="Start a new session; /mcp lists the server.",
        ),
        McpClient(
            "gemini",
            "Gemini CLI",
            "mcpServers",
            lambda places: places.home / ".gemini/settings.json",
            plain,
            project=".gemini/settings.json",
            program="gemini",
            signs=lambda places: (places.home / ".gemini",),
            notes=(lambda places: places.home / ".gemini/GEMINI.md", "GEMINI.md"),
            http=http_gemini,
            folder=(lambda places: places.home / ".gemini", ".gemini"),
            next_step="Start a new session; /mcp lists the server.",
        ),
        McpClient(
            "windsurf",
            "Windsurf",
            "mcpServers",
            lambda places: places.home / ".codeium/windsurf/mcp_config.json",
            plain,
            root="ask",
            program="windsurf",
            signs=lambda places: (places.home / ".codeium/windsurf",),
            http=http_windsurf,
            next_step="Press refresh in the MCP panel of Cascade.",
        ),
        McpClient(
            "zed",
            "Zed",
            "context_servers",
            lambda places: zed(places) / "settings.json",
            plain,
            project=".zed/settings.json",
            program="zed",
            signs=lambda places: (zed(places),),
            http=http_plain,
            next_step="Zed starts the server automatically; it is listed in the agent panel's settings.",
        ),
        McpClient(
            "lmstudio",
            "LM Studio",
            "mcpServers",
            lambda places: places.home / ".lmstudio/mcp.json",
            plain,
            root="ask",
            program="lms",
            signs=lambda places: (places.home / ".lmstudio",),
            notes=(None, ""),
            http=http_plain,
            next_step="Enable the server in the Program tab of a chat.",
        ),
        McpClient(
            "copilot",
            "Copilot CLI",
            "mcpServers",
            lambda places: copilot(places) / "mcp-config.json",
            local_tools,
            program="copilot",
            signs=lambda places: (copilot(places),),
            notes=(lambda places: copilot(places) / "copilot-instructions.md", "AGENTS.md"),
            agents=(lambda places: copilot(places) / "agents", ".github/agents"),
            http=http_copilot,
            next_step="Start a new session; /mcp show lists the server.",
        ),
        McpClient(
            "opencode",
            "opencode",
            "mcp",
            opencode,
            local_command,
            project="opencode.json",
            program="opencode",
            signs=lambda places: (places.config / "opencode",),
            notes=(lambda places: places.config / "opencode/AGENTS.md", "AGENTS.md"),
            agents=(lambda places: places.config / "opencode/agent", ".opencode/agent"),
            http=http_opencode,
            folder=(lambda places: places.config / "opencode", ".opencode"),
            next_step="Start a new session.",
        ),
    )
}
