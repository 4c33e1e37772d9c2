"""`llmc service`: the unit that starts the daemon at login."""

from __future__ import annotations

import json
import plistlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daemons import Place, private_place

from llmc.base.daemon_lock import read_owner
from llmc.base.errors import ConfigError
from llmc.cli._service_units import unit_for

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """With a service manager that records its commands."""
    manager = tmp_path / "bin" / "systemctl"
    manager.parent.mkdir()
    manager.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/told\n')
    manager.chmod(0o755)
    with private_place() as made:
        made.environ |= {"XDG_CONFIG_HOME": str(tmp_path / "config"), "PATH": f"{manager.parent}:/usr/bin:/bin"}
        yield made


def unit_file(place: Place) -> Path:
    return Path(place.environ["XDG_CONFIG_HOME"], "systemd", "user", "llmc.service")


def told(tmp_path: Path) -> list[str]:
    return (tmp_path / "told").read_text().splitlines()


def test_install_writes_enables_and_starts_the_unit_once(place: Place, tmp_path: Path) -> None:
    assert place.llmc("service", "install").stdout == f"installed: {unit_file(place)}\n"
    text = unit_file(place).read_text()
    assert f"LLMC_HOME={place.home.path}" in text
    assert "-m llmc.server --stay" in text
    assert told(tmp_path) == ["--user daemon-reload", "--user enable --now llmc.service"]
    assert place.llmc("service", "install").stdout == f"already installed: {unit_file(place)}\n"
    assert unit_file(place).read_text() == text
    assert [path.name for path in unit_file(place).parent.iterdir()] == ["llmc.service"]


def test_install_keeps_what_was_there_before(place: Place) -> None:
    unit_file(place).parent.mkdir(parents=True)
    unit_file(place).write_text("mine")
    answer = json.loads(place.llmc("service", "install", "--json").stdout)
    assert Path(answer["backup"]).read_text() == "mine"


def test_install_makes_way_for_the_units_daemon(place: Place) -> None:
    place.connect().close()
    assert place.llmc("service", "install").returncode == 0
    assert read_owner(place.home) is None


def test_print_changes_nothing(place: Place) -> None:
    assert "[Service]" in place.llmc("service", "install", "--print").stdout
    assert not unit_file(place).exists()


def test_status_reports_missing_present_and_changed(place: Place) -> None:
    assert place.llmc("service", "status").stdout.startswith("not installed:")
    place.llmc("service", "install")
    assert place.llmc("service", "status").stdout.startswith("installed, active:")
    unit_file(place).write_text("other")
    assert place.llmc("service", "status").stdout.startswith("installed, but outdated, active:")


def test_uninstall_stops_and_removes_only_its_own(place: Place, tmp_path: Path) -> None:
    assert place.llmc("service", "uninstall").stdout == "not installed\n"
    place.llmc("service", "install")
    assert place.llmc("service", "uninstall").stdout == f"removed: {unit_file(place)}\n"
    assert told(tmp_path)[-1] == "--user disable --now llmc.service"
    assert not unit_file(place).exists()
    unit_file(place).write_text("mine")
    refused = place.llmc("service", "uninstall")
    assert (refused.returncode, unit_file(place).read_text()) == (2, "mine")


def test_a_manager_that_does_not_work_is_reported_and_the_unit_kept(place: Place, tmp_path: Path) -> None:
    (tmp_path / "bin" / "systemctl").write_text("#!/bin/sh\necho no bus >&2; exit 1\n")
    done = place.llmc("service", "install")
    assert done.returncode == 0
    assert "`systemctl --user daemon-reload` failed: no bus" in done.stderr
    assert unit_file(place).exists()


def test_odd_paths_are_quoted_and_impossible_ones_refused() -> None:
    text = unit_for('/a b/100%"\\', {"XDG_CONFIG_HOME": "/c"}).text
    assert 'Environment="LLMC_HOME=/a b/100%%\\"\\\\"' in text
    with pytest.raises(ConfigError, match="cannot contain this path"):
        unit_for("/a\nExecStart=/bin/evil", {})


def test_on_macos_it_is_a_launch_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    unit = unit_for("/home/<me>", {})
    content = plistlib.loads(unit.text.encode())
    assert content["ProgramArguments"][-3:] == ["-m", "llmc.server", "--stay"]
    assert content["EnvironmentVariables"]["LLMC_HOME"] == "/home/<me>"
    assert unit.path.name == "llmc.plist"
