"""ledger: token accounting. What did llmc cost, and what did it save?

`Ledger` records every reply; a background thread writes the records in batches to SQLite in the home. `figures`
computes what `llmc stats` and the page show. The ledger stores sizes, durations and tool names, but no queries, paths
or content, and nothing leaves the machine.
"""

from __future__ import annotations

from llmc.state.ledger.database import CallEntry, LedgerDatabase, ToolListEntry
from llmc.state.ledger.figures import Figures, LedgerFilter, figures
from llmc.state.ledger.ledger import Ledger

__all__ = ["CallEntry", "Figures", "Ledger", "LedgerDatabase", "LedgerFilter", "ToolListEntry", "figures"]
