"""The same call again: the reply that was made for it, while nothing behind it has changed.

Agents that work together ask alike, and a search, its cleaning, cutting and keeping take 10 to 20 ms. What makes two
calls the same: tool, arguments, asker, workspace and settings. What makes a reply stale: another state of the index,
anything pending, another stamp of a file that is in the reply, a handle that is gone. A call that has waited takes a
reply that was begun after it came (`lately`) without looking at any of these but settings and handle.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llmc.base.errors import LlmcError
from llmc.base.model import Stamp
from llmc.base.root_fs import settled
from llmc.retrieval.search import FileDependency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.base.coalesce import InFlightCache
    from llmc.envelope import Envelope
    from llmc.retrieval.view import View
    from llmc.settings import Settings
    from llmc.tool import Tool, ToolRequest
    from llmc.tools.reply import Reply

__all__ = ["replied_before"]

# Of a file that was written a moment ago: a further write might leave its stamp as it is, so it counts as changed.
UNSETTLED = Stamp(-1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class CachedReply:
    reply: Reply
    settings: Settings


def replied_before(asked: ToolRequest, wanted: Tool, enclose: Callable[[Envelope], Reply]) -> Reply:
    """The reply from memory, or `enclose` of what the tool finds."""
    began = time.monotonic()
    workspace, handles = asked.workspace, asked.handles
    arguments = json.dumps(asked.args, sort_keys=True, default=str)
    same = (wanted.name, arguments, asked.owner, asked.data, workspace.cwd, wanted.speaks_json(asked.session))

    def holds(kept: CachedReply) -> bool:
        alive = not kept.reply.handle or handles.has(kept.reply.handle, asked.owner)
        return alive and kept.settings == workspace.settings

    lately: InFlightCache[CachedReply] = workspace.answers.lately
    if asked.came and (known := lately.since(asked.came, same)) and holds(known):
        return cached(known.reply)
    if not all(root_index.is_watched() for root_index in workspace.root_indexes):
        return enclose(wanted.run(asked))  # what changes there may be seen late
    views = tuple(workspace.views())

    def make(looked: list[FileDependency]) -> CachedReply:
        envelope = wanted.run(replace(asked, seen=views))
        looked += () if wanted.names else files_of(views, envelope)
        return CachedReply(enclose(envelope), workspace.settings)

    kept = workspace.answers.answer(views, same, make, holds)
    lately.keep(same, began, kept)
    return cached(kept.reply) if workspace.answers.hit else kept.reply


def cached(reply: Reply) -> Reply:
    return reply if reply.weight is None else replace(reply, weight=replace(reply.weight, cached=True))


def files_of(views: Sequence[View], envelope: Envelope) -> Iterator[FileDependency]:
    by_root = {view.root.id: view for view in views}
    for root, path in dict.fromkeys((item.root, item.path) for item in envelope.items() if item.path):
        if root in by_root:
            yield FileDependency(by_root[root], path, stamp_now(by_root[root], path))


def stamp_now(view: View, path: str) -> Stamp | None:
    try:
        seen = view.root_fs.stat(path)
    except LlmcError:
        return UNSETTLED
    return None if seen is None else seen.stamp if settled(seen.stamp) else UNSETTLED
