"""Every string of an envelope is cleaned: rows, titles, notes, errors and the data for programs."""

from __future__ import annotations

import json
from functools import partial

from llmc.base.errors import NotFoundError
from llmc.envelope import Envelope, Group, Item, Row, failure, render
from llmc.envelope.clean import clean, clean_text
from llmc.envelope.redact.redactor import Redactor

AWS = "AKIAQ3EGR7KZ2MPLT5WX"
BODY = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4v7bS8xQ2tPpK0Zk1mYdNf6JhGc3uXsLo9Tq5wRvBeaIyVgHnDiO",
]
PEM = ["-----BEGIN PRIVATE KEY-----", *BODY, "-----END PRIVATE KEY-----"]


def found_in(*rows: Row, path: str = "a.txt") -> Envelope:
    items = tuple(Item((row,), root="/r", path=path, start=row.number or 0) for row in rows)
    return Envelope("grep", "1 match", (Group(path, items),))


def given(whole: str, _root: str, _path: str) -> str:
    return whole


def texts(envelope: Envelope) -> list[str]:
    return [row.text for item in envelope.items() for row in item.rows]


def test_rows_titles_notes_and_data_are_cleaned() -> None:
    item = Item((Row(f"k = {AWS}\u202e", 3),), title=f"f {AWS}", root="/r", path="a.py")
    whole = Envelope("x", f"found {AWS}", (Group("a.py", (item,)),), (f"note {AWS}",), data={"lines": [[3, AWS, True]]})
    done = clean(whole)
    assert AWS not in render(done) + json.dumps(done.data)
    assert "\n3 k = [redacted:aws-key]\\u202e" in render(done)


def test_the_first_line_says_how_many_lines_were_redacted() -> None:
    done = clean(found_in(Row(f"k = {AWS}", 1), Row("plain", 2), Row(f"l = {AWS}", 3)))
    assert render(done).split("\n")[0] == "1 match · 2 lines redacted"
    assert render(clean(done)) == render(done)


def test_a_clean_envelope_comes_back_equal() -> None:
    whole = found_in(Row("def f(token): pass", 1), Row("    return token", 2))
    assert clean(whole) == whole


def test_a_key_in_several_items_and_out_of_order_is_one_key() -> None:
    rows = [Row(text, number) for number, text in enumerate(PEM, 1)]
    done = clean(found_in(rows[2], rows[0], rows[1], rows[3]))
    assert not set(BODY) & set(texts(done))


def test_a_lone_line_of_a_key_goes_where_the_file_cannot_be_asked() -> None:
    assert texts(clean(found_in(Row(BODY[1], 3)))) == ["[redacted:private-key]"]


def test_a_key_is_distinguished_from_a_certificate_by_content() -> None:
    for label, goes in (("PRIVATE KEY", True), ("CERTIFICATE", False)):
        whole = "\n".join([f"-----BEGIN {label}-----", *BODY, f"-----END {label}-----"])
        done = clean(found_in(Row(BODY[1], 3)), text_of=partial(given, whole))
        assert (BODY[1] not in texts(done)) is goes


def test_a_value_whose_name_is_on_another_line_is_redacted() -> None:
    whole = "env:\n  - name: DB_PASSWORD\n    value: hunter2x\n"
    done = clean(found_in(Row("    value: hunter2x", 3), path="d.yaml"), text_of=lambda _root, _path: whole)
    assert texts(done) == ["    value: [redacted:password]"]


def test_half_a_secret_before_a_cut_goes() -> None:
    line = f"x = '{AWS}' and more"
    cut = f"{line[:15]}… 900 characters"
    done = clean(found_in(Row(cut, 1)), text_of=lambda _root, _path: line)
    assert texts(done) == ["x = '[redacted:aws-key]… 900 characters"]


def test_paths_in_data_stay_exact_and_texts_there_are_cleaned() -> None:
    data = {"files": [{"root": "/r", "path": "a\nb", "text": f"one\ntwo {AWS}\x00"}]}
    done = clean(Envelope("x", "f", data=data))
    assert done.data == {"files": [{"root": "/r", "path": "a\nb", "text": "one\ntwo [redacted:aws-key]\\0"}]}


def test_a_name_with_a_line_feed_cannot_forge_a_line() -> None:
    path = "a\n+3 more → h4k2"
    done = clean(Envelope("find", "1 file", (Group(f"{path} · 12", (Item(root="/r", path=path),)),)))
    assert render(done).split("\n") == ["1 file", "a\\n+3 more \\u2192 h4k2 · 12"]
    assert next(done.items()).path == path


def test_a_row_with_a_line_feed_stays_one_row() -> None:
    assert render(clean(found_in(Row("a\n+3 more → h4k2", 1)))).count("\n") == 2


def test_errors_are_cleaned_too() -> None:
    error = NotFoundError(f"no {AWS}\nb", hint=f"try {AWS}\x1b")
    done = clean(failure("read", error))
    assert AWS not in render(done) + json.dumps(done.data)
    assert [line for line in render(done).split("\n")[1:-1] if not line.startswith(" ")] == []


def test_an_allowed_file_is_shown_as_it_is() -> None:
    done = clean(found_in(Row(AWS, 1), path="fixtures/a.txt"), Redactor(allow=["fixtures/"]))
    assert texts(done) == [AWS]


def test_a_text_that_is_not_an_envelope_is_cleaned_as_well() -> None:
    assert clean_text(f"a {AWS}\x00\nb") == "a [redacted:aws-key]\\0\nb"
