"""Deep links: one click adds the server to Cursor, VS Code or LM Studio.

A link can be shared, so its command is `llmc` by name and not by its path on this machine.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from llmc.base.errors import ConfigError
from llmc.install.plan import http_entry, roots_for
from llmc.install.record import arguments

if TYPE_CHECKING:
    from llmc.install.clients import ClientLocations, McpClient
    from llmc.install.plan import InstallOptions

__all__ = ["deep_link"]


def deep_link(client: McpClient, options: InstallOptions, places: ClientLocations) -> str:
    if client.name not in ("cursor", "vscode", "lmstudio"):
        raise ConfigError(f"{client.title} has no install links", hint="Available for cursor, vscode and lmstudio.")
    name, entry = options.name, shared_entry(client, options, places)
    if client.name == "vscode":
        return "vscode:mcp/install?" + quote(compact({"name": name, **entry}))
    config = base64.b64encode(compact(entry).encode()).decode()
    if client.name == "cursor":
        return f"cursor://anysphere.cursor-deeplink/mcp/install?name={quote(name)}&config={quote(config, safe='')}"
    return f"lmstudio://add_mcp?name={quote(name)}&config={quote(config, safe='')}"


def shared_entry(client: McpClient, options: InstallOptions, places: ClientLocations) -> dict[str, Any]:
    if options.http:
        return http_entry(client, options)
    roots = roots_for(client, options, places)
    return {"command": "llmc", "args": arguments(roots, options.profile, options.agent)}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
