"""Run by a Python that has semble: its index of a folder without the model, which cannot be loaded offline. Prints
seconds.

Files are walked, chunked and put into BM25 by semble's own functions, all content types, in its own process.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from semble.index.bm25 import BM25  # type: ignore[import-not-found]
from semble.index.create import _chunk_file  # type: ignore[import-not-found]
from semble.index.file_walker import walk_files  # type: ignore[import-not-found]
from semble.index.files import get_extensions  # type: ignore[import-not-found]
from semble.types import ContentType  # type: ignore[import-not-found]


def main() -> None:
    root = Path(sys.argv[1])
    started = time.monotonic()
    index = BM25.empty()
    order: list[str] = []
    for path in walk_files(root, get_extensions(list(ContentType))):
        chunked = _chunk_file(path, str(path.relative_to(root)))
        for tokens in chunked[1] if chunked else ():
            order.append(str(len(order)))
            index.add_document(order[-1], tokens)
    index.set_doc_order(order)
    print(len(order), time.monotonic() - started)


if __name__ == "__main__":
    main()
