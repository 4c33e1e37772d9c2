"""Which files of a root may never be read? Environment, key and credential files, unless the user allows them.

`Denylist.reason(path)` is the one place that decides. The door asks it before it opens anything, so that every reader
(scan, grep, find, read, tree, research, shell) gives the same answer, whether or not a path was named explicitly. The
user's `index.deny` adds patterns in gitignore style, or allows files with `!`; a workspace file cannot set it. What
`index.exclude` names is refused in the same way. Only names decide: nothing is opened here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from llmc.base.globbing import read_patterns
from llmc.base.languages import language_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmc.base.globbing import Patterns

__all__ = ["DENIED", "EXCLUDED", "Denylist", "hint_for"]

DENIED: Final = "environment, key and credential files are on the denylist"
EXCLUDED: Final = "index.exclude leaves it out"

_FOLDERS: Final = frozenset({".ssh", ".gnupg"})
_NAMES: Final = frozenset(
    {
        *(".env", ".envrc", ".npmrc", ".netrc", "_netrc", ".pypirc", ".git-credentials", ".pgpass", ".htpasswd"),
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".dockercfg"),
    }
)
_ENDINGS: Final = (".pem", ".p12", ".pfx", ".key", ".ppk")
_PLACES: Final = frozenset(
    {
        *((".aws", "credentials"), (".docker", "config.json"), (".kube", "config"), (".gem", "credentials")),
        *((".cargo", "credentials"), (".cargo", "credentials.toml")),
    }
)
# `.env.example` shows which variables there are; it holds no values.
_HARMLESS: Final = frozenset({"example", "sample", "template"})
_SECRETS: Final = "secrets"
# Below `secrets/` only data is denied: a package of that name holds source code and its documentation.
_DATA: Final = frozenset({"csv", "ini", "json", "jsonl", "properties", "text", "toml", "xml", "yaml"})


@dataclass(frozen=True)
class Denylist:
    """`deny` and `exclude` are patterns in gitignore style, relative to the root."""

    deny: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def reason(self, path: str, *, is_folder: bool = False) -> str:
        """Why the path is refused; empty if it is not. Paths are relative to the root."""
        if self.denies(path, is_folder=is_folder):
            return DENIED
        if self.exclude and _last_verdict(self._exclude, path, is_folder=is_folder, below_too=True):
            return EXCLUDED
        return ""

    def denies(self, path: str, *, is_folder: bool = False) -> bool:
        own = _last_verdict(self._deny, path, is_folder=is_folder) if self.deny else None
        return _is_denied(path, is_folder=is_folder) if own is None else own

    @cached_property
    def _deny(self) -> Patterns:
        return _patterns(self.deny)

    @cached_property
    def _exclude(self) -> Patterns:
        return _patterns(self.exclude)


def hint_for(reason: str, path: str) -> str:
    """What the user can do about it."""
    if reason == EXCLUDED:
        return "Change index.exclude to read it."
    return f"The user allows it with index.deny = [{f'!/{path}'!r}] in their own llmc.toml."


def _is_denied(path: str, *, is_folder: bool) -> bool:
    *folders, name = path.lower().split("/")
    if not _FOLDERS.isdisjoint(folders):
        return True
    if is_folder:
        return name in _FOLDERS
    if name in _NAMES or name.endswith(_ENDINGS) or _is_environment(name):
        return True
    if folders and (folders[-1], name) in _PLACES:
        return True
    return _SECRETS in folders and (language_of(name) in _DATA or name.endswith(".tfvars"))


def _is_environment(name: str) -> bool:
    """`.env.production`, `prod.env`."""
    if not (name.startswith(".env.") or name.endswith(".env")):
        return False
    return _HARMLESS.isdisjoint(name.split("."))


def _last_verdict(patterns: Patterns, path: str, *, is_folder: bool, below_too: bool = False) -> bool | None:
    """What the patterns say of the path or of the nearest folder above it that they name. `below_too`: as in an ignore
    file, nothing below a folder that is left out can be brought back."""
    verdict: bool | None = None
    parts = path.split("/")
    for depth, name in enumerate(parts):
        layer = patterns.layer("/".join(parts[:depth]))
        said = layer.verdict(name, is_folder=is_folder or depth < len(parts) - 1) if layer else None
        verdict = verdict if said is None else said
        if verdict and below_too:
            return True
    return verdict


def _patterns(lines: Sequence[str]) -> Patterns:
    return read_patterns(os.fsencode("\n".join(lines)))
