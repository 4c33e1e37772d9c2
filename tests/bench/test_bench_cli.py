"""`llmc bench`, from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from locations import REPOSITORY


def bench(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "llmc", "bench", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_a_measurement_writes_its_report_to_the_given_folder(tmp_path: Path) -> None:
    done = bench("tokens", "--part", "logs", "--out", str(tmp_path / "run"), cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr
    assert "[1/1] logs" in done.stderr
    assert "unittest" in (tmp_path / "run" / "summary.md").read_text("utf-8")
    assert "`logs`" in (tmp_path / "run" / "README.md").read_text("utf-8")


def test_without_a_checkout_it_says_what_to_do(tmp_path: Path) -> None:
    """The package as installed: a copy of it without the rest of the repository."""
    import shutil

    import llmc

    shutil.copytree(
        Path(llmc.__file__).parent, tmp_path / "site" / "llmc", ignore=shutil.ignore_patterns("__pycache__")
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); from llmc.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "bench", "tokens"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "not part of the installed package" in done.stderr
    assert "make bench" in done.stderr
