"""redact: replace secrets in text. `redactor` does it; the other modules find the secrets.

`table` reads `rules.toml` (formats of known tokens) and `words.toml`, `matches` checks what a rule found, `fields` and
`names` find secrets by the name of their field, `lists` tells a list of names from names with values, `blocks` finds
secrets that span lines. `values` tells a secret from a placeholder, and `views` finds tokens that colour codes or
invisible characters hide.
"""

from __future__ import annotations
