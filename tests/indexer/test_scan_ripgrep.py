"""Whatever the tree and its ignore files, a walk finds the files that `rg --files` finds.

Kept differences, each tested elsewhere: bytes that are not UTF-8 end an ignore file for ripgrep and not here
(test_ignore), limits on hostile files (test_ignore), and further work trees of the same repository (test_scan).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from llmc.base.ignore import Rules
from llmc.base.root_fs import RootFs
from llmc.indexer.scan import ScanLimits, scan

RIPGREP = Path(sys.executable).parent / "rg"
COMMAND = [str(RIPGREP), "--files", "--hidden", "--no-require-git", "--no-messages", "--no-config", "-0", "-g", "!.git"]


def one_of(words: str, *more: str) -> st.SearchStrategy[str]:
    return st.sampled_from([*words.split(), *more])


NAMES = one_of(
    r"a b ab A a.b b.c .a .b.c ..a x. foo foo.py bar x.log é éa aé ß.c 😀 [a] {a} a* !a #a a\ a-b a,b b] ^ - ?",
    "a b",
    "a ",
    "a\nb",
)
FEW = one_of("a b ab foo")  # so that rules of several parts hit something
FOLDERS = st.lists(FEW | NAMES, max_size=4).map("/".join)
ATOMS = one_of(
    r"""a b ab foo bar . .py .log .c * ** ? / [ab] [!a] [^a] [a-c] []a] [!]a] [ [a [z-a] [é] [a-é] [--/] [!-~] [a-]
    {a,b} {a,{b,c}} { } {,a} {a/b,c} {**/a,b} {a,**} , \ \a \* \[ \! \# ! # é ß 😀 - **/ /** /**/ *** a**b *. ^ $ ( | +
    x""",
    *("\\ ", " ", "\t", "\u00a0", "\u2003", "\x85", "\x1c", "\r"),
)
WHOLE = one_of(
    r"""* ! / // !/ ** /** **/ **/** /* !*/ */ !a !/a a/ /a/ a/b a/* a/** a/**/b **/a **/a/b **/a/ *.py !*.py *.* .* !.*
    ? ?? [ ] \ a\ \#a \!a !\!a [!/] a[!b]b a[/]b a[^/]b *{a,b} a{ b} a//b //a //? ./a ../a \/a a/\ a\/ /a*b /foo/b*
    /a/[ab] */a */*/a **/* **/? */** /*/ !/*/ !a/b **a a**/b a/***""",
    *("a\\ ", "a\\  ", "a ", "# a", "\ufeffa", "\u00a0a\u00a0"),
)
PARTS = one_of("a b foo ab * ** a* b? [ab] *b*")
BUILT = st.builds(
    lambda show, root, atoms, only: show + root + "".join(atoms) + only,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(ATOMS, min_size=1, max_size=5) | st.lists(PARTS, min_size=1, max_size=4).map("/".join),
    st.sampled_from(["", "", "/"]),
)
CONTENTS = st.lists(st.tuples(WHOLE | BUILT, st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=5).map(
    lambda lines: "".join(line + end for line, end in lines)
)
RULE_FILES = st.sampled_from([".gitignore", ".gitignore", ".ignore", ".rgignore", ".git/info/exclude"])


def put(root: Path, path: str, content: str) -> None:
    """Write a file, unless something else is in its way."""
    try:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode())
    except OSError:
        return


def by_ripgrep(root: Path, home: Path) -> set[str]:
    alone = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "PATH": os.defpath}
    found = subprocess.run(COMMAND, cwd=root, env=alone, capture_output=True, check=False)
    return {os.fsdecode(path) for path in found.stdout.split(b"\0") if path}


def files_of(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and not path.is_symlink()}


@settings(deadline=None, max_examples=100)
@given(
    files=st.lists(st.tuples(FOLDERS, FEW | NAMES), min_size=1, max_size=25),
    rules=st.lists(st.tuples(FOLDERS, RULE_FILES, CONTENTS), min_size=1, max_size=4),
    cut=st.booleans(),
)
def test_a_walk_finds_the_files_that_ripgrep_finds(
    files: list[tuple[str, str]], rules: list[tuple[str, str, str]], *, cut: bool
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "root"
        root.mkdir()
        for folder, name in files:
            put(root, f"{folder}/{name}".lstrip("/"), "")
        for folder, name, content in rules:
            put(root, f"{folder}/{name}".lstrip("/"), content.removesuffix("\n") if cut else content)
        with RootFs(str(root)) as root_fs:
            known = Rules(root_fs)
            found = {path for listing in scan(root_fs, known, ScanLimits()) for path in listing.files}
            assert found == by_ripgrep(root, Path(place))
            for path in files_of(root):
                assert known.ignored(path, is_folder=False) == (path not in found)
                assert Rules(root_fs).ignored(path, is_folder=False) == (path not in found)
