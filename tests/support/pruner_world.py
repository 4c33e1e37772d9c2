"""A third-party pruner in its own process, for tests."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daemons import until

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FAILING", "Pruner", "running_pruner"]

TWIN = str(Path(__file__).with_name("pruner_reference.py"))
# Behaviour of a bad pruner → the words shown to the reader of the envelope.
FAILING = {
    "hanging": "did not respond within",
    "dripping": "did not respond within",
    "array": "returned no text",
    "nothing": "returned no text",
    "garbage": "did not return valid JSON",
    "deep": "did not return valid JSON",
    "refusing": "returned status 500",
    "created": "returned status 503",
    "redirecting": "returned status 302",
    "huge": "returned more than",
    "broken": "cannot be reached",
}


class Pruner:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, kind: str) -> str:
        return f"http://127.0.0.1:{(self._folder / 'port').read_text()}/{kind}"

    def asked(self) -> list[dict[str, Any]]:
        """Every request so far, oldest first."""
        file = self._folder / "asked"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@contextlib.contextmanager
def running_pruner(folder: Path) -> Iterator[Pruner]:
    process = subprocess.Popen([sys.executable, TWIN, str(folder)])
    try:
        until((folder / "port").exists)
        yield Pruner(folder)
    finally:
        process.kill()
        process.wait()
