"""Shell completion: the file that each shell loads, and for zsh the lines that make it look there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llmc.base.errors import ConfigError
from llmc.install.edits import add_block, own_file, remove_block, remove_file
from llmc.install.plan import InstallStep

if TYPE_CHECKING:
    from llmc.install.clients import ClientLocations

__all__ = ["SHELLS", "completion_script", "completion_steps", "current_shell"]

SHELLS = ("bash", "zsh", "fish")
MARK = "# written by llmc completion install"
BEGIN, END = "# llmc begin", "# llmc end"


def current_shell(places: ClientLocations) -> str:
    name = Path(places.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise ConfigError(f"unknown shell {name!r}", hint=f"Name it: llmc completion install {'|'.join(SHELLS)}")
    return name


def completion_script(shell: str) -> str:
    """click's own script. It calls `llmc` for each completion, which takes about 50 ms."""
    import click  # noqa: PLC0415 - the command line has it, `llmc.install` does without
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    kind = get_completion_class(shell)
    assert kind is not None, shell
    source = kind(click.Command("llmc"), {}, "llmc", "_LLMC_COMPLETE").source()
    first, _, rest = source.partition("\n")
    return f"{first}\n{MARK}\n{rest}" if first.startswith("#compdef") else f"{MARK}\n{source}"


def completion_steps(shell: str, places: ClientLocations, *, remove: bool) -> list[InstallStep]:
    edit = remove_file(MARK) if remove else own_file(completion_script(shell), MARK)
    planned = [InstallStep(completion_file(shell, places), f"completion for {shell}", edit)]
    if shell == "zsh":
        folder = places.named("ZDOTDIR", places.home)
        lines = f"fpath+=({completion_file(shell, places).parent})\nautoload -Uz compinit && compinit"
        start_up = remove_block(BEGIN, END) if remove else add_block(lines, BEGIN, END)
        planned.append(InstallStep(folder / ".zshrc", "the path of the completion", start_up))
    return planned


def completion_file(shell: str, places: ClientLocations) -> Path:
    data = places.named("XDG_DATA_HOME", places.home / ".local/share")
    if shell == "bash":
        return data / "bash-completion/completions/llmc"
    return data / "zsh/site-functions/_llmc" if shell == "zsh" else places.config / "fish/completions/llmc.fish"
