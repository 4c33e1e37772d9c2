"""Where does a file register routes, commands, handlers and event subscriptions? By the usual calls and decorators of
common frameworks: Express, Fastify, NestJS, Flask, FastAPI, Django, Spring, Rails, Gin, Axum, ASP.NET, Laravel, click,
argparse, commander, cobra, and emitters of events.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from llmc.retrieval.call_arguments import split_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Registration", "decorator_in", "registrations"]

LONGEST = 110
LONGEST_DECORATOR = 60  # with more of it, less room is left for what it decorates
_TEXT = r"""r?["'`][^"'`\n]{0,120}["'`]"""
_VERBS = "get|post|put|patch|delete|head|options|all|any|use|route|ws|GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|Any"
_EVENTS = r"on|once|onAction|onFilter|onInit|addListener|addEventListener|subscribe|consume|handle"
_METHODS = rf"[\w$.]+\.(?:{_VERBS})\(\s*{_TEXT}\s*,"
_PATTERNS = {
    "javascript": rf"""{_METHODS}|[\w$.]+\.route\(\s*\{{|[\w$.]*\.?command\(\s*{_TEXT}
        |[\w$.]+\.(?:{_EVENTS})\(\s*{_TEXT}\s*,|(?:action|filter|schedule|init|embed)\(\s*{_TEXT}\s*,
        |[\w$.]*\.?(?:forRoutes|useGlobal\w+)\(|\.apply\(\s*[A-Z]""",
    "python": rf"""(?:re_)?path\(\s*{_TEXT}\s*,|url\(\s*{_TEXT}\s*,
        |(?:\w+\s*=\s*)?[\w.]*\.(?:add_parser|add_command)\(\s*{_TEXT}|
        [\w.]+\.(?:connect|add_url_rule|add_api_route|add_route|subscribe|register|include_router|register_blueprint
            |add_middleware|mount)\(\s*[\w"'/]""",
    "ruby": rf"""(?:get|post|put|patch|delete|match)\s(?:{_TEXT}|:\w)
        |(?:resources?|namespace|mount|root|scope|task)\s[:"'\w]
        |(?:devise_for|rescue_from|(?:skip_)?(?:before|after|around)_\w+)\s[:\w]""",
    "go": rf"""{_METHODS}|[\w.]+\.(?:HandleFunc|Handle)\(\s*{_TEXT}\s*,|Use:\s*"[^"\n]+"
        |[^\n/"]*\.Group\(\s*{_TEXT}|[\w.]+\.Use\(""",
    "rust": rf"[\w.]*\.(?:route|nest|nest_service|service)\(\s*{_TEXT}\s*,|[\w.]*\.(?:merge|layer|fallback)\(",
    "php": rf"Route::\w+\(\s*{_TEXT}|[$\w>-]+->(?:{_VERBS})\(\s*{_TEXT}\s*,",
    "csharp": rf"[\w.]+\.Map(?:Get|Post|Put|Delete|Patch|Hub)\(\s*{_TEXT}\s*,",
    "java": rf"[\w.]*\.?(?:{_VERBS})\(\s*{_TEXT}\s*,",
}
_SAME = {"typescript": "javascript", "tsx": "javascript", "jsx": "javascript", "vue": "javascript", "kotlin": "java"}
_DECORATORS = re.compile(
    r"""@(?:[\w.]+\.)?(?:route|get|post|put|patch|delete|websocket|command|group|task|callback|on_event|middleware|receiver
        |errorhandler|exception_handler|before_request|after_request|event|listener|job|scheduled|shared_task|tool|hookimpl
        |Get|Post|Put|Patch|Delete|All|Controller|Resolver|Query|Mutation|Subscription|OnEvent|EventPattern|MessagePattern
        |Cron|Interval|Process|SubscribeMessage
        |\w*Mapping|EventListener|KafkaListener|RabbitListener|JmsListener|Scheduled|Path|GET|POST|PUT|PATCH|DELETE)\b
      |^[ \t]*(?P<attribute>\[(?:Http\w+|Route|ApiController)\b
      |\#\[(?!OAT?\\)(?:\w+(?:::|\\))*(?:get|post|put|patch|delete|route|head|options|Route|Get|Post|Put|Patch|Delete|AsCommand
        |AsEventListener|AsMessageHandler|command|event)\b)""",
    re.VERBOSE | re.MULTILINE,
)


class Registration(NamedTuple):
    line: int
    text: str


@cache
def _calls(language: str) -> re.Pattern[str] | None:
    pattern = _PATTERNS.get(_SAME.get(language, language))
    if pattern is None:
        return None
    return re.compile(rf"^[ \t]*(?:await\s)?(?:return\s)?(?:{pattern})", re.MULTILINE | re.VERBOSE)


def registrations(text: str, language: str) -> Iterator[Registration]:
    """Calls that register something, with their handler if it is named in the call."""
    calls = _calls(language)
    line, at = 1, 0
    for match in calls.finditer(text) if calls else ():
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        line += text.count("\n", at, start)
        at = start
        yield Registration(line, _short(text, start))


def _short(text: str, start: int) -> str:
    """The call up to its end, on one line; a function or an object in it is omitted."""
    depth, quote = 0, ""
    for at in range(start, min(len(text), start + 4 * LONGEST)):
        sign = text[at]
        if sign in "\"'`" and quote in ("", sign):
            quote = "" if quote else sign
        if quote:
            continue
        depth += (sign in "([{") - (sign in ")]}")
        opens = sign == "{" and depth > 1 and text[at - 1] not in "$("
        if opens or (sign == ")" and depth <= 0) or (sign == "\n" and depth <= 0):
            return _one_line(text[start : at + (sign == ")")], is_whole=not opens)
    return _one_line(text[start : start + LONGEST], is_whole=False)


def _one_line(text: str, *, is_whole: bool) -> str:
    joined = " ".join(text.split()).replace("( ", "(").replace(", )", ")")
    return joined if is_whole and len(joined) <= LONGEST else f"{joined[:LONGEST].rstrip()}…"


def decorator_in(head: str) -> str:
    """The decorators, annotations or attributes above a definition that register it (`@POST @Path("token")`): the first
    one and those that are short with it; empty if there is none."""
    found: list[str] = []
    for match in _DECORATORS.finditer(head):
        text = _with_arguments(match[0].lstrip(), head[match.end() :], "]" if match["attribute"] else "")
        if found and len(" ".join((*found, text))) > LONGEST_DECORATOR:
            break
        found.append(text)
    return " ".join(found)


def _with_arguments(name: str, after: str, end: str) -> str:
    """`#[Route(path: '/a', …)]`: as many of its arguments as fit."""
    written = _in_brackets(after) if after.startswith("(") else ""
    if not written:
        return f"{name}{end}" if not after.startswith("(") else f"{name}(…){end}"
    kept: list[str] = []
    parts = [" ".join(part.split()) for part in split_parameters(written[1:-1])]
    if len(shown := f"{name}({', '.join(parts)}){end}") <= LONGEST_DECORATOR:
        return shown
    for part in parts:
        if len(f"{name}({', '.join((*kept, part))}, …){end}") <= LONGEST_DECORATOR:
            kept.append(part)
    return f"{name}({', '.join((*kept, '…'))}){end}"


def _in_brackets(text: str) -> str:
    """The text from the bracket at the start to its closing bracket; empty if there is none."""
    depth, quote = 0, ""
    for at, sign in enumerate(text):
        if sign in "\"'`" and quote in ("", sign):
            quote = "" if quote else sign
        elif not quote:
            depth += (sign in "([{") - (sign in ")]}")
            if depth == 0:
                return text[: at + 1]
    return ""
