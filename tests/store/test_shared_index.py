"""A shared index as a server reads it: publications, permissions, stale tables, and the effects of maintenance."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from daemons import until
from shared_world import DESCRIPTION, Checkout, reply, shared_database, shared_site, shared_url

from llmc.base.errors import ConfigError, ConflictError, NotFoundError, StorageError
from llmc.store.protocols import Clause, KeywordQuery
from llmc.store.shared import maintenance
from llmc.store.shared.access import EVERYTHING, NOTHING, Access, matches
from llmc.store.shared.database import SharedDatabase, SharedTable
from llmc.store.shared.documents import ByteCache, DocumentCaches
from llmc.store.shared.grams import gram_terms
from llmc.store.shared.heads import all_heads, shard_of
from llmc.store.shared.index import SharedIndex
from llmc.store.shared.maintenance import GRACE_SECONDS, drop, needs_optimize, optimize
from llmc.store.shared.manifest import Head, Manifest, ManifestEntry, format_age, newest, pack_entries
from llmc.store.shared.report import shared_status
from llmc.store.shared.schema import document_number, schema_of
from llmc.store.shared.statistics import TermStatistics
from llmc.store.shared.storage import Storage, checked_url, classified
from llmc.store.shared.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from llmc.shared_workspace import SharedSite


@pytest.fixture
def url(tmp_path: Path) -> str:
    return shared_url(tmp_path)


def published(tmp_path: Path, url: str, name: str, **files: str) -> Checkout:
    checkout = Checkout(tmp_path / name.replace("/", "-"), name)
    checkout.commit({f"{path}.py": text for path, text in files.items()} or {"a.py": "def a():\n    pass\n"})
    checkout.publish(url)
    return checkout


def documents(url: str) -> int:
    database = SharedDatabase.open(url)
    return database.table("documents").count()


# --- reading


def test_a_publication_is_seen_after_a_refresh_and_a_dropped_one_is_not(tmp_path: Path, url: str) -> None:
    checkout = published(tmp_path, url, "acme/api")
    index = SharedIndex.open(url)
    commit = checkout.commit({"b.py": "def b():\n    pass\n"})
    checkout.publish(url)

    assert index.snapshot.heads["acme/api"]["main"].commit != commit
    index.refresh()
    assert index.snapshot.heads["acme/api"]["main"].commit == commit
    drop(SharedDatabase.open(url), "acme/api")
    index.refresh()
    assert index.snapshot.heads == {}


def test_a_follower_sees_a_publication_without_being_asked(tmp_path: Path, url: str) -> None:
    published(tmp_path, url, "acme/api")
    index = SharedIndex.open(url)
    index.follow(0.01)
    published(tmp_path, url, "acme/web")
    deadline = time.monotonic() + 20
    try:
        while "acme/web" not in index.snapshot.heads and time.monotonic() < deadline:
            index._closed.wait(0.01)
        assert "acme/web" in index.snapshot.heads
    finally:
        index.close()


class StaleDatabase(SharedDatabase):
    """Storage that lists old versions of the content tables for a while."""

    is_stale = True

    def refresh(self, shard: int) -> dict[str, int]:
        found = super().refresh(shard)
        return dict.fromkeys(found, 1) if self.is_stale else found


def test_a_publication_waits_until_all_that_it_names_can_be_read(tmp_path: Path, url: str) -> None:
    checkout = published(tmp_path, url, "acme/api")
    first = SharedIndex.open(url).snapshot.heads["acme/api"]["main"].commit
    stale = StaleDatabase(Storage(url), DESCRIPTION)
    stale.is_stale = False
    index = SharedIndex(stale)
    index.refresh()
    stale.is_stale = True
    commit = checkout.commit({"b.py": "def b():\n    pass\n"})
    checkout.publish(url)

    index.refresh()
    assert index.snapshot.heads["acme/api"]["main"].commit == first
    stale.is_stale = False
    index.refresh()
    assert index.snapshot.heads["acme/api"]["main"].commit == commit


@pytest.mark.parametrize(
    ("pattern", "repo", "expected"),
    [
        ("**", "acme/api", True),
        ("acme/*", "acme/api", True),
        ("acme/*", "acme/team/api", False),
        ("acme/**", "acme/team/api", True),
        ("acme/**", "other/api", False),
        ("acme/api", "acme/api-internal", False),
        ("acme/api*", "acme/api-internal", True),
        ("*", "acme/api", False),
        ("*/api", "acme/api", True),
        ("", "acme/api", False),
    ],
)
def test_patterns_permit_whole_parts_of_a_name(pattern: str, repo: str, expected: bool) -> None:
    assert matches(pattern, repo) is expected
    assert Access(frozenset({pattern})).permits(repo) is expected


def test_a_selection_has_only_permitted_and_requested_repositories(tmp_path: Path, url: str) -> None:
    for name in ("acme/api", "acme/web", "other/api"):
        published(tmp_path, url, name)
    index = SharedIndex.open(url)
    acme = Access(frozenset({"acme/*"}))

    def selected(access: Access, repos: tuple[str, ...] = ()) -> list[str]:
        return [head.repo for head in index.select(access, repos).heads]

    assert selected(EVERYTHING) == ["acme/api", "acme/web", "other/api"]
    assert selected(acme) == ["acme/api", "acme/web"]
    assert selected(acme, ("api",)) == ["acme/api"]
    assert selected(acme, ("other/api",)) == []
    assert selected(NOTHING) == []
    assert selected(Access(frozenset({"**"}), frozenset({"acme/*"}))) == ["other/api"]


def test_refs_are_chosen_by_name_pattern_or_commit(tmp_path: Path, url: str) -> None:
    checkout = published(tmp_path, url, "acme/api")
    checkout.git("checkout", "-q", "-b", "feature/one")
    commit = checkout.commit({"b.py": "x = 1\n"})
    checkout.publish(url)
    index = SharedIndex.open(url)

    def refs(*wanted: str) -> list[str]:
        return [head.ref for head in index.select(EVERYTHING, (), wanted).heads]

    assert refs() == ["main"]
    assert refs("feature/one") == refs("feature/*") == refs(commit[:8]) == ["feature/one"]
    assert refs("**") == ["feature/one", "main"]
    assert refs("nothing") == []


# --- maintenance


def test_optimize_keeps_referenced_files_and_removes_the_rest_after_a_day(tmp_path: Path, url: str) -> None:
    checkout = published(tmp_path, url, "acme/api", a="def a():\n    pass\n", b="def b():\n    pass\n")
    published(tmp_path, url, "acme/web")
    checkout.commit({"b.py": "def newer():\n    pass\n"})
    checkout.publish(url)
    drop(SharedDatabase.open(url), "acme/web")
    tomorrow = time.time() + GRACE_SECONDS + 60

    assert optimize(SharedDatabase.open(url)).documents == 0
    assert documents(url) == 4
    result = optimize(SharedDatabase.open(url), now=tomorrow)

    assert (result.documents, result.manifests) == (2, 3)
    assert documents(url) == 2
    assert [head.repo for head in all_heads(SharedDatabase.open(url)).values()] == ["acme/api"]
    assert verify(SharedDatabase.open(url)) == []
    assert not any(one.name.startswith("lease/") for one in Storage(url).list())


def test_a_document_that_was_replaced_today_can_be_named_again(tmp_path: Path, url: str) -> None:
    checkout = published(tmp_path, url, "acme/api", a="def a():\n    pass\n")
    first = checkout.git("rev-parse", "HEAD")
    checkout.commit({"a.py": "def newer():\n    pass\n"})
    checkout.publish(url)
    optimize(SharedDatabase.open(url))

    assert checkout.publish(url, commit=first, force=True).written == 0  # its document was written today
    optimize(SharedDatabase.open(url))
    assert verify(SharedDatabase.open(url)) == []


def test_refs_expire_and_the_default_ref_stays(tmp_path: Path, url: str) -> None:
    checkout = published(tmp_path, url, "acme/api")
    checkout.publish(url, ref="old")
    later = time.time() + 40 * 86_400

    assert optimize(SharedDatabase.open(url), keep_days=30, now=later).expired == ["acme/api@old"]
    assert [head.ref for head in all_heads(SharedDatabase.open(url)).values() if not head.is_dropped] == ["main"]


def test_duplicates_are_shown_once_and_removed(tmp_path: Path, url: str) -> None:
    published(tmp_path, url, "acme/api", a="def zebra():\n    pass\n")
    database = SharedDatabase.open(url)
    for name in ("documents", "chunks", "vectors", "symbols"):
        table = database.table(name)
        table.add(table.scan("true", schema_of(name, database.description).names))

    assert verify(database) == []
    assert optimize(database).duplicates == 4
    assert database.table("chunks").count() == 1


def test_a_lease_keeps_others_out_until_it_has_expired(url: str, tmp_path: Path) -> None:
    database = shared_database(tmp_path)
    with maintenance._lease(database), pytest.raises(ConflictError):
        optimize(database)
    database.storage.write(maintenance.LEASE, b'{"until": 1}')
    optimize(database)
    database.storage.write(maintenance.LEASE, b"damaged")
    optimize(database)


def test_many_rows_without_an_index_ask_for_optimize(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    published(tmp_path, url, "acme/api")
    assert not needs_optimize(SharedDatabase.open(url), 0)
    monkeypatch.setitem(maintenance.MOST_UNINDEXED, "chunks", 0)
    assert needs_optimize(SharedDatabase.open(url), 0)
    optimize(SharedDatabase.open(url))
    assert not needs_optimize(SharedDatabase.open(url), 0)


def test_the_status_counts_repositories_rows_and_objects(tmp_path: Path, url: str) -> None:
    published(tmp_path, url, "acme/api", a="def a():\n    pass\n", b="def b():\n    pass\n")

    status = shared_status(SharedDatabase.open(url))

    assert (status.repositories, status.refs, status.documents, status.shards) == (1, 1, 2, 1)
    assert status.bytes > 0
    assert status.objects > 0


def test_a_new_repository_goes_to_a_shard_with_room(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = [Head("a", "main", "c", 1, "1", shard=0, chunks=250_000), Head("b", "main", "c", 1, "2", shard=1, chunks=9)]

    assert [shard_of(repo, heads) for repo in ("a", "b", "new")] == [0, 1, 1]
    assert shard_of("new", heads[:1]) == 1
    assert shard_of("new", []) == 0


def test_repositories_in_several_shards_are_searched_together(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(tmp_path, url, "acme/api", a="def zebra():\n    return 1\n")
    monkeypatch.setattr("llmc.store.shared.heads.SHARD_CHUNKS", 1)
    published(tmp_path, url, "acme/web", a="def zebra():\n    return 2\n")
    index = SharedIndex.open(url)
    selection = index.select(EVERYTHING)

    assert {head.shard for head in selection.heads} == {0, 1}
    assert all(len(selection.defining(repo, {"zebra"})["zebra"]) == 1 for repo in ("acme/api", "acme/web"))
    assert verify(SharedDatabase.open(url)) == []


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("search", {"query": "how is the zebra fed"}),
        ("grep", {"pattern": "zebra"}),
        ("refs", {"name": "zebra"}),
    ],
)
def test_a_query_asks_the_tables_as_often_with_eight_repositories_as_with_two(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, tool: str, args: dict[str, Any]
) -> None:
    questions: list[str] = []
    original = SharedTable._read

    def counted(self: SharedTable, run: Any) -> Any:
        questions.append(self.name)
        return original(self, run)

    monkeypatch.setattr(SharedTable, "_read", counted)
    counts = []
    for total in (2, 8):
        for number in range(len(list(tmp_path.glob("acme-*"))), total):
            text = f"def zebra(food):\n    return feed{number}(food)\n\n\ndef feed{number}(zebra):\n    pass\n"
            published(tmp_path, url, f"acme/r{number}", a=text)
        with shared_site(url, tmp_path / f"site{total}") as site:
            questions.clear()
            found = reply(site, tool, **args)
        assert all(f"acme/r{number}@" in found.text for number in range(2))
        counts.append(len(questions))

    assert counts[1] <= counts[0]


def test_what_was_published_is_loaded_ahead_of_queries(tmp_path: Path, url: str) -> None:
    published(tmp_path, url, "acme/api", a="def zebra():\n    return 1\n")
    index = SharedIndex.open(url)
    index.follow(0.05)
    (head,) = index.select(EVERYTHING).heads
    until(lambda: index._manifests.get(head.nonce) is not None and index._statistics.get(head.nonce) is not None)
    index.close()


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "how is the zebra fed"}),
    ("grep", {"pattern": "zebra"}),
    ("refs", {"name": "feed"}),
    ("read", {"target": "acme/web:a.py"}),
]


def answers(site: SharedSite, access: Access = EVERYTHING) -> list[str]:
    """The replies of every tool, without the names of handles."""
    return [re.sub(r"\bh[a-z0-9]{4,}\b", "", reply(site, tool, access, **args).text) for tool, args in QUESTIONS]


def load_everything(site: SharedSite) -> None:
    for shard in site.index._shards_in_memory():
        site.index.load(shard)


def test_replies_are_the_same_with_everything_in_memory_and_read_no_documents(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def zebra(food):\n    return feed(food)\n\n\ndef feed(zebra):\n    return {}\n"
    published(tmp_path, url, "acme/api", a=text.format(1), b="def other():\n    return zebra(2)\n")
    monkeypatch.setattr("llmc.store.shared.heads.SHARD_CHUNKS", 1)
    published(tmp_path, url, "acme/web", a=text.format(2))
    some = Access.of(["acme/web"])
    with shared_site(url, tmp_path / "tables") as site:
        from_tables = answers(site), answers(site, some)
    read: list[str] = []
    original = SharedTable.scan

    def noted(self: SharedTable, *args: Any, **options: Any) -> Any:
        read.append(self.name.rpartition("_")[0])
        return original(self, *args, **options)

    with shared_site(url, tmp_path / "memory") as site:
        load_everything(site)
        monkeypatch.setattr(SharedTable, "scan", noted)
        from_memory = answers(site), answers(site, some)

    assert from_memory == from_tables
    assert all("acme/api" not in text for text in from_memory[1])
    assert "documents" not in read


class OvertakenTable:
    """Gives up an append as LanceDB does while other writers are faster."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.rows: list[Any] = []

    async def add(self, rows: Any) -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("lance error: Too many concurrent writers. Attempted 3 times")
        self.rows.append(rows)

    async def checkout_latest(self) -> None:
        pass

    async def version(self) -> int:
        return 1


