"""Publishing: the contents of a shared index, and the effect of an interruption or a second publisher."""

from __future__ import annotations

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from shared_world import SETTINGS, Checkout, reply, shared_site, shared_url

from llmc.base.errors import ConfigError, CorruptStoreError, NewerFormatError, NotFoundError, RootError
from llmc.publish.git_source import open_source
from llmc.settings import EmbedderSettings, Index, Settings
from llmc.store.shared.access import EVERYTHING
from llmc.store.shared.database import SharedDatabase
from llmc.store.shared.heads import all_heads, next_sequence
from llmc.store.shared.manifest import FILES, TERMS, Head, Manifest, newest
from llmc.store.shared.publishing import Publication
from llmc.store.shared.schema import CONTENT_TABLES, DESCRIPTION, MANIFESTS
from llmc.store.shared.statistics import TermStatistics
from llmc.store.shared.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PARSER = "class Parser:\n    def feed(self, data):\n        return data.strip()\n"
USER = "from parser import Parser\n\n\ndef run(data):\n    return Parser().feed(data)\n"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return shared_url(tmp_path)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "api")
    made.commit({"parser.py": PARSER, "app.py": USER})
    return made


def paths_of(url: str, tmp_path: Path, ref: str = "main") -> dict[str, str]:
    """path → content, as a server would show them."""
    with shared_site(url, tmp_path) as site:
        (view,) = site.workspace(EVERYTHING, SETTINGS, refs=[ref]).views()
        return {path: view.root_fs.read(path, 1 << 20)[0].decode() for path in view.store.catalog.places("").paths()}


def test_a_commit_is_published_and_not_the_work_tree(checkout: Checkout, url: str, tmp_path: Path) -> None:
    checkout.write({"app.py": "changed()\n", "new.py": "x = 1\n"})

    result = checkout.publish(url)

    assert (result.files, result.written, result.is_current) == (2, 2, True)
    assert paths_of(url, tmp_path) == {"parser.py": PARSER, "app.py": USER}


def test_the_work_tree_is_published_on_request(checkout: Checkout, url: str, tmp_path: Path) -> None:
    checkout.write({"app.py": "changed()\n"})

    checkout.publish(url, worktree=True)

    assert paths_of(url, tmp_path)["app.py"] == "changed()\n"


def test_only_new_content_is_written(checkout: Checkout, url: str, tmp_path: Path) -> None:
    checkout.publish(url)
    checkout.commit({"app.py": f"{USER}\n# changed\n", "parser.py": None, "moved/parser.py": PARSER})

    result = checkout.publish(url)

    assert result.written == 2  # the changed file, and the moved one under its new path
    assert paths_of(url, tmp_path).keys() == {"app.py", "moved/parser.py"}
    assert checkout.publish(url).written == 0


def test_content_is_stored_once_for_all_refs(checkout: Checkout, url: str, tmp_path: Path) -> None:
    checkout.publish(url)
    checkout.git("checkout", "-q", "-b", "feature")
    checkout.commit({"extra.py": "def extra():\n    pass\n"})

    assert checkout.publish(url).written == 1
    assert paths_of(url, tmp_path, "feature").keys() == {"app.py", "parser.py", "extra.py"}
    assert paths_of(url, tmp_path, "main").keys() == {"app.py", "parser.py"}


