"""Which licences a package declares, and whether all of them are permissive.

Three declarations are read: the DEP-5 `debian/copyright` of a Debian source (file by file), the METADATA of a wheel
or sdist and the package.json of an npm package. A package without a declaration that can be read is refused: silence
is no licence.
"""

from __future__ import annotations

import fnmatch
import json
import re
from email.parser import HeaderParser

__all__ = [
    "is_permissive",
    "licence_of_file",
    "licences_of_metadata",
    "licences_of_package_json",
    "rules_of_debian",
]

PERMISSIVE = re.compile(
    r"""(?ix) ^ (
        expat | x11 | mit(-0|-cmu|[ ]license)? | the[ ]mit[ ]license | isc(l)?([ ]license.*)? | zlib(-libpng)? | 0bsd
        | (new[ ]|modified[ ]|simplified[ ])? bsd ([ -][234]?)? ([ -]clause)? ([ -](license|style|revised|google|new))?
        | bsd[ ]license | cc0(-1\.0)? | (the[ ])?unlicense.* | public[ -]domain | pd
        | apache ([ -]license)? (,)? ([ ]version)? [ -]? (2|2\.0)? | apache[ ]software[ ]license
        | boost(-1\.0)? | bsl-1(\.0)? | ncsa | psf(-2(\.0)?)? | python-2\.0(\.1)?
        | python[ ]software[ ]foundation[ ]license
        | postgresql | hpnd | unicode-3\.0 | blueoak-1\.0\.0
    ) $"""
)


def is_permissive(expression: str) -> bool:
    """One short name, or names joined by `and` (all must pass) and `or` (one must)."""
    expression = expression.replace("(", " ").replace(")", " ").replace("~", "-")
    if not expression.strip():
        return False
    every = re.split(r"\s+and\s+|,", expression, flags=re.IGNORECASE)
    return all(
        any(PERMISSIVE.match(one.strip()) for one in re.split(r"\s+or\s+|/", some, flags=re.IGNORECASE))
        for some in every
    )


def rules_of_debian(copyright_text: str) -> list[tuple[list[str], str]]:
    """The `Files` paragraphs of a DEP-5 text in order: globs and short name. The last that matches a file holds."""
    found: list[tuple[list[str], str]] = []
    for paragraph in re.split(r"\n\s*\n", copyright_text):
        fields = HeaderParser().parsestr(paragraph.strip() + "\n")
        files, licence = fields.get("Files"), fields.get("License")
        if files and licence:
            found.append((files.split(), licence.splitlines()[0].strip()))
    return found


def licence_of_file(rules: list[tuple[list[str], str]], path: str) -> str:
    """The licence of a file by the package's DEP-5 rules, empty if none covers it."""
    for globs, licence in reversed(rules):
        if any(fnmatch.fnmatchcase(path, glob) for glob in globs):
            return licence
    return ""


def licences_of_metadata(metadata: str) -> list[str]:
    """What a wheel declares: the SPDX expression, else the classifiers, else the short `License` field."""
    fields = HeaderParser().parsestr(metadata)
    if expression := fields.get("License-Expression"):
        return [expression]
    prefix = "License :: OSI Approved :: "
    named = [value.removeprefix(prefix) for value in fields.get_all("Classifier", []) if value.startswith(prefix)]
    short = [fields.get("License", "").strip()]
    return named or [text for text in short if text and "\n" not in text]


def licences_of_package_json(package_json: str) -> list[str]:
    licence = json.loads(package_json).get("license", "")
    if isinstance(licence, dict):
        licence = licence.get("type", "")
    return [licence] if isinstance(licence, str) and licence else []