def test_an_append_that_other_writers_overtake_is_made_again() -> None:
    table = OvertakenTable(failures=2)

    SharedTable("chunks_0000", table, "s3://team/index").add("rows")

    assert table.rows == ["rows"]


def test_an_append_that_is_always_overtaken_is_a_conflict() -> None:
    table = OvertakenTable(failures=100)

    with pytest.raises(ConflictError, match="another writer was faster"):
        SharedTable("chunks_0000", table, "s3://team/index").add("rows")

    assert table.rows == []


def test_documents_published_or_moved_after_loading_are_found(tmp_path: Path, url: str) -> None:
    checkout = published(tmp_path, url, "acme/api", a="def zebra():\n    return 1\n")
    with shared_site(url, tmp_path / "site") as site:
        load_everything(site)
        checkout.commit({"b.py": "def zebra_two():\n    return 2\n"})
        checkout.publish(url)
        site.index.refresh()
        assert "b.py" in reply(site, "grep", pattern="zebra_two").text
        assert "b.py" in reply(site, "search", query="zebra two").text
        load_everything(site)
        assert len(site.index.caches.loaded[0]) == 2
        optimize(site.index.database)
        site.index.database.refresh(0)
        for _ in range(2):
            assert {"a.py", "b.py"} <= set(re.findall(r"\w\.py", reply(site, "grep", pattern="zebra").text))
            load_everything(site)


