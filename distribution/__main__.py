"""`python -m distribution [--check | --bundle FOLDER | --site FOLDER]`; see the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from distribution.bundle import write_bundle
from distribution.plugin import plugin_files
from distribution.project import ROOT, Project, load_project
from distribution.registry import server_json
from distribution.site import write_site

EXECUTABLE = 0o755


def generated(project: Project) -> dict[str, str]:
    return {**plugin_files(project), "server.json": server_json(project)}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m distribution")
    parser.add_argument("--check", action="store_true", help="report files that are not current")
    parser.add_argument("--bundle", type=Path, metavar="FOLDER", help="lay out the MCPB bundle in this folder")
    parser.add_argument("--site", type=Path, metavar="FOLDER", help="lay out the documentation site in this folder")
    options = parser.parse_args(arguments)
    project = load_project()
    if options.bundle:
        write_bundle(options.bundle, project)
        return 0
    if options.site:
        write_site(options.site, project)
        return 0
    files = generated(project)
    if options.check:
        stale = [name for name, text in files.items() if not is_current(ROOT / name, text)]
        for name in stale:
            print(f"{name} is not current: make docs", file=sys.stderr)
        return 1 if stale else 0
    for name, text in files.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        if text.startswith("#!"):
            path.chmod(EXECUTABLE)
    return 0


def is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
