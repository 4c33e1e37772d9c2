"""Keep an index of the current format as a fixture: `python tests/make_format.py`, once for every new `FORMAT`.

The fixtures of older formats are never changed: they show that an old index on a user's disk is recognized and rebuilt.
Format 0 was never released; its fixture is one of format 1 with the number 0.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from locations import FORMATS
from store_world import DIMENSION, EMBEDDER, ROOT, document

from llmc.base.model import FileState, FileStatus, Stamp
from llmc.store import Batch, Store
from llmc.store.catalog.schema import FORMAT


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Store.open(folder, EMBEDDER, DIMENSION, write=True) as store:
            one = document("parcel.py", "def deliver(parcel):\n    return parcel.weight\n")
            state = FileState(one.path, Stamp(one.size, 1, 1, 1), FileStatus.INDEXED, one.key)
            store.apply(Batch(root=ROOT, states=(state,), documents=(one,)))
        with tarfile.open(FORMATS / f"{FORMAT}.tar.gz", "w:gz") as archive:
            for path in sorted(Path(folder).iterdir()):
                if path.name != "lock":
                    archive.add(path, path.name)


if __name__ == "__main__":
    main()
