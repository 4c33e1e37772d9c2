"""Research with a small real model behind llama.cpp: its inventions do not reach the report."""

from __future__ import annotations

import re
import urllib.request
from typing import TYPE_CHECKING

import pytest
from jsonschema import validate
from model_server import ModelServer
from research_schemas import REPORT
from research_world import opened
from small_model import serving_true_model

from llmc.settings import Provider, RoleEntry, Runtime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = "how does a courier deliver a parcel"
SAID = "The model says: see src/depot/courier.py:11."
NOT_ANSWERED = "The model did not answer"


@pytest.fixture(scope="module")
def llama() -> Iterator[ModelServer]:
    with serving_true_model() as url:
        yield ModelServer(url)


def predicted(llama: ModelServer) -> float:
    """The number of tokens that the model has generated."""
    with urllib.request.urlopen(f"{llama.url.removesuffix('/v1')}/metrics", timeout=60) as reply:
        text = reply.read().decode()
    match = re.search(r"^llamacpp:tokens_predicted_total (\S+)", text, re.MULTILINE)
    assert match is not None
    return float(match[1])


def test_a_true_model_answers_and_its_inventions_do_not_get_through(tmp_path: Path, llama: ModelServer) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "mill.py").write_text("def grind_corn(corn):\n    return sorted(corn)\n")
    sections = {
        "providers": {"local": Provider(base_url=llama.url, model="smollm2", timeout_ms=200_000, structured="schema")},
        "roles": {"locator": RoleEntry(provider="local", max_tokens=640)},
        "runtime": Runtime(default_deadline_ms=300_000),
    }
    with opened(tmp_path / "home", tmp_path / "tree", **sections) as world:
        report = world.report("where is grind_corn?")
    validate(report, REPORT)
    assert predicted(llama) > 0
    assert set(report["locator"]["value"]["references"]) <= {"mill.py", "mill.py:1", "mill.py:2", "mill.py:3"}
    assert report["locator"]["value"]["references"]
    # It kept to the schema, whatever the content: a model this small may cite only places that it made up.
    notes = str(report["locator"]["value"]["notes"])
    assert NOT_ANSWERED not in notes or "it cited no place that it was shown" in notes
