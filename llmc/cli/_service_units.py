"""The unit that starts the daemon at login: a systemd user unit, or a launchd agent on macOS.

A unit has a file, its text and the commands of its service manager; `service` decides when to use them. The daemon
runs with `--stay`, so it does not exit when idle.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmc.base.errors import ConfigError, DaemonRunningError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MARK", "ServiceUnit", "unit_for"]

MARK = "Written by `llmc service install`"
LABEL = "llmc"
MANAGER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ServiceUnit:
    path: Path
    text: str
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]
    query: tuple[str, ...]

    @property
    def installed(self) -> str | None:
        """The text of the installed unit file, or None."""
        try:
            return self.path.read_text()
        except FileNotFoundError:
            return None


def unit_for(home: str, environ: Mapping[str, str]) -> ServiceUnit:
    from llmc.client.start import default_command, import_path

    command = [*default_command(), "--stay"]
    variables = {"LLMC_HOME": home, "PYTHONPATH": import_path(environ.get("PYTHONPATH", ""))}
    variables = {name: value for name, value in variables.items() if value}
    for text in (*command, *variables.values()):
        if not text.isprintable():
            raise ConfigError(
                "a service unit cannot contain this path", reason=repr(text), hint="Install llmc elsewhere."
            )
    return _launchd(command, variables) if sys.platform == "darwin" else _systemd(command, variables, environ)


def run(command: tuple[str, ...]) -> tuple[bool, str]:
    """Run a command of the service manager; whether it succeeded, and its output."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=MANAGER_SECONDS, check=False)
    except FileNotFoundError:
        return False, f"{command[0]} is not installed"
    except subprocess.TimeoutExpired:
        return False, f"{command[0]} timed out after {MANAGER_SECONDS:.0f} s"
    return result.returncode == 0, (result.stdout + result.stderr).strip()


def _systemd(command: list[str], variables: dict[str, str], environ: Mapping[str, str]) -> ServiceUnit:
    config = environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")  # noqa: PTH111, PTH118 - a string is needed
    lines = [
        f"# {MARK}; `llmc service uninstall` removes it.",
        "[Unit]",
        "Description=llmc index daemon",
        "",
        "[Service]",
        f"ExecStart={' '.join(_quote(part, dollar=True) for part in command)}",
        *(f"Environment={_quote(f'{name}={value}')}" for name, value in variables.items()),
        "Restart=on-failure",
        "RestartSec=5",
        # Another daemon already owns the home folder; restarting every five seconds would not help.
        f"RestartPreventExitStatus={DaemonRunningError.exit_code}",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    control, name = ("systemctl", "--user"), f"{LABEL}.service"
    return ServiceUnit(
        Path(config, "systemd", "user", name),
        "\n".join(lines),
        start=((*control, "daemon-reload"), (*control, "enable", "--now", name)),
        stop=((*control, "disable", "--now", name),),
        query=(*control, "is-active", name),
    )


def _quote(text: str, *, dollar: bool = False) -> str:
    """systemd's quoting: backslash and quote are escaped, percent is doubled, in commands the dollar too."""
    if re.fullmatch(r"[\w./:=+,@-]+", text, re.ASCII):
        return text
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    if dollar:
        text = text.replace("$", "$$")
    return f'"{text}"'


def _launchd(command: list[str], variables: dict[str, str]) -> ServiceUnit:
    import plistlib

    path = Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    content: dict[str, Any] = {
        "Label": LABEL,
        "ProgramArguments": command,
        "EnvironmentVariables": variables,
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
    }
    text = plistlib.dumps(content).decode().replace("<plist", f"<!-- {MARK} -->\n<plist", 1)
    domain = f"gui/{os.getuid()}"
    return ServiceUnit(
        path,
        text,
        start=(("launchctl", "bootstrap", domain, str(path)),),
        stop=(("launchctl", "bootout", f"{domain}/{LABEL}"),),
        query=("launchctl", "print", f"{domain}/{LABEL}"),
    )
