"""The actions behind the three tools: `Contained` uses `RootFs` and the shell policy, `Free` has no restrictions.

All text is redacted before it is sent to a pruner or to the client. `Contained` also makes hidden characters visible;
`Free` leaves text otherwise unchanged, as the contract requires. If the pruner fails, the failure is logged and the
text is returned unpruned.
"""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from llmc.base import logs
from llmc.base.errors import LlmcError, NotFoundError, OutsideError
from llmc.base.root_fs import ReadError, ReadRefusal
from llmc.envelope.handles import LOCAL
from llmc.envelope.visible import visible_text
from llmc.extend.pruner.contract import ActionError, ProgramResult
from llmc.extend.pruner.endpoint import Endpoint, PrunerError, ask
from llmc.extend.pruner.uncontained import LARGEST, run_free, whole_file
from llmc.extend.shell.denied import refusal_of, without_denied_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from llmc.base.denylist import Denylist
    from llmc.envelope.redact.redactor import Redactor
    from llmc.extend.pruner.config import Config
    from llmc.tool import ToolRequest

__all__ = ["Contained", "Free"]

log = logs.get("pruner")

CONTAINED_HINT: Final = " Commands are contained; server.pruner.contained = false in the user's settings lifts that."
GREP: Final = ("grep", "-rn", "--color=never")


@dataclass(frozen=True)
class Pruning:
    """The common part. `cancelled`: whether the client cancelled the call."""

    config: Config
    redactor: Redactor
    cancelled: Callable[[], bool]
    client: str  # the session, whose stderr shows why a text was not pruned
    environ: Mapping[str, str]  # of the MCP entry; empty over the network

    def prune(self, code: str, query: str) -> str:
        if not self.config.url:
            return code
        try:
            answer = ask(Endpoint(self.config.url, self.config.timeout_ms), code, query, self.cancelled)
        except PrunerError as error:
            log.warning("not pruned", why=f"the pruner {error}", clients=[self.client])
            return code
        return self.outgoing(answer)

    def outgoing(self, text: str, path: str = "") -> str:
        return self.redactor.redact(text, path).text

    def decoded(self, data: bytes) -> str:
        return data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Free(Pruning):
    """No restrictions but the denylist; for clients that are trusted like the user."""

    denylist: Denylist

    def read(self, path: str) -> str:
        full = os.path.join(self.config.cwd, path)  # noqa: PTH118 - an absolute path stays what it is
        for name in (os.path.normpath(full), os.path.realpath(full)):
            if reason := self.denylist.reason(name.lstrip("/")):
                raise ActionError(f"EACCES: {reason}, open '{full}'")
        try:
            return self.outgoing(self.decoded(whole_file(full)), path)
        except (OSError, ValueError) as error:
            raise ActionError(as_node(error, "open", full)) from None

    def bash(self, command: str) -> ProgramResult:
        return self._run(["bash", "-c", command])

    def grep(self, pattern: str, path: str) -> ProgramResult:
        return self._run([*GREP, pattern, path])

    def _run(self, words: Sequence[str]) -> ProgramResult:
        try:
            code, stdout, stderr = run_free(words, self.config.cwd, self.cancelled, self.environ or None)
        except (OSError, ValueError) as error:
            raise ActionError(as_node(error, f"spawn {words[0]}")) from None
        return ProgramResult(self.outgoing(self.decoded(stdout)), self.outgoing(self.decoded(stderr)), code)


