"""`llmc shared`: maintains a shared index. It runs in this process, with the credentials of this shell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from llmc.cli._options import Options, pass_options
from llmc.cli._shared import settings_here, shared_option, size_text, url_of
from llmc.envelope.phrases import plural

if TYPE_CHECKING:
    from llmc.settings import Settings
    from llmc.store.shared.database import SharedDatabase

__all__ = ["command"]

DIFFERENT = 1
MOST_SHOWN = 20


@click.group()
def command() -> None:
    """Maintain a shared index in object storage; `llmc publish` fills it."""


def opened(options: Options, url: str) -> tuple[SharedDatabase, Settings]:
    from llmc.store.shared.database import SharedDatabase

    settings = settings_here(options)
    return SharedDatabase.open(url_of(settings, url)), settings


@command.command("status")
@shared_option
@pass_options
def status(options: Options, /, url: str) -> int:
    """Show the contents and size of the index, and whether it should be optimized."""
    from dataclasses import asdict

    from llmc.store.shared.report import shared_status

    database, _ = opened(options, url)
    found = shared_status(database)
    if options.json:
        click.echo(json.dumps(asdict(found)))
        return 0
    click.echo(f"{database.url} · format {found.format} · {found.embedder} ({found.dimension} dimensions)")
    click.echo(
        f"{plural(found.repositories, 'repository')}, {plural(found.refs, 'ref')} · "
        f"{plural(found.documents, 'document')}, {plural(found.chunks, 'chunk')} in {plural(found.shards, 'shard')}"
    )
    click.echo(f"{size_text(found.bytes)} in {plural(found.objects, 'object')} · {plural(found.handles, 'handle')}")
    for one in found.tables:
        waiting = f" · {one.unindexed:,} not indexed yet" if one.unindexed else ""
        size = f"{size_text(one.bytes):>9} in {plural(one.fragments, 'file')}"
        click.echo(f"  {one.name:<16} {one.rows:>12,} rows  {size}{waiting}")
    if found.needs_optimize:
        click.echo("run `llmc shared optimize` to make queries faster")
    return 0


@command.command("list")
@click.argument("pattern", default="")
@shared_option
@pass_options
def list_published(options: Options, /, pattern: str, url: str) -> int:
    """List repositories and refs with their commit and age; PATTERN as in team/*."""
    from dataclasses import asdict

    from llmc.store.shared.access import matches
    from llmc.store.shared.heads import all_heads

    database, _ = opened(options, url)
    heads = [head for head in all_heads(database).values() if not head.is_dropped]
    heads = [head for head in heads if not pattern or head.repo == pattern or matches(pattern, head.repo)]
    heads.sort(key=lambda head: (head.repo, head.ref))
    if options.json:
        click.echo(json.dumps([asdict(head) for head in heads]))
        return 0
    for head in heads:
        click.echo(
            f"{head.repo}@{head.ref}  {head.short_commit}  {head.age():>9}  "
            f"{plural(head.files, 'file')}, {plural(head.chunks, 'chunk')}"
        )
    if not heads:
        click.echo(f"no published repository matches {pattern}" if pattern else "nothing is published")
    return 0


@command.command("drop")
@click.argument("name", metavar="REPO[@REF]")
@shared_option
@pass_options
def drop_published(options: Options, /, name: str, url: str) -> int:
    """Make a repository, or one ref of it, invisible; `optimize` removes its content a day later."""
    from llmc.store.shared.maintenance import drop

    database, _ = opened(options, url)
    repo, _, ref = name.partition("@")
    dropped = [f"{head.repo}@{head.ref}" for head in drop(database, repo, ref)]
    click.echo(json.dumps({"dropped": dropped}) if options.json else f"dropped {', '.join(dropped)}")
    return 0


@command.command("optimize")
@shared_option
@click.option(
    "--keep-days",
    type=int,
    default=None,
    metavar="DAYS",
    help="Drop refs not published for this many days (shared.keep_days).",
)
@pass_options
def optimize_index(options: Options, /, url: str, keep_days: int | None) -> int:
    """Update the indexes, merge small files, and remove unreferenced data.

    Run it once a day, or after publishing many repositories. Publishers and servers may run meanwhile.
    """
    from dataclasses import asdict

    from llmc.store.shared.maintenance import optimize

    def report(event: dict[str, Any]) -> None:
        if not options.json:
            options.notify(f"optimizing shard {event['shard']}")

    database, settings = opened(options, url)
    days = settings.shared.keep_days if keep_days is None else keep_days
    result = optimize(database, keep_days=days, report=report)
    if options.json:
        click.echo(json.dumps(asdict(result)))
        return 0
    expired = f" · dropped {', '.join(result.expired)}" if result.expired else ""
    click.echo(
        f"{plural(len(result.shards), 'shard')} in {result.seconds:.1f} s · removed "
        f"{plural(result.documents, 'document')}, {plural(result.duplicates, 'duplicate')}, "
        f"{plural(result.manifests, 'manifest')}, {plural(result.objects, 'object')}{expired}"
    )
    return 0


@command.command("verify")
@click.argument("repo", default="")
@shared_option
@click.option("--repair", "repairs", is_flag=True, help="Remove damaged documents; publish their repositories again.")
@pass_options
def verify_index(options: Options, /, repo: str, url: str, *, repairs: bool) -> int:
    """Check that every published file is present and unchanged in all tables; exit 1 if not."""
    from dataclasses import asdict

    from llmc.store.shared.verify import repair, verify

    database, _ = opened(options, url)
    found = verify(database, repo, options.notify if options.verbose else lambda _repo: None)
    repaired = repair(database, found) if repairs else 0
    if options.json:
        click.echo(json.dumps({"differences": [asdict(one) for one in found], "repaired": repaired}))
        return DIFFERENT if found else 0
    for one in found[:MOST_SHOWN]:
        click.echo(str(one))
    if len(found) > MOST_SHOWN:
        click.echo(f"and {len(found) - MOST_SHOWN:,} more")
    if repaired:
        repos = ", ".join(sorted({one.repo for one in found if one.doc}))
        click.echo(f"removed {plural(repaired, 'damaged document')}; publish again: {repos}")
    if not found:
        click.echo("all published files are present and unchanged")
    return DIFFERENT if found else 0


@command.command("token")
@click.argument("name")
@click.argument("patterns", nargs=-1, metavar="[REPO]...")
@click.option("--tokens", "path", default="", metavar="FILE", help="The token file (shared.tokens).")
@click.option("--days", type=click.FloatRange(0), default=0, metavar="DAYS", help="Days until it expires; 0: never.")
@click.option("--metrics", is_flag=True, help="Allow it to read /metrics.")
@pass_options
def make_token(
    options: Options, /, name: str, patterns: tuple[str, ...], path: str, days: float, *, metrics: bool
) -> int:
    """Create a token for `llmc serve --shared`, and print it once. REPO as in team/*; ** is everything, !REPO excludes.

    \b
    llmc shared token ann 'team/*' '!team/payroll' --tokens tokens.toml

    The token file contains only a hash. Delete the entry to revoke the token; running servers reload the file.
    """
    from llmc.base.errors import ConfigError
    from llmc.server.shared.token_file import add_token

    file = path or settings_here(options).shared.tokens
    if not file:
        raise ConfigError("no token file is set", hint="Pass --tokens FILE, or set shared.tokens.")
    token = add_token(file, name, patterns, days, metrics=metrics)
    click.echo(json.dumps({"name": name, "token": token}) if options.json else token)
    return 0
