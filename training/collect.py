"""Sources by package name: pip (wheels), npm (pack) and apt (Debian source packages), unpacked into one folder each.

Owns downloading, the licence check and what of a package is kept (source text of known languages, no vendored code,
no tests, no minified files). What the files become is `pairs`' business. The list is `packages.tsv`: ecosystem, name,
version, licence, split. A package that cannot be had, or whose licence no longer passes, is named and left out.
"""

from __future__ import annotations

import fnmatch
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from training import licences
from training.functions import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Package", "collect", "excluded", "read_list"]

HERE = Path(__file__).parent
SUFFIXES = frozenset(f".{suffix}" for suffix in LANGUAGES)
# A folder of this name holds other people's code, or code that answers no question of a user.
DROPPED = frozenset(
    """
    vendor vendored _vendor _vendored patched _distutils node_modules third_party thirdparty third-party 3rdparty extern
    external externals bundled deps debian test tests testing testdata __tests__ spec specs fixtures dist build min
    locale locales benchmarks examples example demo demos site-packages generated gen
    """.split()  # noqa: SIM905 - a column of quoted words would hide the list
)
LARGEST = 300_000  # bytes; what is larger is generated or data
BATCH = 100
MAX_FILES = 1_500  # for one package: no package may be most of the corpus


@dataclass(frozen=True, slots=True)
class Package:
    ecosystem: str
    name: str
    version: str
    licence: str
    split: str

    @property
    def folder(self) -> str:
        return f"{self.ecosystem}/{self.name.replace('/', '+')}"


def read_list(path: Path = HERE / "packages.tsv") -> list[Package]:
    rows = (line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return [Package(*row) for row in rows]


def excluded(ecosystem: str, name: str) -> bool:
    """True if exclusions.txt names this package."""
    asked = f"{ecosystem}:{name.lower()}"
    return any(fnmatch.fnmatchcase(asked, glob) for _, globs in _exclusions() for glob in globs)


def _exclusions() -> list[tuple[str, list[str]]]:
    lines = (line.split() for line in (HERE / "exclusions.txt").read_text().splitlines())
    return [(words[0], words[1:]) for words in lines if words and not words[0].startswith("#")]


def _excluded_folders() -> frozenset[str]:
    """Base names of the excluded projects that are not words of the trade: a folder so called is a vendored copy."""
    ordinary = set(
        """
        airflow babel backend black brew cargo cassandra cats celery chi click client compose composer core cython
        dask deno django docker electron etcd exposed express fd flask fluent framework frontend git go grafana grpc
        hyper istio jax jest json julia kafka keras klein koin kotlin laravel linux lua moment mongo nest nginx node
        otp phoenix pip plug polars postgres protobuf rack rails ray react redis requests rq ruby runtime rust salt
        scala sentry server spark sqlite superset svelte swift terraform vault
        """.split()  # noqa: SIM905 - a column of quoted words would hide the list
    )
    return frozenset(repo.split("/")[1].lower() for repo, _ in _exclusions()) - ordinary


EXCLUDED_FOLDERS = _excluded_folders()


def wanted(path: str) -> bool:
    """Whether a file of a package is kept, by its path alone."""
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if PurePosixPath(path).suffix.lower() not in SUFFIXES or ".min." in parts[-1]:
        return False
    folders = parts[1:-1]  # the first is the package's own
    return not (
        DROPPED.intersection(folders) or EXCLUDED_FOLDERS.intersection(folders) or parts[-1].startswith("test_")
    )


def collect(packages: Iterable[Package], corpus: Path) -> list[str]:
    """Download and unpack what is not there yet. Returns one line for each package that was left out."""
    corpus = corpus.resolve()
    missing = [package for package in packages if not (corpus / package.folder / ".done").exists()]
    refused = [f"{p.folder}: excluded" for p in missing if excluded(p.ecosystem, p.name)]
    missing = [package for package in missing if not excluded(package.ecosystem, package.name)]
    for ecosystem, download in (("pip", _pip), ("sdist", _sdist), ("npm", _npm), ("apt", _apt)):
        group = [package for package in missing if package.ecosystem == ecosystem]
        for start in range(0, len(group), BATCH):
            batch = group[start : start + BATCH]
            cache = corpus / "downloads" / ecosystem
            cache.mkdir(parents=True, exist_ok=True)
            download(batch, cache)
            refused += [reason for package in batch if (reason := _unpack(package, cache, corpus))]
            print(f"{ecosystem}: {min(start + BATCH, len(group))}/{len(group)}", flush=True)
    return refused


def _run(command: list[str], folder: Path) -> bool:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


def _each_alone_if_not_together(command: list[str], names: list[str], folder: Path) -> None:
    """One process for a batch; one bad name must not cost the others."""
    if names and not _run([*command, *names], folder):
        for name in names:
            _run([*command, name], folder)


def _pip(packages: list[Package], cache: Path) -> None:
    command = ["pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", "."]
    _each_alone_if_not_together(command, [f"{p.name}=={p.version}" if p.version else p.name for p in packages], cache)


def _sdist(packages: list[Package], cache: Path) -> None:
    """Source distributions whose code is not Python (Rust, C).

    pip unpacks one and then asks its build system for metadata, which is neither needed nor there: the unpacked tree is
    kept and the failure ignored.
    """
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda package: _sdist_one(package, cache), packages))


