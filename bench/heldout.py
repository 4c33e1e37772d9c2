"""Held-out retrieval sets: the documentation's first sentence asks, the definition without its documentation answers.

Fair because the packages of the dev and test splits (training/packages.tsv) are in no training data, copies included,
and because the pool is the package's own code: all the wrong answers are neighbours of the right one. Two styles for
each question: the sentence as it is written, and the same as somebody would type it (question words, half of the
words gone). A definition is one document of one chunk, and its text is the one that the indexer would embed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base.model import Chunk, Document, Parsed, Symbol
from llmc.indexer.digest import document_key, embedded_texts
from training.collect import read_list
from training.examples import extract, first_sentence
from training.functions import signature

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from training.functions import Definition

__all__ = ["LANGUAGES", "HeldOut", "held_out"]

PACKAGES = {
    "python": (
        "networkx", "boltons", "tornado", "twisted", "pygments", "traitlets",
    ),
    "javascript": (
        "lodash", "luxon", "mathjs", "ol", "three",
    ),
    "go": (
        "golang-github-gorilla-mux", "golang-github-miekg-dns", "golang-github-jmoiron-sqlx",
        "golang-github-spf13-viper", "golang-github-go-playground-validator-v10",
        "golang-github-prometheus-client-golang",
    ),
    "rust": (
        "jsonschema-rs", "whenever", "rustworkx", "py-rattler",
    ),
    "java": (
        "libcommons-collections4-java", "libcommons-compress-java", "guava-libraries",
        "commons-io",
    ),
    "c": (
        "libevent", "nghttp2", "sqlite3", "libarchive", "c-ares",
    ),
}  # fmt: skip
LANGUAGES = {package: language for language, packages in PACKAGES.items() for package in packages}
POOL = 240  # definitions of one package
QUESTIONS = 60  # of one package
ASKED = ("how is {} done", "where is {} handled", "which function {}", "code that {}", "{}")
SMALL = frozenset(
    ["a", "an", "the", "of", "to", "for", "in", "on", "is", "are", "and", "or", "this", "that", "with", "if", "by"]
)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One package: its definitions as indexed, and which of them answers which question."""

    package: str
    language: str
    documents: list[Document]
    texts: list[str]  # what a model sees of each
    questions: list[str]
    typed: list[str]  # the same questions as a user might type them
    answers: list[int]


def held_out(corpus: Path, split: str) -> Iterator[HeldOut]:
    for package in read_list():
        if package.split == split and package.name in LANGUAGES:
            language = LANGUAGES[package.name]
            found = extract(corpus / package.folder)
            found = [d for d in found if d.language == language and d.kind == "definition"]
            yield _set(package.name, language, _distinct(found))


def _distinct(found: list[Definition]) -> list[Definition]:
    """Three lines at least, and each text once: an answer that occurs twice cannot be ranked."""
    return list({d.code: d for d in found if d.code.count("\n") >= 3}.values())


def _set(package: str, language: str, found: list[Definition]) -> HeldOut:
    draw = random.Random(package)
    draw.shuffle(found)
    asking = {d.code: sentence for d in found if (sentence := first_sentence(d.doc)[0])}
    found = sorted(found, key=lambda d: d.code not in asking)
    pool = found[: POOL // 2] + draw.sample(found[POOL // 2 :], min(POOL - POOL // 2, max(0, len(found) - POOL // 2)))
    chosen: dict[str, int] = {}
    for number, definition in enumerate(pool):
        if definition.code in asking and len(chosen) < QUESTIONS:
            chosen.setdefault(asking[definition.code], number)
    documents = [_document(definition) for definition in pool]
    texts = [text for document in documents for text in embedded_texts(document.parsed)]
    typed = [_typed(question, draw) for question in chosen]
    return HeldOut(package, language, documents, texts, list(chosen), typed, list(chosen.values()))


def _document(definition: Definition) -> Document:
    """The capsule of a member says where it belongs, as in the indexer; a plain function has none."""
    code, lines = definition.code, definition.code.count("\n") + 1
    capsule = definition.name if "." in definition.name else ""
    chunk = Chunk(0, 1, lines, "function", definition.name, code, capsule)
    container, _, name = definition.name.rpartition(".")
    symbol = Symbol(name, "function", container, 1, lines, signature(code)[:200])
    parsed = Parsed(definition.language, lines, (chunk,), (symbol,), ())
    return Document(document_key(definition.path, code), definition.path, "", len(code), code, parsed)


def _typed(question: str, draw: random.Random) -> str:
    words = [word for word in question.split() if word.lower() not in SMALL]
    kept = [word for word in words if draw.random() < 0.65] if len(words) > 4 else words
    draw.shuffle(kept)
    return draw.choice(ASKED).format(" ".join(kept).lower()) or question  # of two words both may be gone
