"""`llmc redact`: a text as it would leave, or what would be taken out of it and why.

It reads the settings in this process and needs no daemon. What was found is named by its rule and place; the secret
itself is not printed again.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options

if TYPE_CHECKING:
    from llmc.envelope.redact.redactor import Redactor

__all__ = ["command"]

FOUND = 1
STDIN = "-"


@click.command(name="redact")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Only say what would go, and why; the exit code is 1 if anything would.")
@pass_options
@click.pass_context
def command(context: click.Context, options: Options, files: tuple[str, ...], *, check: bool) -> None:
    """Show FILEs as they would leave llmc, without their secrets.

    `-` reads standard input. Rules and allowed paths come from the settings, section redaction.
    """
    from llmc.envelope.visible import visible_text

    redactor = redactor_of(options)
    found: list[dict[str, Any]] = []
    for name in files:
        text = read(name)
        if check:
            found += findings(redactor, name, text)
        else:
            path = "" if name == STDIN else relative(name)
            click.echo(visible_text(redactor.redact(text, path).text), nl=False)
    if check:
        report(found, as_json=options.json)
        context.exit(FOUND if found else 0)


def redactor_of(options: Options) -> Redactor:
    from llmc.envelope.redact.redactor import Redactor
    from llmc.settings import load

    about = options.about()
    loaded = load(about["cwd"], os.environ, flags=about["flags"], config_file=about["config"] or None)
    return Redactor.of(loaded.settings.redaction)


def read(name: str) -> str:
    from llmc.base.errors import NotFoundError, QueryError
    from llmc.base.text import Binary, decode

    try:
        with open(0 if name == STDIN else name, "rb", closefd=name != STDIN) as file:
            data = file.read()
    except OSError as error:
        raise NotFoundError(f"{name} cannot be read", reason=error.strerror or "", path=name) from error
    text = decode(data)
    if isinstance(text, Binary):
        raise QueryError(f"{name} is not text", reason=text.reason, hint="Only text can be redacted.")
    return text.text


def relative(name: str) -> str:
    """As a path below the current folder, which is how `allow` names it."""
    path = os.path.relpath(name)
    return name if path.startswith("..") else path


def findings(redactor: Redactor, name: str, text: str) -> list[dict[str, Any]]:
    done = redactor.redact(text, "" if name == STDIN else relative(name))
    shown = done.text.split("\n")
    return [
        {"file": name, "line": each.line, "column": each.column, "rule": each.rule, "shown": shown[each.line - 1]}
        for each in done.findings
    ]


def report(found: list[dict[str, Any]], *, as_json: bool) -> None:
    from llmc.envelope.visible import visible, visible_name

    if as_json:
        click.echo(json.dumps({"findings": found}, indent=2))
        return
    for each in found:
        place = f"{visible_name(each['file'])}:{each['line']}:{each['column']}"
        click.echo(f"{place}: {each['rule']}: {excerpt(visible(each['shown'].strip()), each['rule'])}")
    count = len(found)
    click.echo(f"{count} would go" if count else "nothing would go", err=True)
    sys.stderr.flush()


EXCERPT = 60


def excerpt(line: str, rule: str) -> str:
    """The part of a long line around what was taken out."""
    at = max(0, line.find(f"[redacted:{rule}]") - EXCERPT)
    return line[at : at + 3 * EXCERPT]
