"""What the workload is asked about: pinned source trees of five languages, a history, a log of failing tests.

Everything is made once, from archives that are checked by hash, and kept in the cache. Django is a repository of six
commits, one for each release from 5.2.2 to 5.2.7, with the release notes as messages: real changes, the same commits on
every machine. A copy of it has two faults put in; the log is what Django's own runner says of that copy, with times,
addresses and the folder's name taken out, so that it is the same everywhere. rxjs is the package without `dist`, which
no checkout has.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from bench import trees
from bench.packages import Package, read_list, unpacked

__all__ = ["GROUNDS", "Ground", "ground"]

PACKAGES = Path(__file__).parent / "tasks" / "packages.tsv"
GROUNDS = ("django", "broken", "pydantic-core", "rxjs", "sqlalchemy", "eslint", "uwsgi")
RUNNER = ("asgiref==3.9.1", "sqlparse==0.5.3")
# With these the log has some 5,000 lines.
MODULES = ("utils_tests", "pagination", "forms_tests", "template_tests", "auth_tests", "i18n")
FAULTS = (
    ("django/utils/text.py", '.strip("-_")', '.strip("_")'),
    (
        "django/core/paginator.py",
        "if number > (1 + on_each_side + on_ends) + 1:",
        "if number > on_each_side + on_ends:",
    ),
)
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "bench"), ("EMAIL", "bench@example.org"))
}
FIRST_DAY = 1_749_000_000  # any fixed time: commit ids depend on it


@dataclass(frozen=True, slots=True)
class Ground:
    """`names` are the placeholders of scripts: `{python}` can run the tests of the tree with the faults."""

    name: str
    folder: Path
    names: dict[str, str] = field(default_factory=dict)


def ground(name: str) -> Ground:
    packages = [one for one in read_list(PACKAGES) if one.name == name]
    target = trees.cache() / "workload" / name
    target.parent.mkdir(exist_ok=True)
    if name == "broken":
        return broken(target)
    if not target.exists() and name == "django":
        history(packages, target)
    elif not target.exists():
        source = unpacked(packages[0], trees.cache() / "packages")
        copy(source, target, without="dist" if name == "rxjs" else "")
        trees.commit(target)
    return Ground(name, target)


def broken(target: Path) -> Ground:
    """Django with the faults, and the log next to its sources."""
    if not target.exists():
        faulty(ground("django").folder, target)
    python = runner(target)
    log = target / "tests.log"
    if not log.exists():
        write_log(target, python, log)
    return Ground("broken", target, {"python": str(python)})


def history(packages: list[Package], target: Path) -> None:
    making = target.with_name("django.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    git(making, 0, "init", "-q")
    for number, package in enumerate(packages):
        for old in making.iterdir():
            if old.name != ".git":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        copy(unpacked(package, trees.cache() / "packages"), making)
        notes = (making / "docs" / "releases" / f"{package.version}.txt").read_text("utf-8")
        git(making, number, "add", "-A", "-f")
        git(making, number, "commit", "-q", "--cleanup=verbatim", "-m", f"Django {package.version}", "-m", notes)
    making.rename(target)


def git(folder: Path, number: int, *arguments: str) -> None:
    when = f"{FIRST_DAY + 86_400 * number} +0000"
    environ = {**os.environ, **IDENTITY, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    subprocess.run(["git", *arguments], cwd=folder, env=environ, check=True, capture_output=True)


def copy(source: Path, target: Path, *, without: str = "") -> None:
    left_out = shutil.ignore_patterns(without) if without else None
    shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=left_out)


def faulty(source: Path, target: Path) -> None:
    """One fault in each of two modules; a fault that no longer applies is an error here, not a strange result later."""
    making = target.with_name("broken.making")
    shutil.rmtree(making, ignore_errors=True)
    shutil.copytree(source, making, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for path, right, wrong in FAULTS:
        file = making / path
        text = file.read_text("utf-8")
        if text.count(right) != 1:
            raise ValueError(f"{path}: {right} stands there {text.count(right)} times")
        file.write_text(text.replace(right, wrong), "utf-8")
    making.rename(target)


def runner(tree: Path) -> Path:
    """A Python with this tree's Django, separate from ours."""
    folder = trees.cache() / "servers" / "django-runner"
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *RUNNER], check=True, capture_output=True)
        (site,) = folder.glob("lib/python*/site-packages")
        (site / "django.pth").write_text(f"{tree}\n")
        (folder / ".ready").touch()
    return python


def write_log(folder: Path, python: Path, log: Path) -> None:
    command = [str(python), "runtests.py", *MODULES, "-v", "2", "--parallel", "1"]
    environ = {**os.environ, "COLUMNS": "80", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command, cwd=folder / "tests", env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    text = done.stdout.decode("utf-8", "replace").replace(f"{folder}/", "")
    text = re.sub(r"\bin \d+\.\d+s\b", "in 60.000s", text)
    log.write_text(re.sub(r"\b0x[0-9a-f]{6,}", "0x7f0000", text), "utf-8")
