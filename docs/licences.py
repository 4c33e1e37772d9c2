"""The page of dependency licences, from the metadata of the installed packages that llmc depends on.

Versions are left out, since they depend on the day of the installation; extras are left out too.
"""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

__all__ = ["licences_page"]

REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")
APPROVED = "License :: OSI Approved :: "
# Names that packages use for the same licence, and licences that their metadata only has as a text.
SPELLINGS = {
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD License": "BSD",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
# Only elsewhere: packages that are needed on Windows, or by Python versions before ours.
ELSEWHERE = frozenset(
    {"colorama", "exceptiongroup", "pywin32", "pywin32-ctypes", "tzdata", "importlib-metadata", "zipp"}
)


def licences_page(note: str) -> str:
    rows = sorted((name.lower(), name, licence) for name, licence in closure("llmc-index").items())
    head = (
        "Packages that an installation of llmc brings along on Linux and macOS, by their own metadata. llmc itself is "
    )
    lines = ["# Licences of dependencies", "", note, "", f"{head}Apache-2.0 (`LICENSE`, `NOTICE`).", ""]
    lines += ["| package | licence |", "|---|---|", *(f"| {name} | {licence} |" for _, name, licence in rows)]
    lines += ["", "Extras (`transformers`, `shared`, `models`) bring further packages and are not listed."]
    return "\n".join(lines) + "\n"


def closure(name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    queue = [name]
    while queue:
        try:
            one = distribution(queue.pop())
        except PackageNotFoundError:
            continue  # a requirement of other platforms
        own = canonical(one.metadata["Name"])
        if own in found or own in ELSEWHERE:
            continue
        found[own] = licence_of(one)
        queue += [
            match[0] for text in one.requires or () if "extra ==" not in text and (match := REQUIREMENT.match(text))
        ]
    del found[canonical(name)]
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licence_of(one: Distribution) -> str:
    metadata = one.metadata
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    classifiers = metadata.get_all("Classifier") or []
    named = [text.removeprefix(APPROVED) for text in classifiers if text.startswith(APPROVED)]
    if named:
        return " or ".join(SPELLINGS.get(text, text) for text in named)
    text = metadata["License"].strip().splitlines() if "License" in metadata else []
    return SPELLINGS.get(text[0], text[0]) if text else "see the package"
