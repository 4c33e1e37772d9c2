"""ledger: what did llmc cost, and what did it save?

`Ledger` takes a note of every reply and gives it to a thread that writes them to SQLite in the home, some at a time;
`figures` is what `llmc stats` and the page show of them. Sizes, times and names of tools are kept, never a question, a
path or a text, and nothing leaves the machine.
"""

from __future__ import annotations

from llmc.server.ledger.book import Book
from llmc.server.ledger.entry import Call, Listing
from llmc.server.ledger.figures import Wanted, figures
from llmc.server.ledger.ledger import Ledger
from llmc.server.ledger.shape import Figures

__all__ = ["Book", "Call", "Figures", "Ledger", "Listing", "Wanted", "figures"]
