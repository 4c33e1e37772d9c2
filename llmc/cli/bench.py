"""`llmc bench`: the measurements of a checkout, run from it. They are no part of an installed llmc."""

from __future__ import annotations

import click

from llmc.base.errors import QueryError
from llmc.cli._options import Options, pass_options

SUITES = ("tokens", "quality", "latency", "indexing", "scale", "session")


@click.command()
@click.argument("suites", nargs=-1, type=click.Choice(SUITES))
@click.option("--part", multiple=True, metavar="NAME", help="Only these measurements of the suites.")
@click.option("--out", default="", metavar="DIR", help="Where the report goes (bench/runs/<date>-<machine>).")
@click.option("--readme", is_flag=True, help="Put the table into README.md.")
@pass_options
def command(options: Options, /, suites: tuple[str, ...], part: tuple[str, ...], out: str, readme: bool) -> int:  # noqa: ARG001 - every command has options
    """Measure llmc beside other tools; without a suite, everything.

    \b
    llmc bench tokens               # what it costs and saves, in tokens
    llmc bench session --out /tmp/session

    It runs from a checkout of llmc: in its folder, or wherever this llmc was installed from with `pip install -e`.
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
    """The folder with `bench/`: this one or one above, else that of the package."""
    from pathlib import Path

    import llmc

    here = Path.cwd()
    package = Path(llmc.__file__).resolve().parent
    for folder in (here, *here.parents, package.parent):
        if (folder / "bench" / "suites.py").is_file() and (folder / "llmc" / "__init__.py").is_file():
            return str(folder)
    raise QueryError(
        "the measurements are not installed with llmc",
        reason="there is no checkout of llmc here",
        hint="Clone the repository and say `make bench` in it, or `llmc bench` in its folder.",
    )
