"""page: the web page at `/`: search, code with its callers and callees, activity, personas, the index.

    routes.py     routes and login; every response has a strict content security policy
    pages.py      what each page shows, from replies of tools and values of the service
    code.py       highlights code with pygments, by lines
    reply.py      a reply as a model reads it, in groups with links
    charts.py     geometry of the plots; symbols.py of the picture of a symbol's neighbourhood
    templates/    jinja2, everything escaped; style.css, script.js, icon.svg

There is no build step, no framework, and no external font or script. Everything works without JavaScript; with it, the
index is updated live, the keyboard moves through results, and texts can be copied.
"""

from __future__ import annotations

from llmc.server.http.page.routes import Page

__all__ = ["Page"]
