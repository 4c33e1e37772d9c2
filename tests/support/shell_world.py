"""A small failing project in a git repository, with a daemon of its own and the real `llmc`."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daemons import Place, private_place

from llmc.client.daemon_client import Caller

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {
    "shop/price.py": "def total(items):\n    return sum(items)\n",
    "tests_of_shop.py": (
        "import unittest\nfrom shop import price\n\n\nclass PriceTest(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(price.total([1, 2]), 4)\n\n"
        "    def test_none(self):\n        self.assertEqual(price.total([]), 0)\n"
    ),
    "README.md": "# shop\n\nPrices of fruit.\n",
    ".gitignore": "__pycache__\nbuild\n",
    "noise.py": (
        "print('starting')\nfor at in range(4000):\n    print('line', at, 'of the noise')\nraise SystemExit(3)\n"
    ),
}


class World:
    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.folder = folder

    def llmc(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return self.place.llmc(*arguments, cwd=options.pop("cwd", self.folder), **options)

    def shell(self, command: str, *flags: str, enabled: bool = True, **args: Any) -> dict[str, Any]:
        """The tool as a client of the daemon calls it."""
        settings = [f"shell.enabled={str(enabled).lower()}", *flags]
        caller = Caller(self.place.home, self.place.environ, cwd=str(self.folder), flags=settings)
        reply: dict[str, Any] = caller.ask("tool", {"name": "shell", "args": {"command": command, **args}})
        return reply

    def git(self, *words: str) -> None:
        who = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
        subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True)


@contextmanager
def shell_world(folder: Path) -> Iterator[World]:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with private_place() as place:
        world = World(place, folder)
        place.environ["XDG_CONFIG_HOME"] = str(folder.parent / "config")
        place.environ["OPENAI_API_KEY"] = "sk-not-for-commands"
        world.git("init", "-q", "-b", "main")
        world.git("add", "-A")
        world.git("commit", "-qm", "shop: prices of fruit")
        yield world


def alive(pid: int) -> bool:
    """Whether the process still runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def handle_of(text: str) -> str:
    return text.strip().split("\n")[-1].split()[-1]
