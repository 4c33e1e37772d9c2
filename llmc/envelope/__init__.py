"""envelope: how does a result fit into a model's context?

Every tool returns an `Envelope`, also for errors. `redact` removes secrets first; `fit` cuts the envelope to a token
budget, by value and in whole lines; `render` converts it to text; `handles` stores what did not fit. Nothing here
searches or knows the client.
"""

from __future__ import annotations

from llmc.envelope.envelope import Envelope, Group, Item, Row, failure
from llmc.envelope.fit import Fitted, fit, shorten
from llmc.envelope.render import render

__all__ = ["Envelope", "Fitted", "Group", "Item", "Row", "failure", "fit", "render", "shorten"]
