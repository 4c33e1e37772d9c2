"""The walkthrough of docs/shared.md, line by line, as a new user pastes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from daemons import private_place
from object_storage import free_ports

DOCS = Path(__file__).parents[2] / "docs" / "shared.md"


def commands() -> str:
    """The indented lines of the section."""
    section = re.search(r"^## Try it on one machine\n(.*?)^## ", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert section is not None
    return "\n".join(line.removeprefix("    ") for line in section[1].splitlines() if line.startswith("    "))


def test_the_walkthrough_does_what_it_says(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "llmc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m llmc "$@"\n')
    program.chmod(0o755)
    first, second = free_ports(2)
    script = commands().replace("7341", str(first)).replace("7342", str(second))
    folder = tmp_path / "team"
    folder.mkdir()

    with private_place() as place:
        environ = {**place.environ, "PATH": f"{program.parent}:{place.environ['PATH']}", "no_proxy": "127.0.0.1"}
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=folder,
            env=environ,
            text=True,
            capture_output=True,
            timeout=240,
            check=False,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    answers = [line for line in lines if line.startswith("{") and '"status"' not in line]
    published = [line for line in lines if " is at " in line]
    assert len(published) == 3
    assert "1 denied" in published[0]
    by_ann, by_bob, hidden, *_ = answers
    assert "parser.py" in by_ann
    assert "app.js" in by_ann
    assert "parser.py" not in by_bob
    assert "app.js" in by_bob
    assert '"not_found"' in hidden
    assert "class Parser" in answers[-1]
    merged = next(line for line in lines if "team: " in line)
    assert "acme/web@" in merged
    assert "export function render" in done.stdout.partition(merged)[2]
    assert "very-secret" not in done.stdout + done.stderr
