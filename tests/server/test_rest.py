"""An idle daemon gives memory back, and the next call finds everything as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fuzz_world

from llmc.envelope.request import RunningRequest
from llmc.server import service as service_module
from llmc.store.vectors import vector_index

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_vectors_are_released_after_a_rest_and_used_by_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "EXACT_ROWS", -1)
    monkeypatch.setattr(service_module, "REST_SECONDS", 0.0)
    with fuzz_world.opened(tmp_path) as (service, client):

        def call(method: str, **params: Any) -> Any:
            return service.call(method, params, RunningRequest(client))

        def search(query: str) -> str:
            return str(call("tool", name="search", args={"query": query}).text)

        call("index", once=True)
        before = search("how is a parcel delivered")
        assert "keywords alone" not in before
        in_use = call("status").memory.index_cache_bytes

        service.tend()  # sees the call
        service.tend()

        at_rest = call("status")
        assert at_rest.memory.index_cache_bytes < in_use
        assert at_rest.memory.replies == 0
        assert [store.vectors.answered_by for store in at_rest.stores] == ["lancedb"]
        assert search("how is a parcel delivered") == before
