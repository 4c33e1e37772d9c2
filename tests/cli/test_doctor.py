"""`llmc doctor`: its findings on a healthy machine, and with problems."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daemons import Place, private_place

from llmc.cli import _checks as checks
from llmc.cli._checks import CheckContext, CheckResult
from llmc.cli._options import Options
from llmc.settings import examine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with private_place() as made:
        made.environ |= {
            "HOME": str(tmp_path),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "LLMC_EMBEDDER_KIND": "hash",
        }
        yield made


@pytest.fixture
def look(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Callable[[CheckContext], Iterator[CheckResult]]], list[CheckResult]]:
    """Runs one check like the command does, in the test's own root."""
    monkeypatch.setenv("LLMC_HOME", place.home.path)
    monkeypatch.chdir(tmp_path)

    def run(check: Callable[[CheckContext], Iterator[CheckResult]], *flags: str) -> list[CheckResult]:
        loaded = examine(tmp_path, place.environ, flags or [f"roots={tmp_path}"])
        return list(check(CheckContext(Options(), loaded)))

    return run


def test_on_a_healthy_machine_nothing_fails(place: Place, tmp_path: Path) -> None:
    done = place.llmc("doctor", "--json", "--root", str(tmp_path))
    answer = json.loads(done.stdout)
    assert [finding for finding in answer["findings"] if finding["state"] != "ok"] == []
    assert (done.returncode, answer["ok"]) == (0, True)
    names = {finding["name"] for finding in answer["findings"]}
    assert {
        "python",
        "packages",
        "home",
        "disk",
        "daemon",
        "settings",
        "root",
        "watching",
        "grammars",
        "embedder",
    } <= names


def test_what_fails_is_reported_with_its_fix_and_the_exit_code(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place.environ |= {"LLMC_HOME": str(tmp_path / "file" / "home"), "LLMC_INDEX_HIDDEN": "perhaps"}
    done = place.llmc("doctor", "--root", str(tmp_path))
    assert done.returncode == 1
    assert "FAIL home" in done.stdout
    assert "→ set LLMC_HOME" in done.stdout
    assert "FAIL settings: LLMC_INDEX_HIDDEN" in done.stdout


def test_a_package_that_cannot_be_imported_is_named(
    look: Callable[..., list[CheckResult]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "MODULES", {"json": "json", "no_such_module": "no-such-package"})
    (finding,) = look(checks.check_packages)
    assert (finding.state, finding.fix) == ("fail", "reinstall no-such-package")
    assert "No module named 'no_such_module'" in finding.text


def test_another_distribution_with_the_same_files_is_a_warning(
    look: Callable[..., list[CheckResult]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "distribution" not in [each.name for each in look(checks.check_python)]
    monkeypatch.setattr(checks, "_version", {"llmc": "0.1.2"}.get)
    (finding,) = [each for each in look(checks.check_python) if each.name == "distribution"]
    assert finding.state == "warn"
    assert finding.text.startswith("another project, llmc 0.1.2")


def test_a_full_disk_is_a_failure(look: Callable[..., list[CheckResult]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "FREE_FAIL", 1 << 60)
    assert ("disk", "fail") in [(each.name, each.state) for each in look(checks.check_home)]


def test_a_home_inside_a_root_is_a_warning(look: Callable[..., list[CheckResult]], place: Place) -> None:
    findings = look(checks.check_home, f"roots={Path(place.home.path).parent}")
    assert ("home", "warn") in [(each.name, each.state) for each in findings]


def test_a_daemon_is_well_hung_or_of_another_build(
    look: Callable[..., list[CheckResult]], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (idle,) = look(checks.check_daemon)
    assert (idle.state, idle.text) == ("ok", "not running; the next command starts it")
    place.connect(LLMC_TWIN_VERSION="99.0").close()
    (other,) = look(checks.check_daemon)
    assert (other.state, f"pid {place.pid}" in other.text, "build differs" in other.text) == ("warn", True, True)
    monkeypatch.setattr("llmc.client.daemon_client.HELLO_SECONDS", 0.1)
    os.kill(place.pid, signal.SIGSTOP)
    (hung,) = look(checks.check_daemon)
    assert (hung.state, "llmc stop --force" in hung.fix) == ("fail", True)


def test_errors_in_the_log_are_counted(look: Callable[..., list[CheckResult]], place: Place) -> None:
    with place.connect() as connection, pytest.raises(Exception, match="out of order"):
        connection.call("fail", {"kind": "unknown"})
    (finding,) = look(checks.check_log)
    assert (finding.state, "last day: 1" in finding.text, "out of order" in finding.text) == ("warn", True, True)


def test_a_root_that_is_gone_and_a_work_tree_without_its_repository_are_named(
    look: Callable[..., list[CheckResult]], tmp_path: Path
) -> None:
    (gone,) = look(checks.check_roots, f"roots={tmp_path}/gone")
    assert (gone.state, "does not exist" in gone.text) == ("fail", True)
    (tmp_path / ".git").write_text("gitdir: /no/such/.git/worktrees/here\n")
    findings = look(checks.check_roots)
    assert [(each.name, each.state) for each in findings] == [("root", "ok"), ("git", "warn")]


def test_too_few_watches_are_a_warning(
    look: Callable[..., list[CheckResult]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "limit").write_text("0\n")
    monkeypatch.setattr(checks, "WATCH_LIMIT", str(tmp_path / "limit"))
    (finding,) = look(checks.check_watching)
    assert (finding.state, "max_user_watches" in finding.fix) == ("warn", True)


def test_an_embedder_that_cannot_be_opened_fails(look: Callable[..., list[CheckResult]], tmp_path: Path) -> None:
    flags = ("embedder.kind=openai", "embedder.endpoint=http://127.0.0.1:9/v1", "embedder.model=m")
    (finding,) = look(checks.check_embedder, f"roots={tmp_path}", *flags)
    assert finding.state == "fail"


def test_a_corrupt_store_fails(look: Callable[..., list[CheckResult]], place: Place) -> None:
    place.home.make()
    catalog = Path(place.home.stores, "family", "catalog.db")
    catalog.parent.mkdir(parents=True)
    catalog.write_bytes(b"rubbish" * 1000)
    (finding,) = look(checks.check_stores)
    assert finding.state == "fail"
    assert finding.fix
