"""Mistakes are reported: every problem of a file at once, with file, line, reason and the nearest valid name."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmc.base.errors import ConfigError
from llmc.settings import Settings, examine, load
from llmc.settings.documents import locate
from llmc.settings.fields import walk
from llmc.settings.types import Kind

if TYPE_CHECKING:
    from pathlib import Path

ENV = {"HOME": "/nonexistent"}


def told(folder: Path, text: str, name: str = "named.toml") -> list[str]:
    """The problems of a file that the user named: errors, and entries that are skipped."""
    path = folder / name
    path.write_text(text)
    found = examine(folder, ENV, (), path)
    return [str(problem).removeprefix(f"{path}:") for problem in (*found.problems, *found.skipped)]


def test_every_problem_of_a_file_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    text = 'idle_minutes = 3\n\n[index]\nmax_file_byte = 3\nhidden = 1\nmaxDepth = 5000\n\n[embedder]\nkind = "opnai"\n'
    kinds = "builtin, hash, sentence-transformers, openai, combined"
    assert told(tmp_path, text) == [
        "1: idle_minutes: no such setting; did you mean daemon.idle_minutes?",
        "4: index.max_file_byte: no such setting; did you mean index.max_file_bytes?",
        "5: index.hidden: must be true or false, not 1",
        "6: index.max_depth: must be at most 4,096, not 5000",
        f'9: embedder.kind: must be one of {kinds}, not "opnai"; did you mean openai?',
    ]


@pytest.mark.parametrize("url", ["ftp://llmc.example.com", "llmc.example.com", "http://"])
def test_the_address_of_a_remote_is_one_of_http(tmp_path: Path, url: str) -> None:
    hint = "as in https://llmc.example.com"
    expected = [f"3: remotes[0].url: must be an http or https address; {hint}"]
    assert told(tmp_path, f'[[remotes]]\nname = "team"\nurl = "{url}"\n') == expected


def test_the_error_says_the_same_and_holds_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "llmc.toml").write_text("[index]\n\nhiden = true\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, ENV)
    assert str(caught.value) == f"{tmp_path}/llmc.toml:3: index.hiden: no such setting\ndid you mean index.hidden?"
    context = {"file": f"{tmp_path}/llmc.toml", "line": 3, "key": "index.hiden", "problems": 1}
    assert caught.value.context == context
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[index\n", "1: cannot be read"),
        ("[index]\nhidden = true\nhidden = false\n", "3: cannot be read"),
        ("index = 3\n", "1: index: must be a table, not a number"),
        ("roots = 'here'\n", "1: roots: must be a list of tables, not a string"),
        ("roots = [3]\n", "1: roots[0]: must be a table, not a number"),
        ("roots = ['']\n", '1: roots[0].path: must be a path, not ""'),
        ("[[roots]]\nname = 'x'\n", "1: roots[0]: path is missing: the folder, relative to"),
        ("[index]\nexclude = 'x'\n", '2: index.exclude: must be a list of strings, not "x"'),
        ("[index]\nworkers = true\n", "2: index.workers: must be a whole number, not True"),
        ("[index]\nworkers = 0x" + "f" * 5000 + "\n", "2: index.workers: must be at most 64, not a number of"),
        ("[roles.a]\ntemperature = nan\n", "2: roles.a.temperature: must be a finite number"),
        ("[roles.a]\nprovider = 'x'\n", '2: roles.a.provider: no provider is named "x"'),
        ("[mcps.a]\nargs = []\n", "1: mcps.a: command is missing; transport stdio needs it"),
        ("[mcps.a]\ntransport = 'sse'\n", "1: mcps.a: url is missing; transport sse needs it"),
        ("[mcps.'a b']\ncommand = 'x'\n", "1: mcps.a b: a name consists of letters"),
        ("[embedder]\nkind = 'combined'\n", '2: embedder.kind: "combined" needs embedder.endpoint or embedder.model'),
        ("[embedder]\nkind = 'openai'\n", '2: embedder.kind: "openai" needs embedder.endpoint'),
        ("[embedder]\napi_key = 12345678\n", "2: embedder.api_key: must be a string (hidden)"),
        ("[delegates.a]\ndescription = 'd'\n", "1: delegates.a: internal_tools is missing"),
        (
            "[limits]\nmaxFilesRead = 1\nmax_files_read = 2\n",
            "3: limits.max_files_read: is another spelling of maxFilesRead",
        ),
        ("[agents]\nx = 'y'\n", "2: agents.x: must be a table, as in [agents.NAME], not a string"),
        ("[agents.script.x]\ntimeout = 3\n", "1: agents.script.x: path is missing"),
        ('"\\u001b[31m" = 1\n', "1: \\x1b[31m: no such setting"),
        ("x = " + "[" * 5000 + "]" * 5000 + "\n", " is nested too deeply"),
    ],
)
def test_a_wrong_toml_file_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    assert told(tmp_path, text)[0].startswith(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"index":\n {"hidden": tru}}', "2: cannot be read"),
        ("[]", " cannot be read: the top must be a table"),
        ('{"index": {}, "index": {}}', ' cannot be read: "index" is given twice'),
        ('{"tools": [{"name": "a"},\n {"name": "a"}]}', "2: delegates[1]: must be a table with a unique name"),
        ('{"index": {"hidden": null}}', "1: index.hidden: must be true or false, not null"),
        ("", "1: cannot be read"),
    ],
)
def test_a_wrong_json_file_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    assert told(tmp_path, text, "named.json")[0].startswith(reason)


def test_wrong_variables_and_flags_are_refused_by_name(tmp_path: Path) -> None:
    env = ENV | {"LLMC_INDEX_HIDDN": "1", "LLMC_INDEX_WORKERS": "many", "LLMC_HOM": "/x", "LLMC_SOMETHING_ELSE": "1"}
    found = examine(tmp_path, env, ["index.hiden=no", "index", "index.hidden.deeper=1"])
    assert [str(problem) for problem in found.problems] == [
        "LLMC_INDEX_HIDDN: no such setting; did you mean LLMC_INDEX_HIDDEN?",
        'LLMC_INDEX_WORKERS: index.workers: must be a whole number, not "many"',
        "--set index: a flag has the form KEY=VALUE",
        "--set index.hiden: index.hiden: no such setting; did you mean index.hidden?",
        "--set index.hidden.deeper: index.hidden: must be true or false, not a table",
    ]
    assert [problem.source.name for problem in found.notices] == ["LLMC_HOM"]


def test_a_secret_of_the_wrong_type_is_not_repeated(tmp_path: Path) -> None:
    assert "12345678" not in "".join(told(tmp_path, "[mcps.x]\ncommand='c'\nenv = {A = 12345678}\n"))


def test_a_special_file_is_refused_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "llmc.toml"
    os.mkfifo(path)
    assert "is not a regular file" in str(examine(tmp_path, ENV).problems[0])
    path.unlink()
    path.mkdir()
    assert "is not a regular file" in str(examine(tmp_path, ENV).problems[0])
    path.rmdir()
    path.write_bytes(b"#" * (1 << 20) + b"#")
    assert "is larger than" in str(examine(tmp_path, ENV).problems[0])
    path.write_bytes(b"a = '\xff'\n")
    assert "is not UTF-8" in str(examine(tmp_path, ENV).problems[0])
    assert "No such file" in str(examine(tmp_path, ENV, (), "gone.toml").problems[0])


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "llmc.toml").write_bytes("\ufeff[index]\r\nworkers = 3\r\nexclud = []\r\n".encode())
    found = examine(tmp_path, ENV)
    assert found.settings.index.workers == 3
    assert [problem.source.line for problem in found.problems] == [3]


def test_lines_are_found_through_every_form_of_toml() -> None:
    text = '''a = 1 # [x]
"b.c".d = """
[not.a.table]
"""
e = [ # list
  1,
  [2,
   3],
]
[t.u] # table
v = { w = 1, 'x y' = [{ z = 2 }] }
[[r]]
p = 1979-05-27T07:32:00
[r.s]
q = 'c:\\'
[[r]]
p = 1.5
'''
    lines = locate(text, is_json=False)
    wanted: dict[tuple[str | int, ...], int] = {
        ("a",): 1, ("b.c", "d"): 2, ("e",): 5, ("e", 0): 6, ("e", 1, 1): 8, ("t", "u"): 10, ("t", "u", "v", "w"): 11,
        ("t", "u", "v", "x y", 0, "z"): 11, ("r", 0, "p"): 13, ("r", 0, "s", "q"): 15, ("r", 1, "p"): 17,
    }  # fmt: skip
    assert {key: lines.get(key) for key in wanted} == wanted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)  # a busy machine is not a failure
@given(st.dictionaries(st.text(max_size=6), JSON, max_size=4))
def test_every_key_of_any_json_is_found_on_its_line(document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False)
    lines = locate(text, is_json=True)
    rows = text.split("\n")

    def visit(value: Any, path: tuple[str | int, ...]) -> None:
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in pairs:
            line = rows[lines[(*path, key)] - 1]
            assert isinstance(key, int) or line.strip().startswith(json.dumps(key, ensure_ascii=False))
            visit(inner, (*path, key))

    visit(document, ())


NAMES = sorted({part.strip("*[]") for row in walk(Settings) for part in row.name.split(".")} - {""})
TABLES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("${HOME}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inner),
    max_leaves=25,
)


@settings(deadline=None)  # a busy machine is not a failure
@given(st.dictionaries(st.sampled_from(NAMES), TABLES, max_size=4))
def test_any_document_makes_settings_or_problems_and_never_anything_else(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "fuzz"
    folder.mkdir(exist_ok=True)
    path = folder / "any.json"
    path.write_text(json.dumps(document))
    found = examine(folder, ENV, (), path)
    for problem in (*found.problems, *found.skipped):
        assert problem.source.name == str(path)
        assert str(problem).isprintable()


def test_every_setting_has_a_sentence_and_every_number_has_bounds() -> None:
    rows = list(walk(Settings))
    assert len(rows) > 100
    for row in rows:
        assert row.doc.endswith("."), row.name
        if row.kind in (Kind.WHOLE, Kind.NUMBER):
            assert row.low is not None, row.name
            assert row.high is not None, row.name
            assert row.low <= float(str(row.default)) <= row.high, row.name
        if row.choices:
            assert row.default in row.choices, row.name
