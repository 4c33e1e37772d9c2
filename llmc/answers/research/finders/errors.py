"""Where does this message come from? The line that contains the text, and where it is raised.

Values and quotes differ between a message and its source, so the search is for runs of words, not for the whole text.
If the message is a constant or a table entry, the uses of that are the places that raise it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from llmc.answers.research.finders.answers import answer, joined, line_place
from llmc.answers.research.question_types import QuestionType, types_of
from llmc.answers.research.result import Confidence, ResultPlace
from llmc.base.languages import role_of
from llmc.retrieval.evidence import EvidenceKind, extract
from llmc.retrieval.verbatim import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llmc.answers.research.result import RoleOutcome
    from llmc.answers.research.roles import Brief
    from llmc.answers.research.toolbox import RoleToolbox, TextMatch

__all__ = ["raised_at"]

RUN = 3
MOST_RUNS, MOST_MATCHES, MOST_RAISED = 8, 300, 8
# Minimum share of a message's words that a place must contain in runs of three.
LEAST, SURE = 0.35, 0.6
# If a place contains the whole message, others are merely similar; otherwise places nearly as good are listed, too.
WHOLE, NEAR = 0.95, 0.75
# Minimum share for a sentence to count as a message without other evidence.
CERTAIN = 0.7
AROUND = 6
_WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?")
_CODE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+){1,}\b|\b[A-Z]{1,5}\d{3,6}\b")
_PREFIX = re.compile(
    r"^\W*(?:uncaught\s+)?(?:[\w.]*(?:error|exception|warning|panic|fatal)[\w.]*\s*(?:\[[^\]]*\])?|[A-Z][A-Z0-9_]{3,})\s*:\s+",
    re.IGNORECASE,
)
_RAISES = re.compile(
    r"\b(?:raise|throw|panic!?|bail!?|Err|reject|abort|die|fail|error|warn|exception|assert|new|return|log\w*)\b|[Ee]rror",
    0,
)
_THROWS = re.compile(
    r"\b(?:raise|throw|panic|bail|reject|abort|assert|return|new|log\w*|error)\b|\bErr\(|[Ee]rror\w*\("
)
_DEFINES = re.compile(
    r"^\s*(?:(?:export|pub|public|static|final|const|let|var|val)\s+)*(?P<name>[A-Za-z_$][\w$]*)\s*(?::\s*[^=]+)?(?:=|:)\s*"
)
# `Error::Unknown { name } => …`, `case ErrUnknown:` give a variant its message; translations have keys.
_COMMENT = re.compile(r"\s*(?:#|//|\*|--|;|\"\"\")")
_ARM = re.compile(r"^\s*(?:case\s+)?(?:[\w]+(?:::|\.))*(?P<name>[A-Z]\w{3,})\b[^=]*(?:=>|:\s*$)")
_KEY = re.compile(r"^\s*[\"'](?P<name>[\w.-]+)[\"']\s*[:=]")
ROLES = ("code", "config", "data", "translation", "generated")


def raised_at(brief: Brief, toolbox: RoleToolbox) -> RoleOutcome | None:
    raw = brief.question.raw
    wanted = messages(raw)
    codes = list(dict.fromkeys(_CODE.findall(raw)))
    found = best_lines(wanted, toolbox)
    coded = code_lines(codes, toolbox)
    # Explicitly about an error, rather than only a statement.
    is_about_error = QuestionType.ERROR in types_of(f"{raw} ?")
    if not coded and (not found or (not is_about_error and found[0][1] < CERTAIN)):
        return None
    places: dict[tuple[str, str, int], ResultPlace] = {}
    for match, _ in found[:3]:
        place = message_place(match, toolbox)
        places.setdefault(place.key, place)
        for use in uses_of(match, toolbox):
            places.setdefault(use.key, use)
    for place in coded:
        places.setdefault(place.key, place)
    listed = sorted(places.values(), key=lambda one: one.section != "raised")[:MOST_RAISED]
    share = found[0][1] if found else 0.0
    raising = [one for one in listed if one.section == "raised"]
    thrown = any(_THROWS.search(" ".join([one.says, *(text for _, text in one.rows)])) for one in raising)
    sure = Confidence.HIGH if thrown and share >= SURE else Confidence.MED if thrown else Confidence.LOW
    where = joined([f"{one.name or one.path} ({brief.reference(one)})" for one in raising or listed], 3)
    summary = f"The message is raised in {where}." if raising else f"The text of the message is at {where}."
    return answer(brief, summary, listed, sure)


def messages(raw: str) -> list[list[str]]:
    """The words of each text that may be a message: quoted strings, lines after `Error:`, pasted lines."""
    texts = [one.text for one in extract(raw) if one.kind is EvidenceKind.STRING]
    lines = [line.strip() for line in raw.splitlines() if line.strip()]
    is_question = (len(lines) == 1 and raw.rstrip().endswith("?")) or bool(texts)
    if not is_question or len(lines) > 1:
        texts += [_PREFIX.sub("", line) for line in lines if not line.startswith(("File ", "at ", "Traceback"))]
    texts += re.findall(r"[\"“`']([^\"”`\n]{8,300}?)[\"”`'](?=\W|$)", raw)
    found = [_WORD.findall(text.lower())[:40] for text in texts]
    return [one for one in found if len(one) >= RUN][:8]


def best_lines(wanted: Sequence[Sequence[str]], toolbox: RoleToolbox) -> list[tuple[TextMatch, float]]:
    """(line, share of the message that the line and those below it contain), best first."""
    runs = {tuple(one[at : at + RUN]) for one in wanted for at in range(len(one) - RUN + 1)}
    rare = sorted(runs, key=lambda run: (-sum(map(len, run)), run))[:MOST_RUNS]  # long words are rare
    patterns = [".{1,14}".join(map(re.escape, run)) for run in rare]
    if not patterns:
        return []
    matches = toolbox.grep(*patterns, ignore_case=True, most=MOST_MATCHES)
    stated = [one for one in matches if not _COMMENT.match(one.text)]
    product = [one for one in stated if not toolbox.is_test(one.area, one.path, one.line)]
    kept = [one for one in product if role_of(one.path) in ROLES] or [
        one for one in matches if role_of(one.path) not in {"test", "doc", "fixture", "snapshot"}
    ]
    scored: dict[tuple[str, int], tuple[TextMatch, float]] = {}
    for one in kept:
        lines = toolbox.lines(one.area, one.path) or []
        below = _WORD.findall(" ".join(lines[one.line - 1 : one.line + 3]).lower())
        share = max(shared_words(message, below) for message in wanted)
        if share >= LEAST and not any(path == one.path and 0 <= one.line - line <= RUN for path, line in scored):
            scored[one.path, one.line] = (one, share)
    found = sorted(scored.values(), key=lambda one: -one[1])
    least = WHOLE if found and found[0][1] >= WHOLE else NEAR * found[0][1] if found else 0.0
    return [one for one in found if one[1] >= least]


def message_place(match: TextMatch, toolbox: RoleToolbox) -> ResultPlace:
    around = toolbox.symbol_around(match.area, match.path, match.line)
    place = line_place(toolbox, match.area, match.path, match.line, around.qualified if around else "", "message")
    statement = 0 if arm_above(match, toolbox) else raising_line(match, toolbox)
    lines = toolbox.shown(match.area, match.path)
    inside = around is not None and around.kind in {"function", "method", "constructor"}
    if statement and inside:
        first = max(around.start_line if around else 1, statement - 4)
        rows = tuple((number, lines[number - 1]) for number in range(first, min(len(lines), match.line + 1) + 1))
        return replace(place, section="raised", line=statement, end=max(statement, match.line), rows=trimmed(rows))
    return place


def arm_above(match: TextMatch, toolbox: RoleToolbox) -> str:
    """The variant or case that the message belongs to, in code that gives errors their text; empty elsewhere."""
    lines = toolbox.lines(match.area, match.path) or []
    for number in range(match.line, max(0, match.line - AROUND), -1):
        if arm := _ARM.match(lines[number - 1]):
            return str(arm["name"])
        if re.match(r"\s*(?:#\[|@)", lines[number - 1]):  # an attribute gives its text to the variant below
            below = (text for text in lines[match.line : match.line + 3] if not re.match(r"\s*(?:#\[|@|\)|\])", text))
            named = re.match(r"\s*(?:pub\s+)?(?P<name>[A-Z]\w{3,})\b", next(below, ""))
            return str(named["name"]) if named else ""
    return ""


def trimmed(rows: Sequence[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    kept = [(number, text.rstrip()) for number, text in rows if text.strip()]
    margin = min((len(text) - len(text.lstrip()) for _, text in kept), default=0)
    return tuple((number, text[margin : margin + 110]) for number, text in kept)


def raising_line(match: TextMatch, toolbox: RoleToolbox) -> int:
    """The line at or above the message that raises it; 0 if there is none near."""
    lines = toolbox.lines(match.area, match.path) or []
    for number in range(match.line, max(0, match.line - AROUND), -1):
        if re.search(
            r"\b(?:raise|throw|panic!?|bail!?|abort|die)\b|\bErr\(|[Ee]rror\w*[!(.]|\bassert\b", lines[number - 1]
        ):
            return number
    return match.line if _RAISES.search(lines[match.line - 1] if match.line <= len(lines) else "") else 0


def uses_of(match: TextMatch, toolbox: RoleToolbox) -> Iterable[ResultPlace]:
    """The uses of the constant or table entry that contains the message."""
    lines = toolbox.lines(match.area, match.path) or []
    around = toolbox.symbol_around(match.area, match.path, match.line)
    inside = around is not None and around.kind in {"function", "method", "constructor"}
    names = [arm for arm in (arm_above(match, toolbox),) if arm]
    for number in range(match.line, max(0, match.line - AROUND), -1):
        text = lines[number - 1]
        if inside:
            break
        defined = _KEY.match(text) or _DEFINES.match(text)
        names += [*_CODE.findall(text), *([defined["name"]] if defined else ())]
    if around is not None and not inside and match.line - around.start_line <= AROUND:
        names.append(around.name)
    found: list[ResultPlace] = []
    for name in [one for one in dict.fromkeys(names) if len(one) > 3][:3]:  # noqa: PLR2004 - shorter is a keyword
        found += code_lines([name], toolbox, (match.path, match.line))
        if found:
            break
    return found


def code_lines(codes: Sequence[str], toolbox: RoleToolbox, defined: tuple[str, int] = ("", 0)) -> list[ResultPlace]:
    """Lines of code that raise or define an error by name."""
    found: list[ResultPlace] = []
    for code in codes[:2]:
        for match in toolbox.grep(code, fixed=True, word="." not in code, most=MOST_MATCHES):
            is_arm = re.search(rf"\b{re.escape(code)}\b[^=]*=>", match.text) is not None
            if role_of(match.path) != "code" or is_arm or is_import(match.text, code) or _COMMENT.match(match.text):
                continue
            if toolbox.is_test(match.area, match.path, match.line):
                continue
            if match.path == defined[0] and abs(match.line - defined[1]) <= AROUND:
                continue
            around = toolbox.symbol_around(match.area, match.path, match.line)
            inside = around is not None and around.kind in {"function", "method"}
            section = "raised" if is_raised(match.text, code, inside=inside) else "message"
            name = around.qualified if around else ""
            found.append(line_place(toolbox, match.area, match.path, match.line, name, section))
    return found[:MOST_RAISED]


def is_raised(text: str, code: str, *, inside: bool) -> bool:
    """Whether a line raises the error, as opposed to listing it in a table."""
    used = _RAISES.search(text.partition(code)[0]) or re.search(rf"\b{re.escape(code)}\b\s*[(.%{{]", text)
    return bool(used) and (inside or not re.match(rf"\s*['\"]?{re.escape(code)}\b", text))


def is_import(text: str, name: str) -> bool:
    """Whether the line only imports the name."""
    return (
        re.match(r"\s*(?:import|from|use|require|export|#include)\b", text) is not None
        or re.fullmatch(rf"\s*[\w{{}}\s,]*\b{re.escape(name)}\b,?\s*(?:\}}.*)?", text) is not None
    )
