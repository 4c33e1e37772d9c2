"""Servers of shared indexes, asked beside the local roots and merged into one reply.

A remote is asked while the local roots are, and has its own time limit: one that is slow or dead costs a reply no more
than that, is named in its first line, and is left alone for some seconds. Repositories that are checked out here are
left out on the other side, so the local files win and nothing is listed twice. Items of a remote have no root; their
path is `repo@ref:path`, which `read` opens there.
"""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from llmc.base.concurrency import released
from llmc.base.errors import LlmcError, NotFoundError, QueryError
from llmc.base.git_folder import origin_name
from llmc.base.outbound import ExchangeError, Exchanger, ExchangeTimeoutError
from llmc.envelope.packing import unpack
from llmc.tools.scope import in_scope

if TYPE_CHECKING:
    from concurrent.futures import Future

    from llmc.envelope import Envelope, Group
    from llmc.settings import RemoteEntry
    from llmc.tool import Tool, ToolRequest
    from llmc.workspace import Workspace

__all__ = ["asks_remotes", "in_scope_anywhere", "local_target", "read_remote", "run_anywhere"]

MERGED: Final = frozenset({"search", "grep", "refs"})
# These concern the reply as a whole, or paths of this machine.
OWN_ARGUMENTS: Final = frozenset({"budget", "all", "fresh", "fields", "repo", "context_focus_question"})
NAMED: Final = re.compile(r"(?P<repo>[^@:\s]+)(?P<ref>@[^:\s]+)?:(?P<path>[^:].*)", re.DOTALL)
MOST_BYTES: Final = 8 << 20
REST_SECONDS: Final = 10.0
# Groups of each side that come before the rest of both.
LEADING: Final = 3
OK, NOT_FOUND = 200, 404
UNAUTHORISED: Final = frozenset({401, 403})


def asks_remotes(request: ToolRequest) -> bool:
    """Only calls of clients: the steps of research and the page are about the roots."""
    settings = request.workspace.settings
    return (
        bool(settings.remotes)
        and request.name in MERGED
        and request.ledger is not None
        and not request.workspace.is_shared
        and not request.texts("path")
        and not (request.stream and request.flag("all"))
    )


def in_scope_anywhere(request: ToolRequest) -> ToolRequest:
    """`in_scope`; repositories and refs that are not here may be on a remote."""
    try:
        return in_scope(request)
    except (NotFoundError, QueryError):
        if not asks_remotes(request):
            raise
        return replace(request, workspace=replace(request.workspace, root_indexes=(), owned=False))


def run_anywhere(request: ToolRequest, wanted: Tool) -> Envelope:
    """The envelope of the local roots, and of every remote that answers in time."""
    asked = [(entry, POOL.submit(remote_of(entry).ask, request)) for entry in request.workspace.settings.remotes]
    envelope = wanted.run(request)
    with released():
        answers = [(entry.name, outcome(future)) for entry, future in asked]
    if not request.workspace.root_indexes and not any(not isinstance(found, str) for _, found in answers):
        trouble = [found for _, found in answers if isinstance(found, str) and found]
        named = " ".join(f"{name}:{value}" for name in ("repo", "ref") for value in request.texts(name))
        raise NotFoundError(
            f"no root and no repository of a remote matches {named}".rstrip(),
            reason="; ".join(trouble),
            hint="Use the name that replies show before the `@`, or a pattern such as `team/*`.",
        )
    return merged(envelope, answers)


def outcome(future: Future[Envelope | str]) -> Envelope | str:
    try:
        return future.result()
    except LlmcError as error:
        return error.message


def merged(envelope: Envelope, answers: list[tuple[str, Envelope | str]]) -> Envelope:
    """Local groups first, then those of each remote; the leading ones of all before the rest."""
    found, notes, sides = [envelope.found], list(envelope.notes), [list(envelope.groups)]
    seen: set[str] = set()
    for name, answer in answers:
        if isinstance(answer, str):
            notes += [f"{name} {answer}"] if answer else []
            continue
        groups = [group for group in answer.groups if not paths_of(group) & seen]
        seen |= {path for group in groups for path in paths_of(group)}
        sides.append(groups)
        found.append(f"{name}: {answer.found}")
        notes += answer.notes
    leading = [group for side in sides for group in side[:LEADING]]
    rest = [group for side in sides for group in side[LEADING:]]
    return replace(envelope, found=" · ".join(found), notes=tuple(notes), groups=(*leading, *rest))


def paths_of(group: Group) -> set[str]:
    return {item.path for item in group.items if item.path}


