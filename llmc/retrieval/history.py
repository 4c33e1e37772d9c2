"""Who changed this, when and why? Commits that touched a path or the file of a symbol, or that mention a topic.

Answers come from the log of commits that `commit_log` keeps. Only files that the index of this root holds now are
named, so that what is denied, ignored or gone is counted and not named. Which commits touched the lines of a symbol is
not known: those of its file are given, and the result says so.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from llmc.base import words
from llmc.base.bm25 import bm25, query_terms
from llmc.base.errors import NotFoundError
from llmc.retrieval.commit_log import load_log, refresh

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.base.git_folder import GitCommit
    from llmc.retrieval.view import View

__all__ = ["CommitHit", "HistoryKind", "HistoryRequest", "HistoryResult", "history"]

# How long the first call of a root waits for its history; then it answers from the commits read so far.
WAIT_SECONDS: Final = 5.0
MOST_FILES: Final = 8
MOST_TOGETHER: Final = 8
# Files that changed together once may have done so by chance.
LEAST_TOGETHER: Final = 2


class HistoryKind(StrEnum):
    PATH = "path"
    SYMBOL = "symbol"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    target: str
    limit: int = 20


@dataclass(frozen=True, slots=True)
class CommitHit:
    """`files` are the changed files that the index has; `others` counts the rest."""

    id: str
    time: int
    author: str
    subject: str
    body: str
    files: tuple[str, ...]
    others: int

    @property
    def day(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self.time))


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """`about` are the files whose commits are listed; `together` are files that changed in the same commits, with the
    number of times."""

    kind: HistoryKind
    root: str
    about: tuple[str, ...]
    commits: tuple[CommitHit, ...]
    total: int
    together: tuple[tuple[str, int], ...]
    read: int
    is_read: bool
    every_word: bool = True  # whether the commits mention all words of the target, not just some


def history(views: Sequence[View], request: HistoryRequest) -> HistoryResult:
    """From the first root with a git history that knows the target; by words if no root knows it as a path or name."""
    trouble: NotFoundError | None = None
    found: list[HistoryResult] = []
    for view in views:
        try:
            found.append(_of_view(view, request))
        except NotFoundError as error:
            trouble = error
    if not found:
        raise trouble or NotFoundError("there is no root to ask")
    named = (result for result in found if result.kind is not HistoryKind.WORDS and result.commits)
    return next(named, None) or max(found, key=lambda result: len(result.commits))


def _of_view(view: View, request: HistoryRequest) -> HistoryResult:
    git, is_done = refresh(view.root.path, view.store.folder, WAIT_SECONDS)
    log = load_log(view.store.folder, git.head)
    if is_done and not log.commits:
        raise _unreadable(borrows=git.borrows)
    kind, about = _about(view, request.target)
    every_word = True
    if kind is HistoryKind.WORDS:
        hits, every_word = _mentioning(log.commits, request.target)
    else:
        touched = frozenset(about)
        hits = [commit for commit in log.commits if not touched.isdisjoint(commit.paths)]
    present = frozenset(view.store.catalog.places(view.root.id).paths())
    return HistoryResult(
        kind,
        view.root.id,
        about,
        tuple(_hit(commit, present) for commit in hits[: request.limit]),
        len(hits),
        tuple(_together(hits, present, frozenset(about))) if about else (),
        len(log.commits),
        is_done,
        every_word,
    )


def _unreadable(*, borrows: bool) -> NotFoundError:
    if borrows:
        return NotFoundError(
            "the git history cannot be read",
            reason="its objects are in another repository (git alternates), and llmc reads only this one",
            hint="Copy them with: git repack -a -d && rm .git/objects/info/alternates",
        )
    return NotFoundError("the git history cannot be read", reason="the commit at HEAD is missing or broken")


def _about(view: View, target: str) -> tuple[HistoryKind, tuple[str, ...]]:
    places = view.store.catalog.places(view.root.id)
    path = target.strip().removeprefix("./").rstrip("/")
    paths = places.holding(path)[1] if path else []
    exact = [one for one in paths if one == path or one.startswith(f"{path}/")]
    ending = exact or [one for one in paths if one.endswith(f"/{path}")]
    if ending:
        return HistoryKind.PATH, tuple(ending)
    if " " not in path and (docs := view.store.catalog.defining(path)):
        defining = places.paths_of(docs)
        if defining:
            return HistoryKind.SYMBOL, tuple(defining)
    return HistoryKind.WORDS, ()


def _mentioning(commits: Sequence[GitCommit], text: str) -> tuple[list[GitCommit], bool]:
    """(the commits whose messages have every word, best first, True); if there are none, (those with some, False)."""
    telling = [word for word in words.query_words(text) if not word.stop]
    wanted, every = query_terms(telling), {word.term for word in telling}
    analysed = [words.body(commit.message).split() for commit in commits]
    counts = [{term: body.count(term) for term in wanted if term in body} for body in analysed]
    scores = bm25(counts, [len(body) for body in analysed], wanted)
    ranked = sorted(zip(scores, range(len(commits)), strict=True), key=lambda one: (-one[0], one[1]))
    found = [at for score, at in ranked if score > 0]
    complete = [at for at in found if every <= counts[at].keys()]
    return [commits[at] for at in complete or found], bool(complete or not found)


_ADDRESS = re.compile(r"[ \t]*<[^<>\s]{1,100}@[^<>\s]{1,200}>")
_TRAILER = re.compile(
    r"^(?:co-authored-by|signed-off-by|reviewed-by|acked-by|tested-by|reported-by|change-id|cc):[^\n]*\n?",
    re.IGNORECASE | re.MULTILINE,
)


def _hit(commit: GitCommit, present: frozenset[str]) -> CommitHit:
    subject, _, body = _ADDRESS.sub("", commit.message).partition("\n")
    body = _TRAILER.sub("", body)
    files = tuple(path for path in commit.paths if path in present)
    others = len(commit.paths) - len(files[:MOST_FILES])
    return CommitHit(commit.id, commit.time, commit.author, subject, body.strip(), files[:MOST_FILES], others)


def _together(
    commits: Iterable[GitCommit], present: frozenset[str], about: frozenset[str]
) -> Iterable[tuple[str, int]]:
    counts = Counter(path for commit in commits for path in commit.paths if path in present and path not in about)
    return ((path, count) for path, count in counts.most_common(MOST_TOGETHER) if count >= LEAST_TOGETHER)
