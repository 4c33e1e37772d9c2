"""How a repository is called: by the path of its remote, as in `team/service`."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["REPO_NAME", "name_of_remote"]

REMOTE: Final = re.compile(r"(?:[a-z+]+://[^/]+/|[^/@]+@[^:/]+:)(?P<path>.+?)(?:\.git)?/?")
REPO_NAME: Final = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")


def name_of_remote(url: str) -> str:
    """Empty if the URL has no such path."""
    found = REMOTE.fullmatch(url.strip())
    name = found["path"].strip("/") if found else ""
    return name if REPO_NAME.fullmatch(name) else ""