# ---- reading one file


def local_target(workspace: Workspace, text: str) -> str:
    """`repo:path` of a repository that is checked out here, as the path of that file."""
    named = NAMED.fullmatch(text) if workspace.settings.remotes else None
    if named is None or named["ref"]:
        return text
    here = (one.root.path for one in workspace.root_indexes if origin_name(one.root.path) == named["repo"])
    return next((f"{folder}/{named['path']}" for folder in here), text)


def read_remote(request: ToolRequest, target: str) -> Envelope | None:
    """`repo@ref:path` on the first remote that has it; None if `target` has another form, or no remote has it."""
    remotes = request.workspace.settings.remotes if NAMED.fullmatch(target) else ()
    trouble = []
    for entry in remotes:
        found = remote_of(entry).ask(replace(request, name="read", args={"target": target}))
        if not isinstance(found, str):
            return found
        trouble += [f"{entry.name} {found}"] if found else []
    if trouble:
        raise NotFoundError(f"{target} could not be looked up", reason="; ".join(trouble), hint="Try again.")
    return None


# ---- one remote


@dataclass
class Remote:
    """Thread-safe. `ask` returns the envelope, or why there is none; the reason is empty if the remote has nothing
    requested."""

    entry: RemoteEntry
    exchanger: Exchanger = field(init=False)
    _resting_until: float = 0.0

    def __post_init__(self) -> None:
        token = "" if self.entry.token.missing else self.entry.token.reveal()
        self.exchanger = Exchanger({"Authorization": f"Bearer {token}"} if token else {})

    def ask(self, request: ToolRequest) -> Envelope | str:
        if missing := self.entry.token.missing:
            return f"was not asked: the environment has no {', '.join(missing)}"
        if time.monotonic() < self._resting_until:
            return "was not asked: it did not answer a moment ago"
        url = f"{self.entry.url.rstrip('/')}/envelopes/{request.name}"
        seconds = self.entry.timeout_ms / 1000
        try:
            answered = self.exchanger.exchange(
                "POST",
                url,
                seconds=seconds,
                most=MOST_BYTES,
                content=orjson.dumps(self._arguments(request)),
                cancelled=lambda: request.cancelled,
            )
        except ExchangeTimeoutError:
            self._resting_until = time.monotonic() + REST_SECONDS
            return f"did not respond within {seconds:g} s"
        except ExchangeError as error:
            self._resting_until = time.monotonic() + REST_SECONDS
            return f"cannot be reached ({error.kind})"
        return read_answer(answered.status, answered.body)

    def _arguments(self, request: ToolRequest) -> dict[str, Any]:
        """Without repositories that are checked out here, unless one of their refs is requested."""
        args = {name: value for name, value in request.args.items() if name not in OWN_ARGUMENTS}
        if request.name == "read":
            return args
        wanted = list(request.texts("repo")) or list(self.entry.repositories)
        names = {origin_name(one.root.path) for one in request.workspace.root_indexes} - {""}
        local = [] if request.texts("ref") else sorted(names)
        repos = [*wanted, *(f"!{name}" for name in local)]
        return {**args, "repo": repos} if repos else args


def read_answer(status: int, body: bytes) -> Envelope | str:
    if status == NOT_FOUND:
        return ""
    if status in UNAUTHORISED:
        return "refused the token"
    try:
        answer = orjson.loads(body)
        if status != OK:
            return f"failed: {answer['error']['message']}"
        envelope = unpack(answer["data"]["envelope"])
    except (ValueError, KeyError, TypeError, IndexError):
        return f"sent a reply that cannot be read (HTTP {status})"
    groups = tuple(
        replace(group, items=tuple(replace(item, root="", path=remote_path(item)) for item in group.items))
        for group in envelope.groups
    )
    return replace(envelope, groups=groups)


def remote_path(item: Any) -> str:
    return f"{item.root}:{item.path}" if item.root and item.path else str(item.path)


POOL: Final = ThreadPoolExecutor(16, "llmc-remotes")
_REMOTES: Final[dict[RemoteEntry, Remote]] = {}
_LOCK: Final = threading.Lock()
MOST_REMOTES: Final = 64


def remote_of(entry: RemoteEntry) -> Remote:
    """The same for all calls, since it keeps connections open."""
    with _LOCK:
        found = _REMOTES.get(entry)
        if found is None:
            if len(_REMOTES) >= MOST_REMOTES:
                _REMOTES.pop(next(iter(_REMOTES))).exchanger.close()
            found = _REMOTES[entry] = Remote(entry)
        return found