def test_loaded_documents_belong_to_their_repository(tmp_path: Path, url: str) -> None:
    published(tmp_path, url, "acme/api", a="def zebra():\n    return 1\n")
    published(tmp_path, url, "acme/web", a="def zebra():\n    return 2\n")
    with shared_site(url, tmp_path / "site") as site:
        load_everything(site)
        loaded = site.index.caches.loaded[0]
        (own,) = site.index.select(EVERYTHING, ["acme/api"]).heads
        docs = site.index.manifest(own, site.index.selection([own]).readable).docs()

        assert loaded.get("acme/api", docs, "content").keys() == docs
        assert loaded.get("acme/web", docs, "content") == {}
        assert loaded.get("acme/none", docs, "facts") == {}


@pytest.mark.parametrize(("room", "held"), [(1 << 30, ("facts", "content")), (0, ())])
def test_documents_are_loaded_as_far_as_there_is_room(
    tmp_path: Path, url: str, room: int, held: tuple[str, ...]
) -> None:
    published(tmp_path, url, "acme/api", a="def zebra():\n    return 1\n")
    database = SharedDatabase.open(url)
    caches = DocumentCaches(1 << 20, room)
    caches.load(0, database.table("documents"))

    loaded = caches.loaded.get(0)
    assert tuple(column for column in ("facts", "content") if loaded is not None and loaded.holds(column)) == held


