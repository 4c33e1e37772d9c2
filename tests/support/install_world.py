"""A user with an empty home folder and a project, into which `llmc install` writes."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import TYPE_CHECKING, Any

from daemons import Place

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

__all__ = ["FILES", "User"]

SUPPORT = "Library/Application Support" if sys.platform == "darwin" else ".config"
FILES = {
    "claude-code": (".claude.json", "mcpServers"),
    "claude-desktop": (f"{SUPPORT}/Claude/claude_desktop_config.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (f"{SUPPORT}/Code/User/mcp.json", "servers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers"),
    "zed": (".config/zed/settings.json", "context_servers"),
    "lmstudio": (".lmstudio/mcp.json", "mcpServers"),
    "copilot": (".copilot/mcp-config.json", "mcpServers"),
    "opencode": (".config/opencode/opencode.json", "mcp"),
}


class User:
    """A user with an empty home folder and a project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        (self.project / ".git").mkdir(parents=True)
        self.place = Place(folder / "state", HOME=str(self.home), PATH="/usr/bin:/bin")
        for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
            self.place.environ.pop(name, None)

    def install(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return self.place.llmc("install", *arguments, cwd=cwd or self.project)

    def file(self, client: str) -> Path:
        return self.home / FILES[client][0]

    def entry(self, client: str, name: str = "llmc") -> dict[str, Any]:
        text = self.file(client).read_text()
        whole = tomllib.loads(text) if client == "codex" else json.loads(text)
        found: dict[str, Any] = whole[FILES[client][1]][name]
        return found

    def tree(self) -> dict[str, str]:
        files = (path for path in self.home.rglob("*") if path.is_file())
        return {str(path.relative_to(self.home)): path.read_text() for path in files}
