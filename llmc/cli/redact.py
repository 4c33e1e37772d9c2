"""`llmc redact`: prints files with secrets removed, or lists the secrets.

The settings are read in this process without a daemon. Findings name the rule and the location; the secret itself is
not printed.
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

SECRETS_FOUND = 1
STDIN = "-"


@click.command(name="redact")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Only list the secrets and their rules; exit 1 if there are any.")
@pass_options
@click.pass_context
def command(context: click.Context, options: Options, files: tuple[str, ...], *, check: bool) -> None:
    """Print FILEs with secrets removed, as in llmc's replies.

    `-` reads standard input. Rules and allowed paths are set in the section `redaction` of the settings.
    """
    from llmc.envelope.visible import visible_text

    redactor = redactor_of(options)
    secrets: list[dict[str, Any]] = []
    for name in files:
        text = read(name)
        if check:
            secrets += findings(redactor, name, text)
        else:
            path = "" if name == STDIN else relative(name)
            click.echo(visible_text(redactor.redact(text, path).text), nl=False)
    if check:
        report(secrets, as_json=options.json)
        context.exit(SECRETS_FOUND if secrets else 0)


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
    """The path relative to the current folder, as `redaction.allow` expects it."""
    path = os.path.relpath(name)
    return name if path.startswith("..") else path


def findings(redactor: Redactor, name: str, text: str) -> list[dict[str, Any]]:
    redacted = redactor.redact(text, "" if name == STDIN else relative(name))
    lines = redacted.text.split("\n")
    return [
        {"file": name, "line": each.line, "column": each.column, "rule": each.rule, "shown": lines[each.line - 1]}
        for each in redacted.findings
    ]


def report(secrets: list[dict[str, Any]], *, as_json: bool) -> None:
    from llmc.envelope.visible import visible, visible_name

    if as_json:
        click.echo(json.dumps({"findings": secrets}, indent=2))
        return
    for each in secrets:
        place = f"{visible_name(each['file'])}:{each['line']}:{each['column']}"
        click.echo(f"{place}: {each['rule']}: {excerpt(visible(each['shown'].strip()), each['rule'])}")
    count = len(secrets)
    click.echo(f"{count} secret{'s' if count > 1 else ''} found" if count else "no secrets found", err=True)
    sys.stderr.flush()


EXCERPT = 60


def excerpt(line: str, rule: str) -> str:
    """The part of a long line around the redacted secret."""
    at = max(0, line.find(f"[redacted:{rule}]") - EXCERPT)
    return line[at : at + 3 * EXCERPT]
