"""Where texts are cut, how the pieces are named, and what they contain beyond their own lines."""

from __future__ import annotations

from llmc.indexer.digest import LONGEST_CAPSULE, LONGEST_CHUNK, MOST_LINES, parse


def lines(count: int, indent: int = 4) -> str:
    return "".join(f"{' ' * indent}value_{number} = compute({number}, 'something')\n" for number in range(count))


def function(name: str, count: int, indent: int = 0) -> str:
    return f"{' ' * indent}def {name}(a):\n{lines(count, indent + 4)}"


def names(path: str, text: str) -> list[str]:
    return [chunk.name for chunk in parse(path, text).chunks]


def test_small_neighbours_share_a_chunk() -> None:
    text = "import a\n\nX = 1\n\n" + "\n".join(function(f"f{number}", 2) for number in range(4))
    assert len(parse("a.py", text).chunks) == 1


def test_a_function_of_some_size_has_its_own_chunk() -> None:
    text = "\n\n".join(function(name, 30) for name in ("one", "two", "three"))
    assert names("a.py", text) == ["one", "two", "three"]


def test_a_large_class_is_cut_between_its_methods() -> None:
    text = "class A:\n    '''About A.'''\n" + "\n".join(function(f"m{number}", 20, 4) for number in range(6))
    chunks = parse("a.py", text).chunks
    assert chunks[0].name == "A"
    assert all(chunk.text.lstrip().startswith("def ") for chunk in chunks[1:])
    assert all(chunk.kind == "method" for chunk in chunks[1:])


def test_a_large_function_is_cut_at_blank_lines() -> None:
    text = "def f():\n" + "\n".join(lines(9) for _ in range(30))
    chunks = parse("a.py", text).chunks
    assert len(chunks) > 2
    assert all(chunk.text.endswith("\n\n") for chunk in chunks[:-1])
    assert {chunk.name for chunk in chunks} == {"f"}


def test_a_comment_and_its_function_stay_together() -> None:
    text = function("one", 30) + "\n# What two does.\n# And why.\n@decorated\n" + function("two", 30)
    assert parse("a.py", text).chunks[1].text.startswith("# What two does.")


def test_a_closing_brace_does_not_begin_a_chunk() -> None:
    methods = "\n".join(f"  m{number}() {{\n{lines(12, 4)}  }}" for number in range(7))
    text = f"class A {{\n{methods}\n}}\n\nfunction after() {{\n{lines(12, 2)}}}\n"
    assert all(not chunk.text.startswith("}") for chunk in parse("a.js", text).chunks)


def test_no_chunk_is_longer_than_the_cap_unless_it_is_one_line() -> None:
    text = lines(2_000, 0) + "x" * 9_000 + "\n" + "y\n" * 2_000
    for path in ("a.py", "a.txt", "a.unknown"):
        chunks = parse(path, text).chunks
        assert max(chunk.end_line for chunk in chunks) > 4_000
        for chunk in chunks:
            count = chunk.end_line - chunk.start_line + 1
            assert count == 1 or (len(chunk.text) <= LONGEST_CHUNK and count <= MOST_LINES)


def test_prose_is_cut_at_its_headings() -> None:
    text = "".join(f"## Part {number}\n\n" + "Words and more words.\n" * 60 + "\n" for number in range(4))
    assert names("a.md", f"# Book\n\n{text}")[1:] == ["Book.Part 1", "Book.Part 2", "Book.Part 3"]


def test_a_method_carries_its_class_in_the_capsule() -> None:
    text = "class Till(Base):\n" + "\n".join(function(f"m{number}", 34, 4) for number in range(3))
    last = parse("a.py", text).chunks[-1]
    assert last.name == "Till.m2"
    assert last.capsule.splitlines() == ["Till.m2", "class Till(Base)"]


def test_the_rest_of_a_long_function_carries_its_signature_and_what_it_is_about() -> None:
    text = "class A:\n    def settle(self, bill):\n        '''Pay what is owed.'''\n" + lines(90, 8)
    last = parse("a.py", text).chunks[-1]
    assert last.name == "A.settle"
    assert last.capsule.splitlines() == ["A.settle", "def settle(self, bill)", "class A", "Pay what is owed."]


def test_a_part_of_a_document_carries_its_headings() -> None:
    text = "# Book\n\n## Chapter\n\n" + "Words and more words.\n\n" * 200
    assert parse("a.md", text).chunks[-1].capsule == "Book > Chapter"


def test_a_capsule_stays_short() -> None:
    nested = "".join(f"{' ' * number}class {'Deep' * 20}{number}:\n" for number in range(60))
    text = nested + " " * 60 + "x = 1\n" + lines(90, 60)
    assert all(len(chunk.capsule) <= LONGEST_CAPSULE for chunk in parse("a.py", text).chunks)


def test_chunks_of_settings_say_so() -> None:
    assert {chunk.kind for chunk in parse("a.ini", "x = 1\n").chunks} == {"config"}
    assert {chunk.kind for chunk in parse("a.unknown", "x = 1\n").chunks} == {"text"}
