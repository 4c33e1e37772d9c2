"""Bytes to text: encodings, binary detection and lines."""

from __future__ import annotations

import codecs
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmc.base.model import ChunkPlace
from llmc.base.text import Binary, DecodedText, count_lines, decode, split_lines
from llmc.retrieval.passages.lazy_lines import PlainLines, passage

SAMPLE = "def größe(x):\n    return x  # naïve 😀\n"


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"", DecodedText("", "utf-8")),
        (b"plain\n", DecodedText("plain\n", "utf-8")),
        (SAMPLE.encode(), DecodedText(SAMPLE, "utf-8")),
        (codecs.BOM_UTF8 + SAMPLE.encode(), DecodedText(SAMPLE, "utf-8-sig")),
        (codecs.BOM_UTF16_LE + SAMPLE.encode("utf-16-le"), DecodedText(SAMPLE, "utf-16-le")),
        (codecs.BOM_UTF16_BE + SAMPLE.encode("utf-16-be"), DecodedText(SAMPLE, "utf-16-be")),
        (SAMPLE.encode("utf-16-le"), DecodedText(SAMPLE, "utf-16-le")),
        (SAMPLE.encode("utf-16-be"), DecodedText(SAMPLE, "utf-16-be")),
        ("größe = 1\n".encode("latin-1"), DecodedText("größe = 1\n", "latin-1")),
        (b"\x1b[31mred\x1b[0m\x08\x0c\n", DecodedText("\x1b[31mred\x1b[0m\x08\x0c\n", "utf-8")),
    ],
)
def test_each_encoding_is_known_by_its_bytes(data: bytes, wanted: DecodedText) -> None:
    assert decode(data) == wanted


def test_a_few_bad_bytes_do_not_spoil_the_rest_of_a_utf8_file() -> None:
    assert decode("größe grün ".encode() + b"\xff") == DecodedText("größe grün \ufffd", "utf-8")


def test_utf16_with_half_a_pair_is_still_text() -> None:
    data = codecs.BOM_UTF16_LE + "class A {}\r\n".encode("utf-16-le") + b"\x00\xd8"
    assert decode(data) == DecodedText("class A {}\r\n\ufffd", "utf-16-le")


@pytest.mark.parametrize(
    "data",
    [
        b"import os\n\0\n",
        b"\x7fELF\x02\x01\x01\0",
        random.Random(1).randbytes(20_000),
        b"# header\n" * 2000 + random.Random(2).randbytes(20_000),
        zlib.compress(random.Random(3).randbytes(9000))[:200],
        codecs.BOM_UTF32_LE + SAMPLE.encode("utf-32-le"),
        codecs.BOM_UTF16_LE + random.Random(4).randbytes(20_000),
        bytes([1, 0] * 500),
        b"a\0" * 10 + b"\1\0",
    ],
)
def test_binary_is_distinguished_from_text(data: bytes) -> None:
    assert isinstance(decode(data), Binary)


@given(st.binary())
def test_whatever_the_bytes_the_text_can_be_stored_as_utf8(data: bytes) -> None:
    decoded = decode(data)
    if isinstance(decoded, DecodedText):
        assert decoded.text.encode().decode() == decoded.text


@given(st.text())
def test_text_survives_its_way_through_utf8(text: str) -> None:
    decoded = decode(codecs.BOM_UTF8 + text.encode())
    assert isinstance(decoded, Binary) or decoded.text == text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\nb\n", ["a", "b"]),
        ("a\r\nb\r\n\r\n", ["a", "b", ""]),
        ("a\rb\nc\r", ["a\rb", "c\r"]),
        ("a\x0bb\x0cc\x85d\u2028e\x1cf\n", ["a\x0bb\x0cc\x85d\u2028e\x1cf"]),
    ],
)
def test_a_line_ends_at_a_line_feed_only(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines
    assert count_lines(text) == len(lines)


@given(st.text(alphabet="a\r\n\x85"))
def test_there_are_as_many_lines_as_are_counted(text: str) -> None:
    assert len(split_lines(text)) == count_lines(text)


@given(st.text(alphabet="ab \n\r\t", max_size=60), st.integers(0, 12), st.integers(0, 12))
def test_lines_that_are_made_when_looked_at_are_the_same(text: str, first: int, last: int) -> None:
    whole, lazy = split_lines(text), PlainLines(text.encode())
    assert list(lazy) == whole
    assert lazy[first:last] == whole[first:last]
    assert lazy[::-1] == whole[::-1]
    place = ChunkPlace(1, 0, first + 1, last, "text", "")
    assert passage(lazy, place) == passage(whole, place) == "\n".join(whole[first:last])
