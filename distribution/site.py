"""The documentation site: the pages of docs/ and of the repository's top, laid out for mkdocs.

`python -m distribution --site FOLDER` writes `source/` (the pages) and `mkdocs.yml`, and lists the versions that were
built into `html/`, for the version selector. Links out of docs/ lead to copies, so that a strict build has none dead.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

from distribution.project import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from distribution.project import Project

__all__ = ["write_site"]

# Pages outside docs/ → their name on the site.
FURTHER = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "plugin/README.md": "project/plugin.md",
    "bench/trials/README.md": "project/trials.md",
    "training/README.md": "project/training.md",
}
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
CONFIG = """site_name: llmc {version}
site_description: "{description}"
docs_dir: source
site_dir: html/{version}
theme:
  name: material
  font: false
  features: [navigation.sections, navigation.top, search.suggest, search.highlight, content.code.copy]
  palette:
    - media: "(prefers-color-scheme: light)"
      scheme: default
      toggle: {{icon: material/weather-night, name: Dark}}
    - media: "(prefers-color-scheme: dark)"
      scheme: slate
      toggle: {{icon: material/weather-sunny, name: Light}}
plugins: [search]
extra:
  version: {{provider: mike}}
  generator: false
markdown_extensions: [admonition, tables, attr_list, pymdownx.superfences, {{toc: {{permalink: true}}}}]
validation:
  links: {{not_found: warn, anchors: warn, absolute_links: warn, unrecognized_links: warn}}
"""
REDIRECT = (
    '<!doctype html><meta http-equiv="refresh" content="0; url={version}/"><a href="{version}/">llmc {version}</a>\n'
)


def write_site(folder: Path, project: Project) -> None:
    source, html = folder / "source", folder / "html"
    shutil.rmtree(source, ignore_errors=True)
    for name, page in pages().items():
        path = source / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(with_site_links(name, (ROOT / name).read_text("utf-8")), "utf-8")
    shutil.copytree(ROOT / "docs" / "images", source / "images")
    config = CONFIG.format(version=project.version, description=project.description)
    (folder / "mkdocs.yml").write_text(config, "utf-8")
    html.mkdir(parents=True, exist_ok=True)
    versions = sorted({project.version, *(path.name for path in html.iterdir() if path.is_dir())}, reverse=True)
    listed = [{"version": each, "title": each, "aliases": []} for each in versions]
    (html / "versions.json").write_text(json.dumps(listed), "utf-8")
    (html / "index.html").write_text(REDIRECT.format(version=project.version), "utf-8")


def pages() -> dict[str, str]:
    """Path in the repository → path on the site."""
    docs = (str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))
    return {**{f"docs/{name}": name for name in docs}, **FURTHER}


def with_site_links(name: str, text: str) -> str:
    """The text with links to pages as they are on the site. Others stay, and a strict build reports dead ones."""
    known = pages()
    here = (ROOT / name).parent
    depth = known[name].count("/")

    def moved(match: re.Match[str]) -> str:
        target = (here / match[2]).resolve()
        page = known.get(str(target.relative_to(ROOT))) if target.is_relative_to(ROOT) else None
        return match[0] if page is None else f"{match[1]}{'../' * depth}{page}{match[3]}"

    return LINK.sub(moved, text)
