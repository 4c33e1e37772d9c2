"""Which files of a root may never be read? Environment, key and credential files, unless the user allows them.

Only `Denylist.reason(path)` decides this. `RootFs` calls it before it opens a file, so all readers (scan, grep, find,
read, tree, research, shell) behave the same, whether or not a path was named explicitly. The user's `index.deny` adds
patterns in gitignore style, or allows files with `!`; a workspace file cannot set it. Files that match `index.exclude`
are refused in the same way. The decision depends on names only; no file is opened.
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

__all__ = ["DENIED", "EXCLUDED", "Denylist", "hint_for", "is_environment_file", "is_key_file"]

DENIED: Final = "environment, key and credential files are on the denylist"
EXCLUDED: Final = "excluded by index.exclude"

_FOLDERS: Final = frozenset({".ssh", ".gnupg"})
_NAMES: Final = frozenset(
    {
        *(".env", ".envrc", ".npmrc", ".netrc", "_netrc", ".pypirc", ".git-credentials", ".pgpass", ".htpasswd"),
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".dockercfg"),
        *(".my.cnf", ".mylogin.cnf", ".vault-token", ".s3cfg", ".boto", "application_default_credentials.json"),
        *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history"),
        *(".psql_history", ".mysql_history", ".rediscli_history", ".sqlite_history"),
    }
)
_ENDINGS: Final = (".pem", ".p12", ".pfx", ".key", ".ppk", ".p8", ".jks", ".keystore", ".kdbx")
_PLACES: Final = frozenset(
    {
        *((".aws", "credentials"), (".docker", "config.json"), (".kube", "config"), (".gem", "credentials")),
        *((".cargo", "credentials"), (".cargo", "credentials.toml"), (".composer", "auth.json")),
        *(("gh", "hosts.yml"), ("rclone", "rclone.conf")),
    }
)
# What editors and people append to the name of a copy: `.env~`, `id_rsa.bak`, `.id_rsa.swp`.
_COPIES: Final = ("~", "#", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo", ".tmp")
# `.env.example` lists variable names without secret values.
_HARMLESS: Final = frozenset({"example", "sample", "template"})
_SECRETS: Final = "secrets"
# Below `secrets/` only data is denied: a package with that name contains source code, page templates and documentation.
_DATA: Final = frozenset({"csv", "ini", "json", "jsonl", "properties", "text", "toml", "xml", "yaml"})
# Page templates, as in `templates/secrets/list.tmpl`, are source code; `prod.yml.tmpl` is a template of data.
_PAGES: Final = frozenset(
    {
        *("tmpl", "gotmpl", "gohtml", "tpl", "ejs", "liquid", "pug", "jade", "haml", "slim", "handlebars"),
        *("cshtml", "vbhtml", "razor", "aspx", "jsp", "ftl", "mako", "marko", "templ", "latte"),
    }
)


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


def is_key_file(path: str) -> bool:
    """Whether it is a key or a certificate, or a folder of them, rather than a file with settings."""
    *folders, name = path.lower().split("/")
    is_key = any(each.startswith("id_") or each.endswith(_ENDINGS) for each in _names(name))
    return is_key or not _FOLDERS.isdisjoint((*folders, name))


def is_environment_file(path: str) -> bool:
    """Whether it is a file with environment variables."""
    return any(name in {".env", ".envrc"} or _is_environment(name) for name in _names(path.rpartition("/")[2].lower()))


def hint_for(reason: str, path: str) -> str:
    """What the user can do to read the file."""
    if reason == EXCLUDED:
        return "Change index.exclude to read it."
    return f"The user allows it with index.deny = [{f'!/{path}'!r}] in their own llmc.toml."


def _is_denied(path: str, *, is_folder: bool) -> bool:
    *folders, name = path.lower().split("/")
    if not _FOLDERS.isdisjoint(folders):
        return True
    if is_folder:
        return name in _FOLDERS
    if any(_is_denied_name(each, folders) for each in _names(name)):
        return True
    return _SECRETS in folders and any(
        not _is_page(each) and (language_of(each) in _DATA or each.endswith(".tfvars")) for each in _names(name)
    )


def _names(name: str) -> tuple[str, ...]:
    """The name, and that of the file of which it may be a copy."""
    original = name.lstrip("#")
    while original.endswith(_COPIES):
        original = next(original.removesuffix(ending) for ending in _COPIES if original.endswith(ending))
    if original == name:
        return (name,)
    # Vim adds a dot in front as well.
    return (name, original, original.removeprefix(".")) if name.endswith((".swp", ".swo")) else (name, original)


def _is_denied_name(name: str, folders: Sequence[str]) -> bool:
    if name in _NAMES or name.endswith(_ENDINGS) or _is_environment(name):
        return True
    return bool(folders) and (folders[-1], name) in _PLACES


def _is_page(name: str) -> bool:
    """`list.tmpl`, `list.html.tmpl`; not `prod.yml.tmpl` or `.tmpl`."""
    stem, _, ending = name.rpartition(".")
    return bool(stem) and ending in _PAGES and ("." not in stem or language_of(stem) == "html")


def _is_environment(name: str) -> bool:
    """`.env.production`, `prod.env`."""
    if not (name.startswith(".env.") or name.endswith(".env")):
        return False
    return _HARMLESS.isdisjoint(name.strip("~#").split("."))


def _last_verdict(patterns: Patterns, path: str, *, is_folder: bool, below_too: bool = False) -> bool | None:
    """The verdict on the path, or on the nearest parent folder that a pattern matches.

    `below_too`: as in an ignore file, a pattern cannot re-include anything below an excluded folder.
    """
    verdict: bool | None = None
    parts = path.split("/")
    for depth, name in enumerate(parts):
        layer = patterns.layer("/".join(parts[:depth]))
        here = layer.verdict(name, is_folder=is_folder or depth < len(parts) - 1) if layer else None
        verdict = verdict if here is None else here
        if verdict and below_too:
            return True
    return verdict


def _patterns(lines: Sequence[str]) -> Patterns:
    return read_patterns(os.fsencode("\n".join(lines)))
