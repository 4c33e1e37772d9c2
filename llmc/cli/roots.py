"""`llmc roots`: lists the folders that have an index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from llmc.base.paths import shown
from llmc.cli._options import Options, pass_options
from llmc.cli._render import count, size

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command()
@pass_options
def command(options: Options) -> None:
    """List the roots that have an index, with their files and size.

    A `*` marks the roots of this folder: those in the settings, or the git work tree around it. `llmc forget ROOT`
    removes one.
    """
    found = options.ask("roots")
    click.echo(json.dumps(found, indent=2) if options.json else "\n".join(lines(found)))


def lines(found: dict[str, Any]) -> Iterator[str]:
    named = set(found["named"])
    for root in found["roots"]:
        mark = "*" if root["path"] in named else " "
        place = shown(root["path"]) or f"unreadable index {root['family']}"
        yield f"{mark} {place} · {count(root['files'], 'file')} · {size(root['bytes'])} · {root['state']}"
    indexed = {root["path"] for root in found["roots"]}
    for path in sorted(named - indexed):
        yield f"* {shown(path)} · not indexed yet"
    if not found["roots"] and not named:
        yield "No root is indexed."
    if found["reason"]:
        yield f"This folder has no root: {found['reason']}. Set one with --root PATH, or in your own llmc.toml."
