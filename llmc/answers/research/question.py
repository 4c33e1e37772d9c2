"""Parses a question: its types, its subject and the names in it. The first step of the pipeline.

    "Where is RetryPolicy implemented?"         where    RetryPolicy
    "Show me examples of a custom middleware"   example  a custom middleware
    "Who calls parse_header?"                   callers  parse_header
    "How are sessions expired?"                 how      sessions expired

Words around the subject are stripped, because they state what to do rather than what to look for. A name is a word that
can only be an identifier: quoted in backticks, compound, qualified, or the only word of a where-question. If such a
name occurs nowhere, the answer is "not found" instead of the nearest match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from llmc.answers.research.question_types import QuestionType, types_of
from llmc.base.errors import QueryError
from llmc.base.languages import PLAIN, language_of
from llmc.base.words import query_words
from llmc.retrieval.pasted import bounded
from llmc.retrieval.query import condensed

__all__ = ["Name", "Question", "QuestionType", "understand"]

MOST_KEYWORDS = 12


@dataclass(frozen=True, slots=True)
class Name:
    """`sure`: it can only be an identifier, so there is no answer without it. An acronym may also be a plain word. A
    file name such as `robots.txt` may occur, but has no definition."""

    text: str
    sure: bool

    @property
    def is_file(self) -> bool:
        return language_of(self.text) != PLAIN or self.text.endswith(".txt")


@dataclass(frozen=True, slots=True)
class Question:
    """`types` says what would answer it, most specific first. `subject` is the search text, `topic` the same in the
    user's wording, `target` what a question about uses, tests or subtypes names. `raw` is pasted text as it was pasted.
    `keywords` are for progress messages; `advice`: the user asks for recommendations."""

    text: str
    types: tuple[QuestionType, ...]
    subject: str
    topic: str
    target: str
    names: tuple[Name, ...]
    keywords: tuple[str, ...]
    raw: str
    advice: bool = False

    @property
    def type(self) -> QuestionType:
        return self.types[0]

    @property
    def asks_for_a_flow(self) -> bool:
        """Whether it asks how something works without naming it: several functions may explain it together."""
        return self.type is QuestionType.HOW and not any(name.sure for name in self.names)


_ADVICE = re.compile(r"\b(?:should|recommend\w*|advise|advice|suggest\w*|improve\w*|better way)\b", re.IGNORECASE)

# Words that precede the subject, stripped one at a time.
_LEAD = re.compile(
    r"""\W*(?:
      (?:please|can\ you|could\ you|i\ want\ to\ know|i\ need\ to\ know|tell\ me|show(?:\ me)?|give(?:\ me)?|find|
         locate|list|explain|describe|look\ for|search\ for|and|then|me|all|some|any|a\ few|the|a|an|existing|typical|
         representative|similar|good)\b
     |(?:examples?|patterns?|samples?|usages?|instances?|implementations?|idioms?|conventions?)\s+
      (?:of|for|that|where|in\ which|to)\b
     |(?:the\ )?(?:code|place|places|function|method|class|file|files|module|part|logic)\s+
      (?:that|which|where|for|responsible\ for|defines|implements)\b
     |(?:in\ )?(?:which|what)\s+(?:files?|modules?|class(?:es)?|functions?|methods?|code|places?)\b
     |(?:defines|implements|declares|contains|holds)\b
     |(?:where|how|what|when|why|who|which)\b(?:'s)?(?:\s+(?:exactly|else))?
     |(?:is|are|was|were|does|do|did|can|has|have|would|will|happens\ when|happens\ if|to)\b
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_TAIL = re.compile(
    r"""\s*(?:
      (?:currently\s+|actually\s+|internally\s+)?
      (?:implemented|defined|declared|located|implementation|definition|live|lives|found|work|works|working|
         happen|happens|done|stored\ in\ the\ code|kept\ in\ the\ code)
     |(?:in|of|inside|within|across|throughout)\s+(?:this|the|our)\s+(?:code\s?base|repository|repo|project|code|source)
     |in\ detail|here|step\ by\ step|under\ the\ hood
    )?[\s?.!:;,]*$""",
    re.IGNORECASE | re.VERBOSE,
)
# "… ? Show me an example" says how to answer, not what to look for.
_REQUEST = re.compile(r"(?<=[?.])\s+(?:please\s+)?(?:show|give|list|explain)\b[^?.]{0,60}[?.]?$", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:::|->|[.#])[^\W\d][\w$]*)*")


def understand(text: str) -> Question:
    """Parse a question; QueryError when it contains nothing to search for. Pasted text is condensed to its subject."""
    raw, text = bounded(text).strip(), condensed(text)
    if not text:
        raise QueryError("the question is empty", hint="Ask a full question, for example: how are sessions expired?")
    subject = subject_of(to_base_form(text))
    if not query_words(subject):
        raise QueryError(
            "the question contains nothing to search for", hint="Name the subject in words or identifiers."
        )
    types = types_of(raw)
    target = target_of(text, types[0]) or subject
    keywords = [word.text for word in query_words(subject) if not word.stop]
    return Question(
        text=text,
        types=types,
        subject=subject,
        topic=subject_of(text),
        target=target,
        names=tuple(names_of(text, subject, target, types[0])),
        keywords=tuple(dict.fromkeys(keywords))[:MOST_KEYWORDS],
        raw=raw,
        advice=_ADVICE.search(text) is not None,
    )


_VERB = r"(?:calls?|uses?|invokes?|references?|instantiates?|constructs?|imports?|consumes?)"
_ED = r"(?:called|used|invoked|referenced|instantiated|constructed|imported|consumed|needed)"
_CHANGE = (
    r"(?:chang(?:e|es|ed|ing)|renam(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing)|modif(?:y|ies|ied|ying))"
)
_CHECK = r"(?:cover|exercis|check|verif|test|reach|use|call|touch|assert|run|prove|guard)\w*"
_LISTED = (
    r"(?:of|from|to|extend(?:s|ing)?|implement(?:s|ing)?|inherits?|overrides?|subclass(?:es|ing)?|throws?|raises?"
    r"|returns?|calls?|uses?)"
)
# The target of a question, by type; the first pattern that matches decides.
_TARGETS: dict[QuestionType, tuple[str, ...]] = {
    QuestionType.CALLERS: (
        rf"(?:who|what|which\s[\w\s]{{1,30}}?)\s(?:else\s|all\s)?{_VERB}\s(?P<target>.+)",
        rf"where(?:\selse)?\s(?:is|are|does|do|gets?)\s(?P<target>.+?)\s(?:\w+ly\s|first\s)?{_ED}\b",
        r"(?:callers?|usages?|uses|calls?|call\ssites?)\s(?:of|to|for)\s(?P<target>.+)",
    ),
    QuestionType.TESTS: (
        rf"tests?\s+(?:\w+\s+){{0,2}}?{_CHECK}\s(?P<target>.+)",
        r"tests?\s+(?:for|of)\s(?P<target>.+)",
        r"(?:is|are)\s(?P<target>.+?)\stested",
    ),
    QuestionType.IMPACT: (
        rf"\bif\s(?:i|we|you|someone)\s{_CHANGE}\s(?P<target>.+)",
        rf"\bif\s(?P<target>.+?)\s(?:is\s|are\s|was\s)?{_CHANGE}",
        rf"\b{_CHANGE}\s(?:to\s|of\s|in\s)?(?P<target>.+)",
        r"(?:depends\son|impact\sof)\s(?P<target>.+)",
    ),
    QuestionType.LIST: (
        rf"{_LISTED}\s(?:the\s)?(?P<target>\S*[A-Z_`.]\S*\w)",
        r"\b(?:of|from)\s(?P<target>[^?]+)",
    ),
}
_NOUNS = (
    r"(?:function|method|class|struct|trait|interface|type|enum|module|macro|constant|variable|option|setting|helper"
    r"|handler|object|field|property)s?"
)
_ASPECT = re.compile(
    r"^(?:the\s|a\s|an\s|any\s)?(?:(?:signature|return\stype|return\svalue|type|behaviou?r|parameters?|arguments?|name|body"
    rf"|implementation|definition)\sof\s)?(?:the\s|a\s)?(?:{_NOUNS}\s)?",
    re.IGNORECASE,
)
_NOUN = re.compile(rf"\s+{_NOUNS}$", re.IGNORECASE)


def target_of(text: str, kind: QuestionType) -> str:
    """The target of the question: `Flask.make_response` in "what breaks if I change the signature of …?"."""
    for pattern in _TARGETS.get(kind, ()):
        match = re.search(pattern, text, re.IGNORECASE if kind is not QuestionType.LIST else 0)
        if match:
            found = _TAIL.sub("", match["target"].strip(" ?.!,;:"), count=1)
            return _NOUN.sub("", _ASPECT.sub("", found)).strip() or found
    return ""


def subject_of(text: str) -> str:
    """The question without the words around its subject; the whole question if nothing would be left."""
    plain = _REQUEST.sub("", text.replace("`", ""))
    left = plain
    while (match := _LEAD.match(left)) and match.end() and left[match.end() :].strip():
        left = left[match.end() :]
    while True:
        shorter = left[: next(_TAIL.finditer(left)).start()] if _TAIL.search(left) else left
        if shorter == left or not query_words(shorter):
            break
        left = shorter
    return left.strip() if query_words(left) else plain.strip()


# Irregular verb forms and the base forms used in code. The index stems regular endings.
_BASE = {
    "sent": "send", "built": "build", "written": "write", "wrote": "write", "chosen": "choose", "kept": "keep",
    "made": "make", "taken": "take", "thrown": "throw", "held": "hold", "drawn": "draw", "broken": "break",
    "bound": "bind", "spent": "spend", "lost": "lose", "given": "give", "caught": "catch",
    "hidden": "hide", "ran": "run", "adding": "add", "running": "run", "getting": "get", "writing": "write",
    "making": "make", "using": "use",
}  # fmt: skip
_WORD = re.compile(r"(?<![\w.`])[a-z]+(?![\w.(])")


def to_base_form(text: str) -> str:
    """Replace irregular verb forms by their base form, and `how many` by `number count`."""
    text = re.sub(r"\bhow many\b", "number count", text, flags=re.IGNORECASE)
    return _WORD.sub(lambda word: _BASE.get(word[0], word[0]), text)


# Types that are about one name, even if it is a plain word: "who calls parse?"
_NAMED = frozenset(
    {QuestionType.WHERE, QuestionType.CALLERS, QuestionType.IMPACT, QuestionType.LIST, QuestionType.TESTS}
)


def names_of(text: str, subject: str, target: str, kind: QuestionType) -> list[Name]:
    found: dict[str, bool] = {}
    for quoted in _QUOTED.findall(text):
        name = quoted.strip().removesuffix("()")
        if _NAME.fullmatch(name):
            found[name] = True
    for name in _NAME.findall(f"{target} {subject}"):
        if is_compound(name):
            found.setdefault(name, not is_acronym(name))
    plain = target.replace("`", "").removesuffix("()")
    if not found and kind in _NAMED and _NAME.fullmatch(plain):
        found[plain] = True
    return [Name(name, sure) for name, sure in found.items()]


def is_compound(name: str) -> bool:
    """Whether it contains an underscore, a separator or an inner capital, unlike any plain word."""
    return bool(re.search(r"[_$#.:>]", name.strip("_.:"))) or name[1:] != name[1:].lower() or name.startswith("__")


def is_acronym(name: str) -> bool:
    return re.fullmatch(r"[A-Z0-9]{2,6}s?", name) is not None or re.fullmatch(r"[A-Z][a-z]?[A-Z]+s?", name) is not None
