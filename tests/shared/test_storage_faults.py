"""Object storage that is down, slow, denying, full or damaged; publishers and servers that are killed."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import httpx
import pytest
from daemons import Place, until
from object_storage import SECRET, ObjectStorage, StorageProxy, proxied
from shared_server import node, tokens_in
from shared_world import Checkout, reply, shared_site, shared_url

from llmc.store.shared.database import SharedDatabase
from llmc.store.shared.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HASH = ("--set", "embedder.kind=hash")
# The full run has 100 (`make test-shared KILLS=100`).
KILLS = int(os.environ.get("LLMC_KILLS") or 6)
SEED = int(os.environ.get("LLMC_KILL_SEED") or 24)


@pytest.fixture(scope="module")
def storage() -> ObjectStorage:
    base = os.environ.get("LLMC_TEST_SHARED", "")
    assert base.startswith("s3://"), "run `make test-shared`"
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL")
    return ObjectStorage(base, int(os.environ["LLMC_TEST_STORAGE_PORT"]), {name: os.environ[name] for name in names})


@pytest.fixture
def proxy(storage: ObjectStorage) -> Iterator[StorageProxy]:
    with proxied(storage.port) as made:
        yield made


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "api")
    made.commit(files(0))
    return made


def files(version: int) -> dict[str, str | bytes | None]:
    return {f"src/part{number}.py": f"def part{number}():\n    return 'version{version}'\n" for number in range(12)}


def publish(
    place: Place, checkout: Checkout, url: str, environ: dict[str, str], *options: str
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "llmc", "publish", "--shared", url, "--repo", checkout.name, *HASH, *options]
    environ = {**place.environ, **environ}
    return subprocess.Popen(
        command, cwd=checkout.folder, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def published(process: subprocess.Popen[str]) -> bool:
    _, text = process.communicate(timeout=180)
    assert process.returncode == 0, text
    return True


def kill_from(process: subprocess.Popen[str], limit: int, number: int) -> None:
    if number >= limit:
        process.kill()


def matches(url: str, folder: Path) -> dict[str, int]:
    """version → files that contain it, as a new server sees them."""
    with shared_site(url, folder) as site:
        found = reply(site, "grep", pattern="version[0-9]+", all=True)
    assert not found.error, found.text
    versions = re.findall(r"'(version\d+)'", found.text)
    return {version: versions.count(version) for version in versions}


def test_a_publisher_killed_at_any_request_shows_nothing_by_halves_and_the_next_one_resumes(
    storage: ObjectStorage, proxy: StorageProxy, place: Place, checkout: Checkout, tmp_path: Path
) -> None:
    url, environ = shared_url(tmp_path), storage.through(proxy.port)
    assert published(publish(place, checkout, url, environ))
    checkout.commit(files(1))
    before = proxy.requests
    assert published(publish(place, checkout, url, environ))
    usual = proxy.requests - before
    chosen = random.Random(SEED)
    for round_ in range(KILLS):
        version = round_ + 2
        checkout.commit(files(version))
        process = publish(place, checkout, url, environ)
        proxy.on_request = partial(kill_from, process, proxy.requests + chosen.randint(1, usual))
        process.communicate(timeout=120)
        proxy.on_request = lambda _number: None

        seen = matches(url, tmp_path / f"home{round_}")
        assert seen in ({f"version{version - 1}": 12}, {f"version{version}": 12}), (round_, seen)

        checkout.publish(url)
        assert matches(url, tmp_path / f"after{round_}") == {f"version{version}": 12}
    assert verify(SharedDatabase.open(url)) == []


def test_storage_that_is_down_is_a_clear_error_and_answers_continue_when_it_is_back(
    storage: ObjectStorage, proxy: StorageProxy, place: Place, checkout: Checkout, tmp_path: Path
) -> None:
    url = shared_url(tmp_path)
    checkout.publish(url)
    path, tokens = tokens_in(tmp_path, ann=["**"])
    with node(place, url, "--tokens", path, **storage.through(proxy.port)) as server:
        assert "part3" in server.text(tokens["ann"], "grep", pattern="def part3")
        proxy.cut()
        down = server.post(tokens["ann"], "grep", pattern="def part[45]", files=True)
        with server.client() as client:
            assert client.get("/health").status_code == 200
        proxy.refuses = False
        until(lambda: server.post(tokens["ann"], "grep", pattern="def part7").status_code == 200)
        assert "part7" in server.text(tokens["ann"], "grep", pattern="def part7")

    assert down.status_code == 503
    assert "the shared storage does not respond" in down.text
    assert SECRET not in down.text + "".join(server.lines)
    refused = publish(place, checkout, url, {**storage.environ, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    _, text = refused.communicate(timeout=120)
    assert refused.returncode != 0
    assert "the shared storage does not respond" in text


def test_slow_storage_gives_the_same_answer(
    storage: ObjectStorage, proxy: StorageProxy, place: Place, checkout: Checkout, tmp_path: Path
) -> None:
    url = shared_url(tmp_path)
    checkout.publish(url)
    path, tokens = tokens_in(tmp_path, ann=["**"])
    proxy.latency = 0.1
    with node(place, url, "--tokens", path, **storage.through(proxy.port)) as server:
        assert server.text(tokens["ann"], "grep", pattern="version0").startswith("12 matches in 12 files")


def test_denied_access_and_a_missing_bucket_are_clear_errors_without_secrets(
    storage: ObjectStorage, place: Place, checkout: Checkout, tmp_path: Path
) -> None:
    url = shared_url(tmp_path)
    wrong = "a-secret-that-is-wrong"
    denied = publish(place, checkout, url, {**storage.environ, "AWS_SECRET_ACCESS_KEY": wrong})
    _, text = denied.communicate(timeout=120)

    assert denied.returncode != 0
    assert "the shared storage denied access" in text
    assert "AWS_SECRET_ACCESS_KEY" in text
    assert wrong not in text


def test_full_storage_loses_nothing_and_publishing_continues_when_there_is_room(
    storage: ObjectStorage, proxy: StorageProxy, place: Place, checkout: Checkout, tmp_path: Path
) -> None:
    url, environ = shared_url(tmp_path), storage.through(proxy.port)
    checkout.publish(url)
    checkout.commit(files(1))
    proxy.full = True
    failed = publish(place, checkout, url, environ)
    _, text = failed.communicate(timeout=180)

    assert failed.returncode != 0
    assert "the shared storage" in text
    assert matches(url, tmp_path / "full") == {"version0": 12}
    proxy.full = False
    assert published(publish(place, checkout, url, environ))
    assert matches(url, tmp_path / "room") == {"version1": 12}


def test_two_publishers_of_one_ref_leave_the_newer_commit(
    storage: ObjectStorage, place: Place, checkout: Checkout, tmp_path: Path
) -> None:
    url = shared_url(tmp_path)
    checkout.publish(url)
    older = checkout.commit(files(1))
    checkout.commit(files(2))
    first = publish(place, checkout, url, storage.environ)
    second = publish(place, checkout, url, storage.environ, "--commit", older, "--ref", "main")

    assert published(first)
    assert published(second)
    assert matches(url, tmp_path / "both") == {"version2": 12}
    assert verify(SharedDatabase.open(url)) == []


def test_a_server_killed_under_load_costs_clients_nothing_but_a_retry(
    storage: ObjectStorage, place: Place, checkout: Checkout, tmp_path: Path
) -> None:
    url = shared_url(tmp_path)
    checkout.publish(url)
    path, tokens = tokens_in(tmp_path, ann=["**"])
    done = threading.Event()

    def client(addresses: list[str]) -> tuple[int, int]:
        """(answers, answers that were wrong); a connection error leads to the other server."""
        answers = wrong = 0
        headers = {"Authorization": f"Bearer {tokens['ann']}"}
        with httpx.Client(headers=headers, timeout=60, trust_env=False) as web:
            while not done.is_set():
                try:
                    answer = web.post(f"{addresses[0]}/tools/grep", json={"pattern": f"part{answers % 12}\\b"})
                except httpx.TransportError:
                    addresses.reverse()
                    continue
                answers += 1
                wrong += answer.status_code != 200 or "in 1 file" not in answer.json()["text"]
        return answers, wrong

    with (
        node(place, url, "--tokens", path, **storage.environ) as first,
        node(place, url, "--tokens", path, **storage.environ) as second,
        ThreadPoolExecutor(4) as pool,
    ):
        clients = [pool.submit(client, [first.url, second.url]) for _ in range(4)]
        until(lambda: first.text(tokens["ann"], "grep", pattern="part1"))
        first.process.kill()
        until(lambda: second.text(tokens["ann"], "grep", pattern="part2"))
        time.sleep(1)  # under load, not for an outcome
        done.set()
        outcomes = [one.result(60) for one in clients]

    assert all(answers for answers, _ in outcomes)
    assert sum(wrong for _, wrong in outcomes) == 0


def test_damaged_objects_are_reported_and_never_served_as_content(
    storage: ObjectStorage, checkout: Checkout, tmp_path: Path
) -> None:
    url = shared_url(tmp_path)
    checkout.publish(url)
    database = SharedDatabase.open(url)
    damaged = [one.name for one in database.storage.list() if "documents" in one.name and one.name.endswith(".lance")]
    assert damaged
    for name in damaged:
        database.storage.write(name, b"damaged " * 64)

    with shared_site(url, tmp_path) as site:
        found = reply(site, "read", target="acme/api:src/part1.py")

    assert found.error in {"store_corrupt", "store", "storage", "read"}
    assert "damaged damaged" not in found.text
    assert json.dumps(found.data)