def test_secrets_and_denied_files_never_leave_the_machine(checkout: Checkout, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    checkout.commit({"config.py": f'token = "{SECRET}"\n', ".env": f"TOKEN={SECRET}\n", "secrets/db.yaml": "x: y\n"})

    result = checkout.publish(str(folder))

    assert (result.denied, result.redacted) == (2, 1)
    stored = paths_of(str(folder), tmp_path)
    assert ".env" not in stored
    assert "[redacted:" in stored["config.py"]
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for part in (SECRET.encode(), b".env", b"db.yaml", SECRET[4:].lower().encode()):
        assert part not in written


def test_redaction_is_on_whatever_the_settings_say(checkout: Checkout, url: str, tmp_path: Path) -> None:
    checkout.commit({"config.py": f'token = "{SECRET}"\n'})
    off = SETTINGS.model_copy(update={"redaction": SETTINGS.redaction.model_copy(update={"enabled": False})})

    checkout.publish(url, settings=off)

    assert SECRET not in paths_of(url, tmp_path)["config.py"]


def test_ignored_binary_and_large_files_are_treated_as_in_the_local_index(
    checkout: Checkout, url: str, tmp_path: Path
) -> None:
    long = "".join(f"line {number}\n" for number in range(400))
    files: dict[str, str | bytes | None] = {
        ".gitignore": "build/\n",
        "build/out.py": "x\n",
        "logo.png": b"\x89PNG\0\0\0",
        "long.txt": long,
    }
    checkout.commit(files)
    small = Settings(embedder=EmbedderSettings(kind="hash"), index=Index(max_file_bytes=1_024))

    result = checkout.publish(url, settings=small)

    assert result.files == 5  # without build/out.py
    with shared_site(url, tmp_path) as site:
        assert "line 399" in reply(site, "grep", pattern="line 399$").text
        assert "logo.png" in reply(site, "find", name="logo").text
        assert reply(site, "read", target="logo.png").error == "read"
    assert checkout.publish(url, settings=small).written == 0  # the picture is not read again


def test_an_older_commit_does_not_replace_a_newer_one_unless_forced(checkout: Checkout, url: str) -> None:
    first = checkout.git("rev-parse", "HEAD")
    second = checkout.commit({"app.py": "newer()\n"})
    checkout.publish(url)

    late = checkout.publish(url, commit=first)

    assert (late.is_current, late.superseded_by) == (False, second)
    assert checkout.publish(url, commit=first, force=True).is_current


def test_a_bare_repository_is_published_as_a_hook_would(checkout: Checkout, url: str, tmp_path: Path) -> None:
    bare = tmp_path / "api.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(checkout.folder), str(bare)], check=True)
    source = open_source(str(bare), {}, commit="main")

    assert (source.folder, source.ref) == ("", "main")
    hook = Checkout.__new__(Checkout)
    hook.folder, hook.name = bare, "acme/api"
    assert hook.publish(url, commit=source.commit, ref="main").files == 2


def test_repository_and_ref_come_from_options_then_ci_then_git(checkout: Checkout) -> None:
    root = str(checkout.folder)
    checkout.git("remote", "add", "origin", "git@example.org:team/service.git")

    assert open_source(root, {}).repo == "team/service"
    ci = {"GITHUB_REPOSITORY": "acme/widgets", "GITHUB_REF_NAME": "release"}
    source = open_source(root, ci)
    assert (source.repo, source.ref) == ("acme/widgets", "release")
    source = open_source(root, ci, repo="own/name", ref="own")
    assert (source.repo, source.ref) == ("own/name", "own")
    checkout.git("checkout", "-q", "--detach")
    with pytest.raises(ConfigError, match="ref is unknown"):
        open_source(root, {})


@pytest.mark.parametrize("name", ["../x", "a b", "a//b", "a@b", "", "x" * 300])
def test_a_name_that_cannot_be_a_repository_is_refused(checkout: Checkout, name: str) -> None:
    with pytest.raises(ConfigError):
        open_source(str(checkout.folder), {"GITHUB_REPOSITORY": name or "?"})


def test_a_folder_outside_a_repository_and_a_missing_commit_are_clear_errors(
    checkout: Checkout, tmp_path: Path
) -> None:
    with pytest.raises(RootError, match="not in a git repository"):
        open_source(str(tmp_path), {})
    with pytest.raises(NotFoundError, match="no commit"):
        open_source(str(checkout.folder), {}, commit="0123456789")


# --- interruptions and other publishers


class PublisherKilledError(Exception):
    pass


class FaultyDatabase(SharedDatabase):
    """Ends the publisher before the n-th append to a table."""

    left = 10_000

    def append(self, rows: dict[str, pa.Table], shard: int = 0) -> None:  # type: ignore[override]
        for name, table in rows.items():
            FaultyDatabase.left -= 1
            if FaultyDatabase.left == 0:
                raise PublisherKilledError
            super().append({name: table}, shard)


@pytest.mark.parametrize("step", range(1, 7))
def test_an_interruption_shows_nothing_and_the_next_run_resumes(
    checkout: Checkout, url: str, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.publish(url)
    before = paths_of(url, tmp_path)
    checkout.commit({"app.py": "def newer():\n    pass\n", "more.py": "def more():\n    pass\n"})
    monkeypatch.setattr("llmc.publish.run.SharedDatabase", FaultyDatabase)
    monkeypatch.setattr(FaultyDatabase, "left", step)

    with pytest.raises(PublisherKilledError):
        checkout.publish(url)

    assert paths_of(url, tmp_path) == before
    again = checkout.publish(url)
    assert again.written == (0 if step == 6 else 2)  # the documents were complete, only the manifest was not
    assert paths_of(url, tmp_path).keys() == {"app.py", "parser.py", "more.py"}
    assert verify(SharedDatabase.open(url)) == []


def test_publishers_of_one_ref_at_once_leave_one_of_their_commits(checkout: Checkout, url: str, tmp_path: Path) -> None:
    commits = [checkout.commit({"app.py": f"def version{number}():\n    pass\n"}) for number in range(3)]
    start = threading.Barrier(3)

    def publish(commit: str) -> bool:
        start.wait()
        return checkout.publish(url, commit=commit).is_current

    with ThreadPoolExecutor(3) as pool:
        current = list(pool.map(publish, commits))

    (head,) = all_heads(SharedDatabase.open(url)).values()
    assert head.commit == commits[-1]
    assert current[-1]
    assert verify(SharedDatabase.open(url)) == []
    assert "version2" in paths_of(url, tmp_path)["app.py"]


def test_a_late_publisher_of_an_older_commit_does_not_replace_a_newer_one() -> None:
    first = Head("acme/shop", "main", "a" * 40, sequence=next_sequence(None, 1.0), nonce="a", committed=1.0)
    newest_commit = replace(first, commit="c" * 40, nonce="c", committed=3.0, sequence=next_sequence(None, 3.0))
    late = replace(first, commit="b" * 40, nonce="b", committed=2.0, sequence=next_sequence(first, 2.0), published=9.0)
    assert newest([first, newest_commit, late]) == {("acme/shop", "main"): newest_commit}
    rolled_back = replace(late, nonce="d", sequence=next_sequence(newest_commit, 2.0))
    assert newest([newest_commit, rolled_back]) == {("acme/shop", "main"): rolled_back}


def test_publishers_of_many_repositories_at_once_do_not_lose_any(url: str, tmp_path: Path) -> None:
    made = [Checkout(tmp_path / f"r{number}", f"acme/r{number}") for number in range(4)]
    for number, one in enumerate(made):
        one.commit({"a.py": f"def f{number}():\n    pass\n"})

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda one: one.publish(url), made))

    assert all(one.is_current for one in results)
    assert {head.repo for head in all_heads(SharedDatabase.open(url)).values()} == {one.name for one in made}
    assert verify(SharedDatabase.open(url)) == []


