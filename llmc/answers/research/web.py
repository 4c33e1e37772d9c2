"""Research outside the roots: one request to the configured search service, and nothing else.

Off by default. The request goes only to the configured address: no redirects, no proxies from the environment, with a
deadline and a cap on the response size. The query is redacted before it is sent. The response is untrusted text: it is
displayed and never treated as instructions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from llmc.base.errors import ConfigError, WebError
from llmc.base.outbound import ExchangeError, Exchanger
from llmc.envelope.clean import clean_text
from llmc.envelope.redact.redactor import Redactor

if TYPE_CHECKING:
    from llmc.settings import Settings, WebResearch

__all__ = ["WebResult", "web_search"]

LONGEST_QUERY = 400
LONGEST_SNIPPET = 300
OK = 200


@dataclass(frozen=True, slots=True)
class WebResult:
    title: str
    url: str
    snippet: str


def web_search(query: str, settings: Settings) -> list[WebResult]:
    web = settings.web_research
    if not web.enabled:
        raise ConfigError(
            "web research is switched off", hint="The user can set web_research.enabled and web_research.endpoint."
        )
    cleaned = clean_text(query, Redactor.of(settings.redaction))[:LONGEST_QUERY]
    return results(fetch(address(web, cleaned), web))[: web.max_results]


def address(web: WebResearch, query: str) -> str:
    parts = urlsplit(web.endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.password:
        raise ConfigError(
            "web_research.endpoint is not a valid URL of a search service",
            hint="For example http://127.0.0.1:8888/search?format=json&q={query}",
        )
    if "{query}" in web.endpoint:
        return web.endpoint.replace("{query}", quote(query, safe=""))
    return f"{web.endpoint}{'&' if parts.query else '?'}q={quote(query, safe='')}"


def fetch(url: str, web: WebResearch) -> bytes:
    key = web.api_key.reveal()
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    exchanger = Exchanger(headers)
    try:
        status, body = exchanger.exchange("GET", url, seconds=web.timeout_ms / 1000, most=web.max_bytes)
    except ExchangeError as error:
        raise web_error(error.kind) from None
    finally:
        exchanger.close()
    if status != OK:
        raise web_error(f"it answered {status}")
    return body


def web_error(reason: str) -> WebError:
    return WebError("the web search failed", reason=reason, hint="Check web_research.endpoint and its API key.")


def results(body: bytes) -> list[WebResult]:
    """Parse the response of common services: a list, or one under `results`, `web.results` or `items`."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise web_error("the response is not valid JSON") from None
    for key in ("web", "results", "items"):
        if isinstance(parsed, dict) and isinstance(parsed.get(key), dict | list):
            parsed = parsed[key]
    if not isinstance(parsed, list):
        raise web_error("the response contains no list of results")
    return [one for entry in parsed if isinstance(entry, dict) and (one := entry_of(entry)).url]


def entry_of(entry: dict[str, Any]) -> WebResult:
    def text(*names: str) -> str:
        return next((" ".join(entry[name].split()) for name in names if isinstance(entry.get(name), str)), "")

    url = text("url", "link", "href")
    snippet = text("content", "description", "snippet", "body")[:LONGEST_SNIPPET]
    return WebResult(text("title", "name")[:200], url if urlsplit(url).scheme in {"http", "https"} else "", snippet)
