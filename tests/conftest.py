"""What holds for every test, and the fixtures that start a daemon or a scripted model.

Hypothesis has no deadlines: machines are shared, and a slow one is no failure. SIGINT is heard even if the tests were
started in the background of a script, where a shell has it ignored and every program that is started inherits that.
"""

from __future__ import annotations

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


@pytest.fixture
def world(tmp_path: Path, shared_place: Place, model: ModelServer) -> World:
    """A workspace with downstream servers and delegates, for the tests of delegates."""
    from delegates_world import World

    return World(tmp_path, shared_place, model)
