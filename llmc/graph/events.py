"""Edges that no call spells out: an event, a queue, a signal, a channel or a registry connects its two ends.

`indexer/syntax/keyed.py` notes who sends and who receives with which key. The two ends are matched here by key and by
the shape of their names: `emitFilter` does not reach `onAction`, `registry.get_driver` reaches what `register_driver`
was given. Such an edge is never more than likely, and says through which key it goes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from llmc.base import words
from llmc.base.references import is_module, module_splits
from llmc.graph.dialects import family_of
from llmc.graph.entities import Edge, EntityKind, GraphNode, Precision, Site
from llmc.graph.facts import CALLABLE_KINDS, TYPE_KINDS
from llmc.graph.incidental import is_incidental
from llmc.graph.resolve import outwards
from llmc.store.keywords.trigrams import trigrams
from llmc.store.protocols import Trigrams

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.base.model import ResolutionLink
    from llmc.graph.facts import Facts
    from llmc.graph.project import Project
    from llmc.graph.resolve import Resolver

__all__ = ["EVENT", "Events"]

EVENT = "event"  # the kind of such a site
FUNCTION_KINDS = CALLABLE_KINDS | {"handler"}
# A key in more documents than this is a common word and does not identify an event.
MOST_DOCS = 200
# Events with more ends than this belong to a framework; their ends are not listed.
MOST_ENDS = 12
MOST_TAKEN = 24  # messages of one function
SHORTEST_PART = 4  # letters of a pattern that must be written out: `*.create`


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Event names of many libraries: they only count between calls on the same object.
GENERIC_KEYS = _word_set(
    """
    error data close end message open change click update ready exit connect connection disconnect start stop init
    done finish success fail failed failure add remove delete create get set name type default main drain readable
    timeout abort load unload resize scroll focus blur input submit keydown keyup keypress mousedown mouseup
    mousemove upgrade request response listening pause resume pipe reset save test event events value item items id
    key user users text content
    """
)
# Words that mean sending or receiving, without saying what.
_VERBS = _word_set(
    """
    emit dispatch publish enqueue queue send trigger fire notify broadcast produce raise schedule push signal invoke
    perform submit call execute do apply delay try post get create make resolve load build find lookup inject on
    once listen subscribe register assign connect receiver receive handle consume process hook bind provide define
    observe intercept attach prepend append add event events listener handler subscriber consumer worker processor
    pattern task job observer async sync safe unsafe robust to by with from the all self this new match commit json
    """
)
_ENTRY_POINTS = _word_set(
    """
    handle consume run process execute perform call __call__ invoke apply on_message onMessage handle_event
    handleEvent Handle Run Process Execute Consume ServeHTTP
    """
)
# Calls that certainly send or receive: a distinctive key alone connects two of them.
_STRONG = _word_set(
    """
    emit dispatch publish enqueue queue send trigger fire notify broadcast produce signal schedule on once listen
    subscribe assign consume handle process hook register connect listener handler subscriber consumer worker
    processor receiver pattern task job observer
    """
)
# Words that both ends share if they are about the same kind of thing.
_MEDIA = frozenset({"queue", "event", "task", "job", "signal", "topic", "channel", "command", "hook", "message"})
# Messages are sent with the former; a function that calls one of the latter receives them.
_SEND_MESSAGE = frozenset({"send", "dispatch", "emit", "publish", "notify", "enqueue", "broadcast", "commit", "post"})
_TAKES = re.compile(r"(?:try_|blocking_|async_)?(?:recv|receive|next|poll)(?:_\w+)?$|select|subscribe|changed")
_HANDLES = _word_set(
    "handle handler on receive reducer reduce process message event dispatch consume listen loop run worker"
)
_PLAIN_KEY = 6  # shortest distinctive key that is a single word


class KeyedSite(NamedTuple):
    """One end of an event. `api` is the chain of the call, `handlers` are chains of the receivers; `=name` is a
    definition in this file."""

    doc: int
    scope: str
    key: str
    line: int
    api: str
    handlers: tuple[str, ...]


def site_of(doc: int, link: ResolutionLink) -> KeyedSite:
    line, api, handlers = [*link.value.split("\t"), "", ""][:3]
    return KeyedSite(doc, link.scope, link.name, int(line), api, tuple(one for one in handlers.split(",") if one))


@dataclass(frozen=True)
class Events:
    project: Project
    resolver: Resolver

    # --- from a sender

    def outgoing(self, facts: Facts, node: GraphNode) -> Iterator[Edge]:
        """The receivers of the events that a definition sends."""
        inner = f"{node.qualified}."
        for link in facts.links.sends:
            if link.scope == node.qualified or link.scope.startswith(inner):
                sent = site_of(facts.doc, link)
                site = Site(facts.doc, sent.line, EVENT, sent.scope)
                for target in self._receivers(facts, sent):
                    if target != node:
                        yield Edge(facts.node(sent.scope), target, site, Precision.LIKELY, shown_key(sent.key))

    def _receivers(self, facts: Facts, sent: KeyedSite) -> list[GraphNode]:
        def find() -> list[GraphNode]:
            sites = self._matching(sent, self._ends(sent.key, facts, is_sender=False))
            targets = [target for site in sites for target in self._handlers(site)]
            return list(dict.fromkeys(targets)) or self._named_definition(sent)

        return self.project.once(("receivers", sent), find)

    def _named_definition(self, sent: KeyedSite) -> list[GraphNode]:
        """For `send_task("shop.tasks.bill")`: the key is the path of a definition."""
        parts = sent.key.split(".")
        is_path = len(parts) > 2 or (len(parts) == 2 and "task" in words.split(sent.api.rpartition(".")[2]))  # noqa: PLR2004
        if not is_path or not all(part.isidentifier() for part in parts):
            return []
        docs = self.project.defining(parts[-1])
        for module, name in module_splits(parts):
            at = [doc for doc in docs[:MOST_DOCS] if is_module(self.project.path(doc), module)]
            nodes = [GraphNode(doc, name) for doc in at if (facts := self.project.facts(doc)) and facts.kind(name)]
            if nodes:
                return nodes[:1]
        return []

    # --- from a receiver

    def incoming(self, node: GraphNode, using: Iterable[int]) -> Iterator[Edge]:
        """The senders of the events that a definition receives. `using` are the documents that mention it."""
        facts = self.project.facts(node.doc)
        if facts is None:
            return
        wanted = self._receiving(facts, node)
        for received in self._registrations(node, wanted, using):
            origin = self.project.facts(received.doc)
            if origin is None:
                continue
            senders = self._ends(received.key, origin, is_sender=True)
            for sent in self._matching(received, senders):
                sender = self.project.facts(sent.doc)
                if sender is not None and wanted & set(self._receivers(sender, sent)):
                    site = Site(sent.doc, sent.line, EVENT, sent.scope)
                    yield Edge(sender.node(sent.scope), node, site, Precision.LIKELY, shown_key(received.key))

        yield from self._by_path(facts, node)

    def _by_path(self, facts: Facts, node: GraphNode) -> Iterator[Edge]:
        """Sites that name a definition by its path, `send_task("shop.tasks.bill")`."""
        if node.name != node.qualified or facts.kind(node.qualified) not in CALLABLE_KINDS | TYPE_KINDS:
            return
        spelled = [Trigrams(all=trigrams(f".{node.name}{quote}")) for quote in "\"'"]
        docs = self.project.places.keep(self.project.keywords.candidates(Trigrams(any=(tuple(spelled),))))
        for doc in docs if len(docs) <= MOST_DOCS else ():
            sender = self.project.facts(doc)
            for link in sender.links.sends if sender else ():
                if (
                    sender
                    and link.name.endswith(f".{node.name}")
                    and node in self._receivers(sender, site_of(doc, link))
                ):
                    site = Site(doc, site_of(doc, link).line, EVENT, link.scope)
                    yield Edge(sender.node(link.scope), node, site, Precision.LIKELY, shown_key(link.name))

    def _receiving(self, facts: Facts, node: GraphNode) -> set[GraphNode]:
        """The definition itself, and the type whose entry point it is."""
        owner, _, name = node.qualified.rpartition(".")
        is_entry = name in _ENTRY_POINTS and facts.kind(owner) in TYPE_KINDS
        return {node, facts.node(owner)} if is_entry else {node}

    def _registrations(self, node: GraphNode, wanted: set[GraphNode], using: Iterable[int]) -> list[KeyedSite]:
        """Sites that register one of these under a key."""
        names = {one.name for one in wanted}
        found = []
        for doc in dict.fromkeys([node.doc, *using]):
            other = self.project.facts(doc)
            for link in other.links.receives if other else ():
                handlers = link.value.rpartition("\t")[2]
                mentioned = doc == node.doc or any(one in handlers for one in names)
                if mentioned and wanted & set(self._handlers(site_of(doc, link))):
                    found.append(site_of(doc, link))
        return [*found, *self._taken(node)]

    def _taken(self, node: GraphNode) -> list[KeyedSite]:
        """The messages named in a function that receives from a channel."""
        here = KeyedSite(node.doc, node.qualified, "", 0, "switch", (f"={node.qualified}",))
        if not self._takes(here):
            return []
        uses = self.project.references(node.doc).get(node.qualified, ())
        enums = ((one.receiver.rpartition(".")[2], one.name) for one in uses if one.kind == "use" and one.receiver)
        named = [f"#{enum}.{name}" for enum, name in enums if enum[:1].isupper() and name[:1].isupper()]
        return [here._replace(key=key) for key in dict.fromkeys(named[:MOST_TAKEN])]

    # --- both

    def _ends(self, key: str, origin: Facts, *, is_sender: bool) -> list[KeyedSite]:
        """All sites of a role whose key fits, in files of the same language family."""
        found = []
        for doc in self._holding(key, origin):
            facts = self.project.facts(doc)
            if facts is None or family_of(facts.language) != family_of(origin.language):
                continue
            links = facts.links.sends if is_sender else facts.links.receives
            found += [site_of(doc, link) for link in links if fits(link.name, key)]
        return found if found or is_sender or not key.startswith("#") else self._matched(key, origin)

    def _matched(self, key: str, origin: Facts) -> list[KeyedSite]:
        """Functions that name a message without sending it, so they compare received messages with it: those that
        receive from a channel, else those whose names refer to handling."""
        enum, _, variant = key[1:].rpartition(".")
        uses = self.project.catalog.references_named(variant, self._holding(key, origin))
        found: dict[tuple[int, str], KeyedSite] = {}
        for doc, references in uses.items():
            facts = self.project.facts(doc)
            if facts is None:
                continue
            sent = {link.scope for link in facts.links.sends if link.name == key}
            for one in references:
                scope = one.container
                is_named = one.receiver.rpartition(".")[2] == enum and one.kind == "use" and scope not in sent
                if (
                    is_named
                    and not self._is_field(facts, scope, one.receiver)
                    and facts.kind(scope) in FUNCTION_KINDS
                    and not is_incidental(GraphNode(doc, scope))
                ):
                    found.setdefault((doc, scope), KeyedSite(doc, scope, key, one.line, "switch", (f"={scope}",)))
        sites = list(found.values())
        taking = [site for site in sites if self._takes(site)]
        return taking or [site for site in sites if _HANDLES & set(words.split(site.scope.rpartition(".")[2]))]

    def _is_field(self, facts: Facts, scope: str, receiver: str) -> bool:
        """Whether `task.Job` is a field of a value, in which case `task.Job.RunID` is not a message."""
        if "." not in receiver:
            return False
        head = receiver.partition(".")[0]
        found = self.resolver.evaluate(facts, scope, receiver).entities
        if not found:
            return any(facts.links.bindings.get((outer, head)) for outer in outwards(scope))
        kinds = {(one.kind, self._kind(one.node)) for one in found}
        return all(kind is EntityKind.INSTANCE or what in ("field", "property") for kind, what in kinds)

    def _kind(self, node: GraphNode) -> str:
        facts = self.project.facts(node.doc)
        return facts.kind(node.qualified) if facts else ""

    def _takes(self, site: KeyedSite) -> bool:
        uses = self.project.references(site.doc).get(site.scope, ())
        return any(one.kind == "call" and _TAKES.match(one.name) for one in uses)

    def _holding(self, key: str, origin: Facts) -> list[int]:
        """The documents that may contain a key; none if there are too many."""
        if key.startswith("<-"):
            return sorted(self.project.in_folder(origin.path.rpartition("/")[0]))

        def find() -> list[int]:
            wanted = [Trigrams(all=one) for one in spellings(key) if one]
            places = self.project.places
            docs = places.keep(self.project.keywords.candidates(Trigrams(any=(tuple(wanted),)))) if wanted else []
            return docs if len(docs) <= MOST_DOCS else []

        found = self.project.once(("holding", key), find)
        self.project.load(found)
        return found

    def _matching(self, one: KeyedSite, others: list[KeyedSite]) -> list[KeyedSite]:
        """The opposite ends that match this one: on the same object if that is known, else by name."""
        fitting = [other for other in others if is_compatible(one.api, other.api) and not self._differ(one, other)]
        near = [other for other in fitting if self._is_near(one, other)]
        if near:
            # Many files have a reducer with the same actions; those near the sender are meant.
            here = [other for other in near if other.doc == one.doc and "switch" in (one.api, other.api)]
            return (here or near)[:MOST_ENDS]
        if not is_telling(one.key) or not is_strong(one.api):
            return []
        by_key = [other for other in fitting if is_strong(other.api)]
        return by_key if len(by_key) <= MOST_ENDS else []

    def _is_near(self, one: KeyedSite, other: KeyedSite) -> bool:
        """Whether they are called on the same object, or their names share a word for what is sent."""
        if one.key.startswith("@"):
            return self._same_object(one, other)
        if "switch" in (one.api, other.api):
            return one.key.lower() not in GENERIC_KEYS and (sends_messages(one.api) or sends_messages(other.api))
        first, second = one.api.rpartition(".")[0], other.api.rpartition(".")[0]
        if first and first.rpartition(".")[2] == second.rpartition(".")[2]:
            return one.key.lower() not in GENERIC_KEYS or one.doc == other.doc or self._resolved(one) != ()
        return bool(subjects(one.api) & subjects(other.api)) or one.key.startswith(("#", "<-"))

    def _same_object(self, one: KeyedSite, other: KeyedSite) -> bool:
        """For signals: the same definition, or one that neither file defines (`post_save` of the framework)."""
        first, second = self._signal(one), self._signal(other)
        return bool(first & second) if first and second else not first and not second

    def _signal(self, site: KeyedSite) -> frozenset[GraphNode]:
        facts = self.project.facts(site.doc)
        if facts is None:
            return frozenset()
        name = site.key.removeprefix("@")
        owner = site.api.rpartition(".")[0]
        is_owner = owner.rpartition(".")[2].lstrip("_") == name
        found = self.resolver.evaluate(facts, site.scope, owner if is_owner else name)
        return frozenset(found.nodes())

    def _differ(self, one: KeyedSite, other: KeyedSite) -> bool:
        """Whether both objects are known and different."""
        first, second = self._resolved(one), self._resolved(other)
        return bool(first) and bool(second) and not set(first) & set(second)

    def _resolved(self, site: KeyedSite) -> tuple[GraphNode, ...]:
        facts, owner = self.project.facts(site.doc), site.api.rpartition(".")[0]
        if facts is None or not owner or site.key.startswith(("@", "<-", "#")):
            return ()
        return tuple(one.node for one in self.resolver.evaluate(facts, site.scope, owner).entities if one.node.doc)

    def _handlers(self, site: KeyedSite) -> list[GraphNode]:
        """The functions and types that a site passes as handlers."""
        facts = self.project.facts(site.doc)
        if facts is None:
            return []
        found: list[GraphNode] = []
        for handler in site.handlers:
            if handler.startswith("="):
                found.append(facts.node(handler[1:]))
            elif handler == "{}":
                found.append(facts.node(self._written_at(facts, site)))
            else:
                found += self._callables(facts, site.scope, handler.removesuffix("()"))
        return list(dict.fromkeys(found))

    def _written_at(self, facts: Facts, site: KeyedSite) -> str:
        """A handler written inline: named after its registration, or part of the definition that encloses it."""
        handlers = (one for one in facts.symbols if one.kind == "handler" and one.start_line == site.line)
        return next((one.qualified for one in handlers), site.scope)

    def _callables(self, facts: Facts, scope: str, chain: str) -> list[GraphNode]:
        nodes = self.resolver.evaluate(facts, scope, chain).nodes()
        kept = []
        for node in nodes:
            other = self.project.facts(node.doc)
            if other is not None and other.kind(node.qualified) in CALLABLE_KINDS | TYPE_KINDS:
                kept.append(node)
        return kept


def shown_key(key: str) -> str:
    """The key as a developer would write it: `'thumbnail'`, Signal.Stop, a channel."""
    if key.startswith("<-"):
        return key[2:]
    return key[1:] if key.startswith(("#", "@")) else f"'{key}'"


def spellings(key: str) -> list[frozenset[str]]:
    """The trigrams of a key in every spelling that it may have."""
    if key.startswith(("#", "@")):
        return [frozenset().union(*(trigrams(part) for part in key[1:].split(".")))]
    if "*" in key:
        return [frozenset().union(*(trigrams(part) for part in key.split("*")))]
    quoted = [trigrams(f"{quote}{key}{quote}") for quote in "\"'`"]
    joint = re.search(r"[.:/][^.:/]{3,}$", key)
    return [*quoted, trigrams(f"}}{joint[0]}")] if joint else quoted


@lru_cache(maxsize=4_096)
def fits(one: str, other: str) -> bool:
    """Whether two keys are equal, or one is a pattern (`${scope}.create`) that matches the other."""
    if one == other:
        return True
    if "*" not in one and "*" not in other:
        return False
    pattern, key = (one, other) if "*" in one else (other, one)
    written = pattern.replace("*", "").strip(".:/-_")
    return "*" not in key and len(written) >= SHORTEST_PART and fnmatchcase(key, pattern)


def is_telling(key: str) -> bool:
    """Whether a key is unlikely to be used for two different events."""
    if key.startswith("@") or key.lower() in GENERIC_KEYS:
        return False
    return len(key) >= _PLAIN_KEY or len(words.split(key)) > 1


@lru_cache(maxsize=4_096)
def is_strong(api: str) -> bool:
    parts = words.split(api.rpartition(".")[2])
    return bool(parts) and (parts[0] in _STRONG or parts[-1] in _STRONG)


def sends_messages(api: str) -> bool:
    parts = words.split(api.rpartition(".")[2])
    return any(part in _SEND_MESSAGE for part in parts[:2])


def subjects(api: str) -> frozenset[str]:
    """The words for what a call is about: the nouns of its name, and the kind of medium."""
    return nouns(api) | _MEDIA & frozenset(words.split(api.rpartition(".")[2]))


@lru_cache(maxsize=4_096)
def nouns(api: str) -> frozenset[str]:
    """The words in the name of a call that say what it sends: `emitFilter` → filter."""
    name = api.rpartition(".")[2]
    return frozenset(word.rstrip("s") for word in words.split(name) if word not in _VERBS and len(word) > 1)


@lru_cache(maxsize=4_096)
def around(api: str) -> frozenset[str]:
    owner = api.rpartition(".")[0].rpartition(".")[2]
    return frozenset(word.rstrip("s") for word in words.split(owner))


def is_compatible(one: str, other: str) -> bool:
    """`emitFilter` and `onAction` are about different things; `emit` and `onAction` may be about the same."""
    first, second = nouns(one), nouns(other)
    if not first or not second or "switch" in (one, other):
        return True
    return bool(first & second or first & around(other) or second & around(one))
