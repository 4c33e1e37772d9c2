"""What holds for every test, and fixtures that several modules share.

Hypothesis has no deadlines: machines are shared, and a slow one is no failure. SIGINT is heard even if the tests were
started in the background of a script, where a shell has it ignored and every program that is started inherits that.
"""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daemons import Place
    from delegates_world import World
    from model_server import ModelServer

    from llmc.workspace import Workspace

settings.register_profile("llmc", deadline=None)
settings.load_profile("llmc")
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def place() -> Iterator[Place]:
    """Folders for the state and settings of llmc; a daemon that was started there ends with the test."""
    from daemons import private_place

    with private_place() as own:
        yield own


@pytest.fixture(scope="module")
def shared_place() -> Iterator[Place]:
    """As `place`, for all tests of a module."""
    from daemons import private_place

    with private_place() as own:
        yield own


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    from model_server import serving

    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def indexed_depot(shared_place: Place, tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Path]:
    """A small project, indexed, and the place of its daemon."""
    from search_world import write

    folder = write(tmp_path_factory.mktemp("depot"))
    assert shared_place.llmc("index", "--once", cwd=folder).returncode == 0
    return shared_place, folder


@pytest.fixture
def clean_logging() -> Iterator[None]:
    """Remove the log handlers that a test adds."""
    root, ours = logging.getLogger(), logging.getLogger("llmc")
    levels, handlers = (root.level, ours.level), list(root.handlers)
    yield
    for handler in [each for each in root.handlers if each not in handlers]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest.fixture
def world(tmp_path: Path, shared_place: Place, model: ModelServer) -> World:
    """A workspace with downstream servers and delegates."""
    from delegates_world import World

    return World(tmp_path, shared_place, model)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A small project, indexed in this process."""
    from search_world import write

    from llmc.workspace import Workspace

    folder = write(tmp_path_factory.mktemp("depot"))
    with Workspace.open(str(folder), home=str(tmp_path_factory.mktemp("home"))) as opened:
        opened.index()
        yield opened


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Workspace]:
    """An empty folder, indexed and watched in this process."""
    from llmc.settings import EmbedderSettings, Settings
    from llmc.workspace import Workspace

    plain = Settings(embedder=EmbedderSettings(kind="hash"))
    (tmp_path / "tree").mkdir()
    with Workspace.open(str(tmp_path / "tree"), home=str(tmp_path / "home"), settings=plain, watch=True) as opened:
        opened.index()
        yield opened
