"""The pages of search, index, sessions, personas and health, from values of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from llmc.server.http.page.layout import ago, table
from llmc.server.http.page.markup import Safe, fill, join, link
from llmc.server.http.page.reply import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmc.envelope.reply import Reply
    from llmc.extend.personas.model import AgentInfo
    from llmc.server.status import EmbedderStatus, ProcessStatus, RootStatus, StoreStatus
    from llmc.state.connected_sessions import ConnectedSession

__all__ = ["TOOLS", "health_view", "index_view", "live_view", "personas_view", "search_view", "sessions_view"]

# tool → (its name, the argument that the box fills, what to write there)
TOOLS: Final = {
    "search": ("Search", "query", "words, a symbol or a question"),
    "grep": ("Grep", "pattern", "a regular expression"),
    "find": ("Find", "name", "part of a file's name"),
    "refs": ("Uses", "name", "a function, a class, a method"),
    "outline": ("Outline", "path", "a file or folder"),
    "read": ("Read", "target", "path, path:10-40, path::symbol, a handle"),
}
FORM: Final = (
    '<form class="search" action="/" role="search"><label class="hidden" for="q">What to look for</label>'
    '<input id="q" name="q" type="search" value="{query}" placeholder="{hint}" autocomplete="off" spellcheck="false"'
    "{focus}>"
    '<label class="hidden" for="tool">How</label><select id="tool" name="tool">{tools}</select>'
    '<input name="path" value="{path}" placeholder="in: folder or handle" aria-label="Only below this folder" '
    'autocomplete="off" spellcheck="false"><button>Go</button></form>'
)
NOTHING: Final = Safe()
NO_ROOTS: Final[Mapping[str, str]] = {}
KILOBYTE, MEGABYTE = 1e3, 1e6


def search_view(
    tool: str, query: str, path: str, reply: Reply | None, *, live: Safe = NOTHING, roots: Mapping[str, str] = NO_ROOTS
) -> Safe:
    options = join(
        fill(
            '<option value="{value}"{chosen}>{name}</option>',
            value=value,
            name=name,
            chosen=CHOSEN if value == tool else Safe(),
        )
        for value, (name, _, _) in TOOLS.items()
    )
    focus = Safe(" autofocus") if reply is None else Safe()
    form = fill(FORM, query=query, hint=TOOLS[tool][2], tools=options, path=path, focus=focus)
    if reply is not None:
        return join([form, fill('<div id="results">{found}</div>', found=shown(tool, query, reply, roots))])
    return join([form, fill('<div class="live" data-live="/page/live">{live}</div>', live=live)])


CHOSEN: Final = Safe(" selected")


def index_view(live: Safe, stores: Iterable[StoreStatus], roots: Sequence[RootStatus]) -> Safe:
    return fill(
        '<h1>Index</h1><div class="live" data-live="/page/live">{live}</div>{stores}{passed}',
        live=live,
        stores=join([Safe("<h2>On disk</h2>"), stores_table(stores)]),
        passed=join(passed_by(roots)),
    )


def live_view(roots: Sequence[RootStatus]) -> Safe:
    """The live part of the index page, polled by the script."""
    if not roots:
        return Safe('<p class="empty">No root is open.</p>')
    return join(root_card(one) for one in roots)


def root_card(root: RootStatus) -> Safe:
    progress = root.progress
    bar = Safe()
    if progress is not None:
        bar = fill(
            '<p><progress max="{total}" value="{done}"></progress> {stage} {done} of {total}</p>',
            total=max(progress.total, 1),
            done=progress.done,
            stage=progress.stage,
        )
    trouble = join(fill('<p class="error">{why}</p>', why=why) for why in (root.error, root.degraded) if why)
    pending = f" · {root.pending:,} pending" if root.pending else ""
    return fill(
        '<section class="card"><h2>{name} <span class="state {state}">{state}</span></h2>{trouble}{bar}'
        "<p>{indexed} files indexed · {skipped} skipped · {failed} failed{pending}</p>"
        "<p class=quiet>changed {changed} · searchable {searchable} · walked {walked} · {watcher}</p></section>",
        name=root.name,
        state=root.state,
        trouble=trouble,
        bar=bar,
        indexed=f"{root.indexed:,}",
        skipped=f"{root.skipped:,}",
        failed=f"{root.failed:,}",
        pending=pending,
        changed=ago(root.last_change),
        searchable=ago(root.last_commit),
        walked=ago(root.last_scan),
        watcher=root.watcher,
    )


def stores_table(stores: Iterable[StoreStatus]) -> Safe:
    rows = [
        (
            one.family[:12],
            *(f"{value:,}" for value in (one.documents, one.chunks, one.symbols)),
            *(size(value) for value in (one.text_bytes, one.catalog_bytes, one.keyword_bytes, one.vector_bytes)),
            one.read_only or "",
        )
        for one in stores
    ]
    return table(("store", "documents", "chunks", "symbols", "text", "catalog", "keywords", "vectors", ""), rows)


def size(number: float) -> str:
    return f"{number / MEGABYTE:.1f} MB" if number >= MEGABYTE else f"{number / KILOBYTE:.0f} KB"


def passed_by(roots: Sequence[RootStatus]) -> Iterator[Safe]:
    for root in roots:
        if root.reasons:
            rows = sorted(root.reasons.items(), key=lambda pair: -pair[1])
            yield fill("<h2>Skipped in {name}</h2>{rows}", name=root.name, rows=table(("why", "files"), rows))
        failed = [(one.path, one.reason) for one in root.examples if one.status == "failed"]
        if failed:
            yield table(("file", "why"), failed, 2)


def sessions_view(sessions: Sequence[ConnectedSession]) -> Safe:
    rows = [
        (
            fill('<a href="{url}">{id}</a>', url=link("/page/ledger", session=one.id), id=one.id),
            one.client or "?",
            one.agent or one.profile,
            f"{one.calls:,}",
            f"{one.content_tokens:,}",
            f"{one.frame_tokens:,}",
            ago(one.seen),
        )
        for one in sorted(sessions, key=lambda one: -one.seen)
    ]
    head = ("session", "client", "as", "calls", "content", "frame", "last")
    return fill(
        "<h1>Sessions</h1><p class=quiet>Clients since the daemon started; the ledger has earlier ones.</p>{rows}",
        rows=table(head, rows, 3, empty="No agent has connected since the daemon started."),
    )


def personas_view(personas: Sequence[AgentInfo]) -> Safe:
    cards = join(
        fill(
            '<section class="card"><h2>{name} <span class="state">{source}</span></h2><p>{about}</p>'
            "<p class=quiet>tools: {tools}{arguments}</p></section>",
            name=one.name,
            source=one.source,
            about=one.description or "no description",
            tools=", ".join(one.tools) or "all",
            arguments="".join(f" · {each.name}{'' if each.required else '?'}" for each in one.arguments),
        )
        for one in personas
    )
    none = Safe('<p class="empty">There are none: <code>[agents.NAME]</code> in llmc.toml makes one.</p>')
    return join([Safe("<h1>Personas</h1>"), cards or none])


def health_view(
    problems: Sequence[str],
    embedder: EmbedderStatus | None,
    processes: Iterable[ProcessStatus],
    roots: Sequence[RootStatus],
) -> Safe:
    troubles = [*problems, *(why for one in roots for why in (one.error, one.degraded) if why)]
    if embedder is not None and embedder.state == "failed":
        troubles.append(f"embedder: {embedder.error}")
    verdict = (
        join(fill('<p class="error">{why}</p>', why=why) for why in troubles)
        if troubles
        else Safe('<p class="state ready">no problems found</p>')
    )
    rows = [(one.role, one.pid, f"{one.rss / MEGABYTE:.0f} MB", f"{one.cpu_seconds:.1f} s") for one in processes]
    named = f"{embedder.name}, {embedder.dimension} dimensions, {embedder.state}" if embedder else "none"
    return fill(
        "<h1>Health</h1>{verdict}<h2>Processes</h2>{processes}<h2>Embedder</h2><p>{embedder}</p>"
        "<p class=quiet><code>llmc doctor</code> checks for further problems.</p>",
        verdict=verdict,
        processes=table(("process", "pid", "memory", "CPU"), rows),
        embedder=named,
    )
