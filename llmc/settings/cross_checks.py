"""Settings of different tables that do not go together, such as a delegate that uses an unknown server.

Values of one table that do not go together are found by the model validators in `sections` and `entries`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.settings.entries import VENDORS
from llmc.settings.problems import nearest, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.settings.layer import Key
    from llmc.settings.sections import Settings

__all__ = ["disagreements", "doubts"]

OWN = "llmc"  # among servers, llmc itself

Disagreement = tuple["Key", str, str]


def disagreements(settings: Settings) -> Iterator[Disagreement]:
    """Key, reason and hint of each."""
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
                yield (
                    ("redaction", "rules", number, "pattern"),
                    "it matches the empty string",
                    "describe what is secret",
                )


def _mcps(settings: Settings) -> Iterator[Disagreement]:
    if OWN in settings.mcps:
        yield ("mcps", OWN), f'"{OWN}" stands for the tools of llmc itself', "choose another name"


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


def doubts(settings: Settings) -> Iterator[Disagreement]:
    """What disables one entry and nothing else: reported, and no error."""
    providers = {*settings.providers, *VENDORS}
    for name, delegate in settings.delegates.items():
        if delegate.provider not in providers:
            reason = f'no provider is named "{shown(delegate.provider)}", and no vendor; this delegate is not offered'
            yield ("delegates", name, "provider"), reason, _offer(delegate.provider, providers)


def _offer(name: str, names: Iterable[str]) -> str:
    meant = nearest(name, names)
    return f"did you mean {meant}?" if meant else ""