def test_a_term_weighs_as_if_the_selected_repository_were_alone(tmp_path: Path, url: str) -> None:
    """`zebra` is in every file of one repository and in no other, so it must not decide what is best there."""
    own = {f"zebra{number}": f"def part{number}():\n    return zebra\n" for number in range(12)}
    own["feeding"] = "def feeding():\n    return quagga\n"
    alone = shared_url(tmp_path / "alone")
    published(tmp_path / "first", alone, "acme/zoo", **own)
    published(tmp_path / "second", url, "acme/zoo", **own)
    published(tmp_path, url, "acme/farm", **{f"cow{n}": f"def cow{n}():\n    return quagga\n" for n in range(40)})
    query = KeywordQuery((Clause("body", "zebra"), Clause("body", "quagga")))
    best = []
    for place in (alone, url):
        optimize(SharedDatabase.open(place))  # rows that no index holds are weighed by themselves
        index = SharedIndex.open(place)
        selection = index.select(EVERYTHING, ["acme/zoo"])
        (hits,) = selection.words(query, 20).values()
        best.append(index.manifest(selection.heads[0], selection.readable).places[hits[0].doc])

    assert best == ["feeding.py", "feeding.py"]


# --- values


def test_the_newest_publication_is_the_same_for_everybody() -> None:
    rows = [
        Head("r", "main", "old", 1, "a", committed=5),
        Head("r", "main", "late", 2, "b", committed=1),
        Head("r", "main", "fast", 2, "c", committed=9),
        Head("r", "other", "x", 1, "d"),
    ]

    assert newest(rows)["r", "main"].commit == newest(reversed(rows))["r", "main"].commit == "fast"


