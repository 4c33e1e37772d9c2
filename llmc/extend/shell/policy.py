"""Which commands may run, deny by default: allowed command prefixes, refused flags, and paths that must stay inside
the roots.

An entry is one or more words: `ls` allows any arguments, `git log` only that subcommand, and a name with a slash
(`./gradlew`) exactly that file. Programs without a slash are found in the system's PATH, never in a root. The refused
flags also apply to entries of the user: instead of `find -exec`, run the program directly.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmc.base import paths
from llmc.base.errors import OutsideError, QueryError
from llmc.extend.shell.allowed import (
    ALLOWED,
    BUILDING,
    CHANGING,
    ENVIRONMENT,
    EXACT,
    FORCED_GIT,
    GIT_BEFORE,
    GIT_SAFE,
    GOALS,
    LISTING,
    LOCAL,
    LOCAL_NAMES,
    MORE_GOALS,
    REFUSED,
    SAME,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Policy", "environment", "inside_of"]


@dataclass(frozen=True, slots=True)
class Policy:
    """`inside` raises OutsideError for a path outside the roots; it is called for every possible path."""

    allow: tuple[str, ...] = ()
    builtin: bool = True
    inside: Callable[[str], None] = lambda _path: None

    def command(self, words: Sequence[str]) -> list[str]:
        """The hardened words to run; QueryError explains what is not allowed and how to allow it."""
        program = words[0]
        if "=" in program.partition("/")[0]:
            raise QueryError("environment variables cannot be set for a command", reason=program.partition("=")[0])
        bare = strip_git(words) if program == "git" else plain_name(words)
        if not self._is_allowed(bare):
            raise QueryError(f"`{display_name(bare)}` is not an allowed command", hint=hint_for(bare))
        check_flags(bare)
        self._check_paths(words)
        return harden_git(words, bare) if program == "git" else list(words)

    def _is_allowed(self, words: Sequence[str]) -> bool:
        if starts_with(words, self.allow):
            return True
        if not self.builtin or " ".join(words) in EXACT:
            return self.builtin
        if words[0] in GOALS:
            goals = [word.rpartition(":")[2] if "radle" in words[0] else word for word in words[1:] if word[0] != "-"]
            return bool(goals) and all(goal in {*BUILDING[words[0]], *MORE_GOALS} for goal in goals)
        plain = list(words)
        while (
            words[0] in BUILDING and len(plain) > 1 and plain[1].startswith("-") and plain[1] not in BUILDING[words[0]]
        ):
            del plain[1]
        return starts_with(words, ALLOWED) or starts_with(plain, ALLOWED)

    def _check_paths(self, words: Sequence[str]) -> None:
        """Check every word that could be a path, including parts after `=` and after a short flag (`-f/etc/passwd`)."""
        if "/" in words[0]:
            self.inside(words[0])
        for word in words[1:]:
            for text in possible_paths(word):
                try:
                    self.inside(text)
                except OutsideError as error:
                    raise OutsideError(
                        f"{word!r} is outside the roots",
                        reason="commands may only name paths inside the roots",
                        hint="Give a path inside the root.",
                    ) from error


def starts_with(words: Sequence[str], entries: Iterable[str]) -> bool:
    return any(list(words[: len(entry)]) == entry for entry in (each.split() for each in entries) if entry)


def plain_name(words: Sequence[str]) -> list[str]:
    """Replace `.venv/bin/pytest` by its plain name if it is a project's own tool."""
    local = LOCAL.fullmatch(words[0])
    return [local["name"] if local and local["name"] in LOCAL_NAMES else words[0], *words[1:]]


def check_flags(words: Sequence[str]) -> None:
    program = words[0]
    family = SAME.get(program, program)
    if family == "python" and len(words) > 2:  # noqa: PLR2004 - python -m MODULE
        family, words = words[2], words[2:]
    pattern = REFUSED.get(family)
    for word in words[1:]:
        if pattern and re.match(pattern, word):
            raise QueryError(
                f"{program} {word} is not allowed", reason="it could run another program or write elsewhere"
            )
    if family == "git" and len(words) > 1 and words[1] in LISTING:
        for word in words[2:]:
            if CHANGING.match(word) and word not in {"-a", "-v", "-vv"}:
                raise QueryError(f"git {words[1]} {word} is not allowed", reason="it changes the repository")


