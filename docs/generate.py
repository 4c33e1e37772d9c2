"""Generates the reference pages from the program: settings from their models, commands from click, licences.

`make docs` writes the pages, and `make lint` checks with `--check` that they are current. This file only does the
layout: correct the text in the settings model or in the command's help. The output does not depend on the machine, the
terminal or click's formatter, so the pages change only when the program does.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from licences import licences_page

from llmc.cli._group import cli
from llmc.settings import Secret, Settings
from llmc.settings.fields import SettingField, settings_of, walk
from llmc.settings.overrides import variable
from llmc.settings.types import Kind, SettingsModel
from llmc.tools.registry import TOOLS, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parent
VERBATIM = "\b\n"  # click's mark
NOTE = "<!-- Written by `make docs`; edit the program, not this page. -->"


def main(arguments: list[str]) -> int:
    pages = {
        "reference/settings.md": settings_page(),
        "reference/cli.md": cli_page(),
        "reference/tools.md": tools_page(),
        "licences.md": licences_page(NOTE),
    }
    if "--check" not in arguments:
        for name, text in pages.items():
            (DOCS / name).write_text(text, encoding="utf-8")
            print(f"wrote docs/{name}")
        return 0
    # What dependencies depend on changes by itself; a test compares our own with the page.
    stale = [name for name, text in pages.items() if name != "licences.md" and _current(DOCS / name) != text]
    for name in stale:
        print(f"docs/{name} is not current: make docs", file=sys.stderr)
    return 1 if stale else 0


def settings_page() -> str:
    lines = ["# Settings", "", NOTE, "", *_SETTINGS_HEAD, ""]
    top = [each for each in walk(Settings) if "." not in each.name and "[" not in each.name and each.model is None]
    lines += ["## At the top of the file", "", *_settings_table(top, "")]
    for section in settings_of(Settings).values():
        if section.model is not None:
            lines += _section(section, section.at or section.name, section.model)
    return "\n".join(lines).rstrip() + "\n"


def cli_page() -> str:
    lines = ["# Commands", "", NOTE, "", _help(cli), ""]
    lines += ["Global options work before and after the command.", *_options_table(cli)]
    with click.Context(cli, info_name="llmc") as context:
        for name in cli.list_commands(context):
            command = cli.get_command(context, name)
            assert command is not None
            lines += _command(command, f"llmc {name}")
    return "\n".join(lines).rstrip() + "\n"


def tools_page() -> str:
    lines = ["# Tools", "", NOTE, "", *_TOOLS_HEAD]
    for one in map(tool, TOOLS):
        lines += ["", f"## {one.name}", "", one.summary, ""]
        lines.append(f"Listed in {', '.join(f'`{name}`' for name in sorted(one.profiles))}.")
        if one.requires_setting:
            lines.append(f"Needs `{one.requires_setting}`.")
        lines += ["", "| argument | kind | |", "|---|---|---|"] if one.arguments else []
        for argument in one.arguments:
            kind = argument.kind + (", required" if argument.required else "")
            lines.append(f"| `{argument.name}` | {kind} | {_escaped(argument.help)} |")
        lines += ["", *(f"    {example}" for example in one.examples)] if one.examples else []
    return "\n".join(lines).rstrip() + "\n"


_TOOLS_HEAD = inspect.cleandoc("""
    These tools are available over MCP, over HTTP (`/tools/{name}`) and, if a command has the same name, on the command
    line. The profile determines which of them a client lists; the others are available through `llmc`, or by name.
    Every tool that returns text accepts `context_focus_question`.
""").split("\n")


def _current(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.exists() else ""


_SETTINGS_HEAD = inspect.cleandoc("""
    Settings come from five layers; each overrides the previous ones:

    1. the defaults on this page;
    2. the user's file, `llmc.toml` in `$XDG_CONFIG_HOME/llmc` (`~/.config/llmc`);
    3. the workspace file, the nearest `llmc.toml` from the current folder up to the top of its git work tree, or
       the file given with `--config FILE` or `LLMC_CONFIG` instead;
    4. environment variables: `LLMC_` and the key in capitals with `_` for each dot, as in `LLMC_INDEX_HIDDEN=false`;
    5. flags: `--set index.hidden=false`, `--root PATH`.

    `llmc.json` with the same keys is read if there is no `llmc.toml`; keys may also be written in camelCase.
    `llmc config show` prints the values and their sources, `llmc config check` reports problems, `llmc config schema`
    prints a schema for editors.

    Keys marked *user only* are ignored in a workspace file, since that file may have come with a clone: they
    name programs, addresses or secrets, or allow data to leave the machine. Put them into the user's file, or add the
    workspace to `trust` there. A workspace file may only name roots inside its own folder.

    An invalid entry of `agents`, `mcps` or `delegates` is skipped and reported (`llmc config check`, `llmc status`);
    everything else keeps working. Any other unknown key or wrong value is an error, reported with its line.

    Values marked *hidden* are never printed, and only in them `${VAR}` is replaced from the environment.
