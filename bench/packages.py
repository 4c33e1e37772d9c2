"""Packages from PyPI and npm at pinned versions, checked by hash and unpacked into a folder: corpora of others' code.

    python -m bench.packages data/golden/packages.tsv DIR

A row is `name, ecosystem, package, version, sha256`. Where the packages come from is what pip and npm are set up for;
what is there already is not fetched again.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Package", "read_list", "unpacked"]

SECONDS = 120.0
LINK = re.compile(r'href="([^"#]+)#sha256=([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    ecosystem: str  # pip (a source distribution) or npm
    package: str
    version: str
    sha256: str


def read_list(path: Path) -> list[Package]:
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return [Package(*row) for row in rows]


def unpacked(package: Package, folder: Path) -> Path:
    """The folder with the package's files, fetched if it does not exist. A wrong hash is an error."""
    target = folder / f"{package.name}-{package.version}"
    if target.is_dir():
        return target
    data = (_from_pip if package.ecosystem == "pip" else _from_npm)(package)
    found = hashlib.sha256(data).hexdigest()
    if found != package.sha256:
        raise ValueError(f"{package.package} {package.version}: sha256 {found}, {package.sha256} is pinned")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch, tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(scratch, filter="data")
        (top,) = Path(scratch).iterdir()
        top.rename(target)
    return target


def _from_pip(package: Package) -> bytes:
    """Straight from the package index: `pip download` would build the package to determine its dependencies."""
    from pip._internal.models.index import PyPI

    page = f"{os.environ.get('PIP_INDEX_URL', PyPI.simple_url).rstrip('/')}/{package.package}/"
    with urllib.request.urlopen(page, timeout=SECONDS) as reply:
        links = LINK.findall(reply.read().decode())
    for address, sha256 in links:
        if sha256 == package.sha256:
            with urllib.request.urlopen(urllib.parse.urljoin(page, address), timeout=SECONDS) as reply:
                return bytes(reply.read())
    raise LookupError(f"{package.package} {package.version}: no file in the index has the pinned hash")


def _from_npm(package: Package) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        command = ["npm", "pack", "--silent", "--ignore-scripts", f"{package.package}@{package.version}"]
        subprocess.run(command, cwd=scratch, check=True, capture_output=True, timeout=SECONDS)
        (archive,) = Path(scratch).glob("*.tgz")
        return archive.read_bytes()


if __name__ == "__main__":
    for one in read_list(Path(sys.argv[1])):
        print(unpacked(one, Path(sys.argv[2])))
