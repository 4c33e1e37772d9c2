"""`make test-shared`: start SeaweedFS and Azurite, and run the tests of the shared index against them.

Everything runs against SeaweedFS (`s3://`): the contract of the stores, publishing, every tool, servers, permissions,
remotes and faults. Azurite (`az://`) runs the contract and publishing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from object_storage import ObjectStorage, azurite, seaweed

CONTRACT = ["tests/store/test_shared_index.py", "tests/publish/test_publish.py"]
STORES = ["tests/store/test_keywords.py", "tests/store/test_vectors.py"]
SERVERS = ["tests/publish/test_published_tools.py", "tests/server/test_shared_server.py"]
SERVERS += ["tests/server/test_shared_permissions.py", "tests/tools/test_remotes.py", "tests/shared"]
OPTIONS = ["--numprocesses", "4", "--dist", "loadfile", "-q", *sys.argv[1:]]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="llmc-storage-") as folder:
        with seaweed(Path(folder) / "seaweed") as storage:
            failed = run(storage, [*CONTRACT, *STORES, *SERVERS])
        with azurite(Path(folder) / "azurite") as storage:
            failed |= run(storage, CONTRACT)
    return failed


def run(storage: ObjectStorage, tests: list[str]) -> int:
    print(f"--- {storage.base}", flush=True)  # noqa: T201 - which storage a failure is from
    environ = {**os.environ, **storage.environ, "LLMC_TEST_SHARED": f"{storage.base}/tests"}
    environ["LLMC_TEST_STORAGE_PORT"] = str(storage.port)
    return subprocess.run([sys.executable, "-m", "pytest", *OPTIONS, *tests], env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
