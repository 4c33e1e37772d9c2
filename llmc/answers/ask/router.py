"""Classifies a question as code, docs, mixed or command, and selects the tools for that kind.

The classification uses words and code-like names, without a model: a wrong guess costs little, because the verifier
searches again when nothing was found. The kind decides which tools the ask roles may use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.answers.ask.values import QuestionKind, QuestionRoute
from llmc.answers.research.question import is_acronym, is_compound
from llmc.base.words import LONGEST_WORD, stem

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["kind_of", "route_of"]

_COMMAND = re.compile(
    r"^\W*(?:please\s+|can you\s+|could you\s+)?(?:run|execute|launch|invoke)\b[\s:]*(?:the\s+command\s+)?"
    r"(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_PROSE = re.compile(r"(?:the|all|my|our|a|an|this|that|it|every)\b", re.IGNORECASE)
_DOCS = re.compile(r"\.(?:md|rst|adoc)\b|\bhow (?:do|can|should) (?:i|we)\b", re.IGNORECASE)
# The lookbehind anchors matches at the start of a run; without it, a long run takes minutes and holds the GIL.
_FILE = re.compile(r"(?<![\w./-])[\w./-]+\.(?:md|rst|adoc)\b", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere\b", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\n]{1,500})`")
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:::|->|[.#])[^\W\d][\w$]*)*(?:\(\))?")
DOCS = """docs documentation documented readme guide manual tutorial changelog changes release install installation
    setup configure configuration license decision decided policy rationale upgrade migrate contribute contributing
    explained glossary overview requirements"""
CODE = """function method class module implemented implementation defined definition code calls called caller callers
    returns raises exception variable constant argument parameter import algorithm parse parser loop bug test tests
    struct interface type field handler"""
TOOLS = {
    QuestionKind.CODE: ("search", "grep", "read", "refs", "outline", "find"),
    QuestionKind.DOCS: ("search", "read", "grep", "find"),
    QuestionKind.MIXED: ("search", "grep", "read", "refs", "outline", "find"),
    QuestionKind.COMMAND: ("shell", "search", "read", "find"),
}


def route_of(question: str, may_use: Callable[[str], bool] = lambda _: True) -> QuestionRoute:
    """`may_use` decides which tools are available to this question."""
    kind = kind_of(question)
    allowed = tuple(name for name in TOOLS[kind] if may_use(name))
    return QuestionRoute(kind, allowed, command_of(question) if kind is QuestionKind.COMMAND else "")


def kind_of(question: str) -> QuestionKind:
    if _COMMAND.match(question):
        return QuestionKind.COMMAND
    stems = {stem(word) for word in re.findall(r"[a-z]+", question.lower()) if len(word) <= LONGEST_WORD}
    docs = bool(stems & STEMS[QuestionKind.DOCS]) or _DOCS.search(question) is not None
    names = [name.rstrip("()") for name in _NAME.findall(_FILE.sub(" ", question))]
    code = bool(stems & STEMS[QuestionKind.CODE]) or any(is_compound(name) and not is_acronym(name) for name in names)
    if docs == code:
        return QuestionKind.MIXED if docs or not _WHERE.search(question) else QuestionKind.CODE
    return QuestionKind.DOCS if docs else QuestionKind.CODE


def command_of(question: str) -> str:
    """The literal command in the question; empty for prose such as "run the tests"."""
    match = _COMMAND.match(question)
    if match is None:
        return ""
    quoted = _QUOTED.search(match["rest"])
    if quoted:
        return quoted[1].strip()
    rest = match["rest"].strip().rstrip(".!?")
    return "" if _PROSE.match(rest) else rest


STEMS = {
    kind: {stem(word) for word in words.split()}
    for kind, words in ((QuestionKind.DOCS, DOCS), (QuestionKind.CODE, CODE))
}
