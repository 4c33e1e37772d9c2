"""`read` of a log: the failures in it, instead of its first lines.

A long file with the name of a log, in which a reader of `envelope.logs` finds problems, is summarised like the output
of a command: by file, with reason and place, with all of it behind the handle.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmc.envelope import Envelope
from llmc.envelope.logs import summarise
from llmc.envelope.redact.redactor import redactor_for
from llmc.extend.shell.capture import Captured
from llmc.extend.shell.log_paths import namer
from llmc.extend.shell.outputs import cleaned
from llmc.extend.shell.summarize import outputs_of

if TYPE_CHECKING:
    from llmc.indexer.root_index import RootIndex
    from llmc.tool import ToolRequest

__all__ = ["log_envelope"]

LOG = re.compile(r"\.(?:log|out|err)(?:\.\d+)?$|(?:^|[/_.-])(?:log|output|build|test)s?[^/]*\.txt$", re.IGNORECASE)


def log_envelope(
    request: ToolRequest, root_index: RootIndex, path: str, title: str, lines: list[str]
) -> Envelope | None:
    """None if it is not a log, or not in a format that is known."""
    if not LOG.search(path):
        return None
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    kept = cleaned(Captured(text), redactor_for(request.workspace.settings.redaction))
    summary = summarise(kept.lines, exit_code=1, relative=namer(request.workspace, root_index.root.path))
    if summary.report is None or not summary.report.problems or summary.whole:
        return None
    source = {"id": outputs_of(request).put(kept.lines), "lines": len(kept.lines), "from": 1}
    place = {"root": root_index.root.id, "path": path, "lines": len(lines)}
    found = " · ".join((title, f"{len(lines):,} lines", *summary.words))
    data = {**place, "bytes": len(text), "question": path, "output": source}
    return Envelope("read", found, summary.groups, data=data, in_order=True)
