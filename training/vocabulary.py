"""Which words get a row of their own, and tokenizer.json: the rules of `llmc.embed.static` for the Rust tokenizer.

A word is kept by the number of packages that use it, so that one project's jargon does not fill the table. Every
letter and digit is kept, hence no ASCII text is unknown. What is not ASCII shares the buckets: the vocabulary of
tokenizer.json names each such letter (and pair of letters), and the model's `mapping` sends it to its bucket.
"""

from __future__ import annotations

import string
from collections import Counter
from itertools import groupby, islice, product
from typing import TYPE_CHECKING

from llmc.embed.static import BUCKETS, HUMP, MAX_PIECE, WORD, bucket, fold, paired_letters, single_letters, split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokenizers import Tokenizer

    from training.examples import Example

__all__ = ["build_tokenizer", "choose_words", "foreign_pieces"]

WORDS = 40_000
SAMPLE = 600  # examples of one package: what a package uses at all shows in fewer than all of them
LONGEST = 24  # letters; what is longer is several words written together, and the greedy match finds those


def choose_words(examples: Iterable[Example], count: int = WORDS) -> list[str]:
    """The words that most packages use; ties by how often they occur."""
    packages: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for _, group in groupby(examples, key=lambda example: example.package):
        inside: Counter[str] = Counter()
        for example in islice(group, SAMPLE):
            inside.update(WORD.findall(f"{example.sentence} {example.rest} {example.name} {example.code}"))
        parts: Counter[str] = Counter()
        for word, times in inside.items():
            for part in split(fold(word)):
                parts[part] += times
        packages.update(parts.keys())
        total.update(parts)
    known = (w for w in packages if w.isascii() and (w.isalpha() or len(w) <= 4) and 1 < len(w) <= LONGEST)
    ranked = sorted(known, key=lambda word: (-packages[word], -total[word], word))
    single = list(string.ascii_lowercase + string.digits)
    return sorted({*single, *ranked[: count - len(single)]})


def foreign_pieces() -> dict[str, int]:
    """Every piece outside ASCII that can occur, with its bucket."""
    letters = paired_letters()
    scripts = [
        [c for c in letters if low <= ord(c) < high] for low, high in ((0x370, 0x400), (0x400, 0x590), (0x590, 0x700))
    ]
    pairs = ("".join(pair) for script in scripts for pair in product(script, repeat=2))
    return {piece: bucket(piece) for piece in [*single_letters(), *letters, *pairs]}


def build_tokenizer(words: list[str]) -> tuple[Tokenizer, list[int]]:
    """The Rust tokenizer, and the row of each of its ids."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    named = ["[UNK]", *words, *(f"[{number}]" for number in range(BUCKETS))]
    foreign = foreign_pieces()
    vocabulary = {piece: number for number, piece in enumerate([*named, *foreign])}
    rows = [*range(len(named)), *(len(words) + 1 + number for number in foreign.values())]
    tokenizer = Tokenizer(
        models.WordPiece(
            vocabulary, unk_token="[UNK]", max_input_chars_per_word=MAX_PIECE, continuing_subword_prefix=""
        )
    )
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.NFC(),
            normalizers.Replace(Regex(HUMP.pattern), " "),
            normalizers.Lowercase(),
        ]
    )
    pieces = "[a-z]+|[0-9]+|[" + paired_letters() + r"]+|[[\p{L}\p{N}]&&[^\x00-\x7f]]"
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pieces), behavior="removed", invert=True)
    return tokenizer, rows
