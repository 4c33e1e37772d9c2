"""What do the documents say? The section about the subject, quoted with its code block."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from llmc.answers.research.evidence import loose_terms, loose_words
from llmc.answers.research.finders.answers import answer, target_names
from llmc.answers.research.finders.sections import Section, excerpt, introduced, paragraphs, section_at, sections_of
from llmc.answers.research.prose import one_line
from llmc.answers.research.question import to_base_form
from llmc.answers.research.result import Confidence, ResultPlace
from llmc.base.languages import role_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import Area, RoleToolbox

__all__ = ["DOCUMENTS", "ScoredSection", "TopicTerms", "about_text", "best_sections", "documented"]

DOCUMENTS = (
    "*.md", "*.markdown", "*.mdx", "*.rst", "*.adoc", "*.asciidoc", "*.txt", "*.org", "README*", "*.[1-8]",
    "CHANGES", "CHANGELOG", "ChangeLog", "NEWS", "HISTORY", "RELEASES", "UPGRADING", "CONTRIBUTING",
)  # fmt: skip
MOST_FILES, PER_FILE = 10, 4
MOST_ROWS, MORE_ROWS = 24, 6
MOST_NAMED = 300
# Weight of words in headings and path relative to words in the text.
HEADED = 1.0
TITLED = 0.5
HALF = 0.5
# A section with a smaller share of the question's words is about something else; search always returns a best one.
LEAST, GOOD = 0.5, 0.99
_SAYS = re.compile(
    r"\b(?:what|do|does|did|the|is|are|docs?|documentation|documented|documents?|read\s?me|guides?|manual|tutorials?|say|says|said|tell"
    r"|tells|explain(?:s|ed)?|mention(?:s|ed)?|describe[sd]?|about|written|according|to|on|of|in|how|can|should|i|we|you"
    r"|an?|there|any|show|me|examples?|samples?|some|migration|change[sd]?|for)\b",
    re.IGNORECASE,
)
CHANGES = re.compile(
    r"(?:^|/)(?:change|changes|changelog|change_log|history|news|release|releases|release[-_]?notes?|whatsnew|what'?s[-_]new|upgrad\w*"
    r"|migrat\w*|releasenotes)(?:[-_.\w]*)?(?:/|\.\w+$|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ScoredSection:
    """`score` counts words of the question, `share` is the share of them that occurs, `titled` is the number in
    headings."""

    area: Area
    path: str
    section: Section
    score: float
    share: float
    titled: int


def documented(brief: Brief, toolbox: RoleToolbox, least: float = LEAST) -> RoleOutcome | None:
    """The section with most words of the question; None if its share of them is below `least`."""
    names = [*quoted_phrases(brief), *target_names(brief)]
    found = best_sections(about_text(brief), names, toolbox, lambda path: not CHANGES.search(path))
    if not found or found[0].share < least:
        return None
    first = found[0]
    places = [passage_place(brief, toolbox, first, MOST_ROWS)]
    near = [one for one in found[1:3] if one.score >= 0.9 * first.score and one.share >= first.share]
    places += [passage_place(brief, toolbox, one, MORE_ROWS) for one in near]
    titled = any(is_titled(name, first.section.title) for name in names)
    sure = Confidence.HIGH if titled else Confidence.MED if first.share >= GOOD and first.titled else Confidence.LOW
    title = first.section.title.strip("`* ") or first.path.rpartition("/")[2]
    opening = sentence_at(places[0])
    summary = f"{brief.reference(places[0])} ({title}) says: {opening}"
    return answer(brief, summary, places, sure)


def about_text(brief: Brief) -> str:
    """The question without the words that say where to look."""
    plain = " ".join(_SAYS.sub(" ", to_base_form(brief.question.text).replace("?", " ")).split())
    return plain or brief.question.subject


def quoted_phrases(brief: Brief) -> list[str]:
    """Quoted phrases of several words: a heading or a message, as the document spells it."""
    found = re.findall(r"[\"“]([^\"”\n]+ [^\"”\n]+)[\"”]", brief.question.text)
    return [" ".join(one.strip(" .:").split()) for one in found]


def is_titled(name: str, title: str) -> bool:
    plain = name.lower().removesuffix("()")
    if " " in plain:
        return plain in title.lower()
    words_ = re.findall(r"[\w.$-]+", title.lower())
    last = plain.rpartition(".")[2]
    return plain in words_ or last in [word.strip(".") for word in words_]


_DOCUMENT = re.compile(r"\.(?:md|markdown|mdx|rst|adoc|asciidoc|txt|org|[1-8])$|(?:^|/)[A-Z]+$", re.IGNORECASE)


def is_document(path: str) -> bool:
    return role_of(path) in {"doc", "example", "legacy"} and _DOCUMENT.search(path) is not None


def best_sections(
    about: str, names: Sequence[str], toolbox: RoleToolbox, accepts: Callable[[str], bool]
) -> list[ScoredSection]:
    """Sections by the number of words of the question in them; words in headings and paths count twice. A section
    whose heading is a name of the question comes first."""
    terms = TopicTerms.of(about)
    lines_of: dict[tuple[str, str], list[int]] = {}
    areas: dict[str, Area] = {}
    order: dict[tuple[str, str], int] = {}
    for file in toolbox.search(about, limit=MOST_FILES, per_file=PER_FILE, globs=DOCUMENTS).files:
        area = toolbox.area_of(file.root)
        areas[file.root] = area
        if accepts(file.path) and is_document(file.path):
            key = (file.root, file.path)
            order.setdefault(key, len(order))
            for hit in file.hits:
                lines_of.setdefault(key, []).extend([hit.start_line, *hit.lines])
    for name in names[:2]:
        for match in toolbox.grep(
            name.rpartition(".")[2] if "." in name else name,
            fixed=True,
            ignore_case=" " in name,
            most=MOST_NAMED,
            globs=DOCUMENTS,
        ):
            if is_document(match.path) and accepts(match.path):
                areas[match.area.view.root.id] = match.area
                key = (match.area.view.root.id, match.path)
                order.setdefault(key, len(order))
                lines_of.setdefault(key, []).append(match.line)
    found = [
        one
        for (root, path), numbers in lines_of.items()
        for one in scored(areas[root], path, numbers, terms, names, toolbox)
    ]
    return sorted(found, key=lambda one: (-one.score, order[one.area.view.root.id, one.path], one.section.start))


@dataclass(frozen=True, slots=True)
class TopicTerms:
    """The words of a question, and compounds of two of them: `falling back` and `fallback`."""

    terms: frozenset[str]
    compounds: tuple[tuple[frozenset[str], str], ...]

    @classmethod
    def of(cls, text: str) -> TopicTerms:
        terms = loose_terms(text)
        spelt = [re.sub(r"(?<=\w{3})(?:ing|ed|s)$", "", word) for word in re.findall(r"[a-z]+", text.lower())]
        joined = [(loose_words(f"{one} {two}"), loose_words(one + two)) for one, two in pairwise(spelt)]
        found = [(frozenset(parts) & terms, whole.pop()) for parts, whole in joined if len(whole) == 1]
        return cls(terms, tuple(found))

    def found(self, text: set[str]) -> frozenset[str]:
        """The words of the question that a passage contains."""
        whole = [parts for parts, compound in self.compounds if compound in text]
        return (self.terms & text).union(*whole)

    def share(self, text: set[str]) -> float:
        return len(self.found(text)) / len(self.terms) if self.terms else 0.0


def scored(  # noqa: PLR0917 - the words of one question
    area: Area, path: str, numbers: Sequence[int], wanted: TopicTerms, names: Sequence[str], toolbox: RoleToolbox
) -> Iterable[ScoredSection]:
    """The sections of the lines that were found, and sections of the same documents with half of the words in the
    heading."""
    lines = toolbox.shown(area, path)
    sections = sections_of(lines)
    chosen = [section for number in numbers if (section := section_at(sections, number)) is not None]
    chosen += [one for one in sections if wanted.share(loose_words(one.title)) >= HALF]
    for section in {one.start: one for one in chosen}.values():
        above = [one.title for one in sections if one.start <= section.start and is_above(one, section)][-3:]
        inside = loose_words(" ".join(lines[section.start - 1 : section.end]))
        headed = loose_words(" ".join([section.title, *above[:1], path.rpartition("/")[2].partition(".")[0]]))
        titled = loose_words(" ".join([*above, section.title, path.replace("/", " ")])) | headed
        named = any(is_titled(name, section.title) for name in names)
        title = loose_words(section.title)
        share = max((wanted.share(part | title) for part in paragraphs(lines, section)), default=0.0)
        score = share + wanted.share(inside | titled) + HEADED * wanted.share(headed) + (2.0 if named else 0.0)
        score += TITLED * wanted.share(title) * (len(wanted.found(title)) / max(1, len(title)))
        yield ScoredSection(area, path, section, score, share, len(wanted.found(headed)))


def is_above(one: Section, section: Section) -> bool:
    return one.level != section.level or one.start == section.start


def passage_place(brief: Brief, toolbox: RoleToolbox, one: ScoredSection, most: int) -> ResultPlace:
    lines = toolbox.shown(one.area, one.path)
    rows = excerpt(lines, one.section, about_text(brief), most)
    if rows and rows[-1][1].rstrip().endswith(":"):
        rows += introduced(lines, sections_of(lines), one.section)
    start = telling_row(rows, loose_terms(about_text(brief))) or one.section.start
    title = one.section.title.strip("`* ")
    return ResultPlace(
        one.area.view.root.id, one.path, start, one.section.end, title, "heading", "passage", "", dedent(rows)
    )


def telling_row(rows: Sequence[tuple[int, str]], terms: frozenset[str]) -> int:
    """The number of the quoted line with most words of the question; 0 without lines."""
    best = max(rows, key=lambda row: (len(terms & loose_words(row[1])), -row[0]), default=(0, ""))
    return best[0]


def sentence_at(place: ResultPlace) -> str:
    """The cited line and the one below it, without the entries that they introduce."""
    rows = (text for number, text in place.rows if number >= place.line)
    texts = [text.strip() for text in takewhile(lambda text: not text.startswith(".. "), rows)]
    return one_line(" ".join(texts[:2]), 160)


def dedent(rows: Sequence[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    margin = min((len(text) - len(text.lstrip()) for _, text in rows), default=0)
    return tuple((number, text[margin:]) for number, text in rows)
