"""A tree that is hard to search, and the matches that ripgrep finds in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from locations import DEMO

from llmc.retrieval.grep import ripgrep
from llmc.retrieval.grep.grep import GrepRequest, grep

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmc.workspace import Workspace

__all__ = ["FILES", "REPOSITORIES", "Asked", "ours", "theirs", "write"]

FILES: dict[str, bytes] = {
    "plain.py": b"import os\n\n\ndef get_token(name):\n    return os.environ[name]  # TODO: cache\n"
    b"\n\nclass HTTPServer:\n    pass\n",
    "deep/er/words.txt": b"alpha beta\nALPHA Beta\nalphabet\nal pha\n\n  indented\ttab\n"
    b"foo.bar(baz)\nx" + b"y" * 400 + b"\n",
    "unicode.md": (
        "naïve café\nСтрока по-русски\n日本語のテキスト\nK ſ ß İ ı\nétat ÉTAT\na\u00a0b\nemoji 🎉 party\n"
    ).encode(),
    "crlf.c": b"int main(void)\r\n{\r\n  return 0;\r\n}\r\n",
    "no_newline.go": b"package main\n\nfunc main() {}",
    "empty.txt": b"",
    "only_newlines.txt": b"\n\n\n",
    "latin1.txt": "gr\u00fc\u00dfe aus k\u00f6ln\nabc\n".encode("latin-1"),
    "utf16.txt": "wide alpha text\nsecond TODO line\n".encode("utf-16"),
    "bom.txt": b"\xef\xbb\xbffirst line with bom\nsecond alpha\n",
    "odd name 'quoted'.txt": b"alpha in an odd name\n",
    ".hidden/config.toml": b"[section]\nkey = 'alpha'\ntoken = 1234\n",
    "vertical.txt": b"a\x0bb\x0cc\nform\x0cfeed\n",
    "kept/ignored.log": b"alpha that nobody sees\n",
    ".gitignore": b"*.log\n",
}


def write(folder: Path) -> None:
    for name, data in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_demo(folder: Path) -> None:
    """Our own workspace in many languages."""
    shutil.copytree(DEMO, folder, dirs_exist_ok=True)


def write_library(folder: Path) -> None:
    """Others' code, as it is installed here: one that parses, one that is full of characters."""
    for name in ("click", "rich"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(spec.origin).parent, folder / name, ignore=ignored)


@dataclass(frozen=True)
class Asked:
    patterns: tuple[str, ...]
    flags: dict[str, Any] = field(default_factory=dict)


RG_FLAGS = {
    "fixed": "-F",
    "ignore_case": "-i",
    "smart_case": "-S",
    "word": "-w",
    "invert": "-v",
    "multiline": "-U",
}


def theirs(folder: Path, asked: Asked) -> list[str] | None:
    """ripgrep's lines, sorted; None if it refuses the pattern."""
    flags = [RG_FLAGS[name] for name, given in asked.flags.items() if given and name in RG_FLAGS]
    flags += [f"-B{asked.flags['before']}"] if asked.flags.get("before") else []
    flags += [f"-A{asked.flags['after']}"] if asked.flags.get("after") else []
    done = subprocess.run(
        [
            ripgrep.program() or "rg", "--no-config", "--hidden", "--no-require-git", "-g", "!.git",
            "--no-ignore-global", "--no-ignore-parent", "--no-heading", "--line-number", "--with-filename", "--null",
            "--color=never", "--no-context-separator", *flags,
            *(f"--regexp={pattern}" for pattern in asked.patterns), "./",
        ],
        cwd=folder,
        capture_output=True,
        check=False,
    )  # fmt: skip
    if done.returncode == 2:
        return None
    rows = (row for row in done.stdout.split(b"\n") if b"\0" in row)
    return sorted(row.removeprefix(b"./").removesuffix(b"\r").decode("utf-8", "replace") for row in rows)


def ours(workspace: Workspace, asked: Asked) -> list[str]:
    result = grep(workspace.views(), GrepRequest(asked.patterns, **asked.flags))
    return sorted(
        f"{os.fsencode(file.path).decode('utf-8', 'replace')}\0{line.number}{':' if line.matched else '-'}{line.text}"
        for file in result.files
        for line in file.lines
    )


REPOSITORIES: dict[str, Callable[[Path], object]] = {"traps": write, "demo": write_demo, "library": write_library}