def _sdist_one(package: Package, cache: Path) -> None:
    command = [
        "pip",
        "download",
        "--no-deps",
        "--no-binary=:all:",
        "--no-clean",
        "--no-build-isolation",
        "--dest",
        "out",
    ]
    wanted_version = f"{package.name}=={package.version}" if package.version else package.name
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [*command, wanted_version],
            cwd=scratch,
            env={**os.environ, "TMPDIR": scratch},
            capture_output=True,
            check=False,
        )
        for info in sorted(Path(scratch).glob("pip-download-*/*/PKG-INFO"))[:1]:
            version = HeaderParser().parsestr(info.read_text(errors="replace"))["Version"]
            with tarfile.open(cache / f"{package.name}-{version}.tar", "w") as tar:
                tar.add(info.parent, arcname=package.name)


def _npm(packages: list[Package], cache: Path) -> None:
    command = ["npm", "pack", "--silent", "--ignore-scripts"]
    _each_alone_if_not_together(command, [f"{p.name}@{p.version}" if p.version else p.name for p in packages], cache)


def _apt(packages: list[Package], cache: Path) -> None:
    # apt-get itself reads all of its lists for each call and fetches one file after the other: 1 package/s. So it only
    # names the files, and ten connections fetch them.
    command = ["apt-get", *_apt_options(cache), "--quiet=2", "--print-uris", "source"]
    files = _apt_files(command, [f"{p.name}={p.version}" if p.version else p.name for p in packages])
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda file: _fetch(file, cache), files))


def _apt_files(command: list[str], names: list[str]) -> list[tuple[str, str, str]]:
    """Address, name and digest of every tarball. A package that apt refuses is found by halving and left out."""
    asked = subprocess.run([*command, *names], capture_output=True, text=True, check=False)
    if asked.returncode == 0:
        rows = (line.split() for line in asked.stdout.splitlines() if line.startswith("'"))
        return [(row[0].strip("'"), row[1], row[3]) for row in rows if ".tar." in row[1] and row[1][-4:] != ".asc"]
    if len(names) == 1:
        return []
    middle = len(names) // 2
    return _apt_files(command, names[:middle]) + _apt_files(command, names[middle:])


def _fetch(file: tuple[str, str, str], cache: Path) -> None:
    address, name, digest = file
    if (cache / name).exists():
        return
    try:
        with urllib.request.urlopen(address, timeout=60) as reply:
            data = reply.read()
    except OSError as error:
        print(f"{name}: {error}", flush=True)
        return
    kind, _, wanted_digest = digest.partition(":")
    if hashlib.new(kind.replace("Sum", "").lower(), data).hexdigest() == wanted_digest:
        (cache / name).write_bytes(data)


