"""Run by a Python that has semble: its index of a folder without the model, which cannot be loaded offline.

Files are walked, chunked and put into BM25 by semble's own functions, all content types, in its own process. Questions
are read as a JSON list from standard input; the reply has the seconds of the build and the best files of each question.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from semble.index.bm25 import BM25  # type: ignore[import-not-found]
from semble.index.create import _chunk_file  # type: ignore[import-not-found]
from semble.index.file_walker import walk_files  # type: ignore[import-not-found]
from semble.index.files import get_extensions  # type: ignore[import-not-found]
from semble.tokens import tokenize  # type: ignore[import-not-found]
from semble.types import ContentType  # type: ignore[import-not-found]

FILES = 10


def main() -> None:
    root = Path(sys.argv[1])
    started = time.monotonic()
    index = BM25.empty()
    files: list[str] = []
    for path in walk_files(root, get_extensions(list(ContentType))):
        chunked = _chunk_file(path, str(path.relative_to(root)))
        for tokens in chunked[1] if chunked else ():
            index.add_document(str(len(files)), tokens)
            files.append(str(path.relative_to(root)))
    index.set_doc_order([str(number) for number in range(len(files))])
    seconds = time.monotonic() - started
    ranked = [best_files(index, files, question) for question in json.load(sys.stdin)]
    print(json.dumps({"chunks": len(files), "seconds": seconds, "ranked": ranked}))


def best_files(index: BM25, files: list[str], question: str) -> list[str]:
    scores = index.get_scores(tokenize(question))
    order = sorted((number for number, score in enumerate(scores) if score > 0), key=lambda n: -scores[n])
    return list(dict.fromkeys(files[number] for number in order))[:FILES]


if __name__ == "__main__":
    main()
