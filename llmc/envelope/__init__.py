"""envelope: how does an answer fit into a model's context?

An `Envelope` is what every tool returns, failure included. `fit` cuts it to a budget of tokens, by value and in whole
lines; `render` writes it down for a surface; `handles` keeps what did not fit; `redact` takes secrets out before any of
that. Nothing here searches and nothing here knows who asked.
"""

from __future__ import annotations

from llmc.envelope.envelope import Envelope, Group, Item, Row, failure
from llmc.envelope.fit import Fitted, fit, shorten
from llmc.envelope.render import render

__all__ = ["Envelope", "Fitted", "Group", "Item", "Row", "failure", "fit", "render", "shorten"]