""").splitlines()


def _section(section: SettingField, title: str, model: type[SettingsModel]) -> Iterator[str]:
    names = {Kind.ENTRIES: f"[{title}.NAME]", Kind.TABLES: f"[[{title}]]"}
    yield from ("", f"## {names.get(section.kind, f'[{title}]')}", "", section.doc, "")
    if section.user_only:
        yield from ("*User only.*", "")
    prefix = {Kind.ENTRIES: f"{title}.NAME.", Kind.TABLES: ""}.get(section.kind, f"{title}.")
    yield from _settings_table(list(walk(model)), prefix, all_user_only=section.user_only)


def _settings_table(settings: list[SettingField], prefix: str, *, all_user_only: bool = False) -> Iterator[str]:
    yield from ("| key | value | default | |", "|---|---|---|---|")
    for each in settings:
        name = each.name.replace("[]", "[…]")
        marks = " *User only.*" if each.user_only and not all_user_only else ""
        yield f"| `{prefix}{name}` | {_value(each)} | {_default(each)} | {_escaped(each.doc)}{marks} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _value(setting: SettingField) -> str:
    if setting.choices:
        return ", ".join(f"`{choice}`" for choice in setting.choices)
    kind = setting.kind.removeprefix("a ")
    if setting.low is not None and setting.high is not None:
        return f"{kind}, {setting.low:,} to {setting.high:,}"
    return kind.replace("(hidden)", "*(hidden)*")


def _default(setting: SettingField) -> str:
    if setting.name == "home":
        return f"`llmc` in the XDG cache folder (`{variable('home')}`)"
    if setting.required:
        return "required"
    if isinstance(setting.default, Secret) or setting.default in ("", (), {}, None):
        return ""
    if isinstance(setting.default, bool | int):
        return (
            f"`{setting.default:_}`" if not isinstance(setting.default, bool) else f"`{str(setting.default).lower()}`"
        )
    return f"`{setting.default}`"


def _command(command: click.Command, path: str) -> Iterator[str]:
    arguments = [_argument(each) for each in command.params if isinstance(each, click.Argument)]
    usage = " ".join([path, *arguments, *(["COMMAND"] if isinstance(command, click.Group) else [])])
    yield from ("", f"## {path}", "", "```", usage, "```", "", _help(command))
    yield from _options_table(command)
    if isinstance(command, click.Group):
        with click.Context(command, info_name=path) as context:
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from _command(inner, f"{path} {name}")


def _help(command: click.Command) -> str:
    """The help text; paragraphs that click must not wrap are examples."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        f"```\n{each.removeprefix(VERBATIM).rstrip()}\n```" if each.startswith(VERBATIM) else each
        for each in paragraphs
    )


def _argument(argument: click.Argument) -> str:
    if argument.metavar:
        return argument.metavar
    name = (argument.name or "").upper() + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"


def _options_table(command: click.Command) -> Iterator[str]:
    options = (each for each in command.params if isinstance(each, click.Option))
    shown = [each for each in options if not each.hidden and each.name != "help"]
    if shown:
        yield from ("", "| option | |", "|---|---|")
    for option in shown:
        names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
        yield f"| {names}{_metavar(option)} | {' '.join((option.help or '').split())}{_option_default(option)} |"


def _metavar(option: click.Option) -> str:
    if option.is_flag or option.count:
        return ""
    if isinstance(option.type, click.Choice):
        return " " + ", ".join(f"`{choice}`" for choice in option.type.choices)
    return f" `{option.metavar or option.type.name.upper()}`"


def _option_default(option: click.Option) -> str:
    default: Any = option.default
    shown = option.show_default and isinstance(default, str | int | float) and not option.is_flag
    return f" Default: `{default}`." if shown else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
