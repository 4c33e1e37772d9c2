"""`llmc config`: print the settings with their sources, check the files, and print a schema for editors.

The settings are read in this process without a daemon, so the command also works when they are invalid.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.settings.problems import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.settings import Loaded, SettingsProblem
    from llmc.settings.listing import ListedSetting

__all__ = ["command"]


@click.group(name="config")
def command() -> None:
    """Show, check and describe the settings."""


@command.command()
@click.option("--all", "everything", is_flag=True, help="Include settings that have their default value.")
@pass_options
def show(options: Options, *, everything: bool) -> None:
    """Show the current settings and the source of each.

    Secrets are masked. --json includes every key.
    """
    from llmc.settings import load
    from llmc.settings.listing import listing

    loaded = load(**_layers(options))
    listed = listing(loaded)
    if options.json:
        _print_json(_document(loaded, listed))
        return
    for path in loaded.files:
        click.echo(f"# {shown(path, 400)}")
    printed = listed if everything else [each for each in listed if _is_changed(each)]
    _print_table(printed)
    if len(printed) < len(listed):
        click.echo(f"# {len(listed) - len(printed)} more with default values: --all")
    _print_notices(_notices(loaded))


@command.command()
@click.argument("file", required=False)
@pass_options
@click.pass_context
def check(context: click.Context, options: Options, file: str | None) -> None:
    """Check FILE, or all settings that apply in the current folder.

    The exit code is 2 if there are problems, skipped entries included. Notes report unused settings and values that are
    not set yet.
    """
    from llmc.settings import examine

    loaded = examine(**_layers(options, file))
    every = [*loaded.problems, *loaded.skipped, *_agent_problems(loaded), *_delegate_problems(loaded)]
    problems = [each for each in every if file is None or each.source.layer == "file"]
    notices = [each for each in _notices(loaded) if not each.entry]
    if options.json:
        report = {"problems": [each.as_dict() for each in problems], "notes": [each.as_dict() for each in notices]}
        _print_json({"ok": not problems, **report})
    else:
        for problem in problems:
            click.echo(str(problem), err=True)
        _print_notices(notices)
        click.echo(f"problems: {len(problems)}" if problems else "no problems", err=bool(problems))
    context.exit(2 if problems else 0)


@command.command()
def schema() -> None:
    """Print a JSON schema of the settings files, for editors."""
    from llmc.settings.listing import json_schema

    _print_json(json_schema())


def checked(options: Options) -> list[SettingsProblem]:
    """The entries that are skipped; ConfigError if the settings cannot be used at all."""
    from llmc.settings import load

    loaded = load(**_layers(options))
    return [*loaded.skipped, *_delegate_problems(loaded)]


def _delegate_problems(loaded: Loaded) -> list[SettingsProblem]:
    """Delegates and scripts that cannot be offered: their name is taken, or the script is invalid."""
    if not loaded.settings.delegates and not loaded.settings.tool_scripts:
        return []
    from llmc.extend.delegates.check import name_problems, script_problems
    from llmc.tools.registry import TOOLS

    return [*name_problems(loaded, TOOLS), *script_problems(loaded)]


def _agent_problems(loaded: Loaded) -> list[SettingsProblem]:
    """Problems of personas, if any are configured. A script is run only to the point where it describes itself."""
    if not loaded.settings.agents and not loaded.settings.agent_scripts:
        return []
    from llmc.extend.personas.check import problems_of
    from llmc.tools.registry import ALIASES, TOOLS

    return list(problems_of(loaded, (*TOOLS, *ALIASES)))


def _layers(options: Options, file: str | None = None) -> dict[str, Any]:
    """The inputs of the settings, as the daemon would receive them."""
    about = options.about()
    config_file = file or about["config"] or None
    return {"cwd": about["cwd"], "env": os.environ, "flags": about["flags"], "config_file": config_file}


def _is_changed(each: ListedSetting) -> bool:
    return each.source.layer != "default" or each.key in ("home", "roots")


def _document(loaded: Loaded, listed: Sequence[ListedSetting]) -> dict[str, Any]:
    values = {
        each.key: {"value": each.value, "source": str(each.source), "layer": each.source.layer} for each in listed
    }
    notices = [each.as_dict() for each in _notices(loaded)]
    return {"files": [str(path) for path in loaded.files], "settings": values, "notes": notices}


def _notices(loaded: Loaded) -> list[SettingsProblem]:
    from llmc.settings.listing import unset_secrets

    return [*loaded.notices, *unset_secrets(loaded)]


def _print_table(listed: Sequence[ListedSetting]) -> None:
    cells = [(each.key, _cell(each), shown(each.source, 400)) for each in listed]
    widths = [min(max((len(row[column]) for row in cells), default=0), 60) for column in (0, 1)]
    for key, value, source in cells:
        click.echo(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {source}")


def _cell(each: ListedSetting) -> str:
    value = [root["path"] for root in each.value] if each.key == "roots" else each.value
    return shown(json.dumps(value, ensure_ascii=False), 400)


def _print_notices(notices: Sequence[SettingsProblem]) -> None:
    for notice in notices:
        click.echo(f"note: {notice}", err=True)


def _print_json(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2))
