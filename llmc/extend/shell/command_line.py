"""Parses a command line without a shell: words with quotes, `|`, `&&`, `||`, `;`, and a few redirections.

No shell ever sees the line, so it cannot mean more than what is parsed here. Anything that a shell would expand
(variables, substitutions, braces, `~`) or start on its own (`&`, subshells, here-documents) is refused with a hint on
what to do instead. `checking` expands unquoted globs later, in the working directory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from llmc.base.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Command", "Join", "Pipeline", "Redirect", "ShellWord", "parse"]

LONGEST_LINE: Final = 8_192
OPERATORS: Final = ("&&", "||", "|&", ";;", ">>", "<<", ">&", "<&", "&>", "|", ";", "&", ">", "<", "(", ")", "\n")
REFUSED: Final = {
    "&": ("a command in the background", "Run it in the foreground; it ends with its time limit."),
    "(": ("a subshell", "Run the commands one after the other."),
    ")": ("a subshell", "Run the commands one after the other."),
    "<<": ("a here-document", "Write the text to a file first."),
    ";;": ("a case of a shell script", "Run the commands one by one."),
    "\n": ("a command of several lines", "Run the commands one by one."),
    "<&": ("this redirection", "Use 2>&1, > FILE or < FILE."),
}
GLOB: Final = frozenset("*?[")


class Join(StrEnum):
    """The operator before a pipeline."""

    FIRST = ""
    THEN = ";"
    AND = "&&"
    OR = "||"


@dataclass(frozen=True, slots=True)
class ShellWord:
    """`glob`: it has an unquoted `*`, `?` or `[`; `pattern` is then the word with quoted characters escaped."""

    text: str
    pattern: str = ""

    @property
    def glob(self) -> bool:
        return bool(self.pattern)


@dataclass(frozen=True, slots=True)
class Redirect:
    """`fd` 0 reads from `target`, 1 and 2 write to it; an empty target of 2 is that of 1 (`2>&1`)."""

    fd: int
    target: str
    append: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    words: tuple[ShellWord, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    commands: tuple[Command, ...]
    join: Join = Join.FIRST


@dataclass(frozen=True, slots=True)
class _Operator:
    text: str


def parse(line: str) -> tuple[Pipeline, ...]:
    """Parse the line; QueryError for syntax that does more than start programs."""
    if len(line) > LONGEST_LINE:
        raise QueryError(f"the command is too long ({len(line):,} characters)", hint=f"At most {LONGEST_LINE:,}.")
    if "\0" in line:
        raise QueryError("a command cannot contain a NUL byte")
    pipelines: list[Pipeline] = []
    commands: list[Command] = []
    join = Join.FIRST
    tokens = list(_tokens(line.strip()))
    at = 0
    while at <= len(tokens):
        command, at = _command(tokens, at)
        end = tokens[at].text if at < len(tokens) else ""
        if not command.words:
            if not end and not commands and pipelines and join is Join.THEN:
                break  # a trailing `;`
            raise QueryError("a part of the command is empty", reason=f"before {end!r}" if end else "at its end")
        commands.append(command)
        if end != "|":
            pipelines.append(Pipeline(tuple(commands), join))
            commands = []
            join = Join(end)
        at += 1
        if not end:
            break
    return tuple(pipelines)


def _command(tokens: list[ShellWord | _Operator], at: int) -> tuple[Command, int]:
    words: list[ShellWord] = []
    redirects: list[Redirect] = []
    while at < len(tokens):
        token = tokens[at]
        if isinstance(token, ShellWord):
            words.append(token)
            at += 1
            continue
        if token.text in {"|", ";", "&&", "||"}:
            break
        redirect, at = _redirect(tokens, at, words)
        redirects += redirect
    return Command(tuple(words), tuple(redirects)), at


def _redirect(tokens: list[ShellWord | _Operator], at: int, words: list[ShellWord]) -> tuple[list[Redirect], int]:
    """`2>&1`, `> FILE`, `2>> FILE`, `< FILE`, `&> FILE`, `|&` apart; the number before it is a word of its own."""
    mark = tokens[at].text
    if mark in REFUSED or mark == "|&":
        what, hint = REFUSED.get(mark, ("`|&`", "Write `2>&1 |`."))
        raise QueryError(f"{what} is not supported", hint=hint)
    fd = 0 if mark == "<" else 1
    if words and words[-1].text in {"\x011", "\x012", "\x010"}:
        fd = int(words.pop().text[1])
    target = tokens[at + 1] if at + 1 < len(tokens) else None
    if not isinstance(target, ShellWord) or target.glob:
        raise QueryError(f"{mark} must be followed by one file name", hint="Quote the name.")
    if mark == ">&":
        if (fd, target.text) not in {(2, "1"), (1, "2")}:
            raise QueryError("unsupported redirection", hint="Use 2>&1, > FILE or < FILE.")
        # Both outputs go to the same place, so the direction does not matter.
        return [Redirect(2, "")], at + 2
    if (mark == "<") != (fd == 0):
        raise QueryError("unsupported redirection", hint="Use 2>&1, > FILE or < FILE.")
    made = [Redirect(fd, target.text, append=mark == ">>")]
    return [*made, Redirect(2, "")] if mark == "&>" else made, at + 2


def _tokens(line: str) -> Iterator[ShellWord | _Operator]:
    at = 0
    while at < len(line):
        if line[at] in " \t":
            at += 1
        elif line[at] == "#":
            raise QueryError("a comment is not part of a command", hint="Leave it out, or quote the #.")
        elif (found := next((mark for mark in OPERATORS if line.startswith(mark, at)), None)) is not None:
            yield _Operator(found)
            at += len(found)
        elif line[at] in "012" and line[at + 1 : at + 2] in {">", "<"} and (at == 0 or line[at - 1] in " \t"):
            yield ShellWord(f"\x01{line[at]}")
            at += 1
        else:
            word, at = _word(line, at)
            yield word


def _word(line: str, at: int) -> tuple[ShellWord, int]:
    text: list[str] = []
    pattern: list[str] = []
    glob = False
    start = at
    while at < len(line) and line[at] not in " \t\n|&;<>()":
        character = line[at]
        if character in "'\"":
            inner, at = _quoted(line, at)
            text.append(inner)
            pattern.append(_escaped(inner))
            continue
        if character == "\\":
            character, at = line[at + 1 : at + 2], at + 1
            if character in {"", "\n"}:
                raise QueryError("the command ends with a backslash")
            pattern.append(_escaped(character))
        else:
            _refuse_expansion(line, at, start)
            glob = glob or character in GLOB
            pattern.append(character)
        text.append(character)
        at += 1
    return ShellWord("".join(text), "".join(pattern) if glob else ""), at


def _quoted(line: str, at: int) -> tuple[str, int]:
    quote = line[at]
    text: list[str] = []
    at += 1
    while at < len(line) and line[at] != quote:
        if quote == '"' and line[at] in "$`":
            _refuse_expansion(line, at, at)
        if quote == '"' and line[at] == "\\" and line[at + 1 : at + 2] in {'"', "\\", "$", "`"}:
            at += 1
        text.append(line[at])
        at += 1
    if at >= len(line):
        raise QueryError("a quote is not closed", hint=f"Add {quote} or escape it.")
    return "".join(text), at + 1


def _refuse_expansion(line: str, at: int, start: int) -> None:
    """Refuse expansions. A lone `$`, as at the end of a regular expression, is a plain character, as in a shell."""
    character, after = line[at], line[at + 1 : at + 2]
    if character == "`" or (character == "$" and after and (after.isalnum() or after in "_({[?!@*#$-'\"")):
        raise QueryError(
            "variables and substitutions are not expanded",
            reason=f"{line[at : at + 12]!r}",
            hint="Write the value itself, or put the text in single quotes.",
        )
    if character == "~" and at == start:
        raise QueryError("`~` is not expanded", hint="Give a path inside the root.")
    if character in "{}" and "," in line[at:].partition(" ")[0]:
        raise QueryError("braces are not expanded", hint="Write out the words, or quote them.")


def _escaped(text: str) -> str:
    return "".join(f"[{character}]" if character in GLOB else character for character in text)
