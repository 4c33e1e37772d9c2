"""logs: what matters in the output of a command?

    report = read(lines)            which tests failed, why and where; None where no reader knows the output
    summary = summarise(lines, ...) the same as groups of an envelope, or both ends of an output that nobody knows

`READERS` has a row for each kind of program: words that such an output contains, and the function that reads it. A
reader takes what stands in the log and adds nothing. Running commands, keeping outputs and redaction are others'
business: all of this is pure.
"""

from __future__ import annotations

from llmc.envelope.logs.problem import LogLines, LogProblem, LogReport
from llmc.envelope.logs.reading import READERS, read
from llmc.envelope.logs.summary import Summary, summarise
from llmc.envelope.logs.terminal import as_shown

__all__ = ["READERS", "LogLines", "LogProblem", "LogReport", "Summary", "as_shown", "read", "summarise"]
