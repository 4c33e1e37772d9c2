"""A small project that research is asked of: code with callers and constants, look-alikes, a secret, notes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import search_world
from tool_calls import answer

from llmc.envelope.handles import Handles
from llmc.settings import EmbedderSettings, RootEntry, Settings
from llmc.state.connected_sessions import ConnectedSession
from llmc.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llmc.envelope.reply import Reply

__all__ = ["TOKEN", "World", "opened", "write"]

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"  # made up, in the form that a scanner knows

FILES = {
    "src/depot/office.py": '''"""The post office: where parcels come in."""

import os

from depot.courier import Courier

MAX_PARCELS = 40


def open_office(names):
    """Open the office with one courier for each name."""
    limit = int(os.environ.get("DEPOT_LIMIT", MAX_PARCELS))
    return [Courier(name) for name in names][:limit]


def hand_out(couriers, parcels):
    """Give every parcel to a courier and collect what came back."""
    returned = []
    for courier, parcel in zip(couriers, parcels):
        if not courier.deliver(parcel):
            returned.append(parcel)
    return returned
''',
    "src/depot/secrets.py": f'''"""How the depot talks to the tracker."""

TRACKER_TOKEN = "{TOKEN}"


def tracker_headers():
    """The headers of a request to the tracker."""
    return {{"Authorization": f"Bearer {{TRACKER_TOKEN}}"}}
''',
    **{
        f"src/depot/handlers/{name}.py": f'''"""Handler for {name} events."""

from depot.handlers.base import EventHandler


class {name.title()}Handler(EventHandler):
    def handle(self, event):
        """Book the {name} event in the ledger."""
        self.ledger.book(event.customer, {cents})
        return "{name}"
'''
        for name, cents in (("pickup", 100), ("arrival", 0), ("refund", -200), ("damage", -500))
    },
    "src/depot/handlers/base.py": '''"""What every event handler shares."""


class EventHandler:
    def __init__(self, ledger):
        self.ledger = ledger

    def handle(self, event):
        """Subclasses book the event and name it."""
        raise NotImplementedError
''',
    "thoughts/2026-01-retries.md": """# Retries of deliveries

Status: agreed in January.

We decided that a courier tries five times, because customers complained about one attempt.
""",
}


class World:
    """A workspace with everything that a tool needs; it asks as a session of some profile, or as the command line."""

    def __init__(self, workspace: Workspace, handles: Handles) -> None:
        self.workspace = workspace
        self.handles = handles

    def ask(self, tool: str, profile: str = "", /, **args: Any) -> Reply:
        session = ConnectedSession("test", profile=profile) if profile else None
        return answer(self.workspace, self.handles, tool, args, session=session)

    def report(self, question: str, **args: Any) -> dict[str, Any]:
        """`research_codebase` as the command line has it in JSON."""
        reply = self.ask("research_codebase", question=question, **args)
        assert not reply.error, reply.text
        return reply.data


def write(folder: Path) -> Path:
    search_world.write(folder)
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return folder


@contextlib.contextmanager
def opened(home: Path, *roots: Path, **sections: Any) -> Iterator[World]:
    settings = Settings(
        embedder=EmbedderSettings(kind="hash"), roots=tuple(RootEntry(path=root) for root in roots), **sections
    )
    with Workspace.open(*map(str, roots), home=str(home), settings=settings, watch=True) as workspace:
        workspace.index()
        handles = Handles(str(home / "handles"))
        yield World(workspace, handles)
        handles.close()
