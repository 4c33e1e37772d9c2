"""Does the first reply name every file that a developer's answer cites? SWE-QA questions, asked as they are.

    python -m bench.citations DIR (--repos DIR | --mirror DIR) [--tool research_codebase] [--json]

DIR has `questions.jsonl` with `repo`, `question` and the `cited` paths of a reference answer, and `repos.json` with
`name`, `repo` and `commit` of each repository, whose files are written from the git directories below `--mirror`, or
whose checkout is in `--repos`. The reply is what `search` (or another tool) prints by default, made by the function
that all surfaces call: a file counts only if the text names it, and the text is counted in tokens. Fair because nothing
but the question is given. Paths are cited as people write them, so each means the file whose path ends with it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bench.checkouts import trees_in, write_trees
from bench.tool_calls import answer
from bench.trees import cache
from llmc.envelope.handles import Handles
from llmc.envelope.tokens import count
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Reply", "cited_file", "figures"]


@dataclass(frozen=True, slots=True)
class Reply:
    repo: str
    cited: frozenset[str]
    named: frozenset[str]
    tokens: int


def cited_file(cited: str, paths: Sequence[str]) -> str:
    """The file that a citation refers to; the citation itself if there is none."""
    plain = cited.removeprefix("./").lstrip("/")
    exact = (path for path in paths if path == plain)
    ending = (path for path in paths if path.endswith(f"/{plain}"))
    return next(exact, None) or next(ending, plain)


def figures(replies: Sequence[Reply]) -> dict[str, float]:
    return {
        "questions": len(replies),
        "all cited": round(fmean(reply.cited <= reply.named for reply in replies), 3),
        "any cited": round(fmean(bool(reply.cited & reply.named) for reply in replies), 3),
        "tokens": round(fmean(reply.tokens for reply in replies)),
    }


def names(text: str, path: str) -> bool:
    """Whether the text names this path, on a line of its own or with a line number, and not a longer one."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-]|\.\w)", text) is not None


def ask(folder: Path, rows: Sequence[dict[str, Any]], home: Path, tool: str) -> list[Reply]:
    with Workspace.open(str(folder), home=str(home)) as workspace:
        workspace.index()
        (view,) = workspace.views()
        paths = view.store.catalog.places(view.root.id).paths()
        handles = Handles(str(home / "handles"))
        found = []
        for row in rows:
            reply = answer(workspace, handles, tool, {"query" if tool == "search" else "question": row["question"]})
            cited = frozenset(cited_file(one, paths) for one in row["cited"])
            named = frozenset(one for one in cited if names(reply.text, one))
            found.append(Reply(row["repo"], cited, named, count(reply.text)))
        handles.close()
        return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.citations", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="questions.jsonl and repos.json")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--repos", type=Path, help="a checkout of each repository")
    source.add_argument("--mirror", type=Path, help="git directories, owner+name/repo")
    parser.add_argument("--tool", choices=("search", "research_codebase", "ask"), default="search")
    parser.add_argument("--cache", type=Path, default=cache() / "citations", help="where the indexes are kept")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    lines = (given.folder / "questions.jsonl").read_text("utf-8").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    replies: list[Reply] = []
    if given.repos:
        trees = trees_in(given.folder, given.repos)
    else:
        trees = write_trees(given.folder, given.mirror, cache() / "checkouts")
    for repo, tree in trees:
        print(repo["name"], file=sys.stderr, flush=True)
        wanted = [row for row in rows if row["repo"] == repo["name"] and row["cited"]]
        if wanted:
            replies += ask(tree, wanted, given.cache / repo["name"], given.tool)
    found = {"all": figures(replies)}
    found |= {repo: figures([one for one in replies if one.repo == repo]) for repo in {one.repo for one in replies}}
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        for name, row in found.items():
            print(f"{name:12} " + "  ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
