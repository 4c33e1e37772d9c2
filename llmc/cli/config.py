"""`llmc config`: what is set and by whom, whether the files are right, and a schema for editors.

It reads the settings in this process and needs no daemon: it must work above all when they are wrong.
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
@click.option("--all", "everything", is_flag=True, help="Also the keys that are at their defaults.")
@pass_options
def show(options: Options, *, everything: bool) -> None:
    """Show the settings in force and where each came from.

    Secrets are masked. With --json every key is there.
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
    told = listed if everything else [each for each in listed if _is_telling(each)]
    _print_table(told)
    if len(told) < len(listed):
        click.echo(f"# {len(listed) - len(told)} more at their defaults: --all")
    _print_notices(_notices(loaded))


@command.command()
@click.argument("file", required=False)
@pass_options
@click.pass_context
def check(context: click.Context, options: Options, file: str | None) -> None:
    """Check FILE, or all settings that hold here.

    The exit code is 2 if anything is wrong. Notes say what is not used, or not there yet.
    """
    from llmc.settings import examine

    loaded = examine(**_layers(options, file))
    wrong = [*loaded.problems, *_wrong_agents(loaded)]
    problems = [each for each in wrong if file is None or each.source.layer == "file"]
    notices = _notices(loaded)
    if options.json:
        found = {"problems": [each.as_dict() for each in problems], "notes": [each.as_dict() for each in notices]}
        _print_json({"ok": not problems, **found})
    else:
        for problem in problems:
            click.echo(str(problem), err=True)
        _print_notices(notices)
        click.echo(f"problems: {len(problems)}" if problems else "no problems", err=bool(problems))
    context.exit(2 if problems else 0)


@command.command()
def schema() -> None:
    """Print a JSON schema of the settings files, for editors."""
    from llmc.settings.schema import json_schema

    _print_json(json_schema())


def _wrong_agents(loaded: Loaded) -> list[SettingsProblem]:
    """Only where there are any: a script runs as far as it describes itself."""
    if not loaded.settings.agents and not loaded.settings.agent_scripts:
        return []
    from llmc.extend.personas.check import problems_of
    from llmc.tools.registry import TOOLS

    return list(problems_of(loaded, TOOLS))


def _layers(options: Options, file: str | None = None) -> dict[str, Any]:
    """What the settings are made of, as the daemon would be told."""
    about = options.about()
    named = file or about["config"] or None
    return {"cwd": about["cwd"], "env": os.environ, "flags": about["flags"], "config_file": named}


def _is_telling(each: ListedSetting) -> bool:
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
