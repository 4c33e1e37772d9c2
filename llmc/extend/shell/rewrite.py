"""Rewrites commands that the index can answer: grep, rg, find, cat, head, tail, ls -R and tree.

`enriched` returns the equivalent tool call, or None, in which case the command runs. A command with any flag that is
not fully understood is not rewritten. The one deliberate difference: ignored files are searched only if they, or a
folder around them, are named. Standard library only: `llmc te` calls this before it contacts the daemon.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["enriched"]

Answer = tuple[str, dict[str, Any]]

_GREP_FLAGS: Final = {
    "i": "ignore_case", "w": "word", "F": "fixed", "l": "files", "c": "count", "v": "invert",
    "--ignore-case": "ignore_case", "--word-regexp": "word", "--fixed-strings": "fixed", "--count": "count",
    "--files-with-matches": "files", "--invert-match": "invert",
}  # fmt: skip
# Flags that only change the output format, which the envelope determines.
_GREP_SHOWN: Final = frozenset({
    *"nHIshE", "--line-number", "--with-filename", "--no-messages", "--extended-regexp", "--color=never",
    "--no-heading", "--heading", "--color=auto", "--binary-files=without-match", "-rn", "-nr",
})  # fmt: skip
_GREP_NUMBERS: Final = {
    "A": "after", "B": "before", "C": "context",
    "--after-context": "after", "--before-context": "before", "--context": "context",
}  # fmt: skip
_GREP_VALUES: Final = {
    "--regexp": "e", "--glob": "g", "--type": "t", "--type-not": "T", "--include": "include", "--exclude": "exclude",
}  # fmt: skip
_BRE_ONLY: Final = frozenset("(){}+?|")
_SAME: Final = frozenset("wWsSbB.*[]^$/\\-")


def enriched(words: Sequence[str]) -> Answer | None:
    program = words[0].rpartition("/")[2] if words[0].startswith(("/usr/bin/", "/bin/")) else words[0]
    reader = READERS.get(program)
    return reader(program, list(words[1:])) if reader else None


def grep(program: str, words: list[str]) -> Answer | None:
    args: dict[str, Any] = {}
    patterns: list[str] = []
    plain: list[str] = []
    extended = program in {"egrep", "rg"}
    recursive = program == "rg"
    args.update({"fixed": True} if program == "fgrep" else {})
    while words:
        word = words.pop(0)
        if word == "--":
            plain += words
            break
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        taken = grep_flag(program, word, words, args, patterns)
        if taken is None:
            return None
        recursive = recursive or "r" in taken
        extended = extended or "E" in taken
    if not patterns:
        patterns, plain = plain[:1], plain[1:]
    if not patterns or "-" in plain or (not plain and not recursive):
        return None
    made = patterns if args.get("fixed") or extended else [from_basic(pattern) for pattern in patterns]
    if extended and program != "rg" and not args.get("fixed"):
        made = [pattern if is_common(pattern) else None for pattern in patterns]
    if None in made or any("\n" in (pattern or "\n") for pattern in made):
        return None
    return "grep", {**args, "pattern": made[0], "also": made[1:], "path": [path for path in plain if path != "."]}


def grep_flag(program: str, word: str, rest: list[str], args: dict[str, Any], patterns: list[str]) -> str | None:
    """The meaning of the flag for the caller (r, E) or ""; None when it is not understood."""
    if word.startswith("--"):
        return long_flag(program, word, rest, args, patterns)
    meant = ""
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in {"e", "A", "B", "C"} or (letter in {"g", "t", "T"} and program == "rg"):
            value = letters or (rest.pop(0) if rest else "")
            if not take_value(program, letter, value, args, patterns):
                return None
            return meant
        if letter in _GREP_FLAGS:
            args[_GREP_FLAGS[letter]] = True
        elif letter in {"r", "R"} and program != "rg":
            meant += "r"
        elif letter == "E" and program != "rg":
            meant += "E"
        elif letter not in _GREP_SHOWN or (program == "rg" and letter in {"s", "E"}):
            return None
    return meant


def long_flag(program: str, word: str, rest: list[str], args: dict[str, Any], patterns: list[str]) -> str | None:
    name, given, value = word.partition("=")
    if word in {"--recursive", "--extended-regexp"} and program != "rg":
        return "r" if word == "--recursive" else "E"
    if word in _GREP_FLAGS:
        args[_GREP_FLAGS[word]] = True
        return ""
    if word in _GREP_SHOWN:
        return ""
    if name in _GREP_VALUES or name in _GREP_NUMBERS:
        value = value if given else (rest.pop(0) if rest else "")
        return "" if take_value(program, _GREP_VALUES.get(name, name), value, args, patterns) else None
    return None


def take_value(program: str, letter: str, value: str, args: dict[str, Any], patterns: list[str]) -> bool:
    if not value:
        return False
    if letter == "e":
        patterns.append(value)
    elif letter in _GREP_NUMBERS and value.isdecimal():
        args[_GREP_NUMBERS[letter]] = int(value)
    elif letter in {"g", "t", "T"} and program == "rg":
        args.setdefault({"g": "glob", "t": "type", "T": "type_not"}[letter], []).append(value)
    elif letter in {"include", "exclude"} and program != "rg" and "/" not in value:
        args.setdefault("glob", []).append(value if letter == "include" else f"!{value}")
    else:
        return False
    return True


def from_basic(pattern: str) -> str | None:
    """Convert a basic regular expression to ripgrep syntax; None if more than backslashes differ."""
    if "[" in pattern and (re.search(r"\[[^]]*(?:\\|&&|--|~~|\[)", pattern) or "[]" in pattern or "[^]" in pattern):
        return None
    made: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            after = pattern[at + 1 : at + 2]
            if after in {"<", ">"}:
                made.append(r"\b")
            elif after in _BRE_ONLY and after:
                made.append(after)
            elif after and after in _SAME:
                made.append(f"\\{after}")
            else:
                return None  # a back-reference, or an escape that only one of them supports
            at += 2
            continue
        if character == "*" and (not made or made[-1] in {"(", "|", "^"}):
            return None
        if (character == "^" and at) or (character == "$" and at < len(pattern) - 1):
            return None
        made.append(f"\\{character}" if character in _BRE_ONLY else character)
        at += 1
    return "".join(made)


def is_common(pattern: str) -> bool:
    """Whether an extended expression has the same meaning in ripgrep."""
    escapes = re.findall(r"\\(.)", pattern)
    return from_basic(re.sub(r"[(){}+?|]", "", pattern)) is not None and all(
        each in _SAME or each in _BRE_ONLY for each in escapes
    )


def find(_program: str, words: list[str]) -> Answer | None:
    """`find [PATH] -type f -name GLOB`; without `-type f` only for names with an extension, which folders lack."""
    path = words.pop(0) if words and not words[0].startswith(("-", "(", "!")) else "."
    args: dict[str, Any] = {}
    files = False
    while words:
        flag = words.pop(0)
        value = words.pop(0) if words else ""
        if flag == "-type" and value == "f":
            files = True
        elif flag == "-name" and value and "/" not in value and "name" not in args and "\\" not in value:
            args["name"] = value
        else:
            return None
    name = args.get("name", "")
    if not files and not re.fullmatch(r"\*\.[A-Za-z0-9]{1,5}", name):
        return None
    # Without a wildcard, the index matches part of a path, but find matches the whole name.
    if name and not any(mark in name for mark in "*?["):
        args = {"name": "", "glob": [f"**/{name}"]}
    return "find", {**args, "path": [path] if path not in {".", "./"} else []}


def cat(_program: str, words: list[str]) -> Answer | None:
    paths = [word for word in words if word not in {"-n", "--number", "-u"}]
    if not paths or any(path.startswith("-") or not is_target(path) for path in paths):
        return None
    return "read", {"target": paths}


def head(_program: str, words: list[str]) -> Answer | None:
    count, paths = counted(words)
    if count is None or len(paths) != 1 or not count.isdecimal() or int(count) < 1 or not is_target(paths[0]):
        return None
    return "read", {"target": [f"{paths[0]}:1-{int(count)}"]}


def tail(_program: str, words: list[str]) -> Answer | None:
    """`tail -n +20 FILE`; without `+` the first line number is unknown, so tail itself runs."""
    count, paths = counted(words)
    if not count or len(paths) != 1 or not re.fullmatch(r"\+[1-9]\d*", count) or not is_target(paths[0]):
        return None
    return "read", {"target": [f"{paths[0]}:{count[1:]}-"]}


def counted(words: list[str]) -> tuple[str | None, list[str]]:
    """(value of -n, files); None if there is another flag."""
    count, paths = "10", []
    words = list(words)
    while words:
        word = words.pop(0)
        match = re.fullmatch(r"(?:-n|--lines=)?(\+?\d+)", word) if word.startswith("-n") or "=" in word else None
        if word in {"-n", "--lines"} and words:
            count = words.pop(0)
        elif match:
            count = match[1]
        elif re.fullmatch(r"-\d+", word):
            count = word[1:]
        elif word.startswith("-"):
            return None, []
        else:
            paths.append(word)
    return count, paths


def is_target(path: str) -> bool:
    """Whether `read` cannot mistake the path for a range, a symbol or a handle."""
    return path != "-" and ":" not in path and not re.fullmatch(r"h[a-z2-7]{3,32}", path)


def tree(program: str, words: list[str]) -> Answer | None:
    depth = 99 if program == "ls" else 3
    paths: list[str] = []
    recursive = program == "tree"
    while words:
        word = words.pop(0)
        if program == "tree" and word == "-L" and words and words[0].isdecimal():
            depth = int(words.pop(0))
        elif program == "ls" and re.fullmatch(r"-[aA1R]+", word):
            recursive = recursive or "R" in word
        elif word.startswith("-"):
            return None
        else:
            paths.append(word)
    return ("tree", {"path": [path for path in paths if path != "."], "depth": depth}) if recursive else None


READERS: Final[dict[str, Callable[[str, list[str]], Answer | None]]] = {
    "grep": grep, "egrep": grep, "fgrep": grep, "rg": grep, "find": find, "cat": cat, "head": head, "tail": tail,
    "ls": tree, "tree": tree,
}  # fmt: skip
