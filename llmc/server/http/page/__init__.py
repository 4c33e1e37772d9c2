"""page: the web page at `/`: search with the replies that models get, the index, the ledger, sessions.

    routes.py   routes and login; every response has a strict content security policy
    views.py    the pages, from values of the service
    reply.py    a reply as a model reads it, with groups, links and colours; `code.py` highlights code
    plots.py    plots of the ledger as SVG
    markup.py   text to HTML: everything that is not `Safe` is escaped
    style.css, script.js, icon.svg

There is no build step, no framework, and no external font or script. Everything works without JavaScript; with it, the
index is updated live and the keyboard moves through results.
"""

from __future__ import annotations

from llmc.server.http.page.routes import Page

__all__ = ["Page"]
