"""Settings cached between calls equal those in the files."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from llmc.base.errors import LlmcError
from llmc.settings import Loaded, load
from llmc.settings.cache import SettingsCache

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEADLINE_SECONDS = 10.0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A work tree with a folder inside, a settings file, and a link to a root."""
    for folder in ("user/llmc", "tree/.git", "tree/inner", "one/.git", "two/.git"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tree/llmc.toml").write_text("[index]\nhidden = false\n")
    (tmp_path / "named.toml").write_text("[index]\nhidden = false\n")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    return tmp_path


class Client:
    def __init__(self, place: Path, *, config: str = "", roots: str = "") -> None:
        self.cwd = str(place / "tree/inner")
        self.env = {"HOME": str(place), "XDG_CONFIG_HOME": str(place / "user"), "LLMC_HOME": str(place / "home")}
        self.env |= {"LLMC_ROOTS": roots} if roots else {}
        self.config = config
        self.cache = SettingsCache()

    def ask(self) -> Loaded:
        return self.cache.load("client", self.cwd, self.env, (), self.config)

    def fresh(self) -> Loaded:
        return load(self.cwd, self.env, (), self.config or None)

    def kept(self) -> Loaded:
        """Once the files are old enough for their stamps to be reliable."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while (found := self.ask()) is not self.ask():
            assert time.monotonic() < deadline, "the settings were never kept"
        return found


def edited(path: Path, text: str) -> None:
    """The same size, inode and modification time: only the time of the change differs."""
    times = path.stat()
    path.write_text(text)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "the workspace file is edited": lambda place: edited(place / "tree/llmc.toml", "[index]\nhidden = true \n"),
    "the workspace file is removed": lambda place: (place / "tree/llmc.toml").unlink(),
    "a nearer workspace file": lambda place: (place / "tree/inner/llmc.toml").write_text("[index]\nhidden = true\n"),
    "a JSON file beside it": lambda place: (place / "tree/llmc.json").write_text("{}"),
    "a user file": lambda place: (place / "user/llmc/llmc.toml").write_text("[envelope]\nread_budget = 3333\n"),
    "a nearer work tree": lambda place: (place / "tree/inner/.git").mkdir(),
    "no work tree": lambda place: (place / "tree/.git").rmdir(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_settings_follow_their_files(place: Path, change: str) -> None:
    client = Client(place)
    before = client.kept()
    CHANGES[change](place)

    assert client.ask() is not before
    now, fresh = client.ask(), client.fresh()
    assert (now.settings, now.notices, str(now.no_root)) == (fresh.settings, fresh.notices, str(fresh.no_root))


def test_settings_follow_the_named_file_and_links_to_roots(place: Path) -> None:
    client = Client(place, config=str(place / "named.toml"), roots=str(place / "link"))
    assert [str(root.path) for root in client.kept().roots()] == [str(place / "one")]

    (place / "link").unlink()
    (place / "link").symlink_to(place / "two")
    assert [str(root.path) for root in client.ask().roots()] == [str(place / "two")]

    client.kept()
    edited(place / "named.toml", "[index]\nhidden = true \n")
    assert client.ask().settings.index.hidden


def test_an_invalid_file_is_reported_every_time_and_a_corrected_one_is_read(place: Path) -> None:
    client = Client(place)
    client.kept()
    (place / "tree/llmc.toml").write_text("[index]\nhiden = true\n")
    for _ in range(2):
        with pytest.raises(LlmcError, match="hiden"):
            client.ask()
    (place / "tree/llmc.toml").write_text("[index]\nhidden = true\n")

    assert client.ask().settings.index.hidden
