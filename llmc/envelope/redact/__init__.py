"""redact: replaces secrets in text. `redactor` replaces them; the other modules find them.

`table` reads `rules.toml` (formats of known tokens) and `words.toml`, `matches` checks what a rule found, `fields` and
`names` find secrets by the name of their field, `lists` distinguishes a list of names from names with values, `blocks`
finds secrets that span lines. `values` distinguishes a secret from a placeholder, and `views` finds tokens that colour
codes or invisible characters hide.
"""

from __future__ import annotations