def _apt_options(cache: Path) -> list[str]:
    """A private list of sources, so that neither root nor a change of the system's configuration is needed."""
    state = cache / "state"
    listing = state / "sources.list"
    if not listing.exists():
        (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (state / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
        listing.write_text(f"deb-src [signed-by={keyring}] http://deb.debian.org/debian trixie main\n")
    options = {
        "Dir::State::Lists": state / "lists",
        "Dir::Cache": state,
        "Dir::Etc::sourcelist": listing,
        "Dir::Etc::sourceparts": "-",
        "APT::Sandbox::User": "root",
    }
    flags = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    if not list((state / "lists").glob("*_Sources*")):
        _run(["apt-get", *flags, "--quiet=2", "update"], cache)
    return flags


def _unpack(package: Package, cache: Path, corpus: Path) -> str:
    """Check the licence, then write the wanted files. An empty text is success."""
    archives = _archives(package, cache)
    if not archives:
        return f"{package.folder}: not found"
    declaration = _declaration(package, archives)
    if package.ecosystem == "apt":
        rules = licences.rules_of_debian(declaration)
        declared = [licence for licence in [licences.licence_of_file(rules, "unnamed")] if licence]
    else:
        rules, declared = [], _READERS[package.ecosystem](declaration) if declaration else []
    if not declared or not all(licences.is_permissive(licence) for licence in declared):
        return f"{package.folder}: licence {sorted(set(declared))}"
    _write(package, archives, rules, corpus / package.folder)
    (corpus / package.folder / ".done").write_text(f"{' and '.join(sorted(set(declared)))}\n{archives[0].name}\n")
    return ""


def _write(package: Package, archives: list[Path], rules: list[tuple[list[str], str]], target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for count, (path, data) in enumerate(_members(archives)):
        if count >= MAX_FILES:
            break
        inner = path if package.ecosystem == "pip" else "/".join(PurePosixPath(path).parts[1:])
        if not inner or (rules and not licences.is_permissive(licences.licence_of_file(rules, inner))):
            continue
        place = target / inner
        if len(place.name) < 200 and ".." not in place.parts and not place.is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)


def _archives(package: Package, cache: Path) -> list[Path]:
    if package.ecosystem == "pip":
        stem = package.name.lower().replace("-", "_").replace(".", "_")
        found = [path for path in cache.glob("*.whl") if path.name.split("-")[0].lower().replace(".", "_") == stem]
    elif package.ecosystem == "sdist":
        found = list(cache.glob(f"{package.name}-{package.version or '[0-9]*'}.tar"))
    elif package.ecosystem == "npm":
        stem = package.name.lstrip("@").replace("/", "-")
        found = list(cache.glob(f"{stem}-{package.version or '[0-9]*'}.tgz"))
    else:
        found = [path for path in cache.glob(f"{package.name}_*.tar.*") if not path.name.endswith(".asc")]
    return sorted(found, key=lambda path: ".debian.tar" in path.name)


def _declaration(package: Package, archives: list[Path]) -> str:
    """The text in which the package states its licence."""
    if package.ecosystem == "pip":
        with zipfile.ZipFile(archives[0]) as wheel:
            names = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            return wheel.read(names[0]).decode() if names else ""
    end = {"npm": "/package.json", "sdist": "/PKG-INFO", "apt": "debian/copyright"}[package.ecosystem]
    texts = {name: data for name, data in _tar_members(archives[-1]) if name.endswith(end)}
    return texts[min(texts, key=len)].decode(errors="replace") if texts else ""


_READERS = {
    "npm": licences.licences_of_package_json,
    "pip": licences.licences_of_metadata,
    "sdist": licences.licences_of_metadata,
}


def _members(archives: list[Path]) -> Iterator[tuple[str, bytes]]:
    for archive in archives:
        if ".debian.tar" in archive.name:
            continue
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                for info in wheel.infolist():
                    if wanted("x/" + info.filename) and info.file_size <= LARGEST:
                        yield info.filename, wheel.read(info)
        else:
            yield from ((name, data) for name, data in _tar_members(archive) if wanted(name) and len(data) <= LARGEST)


def _tar_members(archive: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and member.size <= LARGEST:
                    stream = tar.extractfile(member) or io.BytesIO()
                    yield member.name.removeprefix("./"), stream.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        print(f"{archive.name}: {error}", flush=True)
