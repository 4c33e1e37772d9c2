"""The contract of a keyword store, on tantivy, on the tables of a shared index, and in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_world import shared_keywords
from store_world import document

from llmc.base import words
from llmc.store.keywords.keyword_store import TantivyKeywords, filler
from llmc.store.keywords.trigrams import parts, trigrams
from llmc.store.memory import MemoryKeywords
from llmc.store.protocols import Clause, KeywordQuery, KeywordStore, Trigrams

if TYPE_CHECKING:
    from pathlib import Path


def tantivy_in(folder: Path) -> TantivyKeywords:
    for name in ("chunks", "files"):
        (folder / name).mkdir(exist_ok=True)
    return TantivyKeywords(folder)


@pytest.fixture(params=["tantivy", "shared", "memory"])
def keywords(request: pytest.FixtureRequest, tmp_path: Path) -> KeywordStore:
    if request.param == "shared":
        return shared_keywords(tmp_path)
    return tantivy_in(tmp_path) if request.param == "tantivy" else MemoryKeywords()


def put(store: KeywordStore, texts: dict[int, str], language: str = "python") -> None:
    for doc, text in texts.items():
        store.add(doc, document(f"src/file{doc}.py", text, language=language))
    store.commit()


def body(*terms: str) -> tuple[Clause, ...]:
    return tuple(Clause("body", term) for text in terms for term in words.body(text).split())


def found(store: KeywordStore, query: KeywordQuery, limit: int = 10) -> list[int]:
    return [hit.doc for hit in store.search(query, limit)]


def holding(store: KeywordStore, text: str, *, across_lines: bool = False) -> list[int]:
    return store.candidates(Trigrams(all=trigrams(text)), across_lines=across_lines)


def test_the_chunk_with_more_of_the_word_comes_first(keywords: KeywordStore) -> None:
    put(keywords, {1: "parser walks the tree", 2: "parser parser parser tree", 3: "nothing of the kind"})

    assert found(keywords, KeywordQuery(any=body("parser"))) == [2, 1]


def test_a_rare_word_weighs_more_than_a_common_one(keywords: KeywordStore) -> None:
    put(keywords, {1: "common zebra", 2: "common common", 3: "common word", 4: "common thing"})

    assert found(keywords, KeywordQuery(any=body("zebra", "common")))[0] == 1


def test_a_boost_lifts_its_field(keywords: KeywordStore) -> None:
    keywords.add(1, document("src/settings.py", "one two three"))
    keywords.add(2, document("src/other.py", "settings settings here"))
    keywords.commit()
    term = words.body("settings")

    boosted = KeywordQuery(any=(Clause("body", term), Clause("path", term, boost=50.0)))

    assert found(keywords, boosted) == [1, 2]


def test_equal_scores_come_in_order_of_documents(keywords: KeywordStore) -> None:
    for doc in (7, 3, 5, 1):
        put(keywords, {doc: "the same words"})

    assert found(keywords, KeywordQuery(any=body("same")), limit=3) == [1, 3, 5]


def test_every_group_of_all_must_be_met(keywords: KeywordStore) -> None:
    put(keywords, {1: "apple banana", 2: "apple", 3: "banana cherry", 4: "apple cherry"})
    query = KeywordQuery(any=body("apple"), all=(body("apple"), (*body("banana"), *body("cherry"))))

    assert sorted(found(keywords, query)) == [1, 4]


def test_chunks_with_every_term_are_listed_up_to_a_limit(keywords: KeywordStore) -> None:
    put(keywords, {1: "fig kiwi", 2: "fig", 3: "kiwi fig fig", 4: "plum"})

    assert sorted(keywords.chunks_with(["fig", "kiwi"], 9)) == [(1, 0), (3, 0)]
    assert len(keywords.chunks_with(["fig"], 2)) == 2
    assert keywords.chunks_with(["fig", "papaya"], 9) == []


def test_documents_with_excluded_terms_are_left_out(keywords: KeywordStore) -> None:
    put(keywords, {1: "apple banana", 2: "apple"})

    assert found(keywords, KeywordQuery(any=body("apple"), none=body("banana"))) == [2]


def test_languages_restrict_and_a_word_must_still_be_met(keywords: KeywordStore) -> None:
    put(keywords, {1: "apple"})
    put(keywords, {2: "apple", 3: "pear"}, language="go")

    assert found(keywords, KeywordQuery(any=body("apple"), languages=frozenset({"go"}))) == [2]


def test_within_restricts_to_few_and_to_many_documents(keywords: KeywordStore) -> None:
    put(keywords, dict.fromkeys(range(1, 40), "apple"))
    query = KeywordQuery(any=body("apple"))

    assert [hit.doc for hit in keywords.search(query, 5, within=[30, 31])] == [30, 31]
    assert [hit.doc for hit in keywords.search(query, 3, within=range(20, 4_000))] == [20, 21, 22]
    assert keywords.search(query, 5, within=[]) == []


def test_a_query_of_nothing_finds_nothing(keywords: KeywordStore) -> None:
    put(keywords, {1: "apple"})

    assert keywords.search(KeywordQuery(any=()), 10) == []
    assert keywords.search(KeywordQuery(any=body("apple")), 0) == []


def test_nothing_is_seen_before_the_commit(keywords: KeywordStore) -> None:
    keywords.add(1, document("a.py", "apple"))

    assert keywords.docs() == set()
    assert found(keywords, KeywordQuery(any=body("apple"))) == []


def test_a_rollback_forgets_what_was_added_and_deleted(keywords: KeywordStore) -> None:
    put(keywords, {1: "apple"})
    keywords.add(2, document("b.py", "apple"))
    keywords.delete([1])
    keywords.rollback()
    keywords.commit()

    assert keywords.docs() == {1}


def test_deleted_documents_are_gone_everywhere_and_unknown_ones_are_ignored(keywords: KeywordStore) -> None:
    put(keywords, {1: "apple tree", 2: "apple tree", 11: "apple tree"})
    keywords.delete([1, 99])
    keywords.commit()

    assert keywords.docs() == {2, 11}
    assert found(keywords, KeywordQuery(any=body("apple"))) == [2, 11]
    assert holding(keywords, "apple tree") == [2, 11]


def test_the_store_goes_on_after_release(keywords: KeywordStore) -> None:
    put(keywords, {1: "apple"})
    keywords.release()
    put(keywords, {2: "apple"})

    assert keywords.docs() == {1, 2}


def test_a_document_without_chunks_is_still_a_document(keywords: KeywordStore) -> None:
    put(keywords, {1: ""})

    assert keywords.docs() == {1}
    assert keywords.candidates(Trigrams()) == [1]


def test_candidates_hold_every_trigram_whatever_the_case(keywords: KeywordStore) -> None:
    put(keywords, {1: "class HTTPServer:", 2: "class Server:", 3: "http"})

    assert holding(keywords, "httpserver") == [1]
    assert holding(keywords, "SERVER") == [1, 2]


def test_alternatives_are_joined_and_an_empty_one_excludes_nothing(keywords: KeywordStore) -> None:
    put(keywords, {1: "apple", 2: "banana", 3: "cherry"})
    apple, banana = (Trigrams(all=trigrams(word)) for word in ("apple", "banana"))

    assert keywords.candidates(Trigrams(any=((apple, banana),))) == [1, 2]
    assert keywords.candidates(Trigrams(any=((apple, Trigrams()),))) == [1, 2, 3]
    assert keywords.candidates(Trigrams(any=((apple, banana), (banana,)))) == [2]


def test_the_estimate_is_never_too_low(keywords: KeywordStore) -> None:
    put(keywords, {doc: "apple" if doc % 3 else "banana" for doc in range(1, 30)})
    apple, banana = (Trigrams(all=trigrams(word)) for word in ("apple", "banana"))

    for condition in (Trigrams(), apple, Trigrams(any=((apple, banana),)), Trigrams(all=trigrams("absent"))):
        assert len(keywords.candidates(condition)) <= keywords.estimate(condition)
    assert keywords.estimate(Trigrams(all=trigrams("absent"))) == 0


def test_a_match_far_into_a_long_text_is_found_and_scattered_words_are_not(keywords: KeywordStore) -> None:
    filler = "x = 1\n" * 20_000
    put(keywords, {1: f"needle one\n{filler}needle two\n", 2: f"zebra\n{filler}quagga\n", 3: filler})

    assert holding(keywords, "needle two") == [1]
    both = trigrams("zebra") | trigrams("quagga")
    assert keywords.candidates(Trigrams(all=both)) == []
    assert keywords.candidates(Trigrams(all=both), across_lines=True) == [2]
    assert keywords.candidates(Trigrams(any=((Trigrams(all=both),),)), across_lines=True) == [2]


def test_a_text_across_the_cut_between_two_parts_is_found_across_lines(keywords: KeywordStore) -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    cut = len(next(parts(text)))
    put(keywords, {1: text})

    for start in range(cut - 12, cut + 1):
        assert holding(keywords, text[start : start + 12], across_lines=True) == [1]


def test_one_enormous_line_is_searched_whole(keywords: KeywordStore) -> None:
    put(keywords, {1: "zebra" + "x" * 300_000 + "quagga"})

    assert keywords.candidates(Trigrams(all=trigrams("zebra") | trigrams("quagga"))) == [1]


@pytest.mark.parametrize(
    "text", ["a\0b\0c", "日本語テキスト", "😀😀😀", "İstanbul straße ﬁne", "\ud800broken pair", "ǅabc ſtraſſe K"]
)
def test_odd_characters_are_indexed_and_found(keywords: KeywordStore, text: str) -> None:
    put(keywords, {1: text})

    readable = text.encode("utf-8", "replace").decode()
    assert holding(keywords, readable) == [1]
    assert holding(keywords, readable.upper() if len(readable.upper()) == len(readable) else readable) == [1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet=st.sampled_from("abA\nİßſK é😀"), max_size=40), min_size=1, max_size=6), st.data())
def test_no_substring_of_any_text_is_ever_missed(texts: list[str], data: st.DataObject) -> None:
    store = MemoryKeywords()
    put(store, dict(enumerate(texts, 1)))
    doc = data.draw(st.integers(1, len(texts)))
    start = data.draw(st.integers(0, len(texts[doc - 1])))
    piece = texts[doc - 1][start : start + data.draw(st.integers(0, 12))]

    assert doc in holding(store, piece, across_lines=True)
    if "\n" not in piece:
        assert doc in holding(store, piece)


def test_stores_agree_on_the_scores_of_random_words(keywords: KeywordStore) -> None:
    vocabulary = [f"word{chr(97 + n)}" for n in range(12)]
    texts = {doc: " ".join(vocabulary[(doc * step) % 12] for step in range(1, 4 + doc % 5)) for doc in range(1, 60)}
    real, twin = keywords, MemoryKeywords()
    for store in (real, twin):
        put(store, texts)

    for term in vocabulary:
        query = KeywordQuery(any=body(term))
        assert set(found(real, query, 100)) == set(found(twin, query, 100))
        for ours, theirs in zip(real.search(query, 5), twin.search(query, 5), strict=True):
            assert ours.score == pytest.approx(theirs.score, rel=0.05)


def test_another_process_sees_a_commit_after_reload(tmp_path: Path) -> None:
    writing = tantivy_in(tmp_path)
    reading = tantivy_in(tmp_path)
    put(writing, {1: "apple"})

    assert reading.docs() == set()
    reading.reload()
    assert reading.docs() == {1}


def test_small_segments_are_joined_beside_many_large_ones(tmp_path: Path) -> None:
    keywords = tantivy_in(tmp_path)
    sizes = [20_000] * 5 + [5_000, 5_000, 6_000, 7_000]  # tantivy joins eight of similar size by itself
    for doc, rows in enumerate(sizes, 1):
        keywords.files.add([filler(doc)] * rows)
        keywords.files.commit()
    keywords.release()
    assert len(keywords.files.segments()) == len(sizes)
    assert keywords.is_scattered()
    keywords.merge_small_segments(99)
    assert sorted(keywords.files.segments()) == [20_000] * 5 + [23_004]  # four rows were added to make eight segments
    assert keywords.files.docs() == {*range(1, len(sizes) + 1), 99}
    assert not keywords.is_scattered()
    keywords.close()
