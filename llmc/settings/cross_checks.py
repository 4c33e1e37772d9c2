"""Settings that are each right and do not go together: a server without a command, a tool of an unknown server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.settings.problems import nearest, shown
from llmc.settings.vendors import VENDORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmc.settings.check import Key
    from llmc.settings.sections import Settings

__all__ = ["disagreements", "doubts"]

OWN = "llmc"  # among servers, llmc itself

Disagreement = tuple["Key", str, str]


def disagreements(settings: Settings) -> Iterator[Disagreement]:
    """Key, reason and hint of each."""
    yield from _embedder(settings)
    yield from _mcps(settings)
    yield from _roles(settings)
    yield from _delegates(settings)
    yield from _redaction(settings)


def _redaction(settings: Settings) -> Iterator[Disagreement]:
    if not settings.redaction.rules:
        return
    import re2  # noqa: PLC0415 - 20 ms, and only for who has rules of their own

    options = re2.Options()
    options.log_errors = False
    for number, rule in enumerate(settings.redaction.rules):
        try:
            matches_empty = re2.compile(rule.pattern, options).search("") is not None
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            yield ("redaction", "rules", number, "pattern"), f"RE2 cannot read it: {reason}", ""
        else:
            if matches_empty:
                yield ("redaction", "rules", number, "pattern"), "it matches the empty text", "name what is secret"


def _embedder(settings: Settings) -> Iterator[Disagreement]:
    embedder = settings.embedder
    needed = {"openai": ("endpoint",), "sentence-transformers": ("model",), "combined": ("endpoint", "model")}
    wanted = needed.get(embedder.kind, ())
    if wanted and not any(getattr(embedder, name) for name in wanted):
        named = " or ".join(f"embedder.{name}" for name in wanted)
        yield ("embedder", "kind"), f'"{embedder.kind}" needs {named}', ""


def _mcps(settings: Settings) -> Iterator[Disagreement]:
    for name, mcp in settings.mcps.items():
        needed = "command" if mcp.transport == "stdio" else "url"
        if name == OWN:
            yield ("mcps", name), f'"{OWN}" stands for the tools of llmc itself', "choose another name"
        elif not getattr(mcp, needed):
            yield ("mcps", name), f"{needed} is missing", f"transport {mcp.transport} needs it"


def _roles(settings: Settings) -> Iterator[Disagreement]:
    for section, everywhere in (("research", settings.research.provider), ("crew", settings.crew.provider)):
        if everywhere and everywhere not in settings.providers:
            reason = f'no provider is named "{shown(everywhere)}"'
            yield (section, "provider"), reason, _offer(everywhere, settings.providers)
    for name, role in settings.roles.items():
        if role.provider and role.provider not in settings.providers:
            reason = f'no provider is named "{shown(role.provider)}"'
            yield ("roles", name, "provider"), reason, _offer(role.provider, settings.providers)


def _delegates(settings: Settings) -> Iterator[Disagreement]:
    servers = {*settings.mcps, OWN}
    for name, delegate in settings.delegates.items():
        for server in delegate.internal_tools.keys() - servers:
            reason = f'no server is named "{shown(server)}" in mcps'
            yield ("delegates", name, "internal_tools"), reason, _offer(server, servers)
        if delegate.arguments and not _is_schema(delegate.arguments):
            reason = "must be a JSON schema of an object"
            yield ("delegates", name, "arguments"), reason, "as in {type = 'object', properties = {...}}"


def doubts(settings: Settings) -> Iterator[Disagreement]:
    """What takes one entry out of use and leaves the rest as it is: to be said, and passed by."""
    providers = {*settings.providers, *VENDORS}
    for name, delegate in settings.delegates.items():
        if delegate.provider not in providers:
            reason = f'no provider is named "{shown(delegate.provider)}", and no vendor; this delegate is not offered'
            yield ("delegates", name, "provider"), reason, _offer(delegate.provider, providers)


def _is_schema(arguments: Mapping[str, object]) -> bool:
    required = arguments.get("required", [])
    tables = arguments.get("properties", {})
    return (
        arguments.get("type", "object") == "object"
        and isinstance(tables, dict)
        and all(isinstance(each, dict) for each in tables.values())
        and isinstance(required, list)
        and all(isinstance(each, str) for each in required)
    )


def _offer(name: str, names: Iterable[str]) -> str:
    meant = nearest(name, names)
    return f"did you mean {meant}?" if meant else ""
