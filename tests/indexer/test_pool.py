"""Digesting in several processes gives what one process gives, and leaves no process behind."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from llmc.indexer.pool import DigestPool, Inline, Promise
from llmc.settings import EmbedderSettings, Settings

SETTINGS = Settings(embedder=EmbedderSettings(kind="hash"))
FILES = [
    ("app.py", "import os\n\n\nclass Greeter:\n    def greet(self, name):\n        return os.fspath(name)\n"),
    ("notes.md", "# Plan\n\nFirst this.\n\n## Later\n\nThen that.\n"),
    ("empty.txt", ""),
]


def values(promises: list[Promise]) -> list[object]:
    digests = [promise.result() for promise in promises]
    return [
        one
        if isinstance(one, str)
        else (one.parsed.language, one.parsed.lines, one.parsed.chunks, [*one.parsed.symbols], [*one.parsed.references])
        for one in digests
    ]


def test_what_a_pool_sends_back_is_what_this_process_would_make() -> None:
    pool = DigestPool(SETTINGS, 1, embed=False)
    try:
        assert values(pool.submit(FILES, embed=False)) == values(Inline(None).submit(FILES, embed=False))
    finally:
        pool.close()


OWNER = """
import sys
from llmc.indexer.pool import DigestPool
from llmc.settings import EmbedderSettings, Settings
if __name__ == "__main__":
    pool = DigestPool(Settings(embedder=EmbedderSettings(kind="hash")), 2, embed=False)
    [promise.result() for promise in pool.submit([("a.py", "x = 1\\n")], embed=False)]
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_a_pool_ends_with_the_process_that_has_it(end: str) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        pool = psutil.Process(owner.pid).children(recursive=True)
        assert pool
        getattr(owner, end)()
    _, alive = psutil.wait_procs(pool, timeout=30)
    assert alive == []
