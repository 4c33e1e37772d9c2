"""`llmc forget ROOT`: remove a root and its index."""

from __future__ import annotations

import json

import click

from llmc.base.paths import shown
from llmc.cli._options import Options, pass_options
from llmc.cli._render import count, size


@click.command()
@click.argument("root")
@pass_options
def command(options: Options, root: str) -> None:
    """Remove the index of ROOT, and stored results with text from it.

    ROOT is a path or a name from `llmc roots`; the folder itself is not changed. Other work trees of the same
    repository keep their index. A configured root, or a work tree that you query, is indexed again.
    """
    found = options.ask("forget", {"root": root})
    if options.json:
        click.echo(json.dumps(found, indent=2))
        return
    place = shown(found["path"]) or found["family"]
    click.echo(f"forgot {place} · {count(found['files'], 'file')} · {size(found['bytes'])}")
