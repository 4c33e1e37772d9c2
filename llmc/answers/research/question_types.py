"""Classifies a question by what would answer it: a place, a flow, callers, a value, a version, a passage, a commit.

The rules look at the words around the subject, never at the subject itself, and use no model. A question may have
several types; the pipeline tries them in order until one of them finds the requested fact. `how` is always last: it is
answered by search, which has an answer to everything and is therefore the weakest.
"""

from __future__ import annotations

import re
from enum import StrEnum

__all__ = ["QuestionType", "types_of"]


class QuestionType(StrEnum):
    ERROR = "error"
    CHANGED = "changed"
    TESTS = "tests"
    IMPACT = "impact"
    LIST = "list"
    CALLERS = "callers"
    EXAMPLE = "example"
    DOCUMENTATION = "documentation"
    VERSION = "version"
    DEFAULT = "default"
    WHERE = "where"
    HOW = "how"


_USES = r"(?:calls?|uses?|invokes?|references?|instantiates?|constructs?|imports?|consumes?)"
_USED = r"(?:called|used|invoked|referenced|instantiated|constructed|imported|consumed|needed)"
_DERIVES = (
    r"(?:derives?|derived|inherits?|inherited|extends?|extending|implements?|implementing|subclass(?:es|ing)?"
    r"|overrides?)"
)
_PLACES = r"(?:functions?|methods?|class(?:es)?|code|places?|files?|modules?|components?|callers?|parts?)"