def possible_paths(word: str) -> list[str]:
    """The word, its parts, and what may follow a short flag directly."""
    parts = [word, *word.split("=")[1:], word.partition(":")[2], *re.split(r"[,:;]", word)]
    parts += [part.partition("@")[2] for part in parts]
    parts += [match[1] for part in parts if (match := re.match(r"-[A-Za-z](.+)", part))]
    return [part for part in dict.fromkeys(parts) if part and not part.startswith("-")]


def inside_of(roots: Sequence[str], cwd: str) -> Callable[[str], None]:
    """A check that a string, read as a path in `cwd`, stays inside the roots; links are followed.

    A string such as `/api/v1` whose folder does not exist is not a path.
    """

    def check(text: str) -> None:
        full = os.path.normpath(os.path.join(cwd, text))  # noqa: PTH118 - text, as in `paths`
        suspicious = text.startswith("/") or ".." in text.split("/")
        could_be = suspicious and os.path.isdir(os.path.dirname(full))  # noqa: PTH112, PTH120 - strings, as in Home
        if not paths.possible(text) or not (could_be or os.path.lexists(full)):
            return
        real = os.path.realpath(full)
        if not any(paths.inside(real, root) is not None for root in roots) and real != os.devnull:
            raise OutsideError("this path is outside the workspace")

    return check


def strip_git(words: Sequence[str]) -> list[str]:
    """The git words without harmless options before the subcommand."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-") and rest[0] != "--version":
        if rest[0] == "-C" and len(rest) > 1:
            rest = rest[2:]
        elif rest[0] in GIT_BEFORE:
            rest = rest[1:]
        else:
            raise QueryError(f"git {rest[0]} is not allowed", reason="it changes what git runs or where it looks")
    return ["git", *rest]


def harden_git(words: Sequence[str], bare: Sequence[str]) -> list[str]:
    """Add options that stop the repository's settings from making git run programs."""
    before = list(words[1 : len(words) - len(bare) + 1])
    subcommand = bare[1] if len(bare) > 1 else ""
    return ["git", *GIT_SAFE, *before, subcommand, *FORCED_GIT.get(subcommand, ()), *bare[2:]]


def display_name(words: Sequence[str]) -> str:
    """The program, with its subcommand if it seems to have one."""
    return " ".join(words[:2]) if len(words) > 1 and re.fullmatch(r"[a-z][\w:-]*", words[1]) else words[0]


def hint_for(words: Sequence[str]) -> str:
    return f'The user can allow it with `allow = ["{display_name(words)}"]` below [shell] in their own llmc.toml.'


def environment(environ: dict[str, str], names: Sequence[str], home: str, temporary: str, agent: str) -> dict[str, str]:
    """A minimal environment: the variables of `ENVIRONMENT`, LC_*, those that the user lists, and variables that stop
    programs from prompting, paging and colouring.
    """
    wanted = {*ENVIRONMENT, *names}
    inherited = {name: value for name, value in environ.items() if name in wanted or name.startswith("LC_")}
    path = [part for part in inherited.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part)]  # noqa: PTH117
    own = {
        "PATH": os.pathsep.join(path), "HOME": home, "TMPDIR": temporary, "TERM": "dumb", "NO_COLOR": "1", "CI": "1",
        "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_EDITOR": "false",
        "GIT_ATTR_NOSYSTEM": "1", "PYTHONDONTWRITEBYTECODE": "1", "npm_config_update_notifier": "false",
    }  # fmt: skip
    # Java reads neither its home nor its temporary folder from the environment.
    java = f"-Duser.home={home} -Djava.io.tmpdir={temporary}"
    own |= {"GRADLE_USER_HOME": f"{home}/.gradle", "GRADLE_OPTS": java, "MAVEN_OPTS": java}
    return {**inherited, **own, **({"TE_AGENT_ID": agent} if agent else {})}
