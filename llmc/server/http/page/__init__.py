"""page: what does a person see at `/`? Search with the replies that models get, the index, the ledger, sessions.

    routes.py   which address shows what, and the way in; every answer leaves with a strict content policy
    views.py    the pages, from values of the service; `status.py` the parts that are polled
    reply.py    a reply as a model reads it, with groups, links and colours; `code.py` the colours
    plots.py    figures of the ledger as SVG
    markup.py   text into HTML: whatever is not `Safe` is escaped
    style.css, script.js, icon.svg

There is no build step, no framework, no font or script from elsewhere. Without JavaScript everything can be reached;
with it the index is shown live and the keyboard moves through results.
"""

from __future__ import annotations

from llmc.server.http.page.routes import Page

__all__ = ["Page"]
