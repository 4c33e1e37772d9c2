"""The reply to the same call, kept while nothing that it depends on has changed.

Agents that work together ask alike, and a search with redaction, fitting and storing takes 10 to 20 ms. Two calls are
the same if tool, arguments, owner, workspace and settings are. A reply is stale if the index has changed, anything is
pending, a file in the reply has another stamp, or its handle is gone. A call that had to wait takes a reply whose
computation began after it arrived, and checks only settings and handle.
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
from llmc.workspace import is_keywords_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from llmc.base.concurrency import InFlightCache
    from llmc.envelope import Envelope
    from llmc.envelope.reply import Reply
    from llmc.retrieval.view import View
    from llmc.settings import Settings
    from llmc.tool import Tool, ToolRequest

__all__ = ["cached_reply", "reply_bytes"]

# For a file written a moment ago: another write may leave its stamp unchanged, so it counts as changed.
UNSETTLED = Stamp(-1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class CachedReply:
    reply: Reply
    settings: Settings
    lasts: bool = True


def reply_bytes(kept: CachedReply) -> int:
    """About how much memory it takes."""
    reply = kept.reply
    return FIXED_BYTES + len(reply.text) + len(reply.places) + len(reply.frame) + _bytes_of(reply.data)


# The objects of a reply and its dependencies, and of a value in its data.
FIXED_BYTES, VALUE_BYTES = 4_000, 80


def _bytes_of(value: object) -> int:
    if isinstance(value, str):
        return VALUE_BYTES + len(value)
    if isinstance(value, dict):
        return VALUE_BYTES + sum(VALUE_BYTES + _bytes_of(one) for one in value.values())
    return VALUE_BYTES + (sum(map(_bytes_of, value)) if isinstance(value, list | tuple) else 0)


def cached_reply(request: ToolRequest, tool: Tool, build: Callable[[Envelope], Reply]) -> Reply:
    """The cached reply, or the result of `build` for the tool's envelope."""
    began = time.monotonic()
    workspace, handles = request.workspace, request.handles
    arguments = json.dumps(request.args, sort_keys=True, default=str)
    form = (request.data, request.packed, request.numbered, request.session is None, tool.returns_json(request.session))
    key = (tool.name, arguments, request.owner, form, workspace.cwd)

    def is_valid(kept: CachedReply) -> bool:
        alive = not kept.reply.handle or handles.has(kept.reply.handle, request.owner)
        return alive and kept.settings == workspace.settings

    in_flight: InFlightCache[CachedReply] = workspace.cache.in_flight
    if request.received_at:
        shared = in_flight.get(key, newer_than=request.received_at)
        if shared is not None and is_valid(shared):
            return mark_cached(shared.reply)
    if not all(root_index.is_watched() for root_index in workspace.root_indexes):
        return build(tool.run(request))  # changes there may be noticed late
    views = tuple(workspace.views())

    def compute(read: list[FileDependency]) -> CachedReply:
        envelope = tool.run(replace(request, seen_views=views))
        read += () if tool.names_only else files_of(views, envelope)
        return CachedReply(build(envelope), workspace.settings, not any(map(is_keywords_only, envelope.notes)))

    kept, hit = workspace.cache.get(views, key, compute, is_valid, lambda value: value.lasts)
    if kept.lasts:
        in_flight.put(key, kept, began=began)
    return mark_cached(kept.reply) if hit else kept.reply


def mark_cached(reply: Reply) -> Reply:
    return replace(reply, cached=True)


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