def test_a_manifest_comes_back_as_it_went_in() -> None:
    entries = [
        ManifestEntry("src/é.py", 7, 30, 2),
        ManifestEntry("src/a/b.py", 2**62, 0),
        ManifestEntry("bin\udcff", -9, 10**10, holds_nul=True),
    ]

    manifest = Manifest(Head("r", "main", "c", 1, "n"), pack_entries(entries))

    assert sorted(manifest.entries()) == sorted(entries)
    assert manifest.find("src/é.py") == entries[0]
    assert [manifest.paths[at] for at in manifest.below("src")] == ["src/a/b.py", "src/é.py"]
    assert dict(manifest.places) == {7: "src/é.py", 2**62: "src/a/b.py"}
    assert len(Manifest(manifest.head, pack_entries([]))) == 0


def test_statistics_come_back_as_they_went_in() -> None:
    made = TermStatistics.of(3, {0: 1, 2**32 - 1: 70_000, 12: 2})
    back = TermStatistics.unpack(made.pack())

    assert back.changed(0, {}).pack() == made.pack()
    assert TermStatistics.unpack(TermStatistics.of(0, {}).pack()).count("body", ["x"]) == {"x": 0}


def test_document_numbers_depend_on_repository_path_content_and_redactor() -> None:
    numbers = {
        document_number("r", "a.py", "b1", "1"),
        document_number("r2", "a.py", "b1", "1"),
        document_number("r", "b.py", "b1", "1"),
        document_number("r", "a.py", "b2", "1"),
        document_number("r", "a.py", "b1", "2"),
    }
    assert len(numbers) == 5
    assert all(0 < number < 2**63 for number in numbers)


