"""The scorer of answers: places and texts that a reply must contain, and places that it must not cite."""

from __future__ import annotations

from pathlib import Path

from bench.answers import DATA, SETS, JudgedQuestion, cited, is_right, questions


def judged(*truth: tuple[str, ...], never: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> JudgedQuestion:
    return JudgedQuestion("demo", "where", "where is it?", truth, never, only)


def test_places_are_read_from_inline_citations_and_from_rows_below_a_path() -> None:
    text = "It is at src/a.py:12-20 and lib/b.js:3, 9.\n\nsrc/c.py\n 7 def f():\n 30-31 g"
    assert list(cited(text)) == [
        ("src/a.py", 12, 20),
        ("lib/b.js", 3, 3),
        ("lib/b.js", 9, 9),
        ("src/c.py", 7, 7),
        ("src/c.py", 30, 31),
    ]


def test_an_answer_needs_every_group_and_a_partly_right_one_is_wrong() -> None:
    both = judged(("src/a.py:10-20",), ("500_000", "500000"))
    assert is_right(both, "The default is 500000.\nsrc/a.py:12 LIMIT = 500_000")
    assert not is_right(both, "src/a.py:12 LIMIT")
    assert not is_right(both, "The default is 500000 (src/a.py:21).")


def test_a_long_cited_range_counts_only_if_it_begins_in_the_wanted_one() -> None:
    one = judged(("src/a.py:100",))
    assert is_right(one, "src/a.py:100-400")
    assert is_right(one, "src/a.py:90-110")
    assert not is_right(one, "src/a.py:1-400")


def test_forbidden_text_and_other_code_make_an_answer_wrong() -> None:
    assert not is_right(judged(("src/a.py:1",), never=("GUESS",)), "src/a.py:1 a guess")
    callers = judged(("src/a.py:1",), only=("src/b.py:5-9",))
    assert is_right(callers, "src/a.py:1 f\nsrc/b.py:6 g\ntests/test_a.py:3 t")
    assert not is_right(callers, "src/a.py:1 f\nsrc/c.py:6 g")


def test_each_set_covers_every_type_and_no_two_share_a_repository() -> None:
    sets = [questions(DATA / name) for name in SETS.values()]
    types = {"where", "how", "callers", "impact", "default", "version", "setting", "example", "documentation",
             "changed", "tests", "error", "list"}  # fmt: skip
    assert all(len(one) >= 47 for one in sets)
    assert all({row.type for row in one} >= types for one in sets)
    names = [{row.repository for row in one} for one in sets]
    listed = {line.split("\t")[0] for line in Path(DATA / "repositories.tsv").read_text("utf-8").splitlines()[1:]}
    assert set().union(*names) == listed
    assert sum(map(len, names)) == len(listed)


def test_the_halves_of_the_unseen_set_are_of_equal_size() -> None:
    halves = [row.half for row in questions(DATA / SETS["unseen"])]
    assert halves.count("a") == halves.count("b") == 30