# --- what does not fit


def test_another_embedder_is_refused(checkout: Checkout, url: str) -> None:
    checkout.publish(url)

    with pytest.raises(ConfigError, match="another embedder"):
        checkout.publish(url, settings=Settings())


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b'{"embedder":"x","dimension":1,"redactor":"","format":99,"analysis":1}', NewerFormatError),
        (b'{"embedder":"x","dimension":1,"redactor":"","format":0,"analysis":1}', CorruptStoreError),
        (b"{not json", CorruptStoreError),
        (b"[]", CorruptStoreError),
    ],
)
def test_an_index_of_another_format_is_refused(
    checkout: Checkout, url: str, text: bytes, error: type[Exception]
) -> None:
    checkout.publish(url)
    SharedDatabase.open(url).storage.write(DESCRIPTION, text)

    with pytest.raises(error):
        SharedDatabase.open(url)
    with pytest.raises(error):
        checkout.publish(url)


def test_missing_rows_are_reported_and_publishing_again_repairs_them(
    checkout: Checkout, url: str, tmp_path: Path
) -> None:
    checkout.publish(url)
    database = SharedDatabase.open(url)
    (head,) = all_heads(database).values()
    entry = Manifest(head, database.storage.read(head.part(FILES)) or b"").find("app.py")
    assert entry is not None
    database.table("documents").delete(f"doc = {entry.doc}")

    (found,) = verify(database)

    assert (found.path, found.problem) == ("app.py", "it is missing")
    assert checkout.publish(url).written == 1
    assert verify(SharedDatabase.open(url)) == []
    assert paths_of(url, tmp_path)["app.py"] == USER


@pytest.mark.parametrize("part", [FILES, TERMS])
def test_a_damaged_manifest_is_reported_and_replaced_by_the_next_publication(
    checkout: Checkout, url: str, part: str
) -> None:
    checkout.publish(url)
    database = SharedDatabase.open(url)
    (head,) = all_heads(database).values()
    database.storage.write(head.part(part), b"{" * 20)

    assert [one.table for one in verify(database)] == [MANIFESTS]
    assert checkout.publish(url).is_current
    assert verify(SharedDatabase.open(url)) == []


def test_statistics_follow_every_publication(checkout: Checkout, url: str) -> None:
    checkout.publish(url)
    checkout.commit({"app.py": "def zebra():\n    return zebra\n", "b.py": "def quagga():\n    pass\n"})
    checkout.publish(url)
    checkout.commit({"b.py": None, "c.py": "zebra = 1\n"})
    checkout.publish(url)

    with Publication(SharedDatabase.open(url), "acme/api", "main") as publication:
        head = publication.current
        assert head is not None
        kept = TermStatistics.unpack(SharedDatabase.open(url).storage.read(head.part(TERMS)) or b"")
    terms = ("zebra", "quagga", "feed", "run")
    assert kept.chunks == head.chunks
    assert kept.count("body", terms) == {"zebra": 2, "quagga": 0, "feed": 1, "run": 0}


def test_every_content_table_is_part_of_the_format() -> None:
    assert CONTENT_TABLES == ("documents", "trigrams", "chunks", "vectors", "symbols")
