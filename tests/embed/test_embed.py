"""The contract of embedders, for every implementation that needs neither torch nor network."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.base.errors import EmbedError
from llmc.embed import BUNDLED, KINDS, open_embedder
from llmc.embed.static import HashEmbedder, StaticEmbedder
from llmc.embed.vectors import CombinedEmbedder, in_context, unit_rows
from llmc.settings import EmbedderSettings

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.embed import Embedder

ODD = {
    "empty": "",
    "spaces": " \n\t ",
    "binary": "\x00\x01\xff\xfe" * 50,
    "a megabyte in a line": "x" * 1_000_000,
    "base64": "QUJD" * 5_000,
    "emoji": "🎉🔥",
    "cjk": "读取配置文件 設定を読み込む 설정",
    "right to left": "טעינת קובץ تحميل الملف",
    "combining marks only": "\u0301\u0302",
    "lone surrogate": "na\udcffme",
    "punctuation": "(){};",
}


@pytest.fixture(scope="module", params=["builtin", "hash", "combined"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "combined":
        return CombinedEmbedder([(StaticEmbedder.load(BUNDLED), 1.0), (HashEmbedder(), 0.5)])
    return open_embedder(EmbedderSettings(kind=request.param))


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_text_becomes_a_finite_unit_vector(embedder: Embedder, text: str) -> None:
    rows = embedder.embed([text, "plain words"])
    assert rows.shape == (2, embedder.dimension)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


@given(text=st.text(max_size=200))
def test_any_text_becomes_a_finite_unit_vector(text: str) -> None:
    row = BUILTIN.embed_query(text)
    assert np.isfinite(row).all()
    assert abs(float(row @ row) - 1.0) < 1e-4


def test_no_text_gives_no_row(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_batch_gives_what_each_text_gives_alone(embedder: Embedder) -> None:
    texts = ["open a file", "", "parseHTTPHeader", "读取文件"]
    alone = np.stack([embedder.embed_query(text) for text in texts])
    assert np.allclose(embedder.embed(texts), alone, atol=1e-6)


def test_threads_get_the_same_vectors(embedder: Embedder) -> None:
    texts = [f"def name_{number}(value): return value + {number}" for number in range(300)]
    wanted = embedder.embed(texts)
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(embedder.embed, [texts] * 16):
            assert np.array_equal(rows, wanted)


def test_naming_styles_of_one_name_meet(embedder: Embedder) -> None:
    styles = embedder.embed(["parseHttpHeader", "parse_http_header", "PARSE_HTTP_HEADER", "parse http header"])
    assert float((styles @ styles.T).min()) > 0.999


def test_the_bundled_model_ranks_by_meaning() -> None:
    """No word of the question is in the right answer."""
    texts = [
        "def remove(path):\n    os.unlink(path)",
        "def average(values):\n    return sum(values) / len(values)",
        "def connect(host, port):\n    return socket.create_connection((host, port))",
    ]
    scores = BUILTIN.embed(texts) @ BUILTIN.embed_query("delete a file from disk")
    assert int(scores.argmax()) == 0


def test_the_bundled_model_is_small_and_named_by_its_content() -> None:
    assert sum(path.stat().st_size for path in BUNDLED.rglob("*") if path.is_file()) <= 16_000_000
    assert BUILTIN.name == json.loads((BUNDLED / "llmc.json").read_text())["name"]


def test_opening_the_bundled_model_imports_no_torch_and_no_tokenizers() -> None:
    code = (
        "import sys; from llmc.embed import open_embedder; from llmc.settings import EmbedderSettings;"
        "open_embedder(EmbedderSettings()).embed_query('a');"
        "sys.exit(bool({'torch', 'sentence_transformers', 'tokenizers', 'httpx'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_another_dimension_than_configured_is_reported_at_start() -> None:
    with pytest.raises(EmbedError, match=r"256 dimensions, but embedder\.dimension is 99"):
        open_embedder(EmbedderSettings(kind="hash", dimension=99))


def test_a_missing_model_folder_is_reported_at_start(tmp_path: Path) -> None:
    with pytest.raises(EmbedError, match="missing"):
        StaticEmbedder.load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.txt", "llmc.json"])
@pytest.mark.parametrize("keep", [0, 7, 0.5, 0.97])
def test_a_truncated_model_is_reported_at_start(copied_model: Path, name: str, keep: float) -> None:
    whole = (copied_model / name).read_bytes()
    (copied_model / name).write_bytes(whole[: int(len(whole) * keep) if keep < 1 else int(keep)])
    with pytest.raises(EmbedError, match="the embedding model cannot be used"):
        StaticEmbedder.load(copied_model)


def test_a_model_of_another_dimension_is_reported_at_start(copied_model: Path) -> None:
    card = json.loads((copied_model / "llmc.json").read_text())
    (copied_model / "llmc.json").write_text(json.dumps({**card, "dimension": 128}))
    with pytest.raises(EmbedError, match="128"):
        StaticEmbedder.load(copied_model)


def test_rows_without_direction_become_unit_rows() -> None:
    rows = np.array([[0, 0], [np.nan, 1], [np.inf, 1], [3, 4], [1e30, 1e30]], dtype=np.float32)
    assert np.allclose(np.linalg.norm(unit_rows(rows), axis=1), 1.0)


def test_the_cosine_of_a_combination_is_the_weighted_mean() -> None:
    one, two = BUILTIN, HashEmbedder()
    both = CombinedEmbedder([(one, 3.0), (two, 1.0)])
    left, right = "open the file", "def open_file(path): ..."
    parts = [float(part.embed_query(left) @ part.embed_query(right)) for part in (one, two)]
    assert float(both.embed_query(left) @ both.embed_query(right)) == pytest.approx(0.75 * parts[0] + 0.25 * parts[1])
    assert both.dimension == one.dimension + two.dimension


def test_the_kinds_are_those_that_the_documentation_lists() -> None:
    assert KINDS == ("builtin", "hash", "sentence-transformers", "openai", "combined")


BUILTIN = open_embedder(EmbedderSettings())


@pytest.fixture
def copied_model(tmp_path: Path) -> Path:
    for name in ("model.safetensors", "vocabulary.txt", "llmc.json"):
        (tmp_path / name).write_bytes((BUNDLED / name).read_bytes())
    return tmp_path


def test_the_rows_of_a_file_take_a_share_of_their_neighbours_and_of_the_first() -> None:
    alone = np.eye(5, dtype=np.float32)
    rows = in_context(alone)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    assert (rows.argmax(axis=1) == np.arange(5)).all()  # each is still most similar to itself
    assert rows[2, 1] == rows[2, 3] > rows[2, 0] > 0  # both neighbours, and the first one less
    assert rows[2, 4] == 0
    assert rows[0, 1] > 0


@pytest.mark.parametrize("count", [0, 1])
def test_a_file_of_one_chunk_has_no_context(count: int) -> None:
    rows = BUILTIN.embed(["alone"] * count).reshape(count, BUILTIN.dimension)
    assert np.array_equal(in_context(rows), rows)
