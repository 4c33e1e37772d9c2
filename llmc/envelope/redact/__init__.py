"""secret: what does a secret look like? `rules.toml` has the formats, `fields` the names, `blocks` what spans lines;
`values` tells a secret from what stands for one. Replacing it is the business of `redact`.
"""

from __future__ import annotations
