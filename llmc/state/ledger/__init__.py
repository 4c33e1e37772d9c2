"""ledger: what did llmc cost, and what did it save?

`Ledger` takes a note of every reply and gives it to a thread that writes them to SQLite in the home, some at a time;
`figures` is what `llmc stats` and the page show of them. Sizes, times and names of tools are kept, never a question, a
path or a text, and nothing leaves the machine.
"""

from __future__ import annotations

from llmc.state.ledger.database import LedgerDatabase
from llmc.state.ledger.entry import CallEntry, ToolListEntry
from llmc.state.ledger.figures import LedgerFilter, figures
from llmc.state.ledger.ledger import Ledger
from llmc.state.ledger.stats_schema import Figures

__all__ = ["CallEntry", "Figures", "Ledger", "LedgerDatabase", "LedgerFilter", "ToolListEntry", "figures"]