@dataclass(frozen=True)
class Contained(Pruning):
    """Inside the roots of `request`, with the programs that the policy allows."""

    request: ToolRequest

    def outgoing(self, text: str, path: str = "") -> str:
        return visible_text(self.redactor.redact(text, path).text)

    def read(self, path: str) -> str:
        try:
            root_index, inside = self.request.workspace.locate(path)
            if not inside:
                raise ActionError("EISDIR: illegal operation on a directory, read")
            data, _ = root_index.root_fs.read(inside, LARGEST, follow=True)
        except (OutsideError, ValueError):
            raise ActionError(f"EACCES: permission denied, open '{path}'") from None
        except NotFoundError:
            raise ActionError(f"ENOENT: no such file or directory, open '{path}'") from None
        except ReadError as error:
            raise ActionError(node_refusal(error, path)) from None
        except LlmcError as error:
            raise ActionError(error.one_line) from None
        return self.outgoing(self.decoded(data), inside)

    def bash(self, command: str) -> ProgramResult:
        from llmc.extend.shell.checking import check  # noqa: PLC0415 - only where a command runs

        if self.request.owner != LOCAL and not self.request.workspace.settings.shell.enabled:
            raise ActionError("commands over the network are switched off (shell.enabled)")
        request = replace(self.request, args={"command": command})
        try:
            return self._run(lambda: check(request))
        except ActionError as error:
            raise ActionError(f"{error}{CONTAINED_HINT}") from None

    def grep(self, pattern: str, path: str) -> ProgramResult:
        """Run grep; a pattern or path that looks like an option is not treated as one."""
        from llmc.extend.shell.checking import CheckedCommand, folder_of  # noqa: PLC0415 - loaded on first use

        def planned() -> CheckedCommand:
            cwd = folder_of(self.request)
            self.request.workspace.locate(path if os.path.isabs(path) else os.path.join(cwd, path))  # noqa: PTH117, PTH118
            words = (*GREP, "-e", pattern, "--", path)
            if (refusal := refusal_of(self.request.workspace, cwd, ["grep", path])) is not None:
                raise refusal
            return CheckedCommand(({"join": "", "commands": [{"words": list(words), "redirects": []}]},), words, cwd)

        try:
            return self._run(planned)
        except NotFoundError:
            return ProgramResult("", f"grep: {path}: No such file or directory\n", 2)

    def _run(self, plan: Callable[[], Any]) -> ProgramResult:
        try:
            return self._in_its_folders(plan())
        except NotFoundError:
            raise
        except (LlmcError, OSError, ValueError) as error:
            raise ActionError(
                error.one_line if isinstance(error, LlmcError) else as_node(error, "spawn bash")
            ) from None

    def _in_its_folders(self, checked: Any) -> ProgramResult:
        """Run it like the shell tool, but with stderr separate from stdout."""
        from llmc.extend.shell.checking import with_safe_git  # noqa: PLC0415 - loaded on first use
        from llmc.extend.shell.landlock import fence_of, shell_home  # noqa: PLC0415 - loaded on first use
        from llmc.extend.shell.policy import environment  # noqa: PLC0415 - loaded on first use
        from llmc.extend.shell.run import CommandPlan, run  # noqa: PLC0415 - loaded on first use

        workspace = self.request.workspace
        settings = workspace.settings.shell
        top = Path(shell_home(workspace.registry.home))
        home = top / "home"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="run-", dir=top) as temporary:
            errors = Path(temporary, "stderr")
            errors.touch()
            environ = environment(dict(self.environ or os.environ), settings.environ, str(home), temporary, "")
            writable = [str(path) for path in settings.writable]
            fence = fence_of(workspace, environ, (str(home), temporary), writable)
            pipelines = with_errors_apart(with_safe_git(checked, environ), str(errors))
            plan = CommandPlan(
                pipelines,
                checked.cwd,
                environ,
                settings.seconds,
                settings.output_bytes,
                fence=True,  # always fenced here, whatever `shell.contained` says
                readable=fence.readable,
                writable=fence.writable,
            )
            outcome = run(plan, self.cancelled)
            stderr = errors.read_bytes()[:LARGEST]
        output = outcome.output
        stdout = output.head + (b"\n[...]\n" if output.dropped else b"") + output.tail
        code = None if outcome.signal else outcome.code
        shown = "\n".join(without_denied_lines(workspace, checked.cwd, self.decoded(stdout).split("\n")))
        return ProgramResult(self.outgoing(shown), self.outgoing(self.decoded(stderr)), code)


def with_errors_apart(pipelines: Sequence[Mapping[str, Any]], target: str) -> tuple[dict[str, Any], ...]:
    """Redirect stderr of each command to a file; its own redirections come later and take precedence."""
    apart = {"fd": 2, "target": target, "append": True}
    return tuple(
        {
            **pipeline,
            "commands": [{**each, "redirects": [apart, *each["redirects"]]} for each in pipeline["commands"]],
        }
        for pipeline in pipelines
    )


# Errors in the format of Node, as the contract requires: `ENOENT: no such file or directory, open 'x'`.
REFUSED: Final = {
    ReadRefusal.FOLDER: "EISDIR: illegal operation on a directory, read",
    ReadRefusal.DENIED: "EACCES: permission denied, open '{}'",
    ReadRefusal.LINK: "EACCES: permission denied, open '{}'",
    ReadRefusal.SPECIAL: "EACCES: permission denied, open '{}'",
    ReadRefusal.TOO_LARGE: "ERR_FS_FILE_TOO_LARGE: file is too large, read '{}'",
}


def node_refusal(error: ReadError, path: str) -> str:
    if error.refusal == ReadRefusal.DENYLIST:
        return f"EACCES: {error.reason}, open '{path}'"
    words = REFUSED.get(ReadRefusal(error.refusal))
    return words.format(path) if words else f"EIO: {error.reason}, open '{path}'"


def as_node(error: Exception, act: str, path: str = "") -> str:
    """An exception in the format of Node."""
    number = error.errno if isinstance(error, OSError) and error.errno else errno.EINVAL
    code = errno.errorcode.get(number, "EIO")
    if number == errno.EISDIR:
        return "EISDIR: illegal operation on a directory, read"
    if act.startswith("spawn"):
        return f"{act} {code}"
    words = (os.strerror(number)[:1].lower() + os.strerror(number)[1:]).split(" (")[0]
    return f"{code}: {words}, {act} '{path}'"
