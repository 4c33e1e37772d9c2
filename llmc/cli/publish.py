"""`llmc publish`: puts a commit into the shared index."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._shared import settings_here, shared_option, size_text, url_of
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from llmc.publish.pipeline import PublishResult

__all__ = ["command"]


@click.command()
@click.argument("root", default=".", metavar="[ROOT]")
@shared_option
@click.option("--repo", default="", metavar="NAME", help="Name of the repository; from CI variables or the remote.")
@click.option("--ref", default="", metavar="NAME", help="Name of the ref; from CI variables or the current branch.")
@click.option("--commit", default="", metavar="REV", help="Branch, tag or commit to publish instead of HEAD.")
@click.option("--worktree", is_flag=True, help="Publish the files as they are on disk, committed or not.")
@click.option("--force", is_flag=True, help="Replace a newer commit, as after a forced push.")
@click.option("--no-optimize", is_flag=True, help="Do not update the indexes; `llmc shared optimize` does it later.")
@pass_options
def command(options: Options, /, root: str, url: str, **given: Any) -> int:
    """Publish the current commit of ROOT to a shared index, from which any server can answer.

    \b
    llmc publish --shared s3://bucket/llmc
    llmc publish --shared s3://bucket/llmc --commit "$new" --ref main     (in a post-receive hook)

    Only content that the index does not have is read and written, and the new commit becomes visible at once. Secrets
    are redacted and denied files omitted before anything leaves this machine. After an interruption, run it again.
    """
    import os

    from llmc.cli._progress import view_for
    from llmc.publish.run import PublishOptions, run_publish

    settings = settings_here(options)
    wanted = PublishOptions(root, url_of(settings, url), optimize=not given.pop("no_optimize"), **given)
    view = view_for(options, watching=False)
    try:
        result = run_publish(wanted, settings, os.environ, lambda event: view.show({"done": 0, **event}))
    finally:
        view.close()
    if options.json:
        from dataclasses import asdict

        click.echo(json.dumps(asdict(result)))
    else:
        click.echo(text_of(result))
    return 0


def text_of(result: PublishResult) -> str:
    name = f"{result.repo}@{result.ref}"
    if not result.is_current:
        return (
            f"{name} stays at {result.superseded_by[:8]}: another commit is newer than {result.commit[:8]}"
            " (--force replaces it)"
        )
    kept = [
        f"{result.denied:,} denied" if result.denied else "",
        f"{plural(result.redacted, 'secret')} redacted" if result.redacted else "",
        f"{result.omitted:,} not published (too large or unreadable)" if result.omitted else "",
    ]
    return " · ".join(
        [
            f"{name} is at {result.commit[:8]}",
            f"{plural(result.files, 'file')}, {plural(result.chunks, 'chunk')}",
            f"{plural(result.written, 'document')} written ({size_text(result.bytes_written)})",
            f"{result.seconds:.1f} s",
            *filter(None, kept),
        ]
    )
