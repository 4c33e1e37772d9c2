"""The source trees of benchmarks: pinned source archives, fetched once by package name and kept outside the
repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

__all__ = ["cache", "commit", "copies", "sdist"]


def cache() -> Path:
    folder = Path(os.environ.get("LLMC_BENCH_CACHE", Path.home() / ".cache" / "llmc-bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def sdist(name: str, version: str) -> Path:
    """The unpacked source archive of a PyPI package."""
    target = cache() / f"{name}-{version}"
    if not target.exists():
        download = cache() / "download"
        shutil.rmtree(download, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps"]
        subprocess.run([*command, "--dest", str(download), f"{name}=={version}"], check=True)
        archive = next(download.glob("*.tar.gz"))
        with tarfile.open(archive) as tar:
            tar.extractall(download, filter="data")
        next(path for path in download.iterdir() if path.is_dir()).rename(target)
        shutil.rmtree(download)
    return target


def commit(folder: Path) -> None:
    """Make a folder a repository with everything in it committed."""
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


def copies(source: Path, times: int, target: Path) -> Path:
    """A larger tree: the same files under several top folders, each file with an additional line so that no two are
    equal."""
    if target.exists():
        return target
    for number in range(times):
        top = target / f"part{number}"
        shutil.copytree(source, top, ignore=shutil.ignore_patterns(".git"))
        for path in top.rglob("*"):
            if path.is_file() and path.suffix in {".py", ".txt", ".js", ".html", ".css"}:
                with path.open("ab") as file:
                    file.write(f"\n# part {number}\n".encode())
    return target
