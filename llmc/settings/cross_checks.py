"""Finds inconsistent settings of different tables, such as a delegate that uses an unknown server.

The model validators in `sections` and `entries` find inconsistent values of one table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmc.settings.entries import VENDORS
from llmc.settings.problems import nearest, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmc.settings.layer import Key
    from llmc.settings.sections import Settings

__all__ = ["inconsistencies", "warnings_of"]

OWN = "llmc"  # the name of llmc itself among servers

Inconsistency = tuple["Key", str, str]


def inconsistencies(settings: Settings) -> Iterator[Inconsistency]:
    """(key, reason, hint) of each inconsistency."""
    yield from _mcps(settings)
    yield from _roles(settings)
    yield from _delegates(settings)
    yield from _redaction(settings)


def _redaction(settings: Settings) -> Iterator[Inconsistency]:
    if not settings.redaction.rules:
        return
    import re2  # noqa: PLC0415 - 20 ms, needed only for custom rules

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
                    "match only the secret",
                )


def _mcps(settings: Settings) -> Iterator[Inconsistency]:
    if OWN in settings.mcps:
        yield ("mcps", OWN), f'"{OWN}" stands for the tools of llmc itself', "choose another name"


def _roles(settings: Settings) -> Iterator[Inconsistency]:
    for section, everywhere in (("research", settings.research.provider), ("crew", settings.crew.provider)):
        if everywhere and everywhere not in settings.providers:
            reason = f'no provider is named "{shown(everywhere)}"'
            yield (section, "provider"), reason, _offer(everywhere, settings.providers)
    for name, role in settings.roles.items():
        if role.provider and role.provider not in settings.providers:
            reason = f'no provider is named "{shown(role.provider)}"'
            yield ("roles", name, "provider"), reason, _offer(role.provider, settings.providers)


def _delegates(settings: Settings) -> Iterator[Inconsistency]:
    servers = {*settings.mcps, OWN}
    for name, delegate in settings.delegates.items():
        for server in delegate.internal_tools.keys() - servers:
            reason = f'no server is named "{shown(server)}" in mcps'
            yield ("delegates", name, "internal_tools"), reason, _offer(server, servers)


def warnings_of(settings: Settings) -> Iterator[Inconsistency]:
    """Inconsistencies that only disable one entry, which are reported as notices."""
    providers = {*settings.providers, *VENDORS}
    for name, delegate in settings.delegates.items():
        if delegate.provider not in providers:
            reason = f'no provider or vendor is named "{shown(delegate.provider)}"; this delegate is not offered'
            yield ("delegates", name, "provider"), reason, _offer(delegate.provider, providers)


def _offer(name: str, names: Iterable[str]) -> str:
    meant = nearest(name, names)
    return f"did you mean {meant}?" if meant else ""