_RULES: tuple[tuple[QuestionType, str], ...] = (
    (
        QuestionType.ERROR,
        r"""traceback\ \(most\ recent|^\s*at\ \S+\ \(\S+:\d+|goroutine\ \d+\ \[|panicked\ at
        |^\W*(?:uncaught\s+)?[\w.:]*(?:error|exception|warning|panic|fatal)(?:\s?\[[^\]\n]{1,40}\])?:\s+\S
        |^\W*[\w./-]+:\s+(?:error|fatal|warning|panic)\b[^?]*$
        |^\W*[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+:\s
        |\b(?:error|exception|fails?|failed|failing|crash(?:es|ed)?|message|complains?|saying|says|prints?|logs?
          |get|see
           |raise[sd]?|thrown?|throws|mean|means|warning)\b[^"“`\n]{0,60}["“`'][^"”`'\n]*\s[^"”`'\n]*\s[^"”`\n]*["”`']
        |["“`'][^"”`'\n]*\s[^"”`'\n]*\s[^"”`'\n]*["”`'].{0,60}\b(?:error|exception|message|mean|raised|thrown|logged
           |printed|reported|returned|shown|emitted)\b""",
    ),
    (
        QuestionType.CHANGED,
        r"""^\W*what(?:'s|\ is|\ has|\ was|\ were|\ have)?(?:\ been)?\s(?:recently\s)?(?:changed?|new\ in|changes
          |different
           |added\ in|removed\ in|fixed\ in|deprecated\ in)\b
        |\bwhat\ (?:did|does|do)\b.*\bchange\b|\bchange\s?log\b|\brelease\ notes?\b|\brecent(?:ly)?\s(?:changes?
          |changed|commits?)
        |\bchanged\ recently\b|\b(?:commit|change|git)\ history\b|\blatest\ (?:changes?|commits?)\b
          |\blast\ (?:changed|modified)\b
        |\b(?:when|in\ (?:which|what)\ (?:version|release)|since\ (?:which|what)\ (?:version|release)
          |why)\ (?:was|were|did|is)\b
           .*\b(?:added|introduced|removed|changed|deprecated|dropped|renamed)\b
        |\bwho\ (?:last\ )?(?:changed|wrote|modified|added)\b|\bwhich\ (?:version|release|commit)\ \w*\s?(?:added
          |introduced|removed|changed|fixed)\b""",
    ),
    (
        QuestionType.TESTS,
        r"""\b(?:which|what|where|list|show|find|are\ there)\b.{0,40}\b(?:unit\ |integration\ )?tests?\b
           \s+(?:\w+\s+){0,2}?(?:cover|exercis|check|verif|test|reach|use|call|for|of|touch|assert|run|prove|guard)\w*
        |\btests?\s+(?:for|of|that\ cover|covering)\b|\bwhere\ (?:is|are)\b.*\btested\b|\btest\ coverage\b
          |\bhow\ is\b.*\btested\b
        |\b(?:tested|covered)\ by\b""",
    ),
    (
        QuestionType.IMPACT,
        r"""\bwhat\b.{0,30}\b(?:breaks?|affected|impacted|influenced)\b|\bimpact\ of\b|\baffected\ (?:by|if)\b
          |\bwhat\ depends\ on\b
        |\bsafe(?:ly)?\ to\ (?:change|remove|rename|delete)\b|\bif\ (?:i|we|you|someone)\ (?:change|rename|remove
          |delete|modify)\b
        |\b(?:changing|renaming|removing|deleting)\b.{0,60}\b(?:break|affect|impact)""",
    ),
    (
        QuestionType.LIST,
        rf"""^\W*(?:please\s+)?(?:list|enumerate|name)\b|\b(?:every|all|each)\b\ (?:the\
          |of\ the\ )?(?:\w+\ ){{0,2}}?(?:places?|calls?
           |callers?|uses?|usages?|occurrences?|subclass(?:es)?|implementations?|implementers?|implementors?
             |overrides?
           |variants?|members?|fields|methods)\b
        |\b(?:outdated|deprecated|obsolete)\ (?:\w+\ )?(?:apis?|calls?|code|usages?|functions?|methods?)\b
        |\b(?:which|what)\ (?:\w+\ ){{1,3}}?{_DERIVES}\b|\b(?:sub)?(?:class(?:es)?|types?|implementations?
          |implementors?)\ (?:of|derived\ from)\b""",
    ),
    (
        QuestionType.CALLERS,
        rf"""\b(?:who|what)\ (?:else\ |all\ )?{_USES}\b|\b(?:which
          |what)\ (?:other\ )?{_PLACES}\ (?:\w+\ )?{_USES}\b|\bcallers?\ of\b
        |\b(?:usages?|uses|call\ sites?)\ of\b|\bwhere(?:\ else)?\ (?:is|are|does|do|gets?)\b.{{1,80}}\b{_USED}\b
          |\bfrom\ where\ (?:is|are)\b""",
    ),
    (
        QuestionType.EXAMPLE,
        r"""\b(?:examples?|samples?|snippets?|sample\ code)\b(?!(?:'s)?\ (?:function|method|class|module|file|test|app))
        |\bshow\ (?:me\ )?how\b
        |\bhow\ (?:do|does|is|are)\ (?:other|others)\b|\belsewhere\b
        |^\W*(?:find|show|give|list|any)\b.*\b(?:patterns?|similar|idioms?|conventions?)\b
        |^\W*(?:patterns?|similar|idioms?|conventions?)\b""",
    ),
    (
        QuestionType.DOCUMENTATION,
        r"""\b(?:docs?|documentation|documented|read\s?me|manual|handbook|tutorials?|guides?)\b
        |\b(?:what|which)\b.{0,20}\b(?:naming|coding|style|commit|branch\w*|contribution)\ (?:\w+\ )?(?:conventions?
          |guidelines?|rules|style)\b""",
    ),
    (
        QuestionType.VERSION,
        r"""\b(?:which|what|minimum|minimal|lowest|oldest|required?s?|supported|current|latest
          |needed)\b[^?]{0,50}\bversions?\b
        |\bversions?\b.{0,60}\b(?:required?s?|needs?|needed|supports?|supported|depends?|minimum|used|uses)\b|\bMSRV\b
        |\bwhat\ version\b|\bversion\ (?:number|of\ this)\b|\b(?:which|what)\ (?:\w+\ )?edition\b""",
    ),
    (
        QuestionType.DEFAULT,
        r"""\bdefaults?\b|\bunless\b.{0,30}\b(?:told|specified|configured|set|overridden|given|otherwise|changed)\b
        |\bif\ (?:it\ is\ |nothing\ is\ |no\ .{1,40}\ is\ |)?(?:not\ )?(?:set|given|specified|configured|provided)\b
        |\b(?:when|if|where)\ (?:no|nothing)\b.{0,60}\b(?:is|are|was)\ (?:set|given|specified|configured|passed
          |provided)\b
        |\bvalue\ of\b|^\W*how\ (?:many|long|large|big|often|much|deep|high|far|old)\b
        |\bwhat\ (?:is|are|'s)\ the\ (?:\w+\ ){0,2}?(?:maximum|minimum|limit|max|min|timeout|interval|size|port
          |number|duration|delay|name|path
           |prefix|length|threshold)\b
        |\b(?:which|what)\ (?:\w+\ ){0,2}?(?:ports?|environment\ variables?|env\ vars?|settings?|options?|flags?
          |config(?:uration)?\ (?:keys?|options?|values?)
            |command[- ]line\ (?:options?|flags?|arguments?)|values)\b
        |\b(?:which|what)\ (?:\w+\ ){0,2}?(?:propert(?:y|ies)|parameters?)\ (?!do|does|is|are|of|in|can|has|have)\w""",
    ),
    (
        QuestionType.WHERE,
        r"""^\W*(?:where\b|locate\b|find\b|(?:in\ )?(?:which|what)\ (?:files?|modules?|class(?:es)?|folders?
          |functions?|methods?
           |places?|struct|packages?|director(?:y|ies))\b)|\b(?:defined|declared|located|implemented)\W*$""",
    ),
    (
        QuestionType.DOCUMENTATION,
        r"""^\W*how\ (?:to\b|(?:do|can|should|would)\ (?:i|we|you|one|users?)\b)(?!.*\b(?:refactor|redesign|restructur
          |rewrit|decoupl)\w*)""",
    ),
)
_COMPILED = [
    (kind, re.compile(" ".join(part.strip() for part in rule.split("\n")), re.IGNORECASE | re.VERBOSE | re.MULTILINE))
    for kind, rule in _RULES
]
# A question that begins like this asks for an explanation, even if it mentions a default or a version on the way.
_EXPLAINS = re.compile(
    r"^\W*(?:how\ (?:does|do|is|are|was|were|did|exactly)\b|why\b|what\ happens\b|explain\b|describe\b)",
    re.IGNORECASE | re.VERBOSE,
)
_FACTS = frozenset(
    {QuestionType.DEFAULT, QuestionType.VERSION, QuestionType.LIST, QuestionType.EXAMPLE, QuestionType.DOCUMENTATION}
)
_BY_DEFAULT = re.compile(r"\bby default\b|\bhow (?:many|long|large|big|often|much)\b", re.IGNORECASE)
_WHY = re.compile(r"\W*(?:why|what happens)\b", re.IGNORECASE)
_HOW = re.compile(r"\W*(?:how (?:does|do|is|are)|why)\b", re.IGNORECASE)
_SHOWN = re.compile(r"\b(?:examples?|samples?|snippets?)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"^\W*(?:where|how|what|why|who|which|when|list|show|find|explain|describe|is|are|does|do|can|could|please|give|tell|locate|enumerate|name|examples?|run)\b",
    re.IGNORECASE,
)
# Asks for what a document says, even about a message that it quotes.
_DOCUMENTED = re.compile(
    r"^\W*(?:what|where|how|which|is|are)\b.{0,30}\b(?:docs?|documentation|read\s?me|manual|handbook|guide)\b"
    r"|\baccording\s+to\s+the\s+(?:\w+\s+)?(?:docs?|documentation|read\s?me|manual|handbook|guide)\b",
    re.IGNORECASE,
)
MOST_CLASSIFIED = 4_000
SHORTEST_MESSAGE = 4


