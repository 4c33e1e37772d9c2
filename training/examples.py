"""Definitions become training examples: which documentation is a question, what the answer looks like, what is dropped.

Owns cleaning, the limits for each package, exact duplicates and near duplicates of evaluation code. An example is
text still; `train` draws the many questions that one example can answer (whole sentence, keywords, question, name ↔
code).
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from llmc.embed.static import WORD, split
from training.functions import Definition, definitions, language_of, signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from training.collect import Package

__all__ = ["Example", "capsule", "documented", "extract", "file_lines", "first_sentence", "lines_of", "read", "write"]

DOCUMENTED = 3_000  # for one package: the largest must not be most of what is learned
NAMED = 700  # definitions without prose, learned by their names alone
NOISE = re.compile(
    r"(?i)copyright|licen[cs]e|todo|fixme|deprecated|generated|eslint|jshint|istanbul|nolint|pylint|prettier|@ts-|"
    r"inheritdoc|^see |^@|https?://|^overrides?\b|^\W*$|^=|^-{3}|internal use|^returns? (true|false|none|self)\W*$"
)
TAGGED = re.compile(
    r"(?m)^\s*([@:\\](param|return|type|throws|arg|since|see|brief)\b|(Args|Parameters|Returns|Raises):?$).*"
)


@dataclass(frozen=True, slots=True)
class Example:
    package: str
    path: str  # inside the package: where it came from, should anybody ask
    language: str
    sentence: str  # the first sentence of the documentation, empty if there is none
    rest: str  # what else it says
    name: str
    code: str


def capsule(name: str, code: str) -> str:
    """What the indexer puts in front of a chunk: enclosing names and signature; never the path."""
    return f"{name}\n{signature(code)[:200]}"


def first_sentence(doc: str) -> tuple[str, str]:
    """The sentence that says what the thing is, and the rest; empty if it would be no question for anybody."""
    prose = re.split(r"\n\s*\n", TAGGED.sub("\n\n", doc.strip()).strip(), maxsplit=1)
    paragraph = re.sub(r"<[^>]{1,40}>|\{@\w+ |[`*}]", "", prose[0])
    paragraph = " ".join(paragraph.split())
    parts = re.split(r"(?<=[a-z0-9)\"'])[.!?](?:\s+|$)", paragraph, maxsplit=1)
    sentence = parts[0][:300]
    words = re.findall(r"[A-Za-z]{2,}", sentence)
    if not 3 <= len(words) <= 40 or NOISE.search(sentence) or sum(map(len, words)) < len(sentence) * 0.55:
        return "", " ".join(doc.split())[:600]
    rest = " ".join([*parts[1:], *(" ".join(more.split()) for more in prose[1:])])
    return sentence, rest[:600]


def lines_of(code: str) -> set[int]:
    """Hashes of the lines that say something; two texts that share most of them are copies."""
    plain = (re.sub(r"\W+", " ", line).strip() for line in code.splitlines())
    return {hash_of(line) for line in plain if len(line) >= 12}


def file_lines(path: Path) -> set[int]:
    return lines_of(path.read_text(errors="replace"))


def hash_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def documented(definition: Definition) -> bool:
    return bool(first_sentence(definition.doc)[0])


def extract(folder: Path) -> list[Definition]:
    """Every definition of a package, in the order of the paths."""
    found: list[Definition] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and language_of(path):
            try:
                found += definitions(path, str(path.relative_to(folder)))
            except (RecursionError, ValueError) as error:
                print(f"{folder.name}: {path.name}: {error}")
    return found


def examples(package: Package, found: list[Definition], held_out: set[int], seen: set[int]) -> list[Example]:
    """At most so many of each sort, none seen before, none that copies half of its lines from an evaluation set."""
    random.Random(package.name).shuffle(found)
    chosen: list[Example] = []
    left = {True: DOCUMENTED, False: NAMED}
    for definition in found:
        sentence, rest = first_sentence(definition.doc)
        if not left[bool(sentence)] or (not sentence and not _telling(definition)):
            continue
        lines = lines_of(definition.code)
        mark = hash_of(re.sub(r"\s+", "", definition.code))
        if mark in seen or not lines or len(lines & held_out) * 2 >= len(lines):
            continue
        seen.add(mark)
        left[bool(sentence)] -= 1
        chosen.append(
            Example(
                package.name, definition.path, definition.language, sentence, rest, definition.name, definition.code
            )
        )
    return chosen


def _telling(definition: Definition) -> bool:
    """A name of two words or more, on a body of some length, can stand for a question."""
    own = definition.name.rsplit(".", 1)[-1]
    parts = [part for word in WORD.findall(own) for part in split(word) if len(part) > 2]
    return definition.kind == "definition" and len(parts) >= 2 and definition.code.count("\n") >= 4


def write(path: Path, found: Iterable[Example]) -> int:
    lines = [json.dumps(asdict(example)) + "\n" for example in found]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(lines)
    return len(lines)


def read(path: Path) -> Iterator[Example]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield Example(**json.loads(line))