def test_each_trigram_of_ascii_has_its_own_term() -> None:
    assert len(set(gram_terms("abc bcd \n\tx").split())) == len("abc bcd \n\tx") - 2
    assert gram_terms("ab") == ""
    assert gram_terms("abcabc").split().count(gram_terms("abc")) == 1


def test_a_cache_keeps_within_its_bytes() -> None:
    cache: ByteCache[bytes] = ByteCache(100, len)
    for number in range(10):
        cache.put(number, bytes(30))
    assert cache.bytes <= 100
    assert cache.get(9) is not None
    assert cache.get(0) is None


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-500, "now"), (5, "now"), (45, "1 min"), (150, "2 min"), (7_300, "2 h"), (200_000, "2 d")],
)
def test_ages_are_short(seconds: float, expected: str) -> None:
    assert format_age(seconds) == expected


# --- storage


class ForgetfulStorage(Storage):
    """Storage that ignores If-None-Match."""

    def create(self, name: str, data: bytes) -> bool:
        self.write(name, data)
        return True


def test_storage_that_ignores_conditional_writes_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot hold a shared index") as caught:
        ForgetfulStorage(str(tmp_path / "index"), create=True).require_conditional_writes()
    assert "conditional writes" in caught.value.reason
    assert list(Storage(str(tmp_path / "index")).list()) == []


@pytest.mark.parametrize(
    "url", ["ftp://host/x", "s3://", "s3://key:secret@bucket/x", "s3://bucket/x?token=abc", "", "  "]
)
def test_urls_that_cannot_be_meant_are_refused_without_repeating_secrets(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_url(url)
    assert "secret" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_reading_creates_no_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        SharedIndex.open(str(tmp_path / "nothing"))
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("LanceError(IO): Status { status: 403, body: AKIASECRET }", "storage"),
        ("Generic S3 error: error sending request for url (http://key:pw@host)", "storage"),
        ("RetryError status: 503 SlowDown", "storage"),
        ("<Code>NoSuchBucket</Code>", "storage"),
        ("No space left on device (os error 28)", "store_full"),
        ("Commit conflict for version 7", "conflict"),
        ("Not found: s3/bucket/data/x.lance", "store"),
        ("invalid magic bytes", "store_corrupt"),
    ],
)
def test_errors_of_the_storage_are_classified_and_not_quoted(text: str, code: str) -> None:
    error = classified(ValueError(text), "s3://bucket/x", "reading chunks")

    assert error.code == code
    assert not any(secret in str(error) for secret in ("AKIASECRET", "key:pw"))
