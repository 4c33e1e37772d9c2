"""The output of `grep --all` is cleaned like any other reply, however much of it is processed in bulk."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import llmc
from bench.redaction_corpus import generic, harmless, known
from llmc.envelope import Envelope, Group, Item, Row
from llmc.envelope.bulk import SEGMENT, BulkCleaner, suspects
from llmc.envelope.clean import clean
from llmc.envelope.redact.redactor import Redacted, Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SOURCE = Path(llmc.__file__).parent
FILLER = [line for path in sorted(SOURCE.rglob("*.py"))[:60] for line in path.read_text().splitlines() if line]


def expected(files: Sequence[tuple[str, list[str]]], redactor: Redactor) -> str:
    """The same lines through an envelope, one file at a time."""
    shown = []
    for path, lines in files:
        item = Item(tuple(Row(line, number) for number, line in enumerate(lines, 1)), "", "root", path)
        done = clean(Envelope("grep", "", (Group("", (item,)),)), redactor, text_of(files))
        shown += [f"{path}:{row.number}:{row.text}\n" for one in done.items() for row in one.rows]
    return "".join(shown)


def text_of(files: Sequence[tuple[str, list[str]]]) -> Callable[[str, str], str]:
    return lambda _root, path: "\n".join(next(lines for name, lines in files if name == path))


def piece_of(files: Sequence[tuple[str, list[str]]], ending: str = "\n") -> bytes:
    blocks = (
        path + "\0" + ending.join(f"{number}:{line}" for number, line in enumerate(lines, 1)) for path, lines in files
    )
    return "\n\n".join(blocks).encode()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_secrets_of_every_form_are_removed_as_in_a_reply(seed: int) -> None:
    draw = random.Random(seed)
    files = []
    for number, case in enumerate([*known(seed), *generic(seed), *harmless(seed)]):
        folder, _, name = case.path.rpartition("/")
        lines = [draw.choice(FILLER) for _ in range(draw.randrange(3))]
        lines[draw.randrange(len(lines) + 1) : 0] = case.text.rstrip("\n").split("\n")
        files.append((f"{folder or 'src'}{number}/{name}", lines))
    draw.shuffle(files)
    redactor = Redactor()
    printed = BulkCleaner(redactor, text_of(files)).clean("root", piece_of(files)).decode()
    assert printed.splitlines() == expected(files, redactor).splitlines()


LINES = st.lists(
    st.one_of(
        st.sampled_from(FILLER),
        st.sampled_from(
            [
                'password = "tr0ub4dor&3x"',
                "password =",
                '    "tr0ub4dor&3x",',
                "name: DB_PASSWORD",
                "value: tr0ub4dor3x",
                "-----BEGIN PRIVATE KEY-----",
                "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
                "-----END PRIVATE KEY-----",
                "token: |",
                "machine example.org",
                "login ann",
                "password tr0ub4dor&3x",
                "INSERT INTO users (name, password) VALUES ('ann', 'tr0ub4dor&3x');",
                "insert into users (name,",
                "  password)",
                "VALUES",
                "('ann', 'tr0ub4dor&3x'),",
                "\u202egnp.exe",
                "a\x1b[31mred",
                "zero\u200bwidth",
                "naïve café",
            ]
        ),
    ),
    min_size=1,
    max_size=30,
)


@given(st.lists(st.tuples(st.sampled_from(["a.py", "b.yaml", "c.md", ".netrc", "d.json", "e.go"]), LINES), max_size=8))
def test_lines_that_belong_together_are_cleaned_together(parts: list[tuple[str, list[str]]]) -> None:
    files = [(f"f{number}/{name}", lines) for number, (name, lines) in enumerate(parts)]
    redactor = Redactor()
    printed = BulkCleaner(redactor, text_of(files)).clean("root", piece_of(files)) if files else b""
    assert printed.decode() == expected(files, redactor)


def test_a_secret_in_a_file_with_very_many_matches_is_removed() -> None:
    lines = [FILLER[number % len(FILLER)] for number in range(20 * SEGMENT // 40)]
    lines[len(lines) // 2] = 'api_key = "sk_live_4eC39HqLyjWDarjtT1zdp7dcAb"'
    files = [("big.py", lines), ("small.py", ["x = 1"])]
    printed = BulkCleaner(Redactor(), text_of(files)).clean("root", piece_of(files)).decode().splitlines()
    assert len(printed) == len(lines) + 1
    assert "4eC39Hq" not in "".join(printed)
    assert printed[-1] == "small.py:1:x = 1"


@pytest.mark.parametrize(
    "lines",
    [
        ["x = 1", "password = tr0ub4dor3xyz;"],
        ["--webhook_secret tr0ub4dor3xyz9Q", "x = 1"],
        ["x = 1", "  --webhook_secret tr0ub4dor3xyz9Q"],
    ],
)
def test_secrets_at_the_start_of_a_line_are_found_after_its_number(lines: list[str]) -> None:
    files = [("a.py", ["y = 2"]), ("b.py", lines), ("c.py", ["z = 3"])]
    redactor = Redactor()
    printed = BulkCleaner(redactor, text_of(files)).clean("root", piece_of(files)).decode()
    assert printed == expected(files, redactor)
    assert "tr0ub4dor3xyz" not in printed


@pytest.mark.parametrize(
    "lines",
    [
        ["INSERT INTO users (name, password) VALUES ('ann', 'tr0ub4dor&3x');"],
        ["REPLACE INTO users (name, password)", "VALUES", "  ('ann', 'tr0ub4dor&3x'),", "  ('bob', 'tr0ub4dor&3x');"],
        ["machine example.org", "login ann", "password tr0ub4dor&3x"],
        ["default", "  login ann", "  password", "tr0ub4dor&3x"],
        ["insert", "into", "users (name,", "  password)", "values (", "'ann',", "'tr0ub4dor&3x');"],
    ],
)
def test_secrets_that_are_recognized_over_several_lines_are_removed(lines: list[str]) -> None:
    files = [("a.py", ["y = 2"]), ("b.sql", lines), ("c.md", lines), ("d.py", lines), ("e.py", ["z = 3"])]
    redactor = Redactor()
    printed = BulkCleaner(redactor, text_of(files)).clean("root", piece_of(files)).decode()
    assert printed == expected(files, redactor)
    assert "tr0ub4dor" not in printed


def test_a_nul_byte_in_a_line_is_made_visible() -> None:
    files = [("a.py", ["x = 1"]), ("b.mo", ["all\0of", "\0"]), ("c.py", ["z = 3"])]
    printed = BulkCleaner(Redactor(), text_of(files)).clean("root", piece_of(files)).decode()
    assert printed == expected(files, Redactor())
    assert "b.mo:1:all\\0of\nb.mo:2:\\0\n" in printed


def test_a_field_does_not_reach_into_the_next_file() -> None:
    files = [("a.py", ["password ="]), ("b.py", ["x = 1"])]
    assert suspects(piece_of([("a.py", ["x = 1"]), *files]), [b"a.py", b"a.py", b"b.py"]).keys() <= {1}


def test_secrets_of_a_large_file_are_looked_for_once() -> None:
    lines = [f"    value: \x1b[31m{number}" for number in range(4 * SEGMENT // 20)]
    files = [("big.yaml", lines)]
    reads: list[str] = []

    def read(root: str, path: str) -> str:
        reads.append(path)
        return text_of(files)(root, path)

    printed = BulkCleaner(Redactor(), read).clean("root", piece_of(files)).decode()
    assert printed == expected(files, Redactor())
    assert reads == ["big.yaml"]


def test_line_ends_of_windows_are_left_out() -> None:
    files = [("a.py", ["x = 1", "y = 2"]), ("b.py", ["z = 3"])]
    cleaner = BulkCleaner(Redactor(), text_of(files))
    assert cleaner.clean("root", piece_of(files, "\r\n") + b"\r") == b"a.py:1:x = 1\na.py:2:y = 2\nb.py:1:z = 3\n"


def test_context_lines_have_a_dash() -> None:
    cleaner = BulkCleaner(Redactor(), text_of([]), context=True)
    assert cleaner.clean("root", b"a.py\x001-x = 1\n2:y = 2") == b"a.py-1-x = 1\na.py:2:y = 2\n"


def test_a_secret_in_the_name_of_a_file_is_removed() -> None:
    key = "AKIAQ3EGR7KZ2MPLT5WX"
    files = [(f"{key}/a.py", ["x = 1"]), (f"{key}.md", [f"key {key}"])]
    cleaner = BulkCleaner(Redactor(), text_of(files))
    printed = cleaner.clean("root", piece_of(files)).decode()
    assert printed == "[redacted:aws-key]/a.py:1:x = 1\n[redacted:aws-key].md:1:key [redacted:aws-key]\n"
    assert cleaner.names(f"{key}/a.py:3\n".encode()) == b"[redacted:aws-key]/a.py:3\n"


def test_rules_of_the_user_hold_and_allowed_paths_pass() -> None:
    files = [("a.py", ["ticket INT-12345", "x"]), ("docs/a.md", ['password = "tr0ub4dor&3x"'])]
    redactor = Redactor(rules=[("ticket", r"INT-(\d+)")], allow=["docs/"])
    printed = BulkCleaner(redactor, text_of(files)).clean("root", piece_of(files)).decode()
    assert printed == expected(files, redactor)
    assert "12345" not in printed
    assert "tr0ub4dor&3x" in printed


def test_a_file_without_secrets_is_redacted_once_until_it_changes() -> None:
    redactor = Redactor()
    lines = {"a.yaml": ["name: COLOR", "value: harmless"]}
    redacted: list[str] = []
    redact = redactor.redact

    def counted(text: str, path: str = "", *, torn: bool = False) -> Redacted:
        redacted.append(text)
        return redact(text, path, torn=torn)

    redactor.redact = counted  # type: ignore[method-assign]

    def printed() -> tuple[str, int]:
        """The second line, which does not name what its value is, and how often the whole file was redacted."""
        redacted.clear()
        value = lines["a.yaml"][1]
        cleaner = BulkCleaner(redactor, lambda _root, path: "\n".join(lines[path]))
        text = cleaner.clean("root", f"a.yaml\x002:{value}".encode()).decode()
        return text, redacted.count("\n".join(lines["a.yaml"]))

    assert printed() == ("a.yaml:2:value: harmless\n", 1)
    assert printed() == ("a.yaml:2:value: harmless\n", 0)
    lines["a.yaml"] = ["name: DB_PASSWORD", "value: tr0ub4dor3x"]
    assert printed() == ("a.yaml:2:value: [redacted:password]\n", 1)
    assert printed() == ("a.yaml:2:value: [redacted:password]\n", 1)
