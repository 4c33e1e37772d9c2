"""Did a change of structure change a reply?

    python -m bench.recorded record BEFORE.json        on the code before
    python -m bench.recorded compare BEFORE.json       on the code after

About 400 calls over the CLI, MCP (stdio) and REST on the demo and two source archives: every read-only tool, errors,
handles, focus, personas and delegates. Two things are kept of each reply: its *facts* (paths with line numbers in
their order, numbers of the first line, exit or error code, what the handle opens) and its text. `compare` fails if a
fact differs, and shows differences of the text apart, since those may be intended. Names to ask for are drawn from
the files by a fixed seed, so two runs ask the same.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import trees
from bench.server import PYTHON, Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

DEMO = Path(__file__).parent.parent / "data" / "demo"
ARCHIVES = (("flask", "3.1.0"), ("click", "8.1.8"))
NAME = re.compile(r"^\s*(?:async )?(?:def|class|function|func|fn) (\w{4,})", re.MULTILINE)
HANDLE = re.compile(r"\bh[a-z2-7]{4}\b|\bh[a-z2-7]{26}\b")
PLACE = re.compile(r"(?:[\w.@-]+/)*[\w@-]+\.[A-Za-z]\w{0,8}(?::\d+(?:-\d+)?)?|^\s*\d+(?:-\d+)?\b", re.MULTILINE)
# Times, sizes, dates, processes, sessions and folders of one run.
VOLATILE = re.compile(
    r"\b\d+(?:\.\d+)? ?(?:ms|s|MB|min)\b|\b\d{4}-\d\d-\d\d[T ][\d:.]+\S*|\bpid \d+|\bs[0-9a-f]{8}\b|llmc-bench-\w+"
)


def questions(tree: Path, seed: int) -> list[tuple[str, dict[str, Any]]]:
    """Tool calls with answers in this tree, and some without."""
    files = sorted(path for path in tree.rglob("*") if path.suffix in {".py", ".ts", ".go", ".java", ".rs", ".sh"})
    texts = {str(path.relative_to(tree)): path.read_text("utf-8", "replace") for path in files}
    chance = random.Random(seed)
    names = chance.sample(sorted({name for text in texts.values() for name in NAME.findall(text)}), 16)
    paths = chance.sample(sorted(texts), 8)
    graph = ("refs", "calls", "callers", "impls", "tests", "impact")
    asked: list[tuple[str, dict[str, Any]]] = []
    asked += [("search", {"query": f"{first} {second}"}) for first, second in itertools.pairwise(names)]
    asked += [("search", {"query": f"where is {name.replace('_', ' ')} used", "explain": True}) for name in names[:4]]
    asked += [("grep", {"pattern": name}) for name in names]
    asked += [("grep", {"pattern": rf"\b{name[:4]}\w+\(", "budget": 200}) for name in names[:6]]
    asked += [("grep", {"pattern": "return", "all": True}), ("grep", {"pattern": "import", "glob": "*.py"})]
    asked += [("find", {"name": name[:5]}) for name in names[:4]]
    asked += [("read", {"target": path}) for path in paths]
    asked += [("read", {"target": [f"{path}:1-20", f"{path}:10-40"]}) for path in paths[:4]]
    asked += [("read", {"target": name, "context_focus_question": "what does it return?"}) for name in names[:4]]
    asked += [("outline", {"path": path}) for path in paths[:4]]
    asked += [(tool, {"name": name}) for tool in graph for name in names[:5]]
    asked += [("path", {"source": names[0], "target": names[1]})]
    asked += [("tree", {"depth": depth}) for depth in (1, 2)]
    asked += [("context", {"query": name}) for name in names[:3]]
    asked += [("research_codebase", {"question": f"where is {name} defined?"}) for name in names[:4]]
    asked += [("locate_in_codebase", {"query": names[0]}), ("find_patterns", {"pattern": names[1]})]
    asked += [("analyze_component", {"component": names[2]}), ("ask", {"question": f"who calls {names[3]}?"})]
    asked += [("llmc", {}), ("llmc", {"name": "grep"}), ("llmc", {"name": "tree", "args": {"depth": 1}})]
    asked += [("list_roots", {}), ("ping", {}), ("history", {"target": paths[0]})]
    asked += [("grep", {"pattern": "("}), ("read", {"target": "nothing/here.py"}), ("read", {"target": "../outside"})]
    asked += [("search", {}), ("grep", {"pattern": "x", "budget": 1}), ("read", {"target": "hzzzz"}), ("nonsense", {})]
    return asked


def commands(tree: Path, seed: int) -> list[list[str]]:
    """Every third call as a command line, and calls that only the command line has."""
    found = []
    for name, args in questions(tree, seed)[::3]:
        words = [str(word) for value in args.values() for word in (value if isinstance(value, list) else [value])]
        if name in {"search", "grep", "find", "outline", "refs", "calls", "callers", "impls", "tests", "impact"}:
            found.append([name, words[0]] if words else [name])
        elif name == "read":
            found.append([name, *words[:2]])
    own = (["agent", "list"], ["agent", "show", "architect"], ["delegate", "list"], ["roots"], ["config", "show"])
    return [*found, *map(list, own), ["grep", "--json", "return"], ["grep", "-l", "import"], ["search", "--json", "x"]]


def facts(text: str, code: Any) -> dict[str, Any]:
    first = text.partition("\n")[0]
    return {
        "code": code,
        "numbers": re.findall(r"\d+", VOLATILE.sub("", HANDLE.sub("", first))),
        "places": [place.strip() for place in PLACE.findall(HANDLE.sub("", VOLATILE.sub("", text)))],
    }


def entry(name: str, text: str, code: Any, rest: str = "") -> tuple[str, dict[str, Any]]:
    kept = {"facts": facts(text, code), "text": VOLATILE.sub("_", HANDLE.sub("h____", text))}
    return name, {**kept, "rest": facts(rest, 0)} if rest else kept


class Recorder:
    """One tree, its daemon, and the three surfaces."""

    def __init__(self, tree: Path, home: str) -> None:
        self.tree = tree
        own = {"LLMC_HOME": home, "XDG_CONFIG_HOME": home, "LLMC_ROOTS": str(tree)}
        self.environ = {**os.environ, **own}

    def llmc(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*PYTHON, "-m", "llmc", *words]
        return subprocess.run(command, env=self.environ, cwd=self.tree, text=True, capture_output=True, check=False)

    def over_mcp(self, asked: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
        peer = Peer([*PYTHON, "-m", "llmc", "serve", "--profile", "full"], self.environ, str(self.tree))
        peer.greet()

        def call(name: str, args: dict[str, Any]) -> tuple[str, Any]:
            reply = peer.ask("tools/call", {"name": name, "arguments": args})
            if "error" in reply:
                return str(reply["error"].get("message")), reply["error"].get("code")
            result = reply["result"]
            text = "\n".join(one.get("text", "") for one in result["content"])
            return text, bool(result.get("isError"))

        for name, args in asked:
            text, code = call(name, args)
            handles = HANDLE.findall(text.rpartition("\n")[2])
            rest = call("read", {"target": handles[-1]})[0] if handles and name != "read" else ""
            yield entry(f"mcp {name} {json.dumps(args, sort_keys=True)}", text, code, rest)
        listed = [tool["name"] for tool in peer.ask("tools/list", {})["result"]["tools"]]
        prompts = [one["name"] for one in peer.ask("prompts/list", {})["result"]["prompts"]]
        yield entry("mcp lists", "\n".join([*listed, *prompts]), 0)
        peer.close()

    def over_rest(self, asked: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
        token = self.llmc("token", "show").stdout.strip()
        with self.http() as url:
            for name, args in asked:
                answered = post(f"{url}/tools/{name}", args, token)
                yield entry(f"rest {name} {json.dumps(args, sort_keys=True)}", *answered)

    @contextmanager
    def http(self) -> Iterator[str]:
        command = [*PYTHON, "-m", "llmc", "serve", "--http", "127.0.0.1:0"]
        server = subprocess.Popen(command, env=self.environ, cwd=self.tree, text=True, stdout=subprocess.PIPE)
        assert server.stdout is not None
        for line in server.stdout:
            if found := re.search(r"http://[\d.]+:\d+", line):
                yield found[0]
                break
        server.terminate()
        server.communicate()

    def over_cli(self, typed: list[list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
        for words in typed:
            done = self.llmc(*words)
            yield entry(f"cli {' '.join(words)}", done.stdout + done.stderr, done.returncode)


def post(url: str, args: dict[str, Any], token: str) -> tuple[str, Any]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, json.dumps(args).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            body, status = json.load(reply), reply.status
    except urllib.error.HTTPError as error:
        body, status = json.load(error), error.code
    return str(body.get("text") or body.get("error") or body), status


def record() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for seed, tree in enumerate([DEMO, *(trees.sdist(*archive) for archive in ARCHIVES)]):
        with tempfile.TemporaryDirectory(prefix="llmc-bench-") as home:
            recorder = Recorder(tree, home)
            recorder.llmc("index", "--once", "--quiet")
            asked = questions(tree, seed)
            entries = [
                *recorder.over_mcp(asked),
                *recorder.over_rest(asked[::4]),
                *recorder.over_cli(commands(tree, seed)),
            ]
            found |= {f"{tree.name}: {name}": kept for name, kept in entries}
            recorder.llmc("stop", "--quiet")
        print(f"{tree.name}: {len(entries)} calls", file=sys.stderr)
    return found


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """The number of calls whose facts differ; their texts are printed."""
    changed = [name for name in before if facts_of(before[name]) != facts_of(after.get(name, {}))]
    worded = [name for name in before if name not in changed and before[name]["text"] != after[name]["text"]]
    for title, names in (("other facts", changed), ("other wording only", worded)):
        for name in names:
            print(f"\n=== {title}: {name}")
            old, new = before[name]["text"], after.get(name, {}).get("text", "(not asked)")
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
            print("\n".join(list(lines)[2:40]))
    print(f"\n{len(before)} calls, {len(changed)} with other facts, {len(worded)} with other wording only")
    return len(changed)


def facts_of(kept: dict[str, Any]) -> tuple[Any, Any]:
    return kept.get("facts"), kept.get("rest")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    found = record()
    if arguments.action == "record":
        arguments.file.write_text(json.dumps(found, indent=1))
        print(f"{len(found)} calls recorded")
    else:
        sys.exit(compare(json.loads(arguments.file.read_text()), found) > 0)


if __name__ == "__main__":
    main()
