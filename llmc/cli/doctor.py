"""`llmc doctor`: checks the installation, the workspace and the index, and suggests fixes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from llmc.cli._options import Options, pass_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llmc.cli._checks import CheckContext, CheckResult

    Check = Callable[[CheckContext], Iterator[CheckResult]]

SIGNS = {
    "ok": click.style("ok  ", fg="green"),
    "warn": click.style("warn", fg="yellow"),
    "fail": click.style("FAIL", fg="red"),
}


@click.command()
@pass_options
def command(options: Options, /) -> int:
    """Check the installation, the workspace and the index, and suggest fixes.

    The exit code is 1 if a check fails; warnings do not count.
    """
    findings = []
    for finding in _examine(options):
        findings.append(finding)
        if not options.json:
            click.echo("\n".join(_lines(finding)))
    failed = any(finding.state == "fail" for finding in findings)
    if options.json:
        click.echo(json.dumps({"ok": not failed, "findings": [asdict(finding) for finding in findings]}, indent=2))
    return 1 if failed else 0


def _examine(options: Options) -> Iterator[CheckResult]:
    import os

    from llmc.cli._checks import CheckContext, CheckResult
    from llmc.settings import examine

    about = options.about()
    loaded = examine(about["cwd"], os.environ, about["flags"], about["config"] or None)
    for check in _checks():
        try:
            yield from check(CheckContext(options, loaded))
        except Exception as error:  # noqa: BLE001 - a check that crashes is reported as failed
            name = check.__name__.removeprefix("check_")
            yield CheckResult(name, "fail", f"the check itself failed: {type(error).__name__}: {error}")


def _checks() -> list[Check]:
    from llmc.cli import _checks as checks

    return [
        checks.check_python,
        checks.check_packages,
        checks.check_home,
        checks.check_daemon,
        checks.check_log,
        checks.check_settings,
        checks.check_roots,
        checks.check_watching,
        checks.check_grammars,
        checks.check_embedder,
        checks.check_stores,
    ]


def _lines(finding: CheckResult) -> Iterator[str]:
    yield f"{SIGNS[finding.state]} {finding.name}: {finding.text}"
    if finding.fix:
        yield f"       → {finding.fix}"
