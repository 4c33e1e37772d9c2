"""A workspace with downstream servers and delegates, for the tests of delegates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from delegates_world import World

if TYPE_CHECKING:
    from pathlib import Path

    from daemons import Place
    from model_server import ModelServer


@pytest.fixture
def world(tmp_path: Path, shared_place: Place, model: ModelServer) -> World:
    return World(tmp_path, shared_place, model)
