"""`llmc bench`: runs the benchmarks of a source checkout. They are not part of the installed package."""

from __future__ import annotations

import click

from llmc.base.errors import QueryError
from llmc.cli._options import Options, pass_options

SUITES = ("tokens", "quality", "latency", "indexing", "scale", "session")


@click.command()
@click.argument("suites", nargs=-1, type=click.Choice(SUITES))
@click.option("--part", multiple=True, metavar="NAME", help="Run only this part of the suites; may be repeated.")
@click.option("--out", default="", metavar="DIR", help="Folder for the report (default bench/runs/<date>-<machine>).")
@click.option("--readme", is_flag=True, help="Update the table in README.md.")
@pass_options
def command(options: Options, /, suites: tuple[str, ...], part: tuple[str, ...], out: str, readme: bool) -> int:  # noqa: ARG001 - every command has options
    """Compare llmc with other tools. Without a suite, all of them run.

    \b
    llmc bench tokens               # tokens spent and saved
    llmc bench session --out /tmp/session

    Needs a source checkout: the current folder or one above it, or the checkout that `pip install -e` installed.
    """
    import os
    import subprocess
    import sys

    arguments = [*suites, *(word for name in part for word in ("--part", name))]
    if out:
        arguments += ["--out", os.path.abspath(out)]  # noqa: PTH100 - pathlib costs 5 ms
    if readme:
        arguments.append("--readme")
    folder = checkout()
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))}
    return subprocess.run([sys.executable, "-m", "bench", *arguments], cwd=folder, env=environ, check=False).returncode


def checkout() -> str:
    """The folder with `bench/`: the current one, one above it, or the parent of the package."""
    from pathlib import Path

    import llmc

    here = Path.cwd()
    package = Path(llmc.__file__).resolve().parent
    for folder in (here, *here.parents, package.parent):
        if (folder / "bench" / "suites.py").is_file() and (folder / "llmc" / "__init__.py").is_file():
            return str(folder)
    raise QueryError(
        "the benchmarks are not part of the installed package",
        reason="the current folder is not in a checkout of llmc",
        hint="Clone the repository and run `make bench` or `llmc bench` there.",
    )
