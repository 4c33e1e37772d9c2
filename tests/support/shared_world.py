"""Shared indexes for tests: in a folder, or wherever LLMC_TEST_SHARED points (`make test-shared`)."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shared_stores import LanceKeywords, LanceVectors
from store_world import DIMENSION, EMBEDDER

from llmc.base.home import Home
from llmc.envelope.handles import Handles
from llmc.indexer.registry import IndexRegistry
from llmc.publish.run import PublishOptions, run_publish
from llmc.settings import EmbedderSettings, LimitSettings, Settings
from llmc.shared_workspace import SharedSite
from llmc.store.shared.access import EVERYTHING, Access, Readable
from llmc.store.shared.database import SharedDatabase
from llmc.store.shared.index import SharedIndex
from llmc.store.shared.schema import Description
from llmc.tool import ToolRequest
from llmc.tools.call import call_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmc.envelope.reply import Reply
    from llmc.publish.pipeline import PublishResult

REPO = "acme/api"
DESCRIPTION = Description(EMBEDDER, DIMENSION, "test redactor")


def shared_url(folder: Path) -> str:
    """A location of its own for each test."""
    base = os.environ.get("LLMC_TEST_SHARED")
    return f"{base}/{uuid4().hex}" if base else str(folder / "shared")


def shared_database(folder: Path) -> SharedDatabase:
    return SharedDatabase.create(shared_url(folder), DESCRIPTION)


def shared_keywords(folder: Path) -> LanceKeywords:
    database = shared_database(folder)
    database.create_shard(0)
    return LanceKeywords(database, Readable(database, {0: [REPO]}))


def shared_vectors(folder: Path) -> LanceVectors:
    database = shared_database(folder)
    database.create_shard(0)
    return LanceVectors(database, Readable(database, {0: [REPO]}))


# --- published repositories

WHO = ("-c", "user.name=Ann Example", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
# A busy machine may take longer than the two seconds of the default; no test here is about that limit.
SETTINGS = Settings(embedder=EmbedderSettings(kind="hash"), limits=LimitSettings(query_timeout_ms=60_000))


class Checkout:
    """A small git work tree that a test commits to. Commits are a minute apart, whatever the clock says."""

    def __init__(self, folder: Path, name: str = "acme/api") -> None:
        self.folder = folder
        self.name = name
        self._minutes = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        moment = f"{START + 60 * self._minutes} +0000"
        environ = {**os.environ, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        command = ["git", *WHO, *arguments]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True, env=environ)
        return done.stdout.strip()

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """path → content, None removes the file."""
        for path, content in files.items():
            place = self.folder / path
            if content is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes | None]) -> str:
        self._minutes += 1
        self.write(files)
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def publish(self, url: str, *, settings: Settings = SETTINGS, **options: Any) -> PublishResult:
        return run_publish(PublishOptions(str(self.folder), url, self.name, **options), settings, {})


START = 1_700_000_000


def publish_team(folder: Path, url: str, api: Mapping[str, str], web: Mapping[str, str]) -> Checkout:
    """Publish `acme/api` and `acme/web` with these files; the checkout of `acme/api`."""
    first, second = Checkout(folder / "api", "acme/api"), Checkout(folder / "web", "acme/web")
    for checkout, files in ((first, api), (second, web)):
        checkout.commit(files)
        checkout.publish(url)
    return first


@contextmanager
def shared_site(url: str, folder: Path, settings: Settings = SETTINGS) -> Iterator[SharedSite]:
    """What a server answers from."""
    home = Home(str(folder / "home"))
    home.make()
    registry = IndexRegistry(home, watching=False, processes=False)
    index = SharedIndex.open(url)
    try:
        yield SharedSite(index, registry, settings)
    finally:
        index.close()
        registry.close()


def reply(site: SharedSite, tool: str, access: Access = EVERYTHING, **args: Any) -> Reply:
    """The reply of a tool over what this access permits."""
    narrowed = {key: args.pop(key) for key in ("repos", "refs") if key in args}
    workspace = site.workspace(access, site.settings, **narrowed)
    handles = Handles(site.registry.home.handles)
    return call_tool(ToolRequest(tool, args, workspace, handles))
