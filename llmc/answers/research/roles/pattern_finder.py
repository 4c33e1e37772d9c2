"""Pattern Finder: how is it done elsewhere? Two to six distinct examples with their few relevant lines."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import loose, loose_words, place_of, score_places, terms_of
from llmc.answers.research.finders.documents import CHANGES, TopicTerms, about_text, best_sections
from llmc.answers.research.finders.sections import best_block
from llmc.answers.research.prose import matching_lines
from llmc.answers.research.result import Confidence, Result, ResultPlace, RoleOutcome
from llmc.answers.research.roles import Brief, ResearchRole
from llmc.base import words
from llmc.base.languages import role_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmc.answers.research.finders.documents import ScoredSection
    from llmc.answers.research.toolbox import RoleToolbox
    from llmc.base.model import ChunkPlace, Symbol

MOST_EXAMPLES = 6
LEAST_EXAMPLES = 2
SNIPPET_LINES = 4
LONGEST_LINE = 100
# Two examples that share this fraction of their word pairs show the same thing.
SIMILAR = 0.6
# Candidates considered for the six examples; more only add time.
MOST_CANDIDATES = 40
MOST_SECTIONS, MOST_BLOCKS, MOST_READ = 12, 3, 60
# Minimum share of the question's words in an example.
MOST_OF_IT = 0.6
BLOCK_LINES = 8
SHOWN = 0.3
NEIGHBOURS = 24
# Minimum similarity of a neighbour, relative to the nearest one.
NEAR = 0.6
# Words of a subject that may be one name.
MOST_JOINED = 3
EXAMPLES = frozenset({"example", "test"})  # of documents, the code blocks are
USES = frozenset({"call", "inherit", "type", "use"})
APPLIED = frozenset({"call", "inherit"})
LATER = {
    "test": 1, "fixture": 2, "snapshot": 3, "example": 0, "doc": 2, "generated": 3, "amalgamated": 3, "vendored": 3,
    "legacy": 2, "stub": 3,
}  # fmt: skip


def work(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome:
    terms = terms_of(brief.question.subject)
    chosen: list[ResultPlace] = []
    shapes: list[frozenset[tuple[str, str]]] = []
    files: dict[str, int] = {}
    for place in spread(candidates(brief, toolbox)):
        shape, rows = shape_of(place, terms, toolbox)
        if not rows or files.get(place.path, 0) >= 2 or any(is_similar(shape, other) for other in shapes):  # noqa: PLR2004 - at most two per file
            continue
        if place.section != "use" and chosen and shown_share(place, rows, terms) < SHOWN:
            continue  # the quoted lines would not show what they are an example of
        files[place.path] = files.get(place.path, 0) + 1
        shapes.append(shape)
        chosen.append(replace(place, section="example", rows=rows))
        if len(chosen) == MOST_EXAMPLES:
            break
    return result_of(brief, chosen, toolbox)


def result_of(brief: Brief, chosen: Sequence[ResultPlace], toolbox: RoleToolbox) -> RoleOutcome:
    notes = toolbox.meter.note or None
    if not chosen:
        return RoleOutcome(Result(f"Not found: no examples of {brief.question.topic}.", notes=notes))
    if len(chosen) < LEAST_EXAMPLES:
        notes = " ".join(filter(None, (notes, "Only one example was found.")))
    where = ", ".join(f"{place.name or place.path} ({brief.reference(place)})" for place in chosen[:3])
    return RoleOutcome(
        Result(
            summary=f"{len(chosen)} example{'s' if len(chosen) > 1 else ''} of {brief.question.topic}: {where}.",
            references=tuple(brief.reference(place) for place in chosen),
            key_findings=tuple(snippet(brief, place) for place in chosen),
            confidence=Confidence.MED if len(chosen) >= LEAST_EXAMPLES and is_sure(brief, chosen) else Confidence.LOW,
            notes=notes,
        ),
        tuple(chosen),
    )


def is_sure(brief: Brief, chosen: Sequence[ResultPlace]) -> bool:
    """Whether the first example contains all words of the question, in its title and its quoted lines."""
    return shown_share(chosen[0], chosen[0].rows, terms_of(brief.question.subject)) == 1.0


def shown_share(place: ResultPlace, rows: Sequence[tuple[int, str]], terms: frozenset[str]) -> float:
    """The share of the words in the title and the quoted lines."""
    found = loose_words(" ".join([place.name, *(text for _, text in rows)]))
    wanted = set(map(loose, terms))
    return len(wanted & found) / len(wanted) if wanted else 0.0


def snippet(brief: Brief, place: ResultPlace) -> str:
    lines = "\n".join(text for _, text in place.rows)
    return f"{brief.reference(place)} {place.name}\n{lines}"


def candidates(brief: Brief, toolbox: RoleToolbox) -> list[ResultPlace]:
    """Code blocks of documents, uses of the names in the question, search results with most words of it, and code with
    a structure similar to the best of them."""
    found: list[ResultPlace] = list(block_places(brief, toolbox))
    found += [place for name in names_of(brief, toolbox) for place in use_places(name, toolbox)]
    targets = {(place.root, place.path, place.name) for place in brief.targets[:1]} if found else set()
    hits = [place for place in search_places(brief, toolbox) if is_about(brief, place, toolbox)]
    enough = len({place.path for place in found}) >= LEAST_EXAMPLES
    if enough:  # a place that only has the words of the question describes it or is its own code
        hits = [place for place in hits if role_of(place.path) in EXAMPLES]
    found += hits
    found += neighbours(hits[0], toolbox) if hits and not enough else []
    unique = {place.key: place for place in reversed(found)}
    kept = [place for place in reversed(unique.values()) if (place.root, place.path, place.name) not in targets]
    kept.sort(key=lambda place: (place.section != "block", LATER.get(str(role_of(place.path)), 0), not place.name))
    return kept[:MOST_CANDIDATES]


def names_of(brief: Brief, toolbox: RoleToolbox) -> list[str]:
    """The names in the question; if there is none, the definition whose name joins the words of the subject:
    `errorhandler`, `error_handler` or `ErrorHandler` for "an error handler"."""
    if brief.question.names:
        return [name.text for name in brief.question.names]
    subject = re.findall(r"[a-z]+", brief.question.topic.lower())
    subject = [word for word in subject if word not in words.STOP_WORDS]
    if not 0 < len(subject) <= MOST_JOINED:
        return []
    found: list[str] = []
    for parts in dict.fromkeys((tuple(subject), (*subject[:-1], subject[-1].removesuffix("s")))):
        pascal = "".join(part.capitalize() for part in parts)
        spelt = (
            [pascal] if len(parts) == 1 else ["".join(parts), "_".join(parts), pascal, pascal[0].lower() + pascal[1:]]
        )
        found += [name for name in spelt if any(one.role == "code" for one in toolbox.define(name))]
    return list(dict.fromkeys(found))


def block_places(brief: Brief, toolbox: RoleToolbox) -> Iterator[ResultPlace]:
    """The code block of each document section about the subject."""
    about = about_text(brief)
    names = [name.text for name in brief.question.names]
    found = best_sections(about, names, toolbox, lambda path: not CHANGES.search(path))
    terms = TopicTerms.of(about)
    blocks: list[tuple[int, int, ScoredSection, tuple[int, int]]] = []
    for one in [one for one in found if one.share >= MOST_OF_IT][:MOST_SECTIONS]:
        lines = toolbox.shown(one.area, one.path)
        block = best_block(lines, one.section, about)
        matched = terms.found(loose_words(" ".join(lines[block[0] - 1 : block[1]]))) if block else ()
        if block and matched:
            blocks.append((-len(matched), len(blocks), one, block))
    for _, _, one, block in sorted(blocks, key=lambda found: found[:2])[:MOST_BLOCKS]:
        title = one.section.title.strip("`* ")
        yield ResultPlace(one.area.view.root.id, one.path, block[0], block[1], title, "heading", "block")


def is_about(brief: Brief, place: ResultPlace, toolbox: RoleToolbox) -> bool:
    """Whether a place has most words of the question: search always returns a best one."""
    terms = terms_of(brief.question.subject)
    lines = toolbox.lines(toolbox.area_of(place.root), place.path) or []
    text = " ".join([place.path.replace("/", " "), place.name, *lines[place.line - 1 : place.end][:MOST_READ]])
    return len(terms & set(words.body(text).split())) >= MOST_OF_IT * len(terms)


def use_places(name: str, toolbox: RoleToolbox) -> Iterator[ResultPlace]:
    """Definitions that use a name, at the line of the use: calls and derived classes; annotations only if there is
    nothing else."""
    found = toolbox.uses(words_after(name), USES)
    applied = [use for use in found if use.reference.kind in APPLIED]
    for use in (applied or found)[: 2 * MOST_CANDIDATES]:
        one = use.reference
        root = use.area.view.root.id
        yield ResultPlace(root, use.path, one.line, one.line, one.container, one.kind, "use")


def words_after(name: str) -> str:
    return name.replace("::", ".").replace("->", ".").replace("#", ".").rpartition(".")[2]


def search_places(brief: Brief, toolbox: RoleToolbox) -> list[ResultPlace]:
    """The places of the locator; searches only when there are none."""
    if brief.targets:
        return [place for place in brief.targets if place.line]
    terms = terms_of(brief.question.subject)
    files = toolbox.search(brief.question.subject, limit=10).files
    return [one.place for file in files for one in score_places(file, terms, toolbox)[:2]]


def neighbours(seed: ResultPlace, toolbox: RoleToolbox) -> Iterator[ResultPlace]:
    """Nearest chunks by vector of the same kind: similar structure with other words."""
    area = toolbox.area_of(seed.root)
    doc = toolbox.doc_of(area, seed.path)
    if doc is None:
        return
    catalog, places = area.view.store.catalog, toolbox.places(area)
    chunks = catalog.chunks(doc)
    at = next((chunk.ordinal for chunk in chunks if chunk.start_line <= seed.line <= chunk.end_line), None)
    if at is None:
        return
    near = toolbox.neighbours(area, doc, at, NEIGHBOURS)
    near = [hit for hit in near if hit.score >= NEAR * near[0].score]
    listed = catalog.chunks_of({hit.doc for hit in near})
    for hit in near:
        chunk = listed[hit.doc][hit.ordinal]
        if chunk.kind == chunks[at].kind and chunk.name:
            symbol = next((one for one in toolbox.symbols_of(area, hit.doc) if is_in(one, chunk)), None)
            if symbol is not None:
                yield place_of(seed.root, places[hit.doc], symbol, toolbox.shown(area, places[hit.doc]))


def is_in(symbol: Symbol, chunk: ChunkPlace) -> bool:
    return symbol.qualified == chunk.name and chunk.start_line <= symbol.start_line <= chunk.end_line


def spread(places: Iterable[ResultPlace]) -> Iterator[ResultPlace]:
    """Order places so that each file comes once before any file repeats."""
    later: list[ResultPlace] = []
    seen: set[str] = set()
    for place in places:
        if place.path in seen:
            later.append(place)
        else:
            seen.add(place.path)
            yield place
    yield from later


def shape_of(
    place: ResultPlace, terms: frozenset[str], toolbox: RoleToolbox
) -> tuple[frozenset[tuple[str, str]], tuple[tuple[int, str], ...]]:
    """The word pairs of an example, and its excerpt."""
    lines = toolbox.shown(toolbox.area_of(place.root), place.path)
    if place.section == "block":
        rows = [(number, lines[number - 1]) for number in range(place.line, place.end + 1) if lines[number - 1].strip()]
        rows = telling_rows(rows, terms)
    elif place.section == "use":
        start, end = max(1, place.line - 1), min(place.line + 2, len(lines))
        rows = [(number, lines[number - 1]) for number in range(start, end + 1) if lines[number - 1].strip()]
    else:
        rows = matching_lines(lines, place.line, place.end, terms, SNIPPET_LINES)
    tokens = words.body("\n".join(lines[place.line - 1 : max(place.end, place.line + 2)])).split()
    return frozenset(pairwise(tokens)), tuple(dedented(rows))


def telling_rows(rows: list[tuple[int, str]], terms: frozenset[str]) -> list[tuple[int, str]]:
    """The consecutive lines of a long block with most words of the question, starting at the first such word."""
    wanted = set(map(loose, terms))
    matched = [wanted & loose_words(text) for _, text in rows]
    starts = range(max(1, len(rows) - BLOCK_LINES + 1))
    first = max(starts, key=lambda at: (len(set().union(*matched[at : at + BLOCK_LINES])), at))
    return rows[first : first + BLOCK_LINES]


def dedented(rows: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    margin = min((len(text) - len(text.lstrip()) for _, text in rows), default=0)
    for number, text in rows:
        shown = text[margin:].rstrip()
        yield number, shown if len(shown) <= LONGEST_LINE else shown[: LONGEST_LINE - 1] + "…"


def is_similar(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]]) -> bool:
    smaller = min(len(one), len(other))
    return smaller > 0 and len(one & other) / len(one | other) >= SIMILAR


ROLE = ResearchRole.of(
    "pattern_finder",
    "patterns",
    """You show how something is already done here: two to six distinct examples from the evidence, each with its
    file:line and the few relevant lines. No advice, and nothing outside the evidence.""",
    "search symbols refs read neighbours",
    work,
)
