"""How a shared index grows: search, grep and publishing at 10 and 100 repositories, with one to four servers.

    LLMC_TEST_WEED=… python -m bench.shared --source PATH … --repos 10 100 --servers 1 2 4 --out FILE [--keep FOLDER]

With `--keep` storage, trees and local indexes stay in a folder, so that a second run builds nothing; the result is
written after each measurement, and a run that was interrupted continues behind the last one.

Real work trees are repeated with modified content, so that no two repositories share a document. Everything runs on one
machine against SeaweedFS on loopback, and the local engine has the same trees in the same run: ratios are fair, and
absolute times depend on what else the machine does, which the result states. Throughput is measured through a proxy
that adds latency to every request of the storage, with all processes on all cores and with a core for each server.

For the targets at 500,000 chunks, on a machine that does nothing else, ten sources of 42,000 chunks together:

    python -m bench.shared --source PATH … --repos 120 --servers 1 2 --without-local --keep FOLDER --out FILE
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests" / "support"))

from object_storage import ObjectStorage, proxied, seaweed  # noqa: E402 - after the path

from bench.shared_copies import IDENTIFIER, digested, publish_copy, write_copy  # noqa: E402
from llmc.embed import open_embedder  # noqa: E402
from llmc.envelope.redact.redactor import Redactor  # noqa: E402
from llmc.server.shared.token_file import add_token  # noqa: E402
from llmc.settings import load  # noqa: E402
from llmc.store.shared.database import SharedDatabase  # noqa: E402
from llmc.store.shared.heads import all_heads  # noqa: E402
from llmc.store.shared.schema import Description  # noqa: E402
from llmc.workspace import Workspace  # noqa: E402

CHANGED_FILES = 50
CLIENTS = 12
CPU = "llmc_cpu_seconds_total"
# An idle server that only polls uses less than this in that many seconds.
WARM_SECONDS, IDLE_CPU = 5.0, 0.2
WHO = ("-c", "user.name=Ann Example", "-c", "user.email=ann@example.org")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, action="append", required=True, help="a work tree to repeat")
    parser.add_argument("--repos", type=int, nargs="+", default=[10, 100], help="how many repositories, ascending")
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2, 4], help="how many server processes")
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each measurement of throughput")
    parser.add_argument("--latency", type=float, default=0.03, help="seconds that the proxy adds to each request")
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="a folder for storage, trees and local indexes; deleted if not given")
    parser.add_argument("--build", action="store_true", help="build everything in --keep, and measure nothing")
    parser.add_argument("--without-local", action="store_true", help="leave the local engine out, which takes a third")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = given.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="llmc-growth-")))
        storage = stack.enter_context(seaweed(folder / "storage"))
        os.environ.update(storage.environ)
        found = Growth(folder, storage, given).run()
    print(json.dumps(found, indent=2))
    return 0


class Growth:
    def __init__(self, folder: Path, storage: ObjectStorage, given: argparse.Namespace) -> None:
        self._folder = folder
        self._storage = storage
        self._given = given
        self._home = {**os.environ, "LLMC_HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder / "config")}
        self._tokens = str(folder / "tokens.toml")
        Path(self._tokens).unlink(missing_ok=True)
        self._token = add_token(self._tokens, "bench", ["**"], metrics=True)
        self._random = random.Random(24)
        self._made: list[Path] = []
        self._url = ""
        settings = load("/", {}).settings
        redactor = Redactor.of(settings.redaction.model_copy(update={"enabled": True}))
        self._embedder = open_embedder(settings.embedder)
        self._description = Description(self._embedder.name, self._embedder.dimension, redactor.fingerprint)

    def run(self) -> dict[str, Any]:
        out = self._given.out
        found: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
        found |= {"cores": os.cpu_count(), "storage": "SeaweedFS on loopback"}
        for count in self._given.repos:
            self._grow(count)
            step = found.setdefault(f"{count} repositories", {})
            for name, measure in self._measurements(count):
                if name in step:
                    continue
                began = time.monotonic()
                step[name] = {**measure(), "load": os.getloadavg()[0]}
                print(count, name, step[name], f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
                out.write_text(json.dumps(found, indent=2) + "\n")
        return found

    def _measurements(self, count: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
        local = self._folder / f"local{count}"
        if self._given.build:
            if not self._given.without_local:
                with self._local_index(local):
                    pass
            return
        yield "index", self._status
        words = self._words()
        if not self._given.without_local:
            yield "local", lambda: self._local(local, words)
        yield "shared", lambda: self._shared(words)
        for servers in self._given.servers:
            yield f"throughput of {servers}", partial(self._throughput, servers, words)
            if servers <= (os.cpu_count() or 1):
                name = f"throughput of {servers}, a core each"
                yield name, partial(self._throughput, servers, words, pinned=True)
        yield "commit", self._commit

    def _status(self) -> dict[str, Any]:
        status = json.loads(self._llmc("shared", "status", "--json"))
        return {name: status[name] for name in ("repositories", "chunks", "documents", "bytes", "objects", "shards")}

    # ---- repositories

    def _grow(self, count: int) -> None:
        """Publishes copies until the index has this many repositories; each source is digested once."""
        self._url = f"{self._storage.base}/growth{count}"
        trees = self._folder / f"trees{count}"
        database = SharedDatabase.create(self._url, self._description)
        known = {repo for repo, _ in all_heads(database)}
        missing = [number for number in range(count) if f"team/r{number:04d}" not in known][: count - len(known)]
        sources = self._given.source
        for at, source in enumerate(sources):
            wanted = [number for number in missing if number % len(sources) == at]
            files = list(digested(source, self._embedder)) if wanted else []
            for number in wanted:
                write_copy(files, number, trees / f"r{number:04d}")
                publish_copy(database, f"team/r{number:04d}", files, number)
        optimized = self._folder / f"optimized{count}"
        if missing or not optimized.exists():
            self._llmc("shared", "optimize")
            optimized.touch()
        self._made = sorted(trees.iterdir())

    def _publish(self, tree: Path) -> None:
        self._llmc("publish", str(tree), "--repo", f"team/{tree.name}", "--ref", "main", "--no-optimize")

    def _llmc(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "llmc", *arguments, "--shared", self._url]
        return subprocess.run(command, env=self._home, capture_output=True, text=True, check=True).stdout

    def _words(self) -> list[str]:
        """Names that occur in the trees, the same for every engine."""
        found: set[str] = set()
        self._random.seed(24)
        for tree in self._random.sample(self._made, min(5, len(self._made))):
            files = sorted(path for path in tree.rglob("*.*") if path.suffix in {".py", ".rs", ".go", ".js", ".ts"})
            for path in self._random.sample(files, min(30, len(files))):
                names = IDENTIFIER.findall(path.read_text("utf-8", "replace"))
                found.update(self._random.sample(names, min(3, len(names))))
        return self._random.sample(sorted(found), min(len(found), 4 * self._given.queries))

    # ---- engines

    @contextmanager
    def _local_index(self, home: Path) -> Iterator[Workspace]:
        """The same trees as roots of one workspace, in this process."""
        with Workspace.open(*map(str, self._made), home=str(home), settings=load("/", {}).settings) as workspace:
            workspace.index()
            workspace.wait_for_vectors()
            yield workspace

    def _local(self, home: Path, words: list[str]) -> dict[str, float]:
        with self._local_index(home) as workspace:
            workspace.search(phrase(words, words[0])), workspace.grep(words[0], stop=200)
            before = process_seconds()
            search = timed([partial(workspace.search, phrase(words, word)) for word in self._some(words)])
            between = process_seconds()
            grep = timed([partial(workspace.grep, word, stop=200) for word in self._some(words)])
            cpu = {"search": between - before, "grep": process_seconds() - between}
        return {**figures("search", search, cpu["search"]), **figures("grep", grep, cpu["grep"])}

    def _shared(self, words: list[str]) -> dict[str, float]:
        with self._servers(1, self._storage.environ) as (url,), self._client(url) as client:
            calls = [call(client, "search", query=phrase(words, word)) for word in self._some(words)]
            greps = [call(client, "grep", pattern=word) for word in self._some(words)]
            until_warm(client)
            calls[0](), greps[0]()
            before = metric(client, CPU)
            search = timed(calls)
            between = metric(client, CPU)
            grep = timed(greps)
            cpu = {"search": between - before, "grep": metric(client, CPU) - between}
            memory = metric(client, "llmc_resident_bytes")
        found = {**figures("search", search, cpu["search"]), **figures("grep", grep, cpu["grep"])}
        return {**found, "resident_mb": round(memory / 1e6)}

    def _some(self, words: list[str]) -> list[str]:
        """The same sample for every engine."""
        return random.Random(24).sample(words, min(self._given.queries, len(words)))

    def _commit(self) -> dict[str, float]:
        """A commit with 50 changed files: how long publishing takes, and when another server has it."""
        tree = self._made[0]
        git(tree, "init", "-q", "-b", "main")
        git(tree, "add", "-A", "-f")
        files = sorted(path for path in tree.rglob("*") if path.is_file() and ".git" not in path.parts)
        mark = f"marker{int(time.time())}"
        for path in self._random.sample(files, min(CHANGED_FILES, len(files))):
            path.write_bytes(path.read_bytes() + f"\n{mark}\n".encode())
        git(tree, "add", "-A", "-f")
        git(tree, *WHO, "commit", "-q", "-m", "two")
        with self._servers(1, self._storage.environ) as (url,), self._client(url) as client:
            began = time.monotonic()
            self._publish(tree)
            published = time.monotonic()
            while not call(client, "grep", pattern=mark, files=True)().json().get("total"):
                time.sleep(0.05)
            seen = time.monotonic()
        return {"publish_seconds": round(published - began, 2), "visible_after_seconds": round(seen - published, 2)}

    def _throughput(self, servers: int, words: list[str], *, pinned: bool = False) -> dict[str, float]:
        """Different searches by `CLIENTS` clients, spread over the servers, with a slow storage. Servers, clients,
        proxy and storage share this machine, so the result has the cores that each of them used. `pinned` gives every
        server a core of its own, as if it were a machine with one: then a second server adds what a second machine
        would, less what the others take from its core."""
        with proxied(self._storage.port) as proxy:
            proxy.latency = self._given.latency
            with self._servers(servers, self._storage.through(proxy.port), pinned=pinned) as urls, ExitStack() as stack:
                watched = [stack.enter_context(self._client(url)) for url in urls]
                for one in watched:
                    until_warm(one)
                done, answered = threading.Event(), [0] * CLIENTS

                def work(number: int) -> None:
                    chosen = random.Random(number)
                    with self._client(urls[number % len(urls)]) as client:
                        while not done.is_set():
                            query = " ".join(chosen.sample(words, 3))
                            answered[number] += call(client, "search", query=query)().status_code == 200

                threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
                for thread in threads:
                    thread.start()
                time.sleep(self._given.seconds / 2)  # caches of indexes fill
                before = UsageSnapshot.now(watched, sum(answered), proxy.requests)
                time.sleep(self._given.seconds)
                after = UsageSnapshot.now(watched, sum(answered), proxy.requests)
                done.set()
                for thread in threads:
                    thread.join()
        return {"servers": servers, **after.since(before)}

    @contextmanager
    def _servers(self, count: int, environ: dict[str, str], *, pinned: bool = False) -> Iterator[list[str]]:
        command = [sys.executable, "-m", "llmc", "serve", "--http", "127.0.0.1:0", "--json", "--shared", self._url]
        with ExitStack() as stack:
            processes = [
                stack.enter_context(
                    subprocess.Popen(
                        [*command, "--tokens", self._tokens],
                        env={**self._home, **environ},
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        text=True,
                    )
                )
                for _ in range(count)
            ]
            for core, process in enumerate(processes if pinned else ()):
                os.sched_setaffinity(process.pid, {core})
            try:
                yield [json.loads(one.stdout.readline())["url"] for one in processes if one.stdout]
            finally:
                for one in processes:
                    one.terminate()

    def _client(self, url: str) -> httpx.Client:
        return httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {self._token}"}, timeout=120, trust_env=False
        )


@dataclass(frozen=True)
class UsageSnapshot:
    """CPU seconds up to now: servers, this process (clients and proxy) and the whole machine."""

    moment: float
    servers: float
    benchmark: float
    machine: float
    answers: int
    requests: int

    @classmethod
    def now(cls, servers: list[httpx.Client], answers: int, requests: int) -> UsageSnapshot:
        used = sum(metric(one, CPU) for one in servers)
        return cls(time.monotonic(), used, process_seconds(), machine_seconds(), answers, requests)

    def since(self, before: UsageSnapshot) -> dict[str, float]:
        passed, answers = self.moment - before.moment, self.answers - before.answers
        servers, benchmark = self.servers - before.servers, self.benchmark - before.benchmark
        others = self.machine - before.machine - servers - benchmark
        return {
            "per_second": round(answers / passed, 2),
            "server_cpu_ms_per_call": round(1000 * servers / answers, 1) if answers else 0.0,
            "cores_of_servers": round(servers / passed, 2),
            "cores_of_clients_and_proxy": round(benchmark / passed, 2),
            "cores_of_storage_and_others": round(others / passed, 2),
            "storage_requests_per_call": round((self.requests - before.requests) / answers, 1) if answers else 0.0,
        }


def machine_seconds() -> float:
    """CPU time of all processes, without idle and wait time."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()
    user, nice, system, _idle, _waiting, *interrupts = map(int, fields[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def phrase(words: list[str], word: str) -> str:
    """Two names: a single name is answered from the catalog."""
    return f"{word} {words[(words.index(word) + 1) % len(words)]}"


def call(client: httpx.Client, tool: str, **args: Any) -> Callable[[], httpx.Response]:
    return lambda: client.post(f"/tools/{tool}", json=args)


def metric(client: httpx.Client, name: str) -> float:
    return float(re.findall(rf"^{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)[0])


def timed(calls: list[Callable[[], Any]]) -> list[float]:
    found = []
    for act in calls:
        began = time.perf_counter()
        act()
        found.append(1000 * (time.perf_counter() - began))
    return sorted(found)


def figures(name: str, times: list[float], cpu: float) -> dict[str, float]:
    """Medians of wall time, and the mean CPU time, which does not depend on the load of the machine."""
    return {
        f"{name}_p50_ms": round(statistics.median(times), 1),
        f"{name}_p95_ms": round(times[-len(times) // 20 - 1], 1),
        f"{name}_cpu_ms": round(1000 * cpu / len(times), 1),
    }


def process_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def until_warm(client: httpx.Client) -> None:
    """A server loads the indexes that fit into its memory after it has started."""
    before = -1.0
    while (used := metric(client, CPU)) - before > IDLE_CPU:
        before = used
        time.sleep(WARM_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