def types_of(text: str) -> tuple[QuestionType, ...]:
    """The types of a question, the most specific first; `how` is always the last."""
    head = text[:MOST_CLASSIFIED]
    if _is_output(head):
        return (QuestionType.ERROR, QuestionType.HOW)
    found = list(dict.fromkeys(kind for kind, rule in _COMPILED if rule.search(head)))
    if QuestionType.ERROR in found and _DOCUMENTED.search(head):
        found = [QuestionType.DOCUMENTATION, *(kind for kind in found if kind is not QuestionType.DOCUMENTATION)]
    if _is_statement(head):
        found = [QuestionType.ERROR, *(kind for kind in found if kind is not QuestionType.ERROR)]
    if _EXPLAINS.match(head):
        kept = {QuestionType.EXAMPLE} if _SHOWN.search(head) else set()
        kept |= {QuestionType.DOCUMENTATION} if _DOCUMENTED.search(head) or not _WHY.match(head) else set()
        kept |= {QuestionType.DEFAULT} if _BY_DEFAULT.search(head) and not _HOW.match(head) else set()
        found = [kind for kind in found if kind not in _FACTS - kept]
    return (*(kind for kind in found if kind is not QuestionType.HOW), QuestionType.HOW)


def _is_statement(text: str) -> bool:
    """Whether the text is a statement rather than a question: perhaps a message, pasted without its `Error:`."""
    return "?" not in text and not _ASKS.match(text) and len(text.split()) >= SHORTEST_MESSAGE


def _is_output(text: str) -> bool:
    """Whether several lines were pasted that contain no question: a message or a log."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and not _ASKS.match(lines[0]) and not any(_ASKS.match(line) for line in lines[-1:])
