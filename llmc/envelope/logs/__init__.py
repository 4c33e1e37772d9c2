"""logs: what is important in the output of a command?

    report = read(lines)            failed tests with reasons and places; None if no reader recognizes the output
    summary = summarise(lines, ...) the same as groups of an envelope, or beginning and end of an unknown output

`READERS` has a row for each kind of program: words that its output contains, and the function that parses it. A reader
extracts text from the log and adds nothing. All functions are pure; other modules run commands, store outputs and
redact.
"""

from __future__ import annotations

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport
from llmc.envelope.logs.summary import READERS, Summary, read, summarise
from llmc.envelope.logs.terminal import as_shown

__all__ = ["READERS", "LogLines", "LogProblem", "LogReport", "Summary", "as_shown", "read", "summarise"]
