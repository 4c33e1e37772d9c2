"""`python -m bench.trace`: the code that an operation passes through."""

from __future__ import annotations

import json
import subprocess
import sys

from locations import REPOSITORY


def test_a_trace_names_the_files_that_an_operation_passes_through() -> None:
    command = [sys.executable, "-m", "bench.trace", "--saves", "1", "--names"]
    found = json.loads(subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout)
    assert {"indexer/pipeline.py", "store/writer.py"} <= set(found["save"]["names"])
    assert {"tools/call.py", "retrieval/search.py"} <= set(found["search"]["names"])
    assert "answers/research/pipeline.py" in found["research"]["names"]
    assert "retrieval/search.py" not in found["save"]["names"]
    assert all(found[name]["calls"] > found[name]["calls across files"] for name in ("save", "search", "research"))
    assert found["CPU ms per save"] > 0
