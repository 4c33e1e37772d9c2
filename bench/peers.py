"""Other tools on the same work: what does it cost to make Django searchable, and who finds the right file?

    python -m bench.peers [--json FILE]

`build` is Django's source archive, indexed by each tool's own command: CPU seconds, peak memory and size on disk.
`ranking` are the questions of the golden suite, each package asked by itself, NDCG@10 over files. Fair because trees,
questions and measure are the same. Models of others cannot be loaded offline, so semble ranks by its BM25 alone and
chunkhound indexes without embeddings, which is less work; llmc embeds with the model that it brings along. ripgrep
has no ranking: files are ordered by how many words of the question they contain, as an agent would narrow them down.
codegraph's files are those that `codegraph explore` quotes, in its order. `tokens` is the mean reply to an agent.
A tool without a figure is listed with the reason. Tools are installed by `bench.servers`, apart from everything else.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any

from bench import trees
from bench.daemon import SAMPLE_SECONDS, Daemon, Usage
from bench.judged import golden
from bench.quality import Answer, ndcg
from bench.servers import PEERS, CannotRun, installed
from llmc.envelope.tokens import count
from llmc.retrieval.grep import ripgrep

if TYPE_CHECKING:
    from bench.judged import Corpus
    from llmc.client.daemon_client import DaemonConnection

__all__ = ["Cost", "builds", "rankings"]

Ranked = tuple[list[str], int]  # files, best first; tokens of the reply

DJANGO = ("django", "5.2.7")
# Longer than any of them needs on an idle machine.
SECONDS = 600
TOP = 10
WORD_LETTERS = 4
QUIET = {"DO_NOT_TRACK": "1", "CODEGRAPH_TELEMETRY": "0"}
NOT_COMPARED = {
    "serena": "has no index of its own: language servers, which it downloads, answer while it runs",
    "desktop-commander": "has no index; its tokens are in the workload",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """`problem` says why there are no figures."""

    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    disk_mb: float = 0.0
    problem: str = ""


def builds(tree: Path) -> dict[str, dict[str, Any]]:
    found = {"llmc": asdict(llmc_build(tree))}
    for name, build in (("semble", semble_build), ("chunkhound", chunkhound_build), ("codegraph", codegraph_build)):
        print(f"  build: {name}", flush=True)
        try:
            found[name] = asdict(build(tree))
        except CannotRun as error:
            found[name] = asdict(Cost(problem=str(error)))
    return found | {name: asdict(Cost(problem=reason)) for name, reason in NOT_COMPARED.items()}


def llmc_build(tree: Path) -> Cost:
    with TemporaryDirectory(prefix="llmc-peer-", ignore_cleanup_errors=True) as folder:
        daemon = Daemon(Path(folder) / "home", [tree])
        try:
            cost, _ = run(daemon.command("index", "--once"), tree, environ=daemon.environ, home=daemon.home)
            return Cost(cost.cpu_seconds, cost.peak_mb, size_mb(daemon.home), cost.problem)
        finally:
            daemon.stop()


def semble_build(tree: Path) -> Cost:
    return run([*semble_command(), str(tree)], tree, said="[]")[0]


def semble_command() -> list[str]:
    python = installed(peer("semble")).with_name("python")
    return [str(python), str(Path(__file__).with_name("semble_runner.py"))]


def chunkhound_build(tree: Path) -> Cost:
    """On a copy that is a repository, since it asks git what to index."""
    program = installed(peer("chunkhound"))
    with TemporaryDirectory(prefix="llmc-peer-") as folder:
        copy = repository(tree, Path(folder))
        options = ["--no-embeddings", "--database-provider", "lancedb", "--db", f"{folder}/database"]
        cost, _ = run([str(program), "index", *options, str(copy)], copy)
        return Cost(cost.cpu_seconds, cost.peak_mb, size_mb(Path(folder) / "database"), cost.problem)


def codegraph_build(tree: Path) -> Cost:
    """It writes its index into the tree."""
    program = installed(peer("codegraph"))
    with TemporaryDirectory(prefix="llmc-peer-") as folder:
        copy = repository(tree, Path(folder))
        cost, _ = run([str(program), "init", "--yes", str(copy)], copy)
        return Cost(cost.cpu_seconds, cost.peak_mb, size_mb(copy / ".codegraph"), cost.problem)


def repository(tree: Path, folder: Path) -> Path:
    copy = folder / "tree"
    shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    trees.commit(copy)
    return copy


def peer(name: str) -> Any:
    return next(one for one in PEERS if one.name == name)


def rankings() -> dict[str, dict[str, Any]]:
    corpora = golden(trees.cache() / "packages")
    found: dict[str, dict[str, Any]] = {}
    tools = {"llmc": llmc_ranks, "semble, BM25": semble_ranks, "codegraph": codegraph_ranks, "ripgrep, words": rg_ranks}
    for name, rank in tools.items():
        print(f"  ranking: {name}", flush=True)
        scores: list[float] = []
        tokens: list[int] = []
        try:
            for corpus in corpora:
                ranked = rank(corpus)
                scores += scored(corpus, [files for files, _ in ranked])
                tokens += [spent for _, spent in ranked]
        except CannotRun as error:
            found[name] = {"problem": str(error)}
        else:
            mean = {"tokens": round(fmean(tokens))} if any(tokens) else {}
            found[name] = {"queries": len(scores), "ndcg@10": round(fmean(scores), 4), **mean}
    return found | {
        "chunkhound": {"problem": "ranks by embeddings, whose model cannot be loaded offline"},
        **{name: {"problem": reason} for name, reason in NOT_COMPARED.items()},
    }


def scored(corpus: Corpus, ranked: list[list[str]]) -> list[float]:
    answers = []
    for question, files in zip(corpus.questions, ranked, strict=True):
        ranks = {path: number for number, path in enumerate(files[:TOP], 1)}
        answers.append(Answer(corpus.name, question, tuple(map(ranks.get, question.wanted)), None, 0.0))
    return [ndcg(answer) for answer in answers]


def llmc_ranks(corpus: Corpus) -> list[Ranked]:
    """The files in the order of `search`, through the daemon; tokens are those of the reply that an agent gets."""
    with TemporaryDirectory(prefix="llmc-peer-", ignore_cleanup_errors=True) as home:
        daemon = Daemon(Path(home), [corpus.folder])
        try:
            daemon.run("index", "--once")
            with daemon.connected() as connection:
                return [searched(connection, question.text) for question in corpus.questions]
        finally:
            daemon.stop()


def searched(connection: DaemonConnection, question: str) -> Ranked:
    reply = connection.call("tool", {"name": "search", "args": {"query": question}})
    return [file["path"] for file in reply["data"]["files"]], count(reply["text"])


def semble_ranks(corpus: Corpus) -> list[Ranked]:
    questions = json.dumps([question.text for question in corpus.questions])
    cost, said = run([*semble_command(), str(corpus.folder)], corpus.folder, said=questions)
    if cost.problem:
        raise CannotRun(cost.problem)
    return [(files, 0) for files in json.loads(said.strip().splitlines()[-1])["ranked"]]


def codegraph_ranks(corpus: Corpus) -> list[Ranked]:
    program = str(installed(peer("codegraph")))
    with TemporaryDirectory(prefix="llmc-peer-") as folder:
        copy = repository(corpus.folder, Path(folder))
        cost, _ = run([program, "init", "--yes", str(copy)], copy)
        if cost.problem:
            raise CannotRun(cost.problem)
        return [explored(program, copy, question.text) for question in corpus.questions]


def explored(program: str, tree: Path, question: str) -> Ranked:
    """Quoted files have a heading; the others are mentioned."""
    _, said = run([program, "explore", question], tree)
    names = [*re.findall(r"\*\*`([^`\n]+)`\*\*", said), *re.findall(r"[\w./-]+\.\w+", said)]
    return [name for name in dict.fromkeys(names) if (tree / name).is_file()], count(said)


def rg_ranks(corpus: Corpus) -> list[Ranked]:
    return [(by_words(corpus.folder, question.text), 0) for question in corpus.questions]


def by_words(folder: Path, question: str) -> list[str]:
    words = {word.lower() for word in re.findall(r"\w+", question) if len(word) >= WORD_LETTERS}
    seen: Counter[str] = Counter()
    for word in sorted(words):
        command = [ripgrep.program() or "rg", "--no-config", "--files-with-matches", "--ignore-case", "-F", "-e", word]
        listed = subprocess.run([*command, "./"], cwd=folder, capture_output=True, text=True, check=False).stdout
        seen.update(path.removeprefix("./") for path in listed.splitlines())
    return [path for path, _ in sorted(seen.items(), key=lambda one: (-one[1], one[0]))[:TOP]]


def run(
    command: list[str], cwd: Path, *, said: str = "", environ: dict[str, str] | None = None, home: Path | None = None
) -> tuple[Cost, str]:
    """Output goes to a file, since processes that a peer leaves behind would hold a pipe open; they end with it. The
    usage of all descendants counts, and that of the daemon of `home`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LLMC_")} | QUIET
    usage = Usage(home)
    with TemporaryFile("w+") as output, TemporaryFile("w+") as given:
        given.write(said)
        given.seek(0)
        with subprocess.Popen(
            command, cwd=cwd, env=environ or clean, stdin=given, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:  # fmt: skip
            ends = time.monotonic() + SECONDS
            while process.poll() is None and time.monotonic() < ends:
                usage.look(process.pid)
                time.sleep(SAMPLE_SECONDS)
            code = process.poll()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        text = output.read()
    if code:
        return Cost(problem=f"{(text.strip().splitlines() or ['no output'])[-1][:200]} (exit code {code})"), ""
    if code is None:
        return Cost(problem=f"not finished after {SECONDS} s"), ""
    return Cost(usage.cpu, usage.peak / 1e6), text


def size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    found = {"ranking": rankings(), "build": builds(trees.sdist(*DJANGO).resolve())}
    for table, rows in found.items():
        for name, row in rows.items():
            told = row.get("problem") or "  ".join(f"{key} {value:g}" for key, value in row.items() if value)
            print(f"{table:8} {name:18} {told}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
