"""Every CLI option and every setting has an effect: some code reads it.

The checks work on the syntax tree. A click parameter must be a parameter of its command that the function uses, or the
command must pass all its parameters on as `**args`. A global option must be read from `Options`. A setting
must be read as an attribute in a module that also mentions its section or the class of the section, or be named by a
string for `getattr`, as tools name their budget.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

import llmc
from llmc.cli import COMMANDS
from llmc.cli._options import Options, global_options
from llmc.settings import Settings
from llmc.settings.fields import SettingField, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(llmc.__file__).parent
GLOBAL = {option.name for option in global_options()}


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        yield from walk(name, importlib.import_module(f"llmc.cli.{name}").command)


def walk(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from walk(f"{path} {name}", inner)
    else:
        yield path, command


def unused_options(command: click.Command) -> list[str]:
    """The click parameters that the command's function never uses."""
    callback = command.callback
    assert callback is not None
    function = inspect.unwrap(callback)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    keys = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    extra = tree.args.kwarg.arg if tree.args.kwarg else ""
    named = {each.arg for each in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)}
    passed_on = is_passed_on(tree, extra)
    return [
        str(parameter.name)
        for parameter in command.params
        if parameter.name not in GLOBAL | {"help"}
        and not (parameter.name in named and parameter.name in names)
        and not (parameter.name not in named and extra and (passed_on or parameter.name in keys))
    ]


def is_passed_on(tree: ast.FunctionDef, extra: str) -> bool:
    """Whether the function hands over all its extra arguments: `**args`, or `args` as an argument of a call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            handed = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(isinstance(each, ast.Name) and each.id == extra for each in handed):
                return True
        if isinstance(node, ast.Dict):
            spread = [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
            if any(isinstance(each, ast.Name) and each.id == extra for each in spread):
                return True
        if isinstance(node, ast.Attribute) and node.attr == "items" and isinstance(node.value, ast.Name):
            return node.value.id == extra
    return False


def test_every_option_of_a_command_is_used() -> None:
    unused = {path: names for path, command in commands() if (names := unused_options(command))}
    assert unused == {}


def test_the_check_finds_an_option_that_is_not_used() -> None:
    assert unused_options(click.Command("x", callback=_ignores_one, params=[_option("one"), _option("two")])) == ["one"]
    assert unused_options(click.Command("x", callback=_passes_on, params=[_option("one"), _option("two")])) == []
    assert unused_options(click.Command("x", callback=_picks_one, params=[_option("one"), _option("two")])) == ["two"]


def _option(name: str) -> click.Option:
    return click.Option([f"--{name}"])


def _ignores_one(one: str, two: str) -> str:
    return two


def _passes_on(**args: str) -> dict[str, str]:
    return {**args}


def _picks_one(**args: str) -> str:
    return args["one"]


def test_every_global_option_is_read() -> None:
    fields = set(vars(Options()))
    assert fields >= GLOBAL
    read = {node.attr for tree in modules("cli") for node in attribute_reads(tree)}
    assert fields - read == set()


# ---- settings ----


def modules(folder: str = "") -> Iterator[ast.Module]:
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        if "settings" not in path.relative_to(PACKAGE).parts:
            yield ast.parse(path.read_text("utf-8"))


def attribute_reads(tree: ast.AST) -> Iterator[ast.Attribute]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node


def words_of(tree: ast.Module) -> set[str]:
    """Every name, attribute, import and word of a string annotation in a module."""
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
        elif isinstance(node, ast.alias):
            words.add(node.name.rpartition(".")[2])
        elif isinstance(node, ast.arg):
            words.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.update(re.findall(r"\w+", node.value))
    return words


def sections(section: SettingField) -> Iterator[tuple[tuple[str, ...], SettingField]]:
    """Each field below a section, with the names by which code may mention the section."""
    assert section.model is not None
    for field in settings_of(section.model).values():
        if field.model is not None:
            yield from sections(field)
        else:
            yield (section.name, section.model.__name__), field


def all_fields() -> list[tuple[str, tuple[str, ...], str]]:
    """Full name, mentions of the section, and field name of every setting."""
    fields: list[tuple[str, tuple[str, ...], str]] = []
    for each in settings_of(Settings).values():
        if each.model is None:
            fields.append((each.name, ("settings", "Settings"), each.name))
        else:
            fields += [(f"{each.name}.{field.name}", mentions, field.name) for mentions, field in sections(each)]
    return fields


def strings(tree: ast.Module) -> set[str]:
    """The strings of a module that could be the name of an attribute."""
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str) and "_" in value and value.isidentifier()}


def unread(fields: list[tuple[str, tuple[str, ...], str]]) -> list[str]:
    trees = list(modules())
    reads = [({node.attr for node in attribute_reads(tree)}, words_of(tree)) for tree in trees]
    named = set[str]().union(*map(strings, trees))
    return [
        name
        for name, mentions, field in fields
        if field not in named and not any(field in attributes and words & set(mentions) for attributes, words in reads)
    ]


def test_every_setting_is_read_outside_the_settings_package() -> None:
    assert unread(all_fields()) == []


def test_the_check_finds_a_setting_that_is_not_read() -> None:
    assert unread([("limits.max_teapots", ("limits", "LimitSettings"), "max_teapots")]) == ["limits.max_teapots"]
